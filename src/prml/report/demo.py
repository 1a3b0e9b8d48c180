"""What is here: the page of `prml demo`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from prml.report.page import Example, ScoreRow, write_page

# A mark, a word and a border each: the states differ without colour.
MARKS = {"right": "✓", "missed": "–", "added": "+"}
WORDS = {
    "right": "predicted and true",
    "missed": "true but not predicted",
    "added": "predicted but not true",
}


def write_demo_page(
    path: str | Path,
    *,
    title: str,
    lead: str,
    facts: Mapping[str, str],
    methods: Sequence[str],
    scores: Sequence[ScoreRow],
    examples: Sequence[Example],
    data_note: str,
) -> Path:
    """Write one HTML file with a table of scores and examples with true and predicted labels.

    Parameters
    ----------
    path : str or Path
    title, lead, data_note : str
    facts : mapping of str to str
        A name and a figure each, shown in large type.
    methods : sequence of str
        Column heads of the table, in the order of each row's values.
    scores : sequence of ScoreRow
    examples : sequence of Example

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from prml.report import Example, ScoreRow, Tag, write_demo_page
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_demo_page(
    ...         Path(folder) / "page.html", title="Tags", lead="", facts={"examples": "1"},
    ...         methods=["PrBR"], scores=[ScoreRow("one-error", "lower", "", [0.1])],
    ...         examples=[Example("a", "a beach", [Tag("sea", "right", 1.0)])], data_note="")
    ...     "a beach" in page.read_text("utf-8")
    True
    """
    return write_page(
        path,
        "demo.html.j2",
        title=title,
        lead=lead,
        facts=facts,
        methods=methods,
        scores=scores,
        examples=examples,
        data_note=data_note,
        marks=MARKS,
        words=WORDS,
    )
