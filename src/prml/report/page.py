"""What is here: the parts of a page and its writing, from a template to one HTML file."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prml import __version__
from prml.datasets.atomic_file import replacing


@dataclass(frozen=True)
class ScoreRow:
    """One metric and its value for each method.

    Attributes
    ----------
    title, summary : str
    better : {"lower", "higher"}
    values : sequence of float
        In the order of the methods; NaN where undefined.

    Examples
    --------
    >>> from prml.report import ScoreRow
    >>> ScoreRow("one-error", "lower", "is the first label wrong?", [0.2, 0.1]).best
    0.1
    """

    title: str
    better: str
    summary: str
    values: Sequence[float]

    @property
    def best(self) -> float:
        """The best defined value; NaN when there is none."""
        defined = [value for value in self.values if not math.isnan(value)]
        if not defined:
            return math.nan
        return min(defined) if self.better == "lower" else max(defined)


@dataclass(frozen=True)
class Tag:
    """A label of one example: `state` is "right", "missed" or "added".

    Examples
    --------
    >>> from prml.report import Tag
    >>> Tag("sea", "missed", -0.3).state
    'missed'
    """

    name: str
    state: str
    score: float


@dataclass(frozen=True)
class Example:
    """An example with its text and what became of its labels.

    Examples
    --------
    >>> from prml.report import Example, Tag
    >>> Example("beach.jpg", "a picture", [Tag("sea", "right", 1.2)]).tags[0].name
    'sea'
    """

    name: str
    text: str
    tags: Sequence[Tag]


def tags_of(true: Any, scores: Any, label_names: Sequence[str], cut: float = 0.0) -> list[Tag]:
    """Compare the true labels of one example with its scores; the highest score comes first.

    Examples
    --------
    >>> from prml.report import tags_of
    >>> [(t.name, t.state) for t in tags_of([1, 0, 1, 0], [2.0, 1.0, -1.0, -2.0], list("abcd"))]
    [('a', 'right'), ('b', 'added'), ('c', 'missed')]
    """
    true = np.asarray(true, dtype=bool).ravel()
    scores = np.asarray(scores, dtype=np.float64).ravel()
    predicted = scores > cut
    shown = np.flatnonzero(true | predicted)
    shown = shown[np.argsort(-scores[shown], kind="stable")]
    return [
        Tag(
            str(label_names[i]),
            "right" if true[i] and predicted[i] else "missed" if true[i] else "added",
            float(scores[i]),
        )
        for i in shown.tolist()
    ]


def write_page(path: str | Path, template: str, **context: Any) -> Path:
    """Fill a template of `report/templates` and write the page atomically.

    Everything that comes from data is escaped.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from prml.report import write_page
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_page(Path(folder) / "page.html", "page.html.j2", title="1 < 2")
    ...     "1 &lt; 2" in page.read_text("utf-8")
    True
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
    except ImportError as missing:
        raise ImportError(
            f"The page needs {missing.name}; pip install 'prml[report]' brings it."
        ) from missing

    environment = Environment(
        loader=PackageLoader("prml.report"),
        autoescape=select_autoescape(["html", "j2"], default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["score"] = lambda value: "-" if math.isnan(value) else f"{value:.3f}"
    html = environment.get_template(template).render(version=__version__, **context)
    path = Path(path)
    with replacing(path) as out:
        out.write(html.encode("utf-8"))
    return path
