"""What is here: pages about a model, one self-contained HTML file each."""

from prml.report.demo import write_demo_page
from prml.report.model_report import write_model_report
from prml.report.page import Example, ScoreRow, Tag, tags_of, write_page

__all__ = [
    "Example",
    "ScoreRow",
    "Tag",
    "tags_of",
    "write_demo_page",
    "write_model_report",
    "write_page",
]
