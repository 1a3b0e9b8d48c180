"""What is here: the bars, one figure measured against one, and the verdict."""

import math
from typing import Any, NamedTuple


class Bar(NamedTuple):
    """A row of the table: what is compared, what is wanted first, what then (None: told only)."""

    title: str
    first: float | None = None
    then: float | None = None
    unit: str = "x"
    higher_is_better: bool = False


class Figure(NamedTuple):
    """One measured figure; `value` is by the clock, `cpu` by the processor's time."""

    row: str
    dataset: str
    setting: str
    value: float
    cpu: float | None
    note: str
    details: dict[str, Any]


BARS = {
    "prbr": Bar("PrBR to 1e-3 vs LinearSVC", 3.0, 1.0),
    "prml-1e-2": Bar("PrML to 1e-2 vs LinearSVC", 5.0, 2.0),
    "prml-1e-3": Bar("PrML to 1e-3 vs LinearSVC", 15.0, 5.0),
    "paper": Bar("the paper's start and order vs PrBR, to 1e-3", None, None),
    "d-step": Bar("D-step epoch: Algorithm 1 as printed vs ours", 50.0, 200.0, "x", True),
    "predict": Bar("predict vs X @ coef_.T", 1.2, None),
    "doubling": Bar("an epoch when n, L or d doubles", 2.3, None),
    "threads": Bar("PrML to 1e-2: two threads vs one", 1.7, None, "x", True),
    "import": Bar("import prml", 1.0, None, " s"),
    "import-name": Bar("from prml import PrML", None, None, " s"),
    "first-fit": Bar("first fit, warm compile cache", 2.0, None, " s"),
    "first-fit-cold": Bar("first fit, empty compile cache", 30.0, None, " s"),
    "eurlex": Bar("eurlex half, PrML to 1e-2, 2 threads, vs LinearSVC", 3.0, 1.0),
    "mediamill": Bar("mediamill half, PrML to 1e-2, 2 threads, vs LinearSVC", 1.0, 0.3),
    "memory": Bar("peak memory of PrML on eurlex half", 8.0, None, " GB"),
    "logistic": Bar("PrML to 1e-2 vs tuned logistic regression", None, None),
}


def verdict(bar: Bar, figure: Figure) -> str:
    """`pass` for the first bar, `pass, then` for both, else `short`; nothing without a bar."""
    if bar.first is None:
        return ""
    if figure.details.get("reached") is False:
        return "short (gap not reached)"
    if not _clears(bar, figure.value, bar.first):
        return "short"
    if bar.then is not None and _clears(bar, figure.value, bar.then):
        return "pass, then"
    return "pass"


def _clears(bar: Bar, value: float, wanted: float) -> bool:
    if math.isnan(value):
        return False
    return value >= wanted if bar.higher_is_better else value <= wanted


def as_table(figures: list[Figure]) -> str:
    """The figures as a Markdown table."""
    lines = [
        "| row | dataset | setting | measured | by CPU time | first | then | verdict | note |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for figure in figures:
        bar = BARS[figure.row]
        sign = ">=" if bar.higher_is_better else "<="
        cells = [
            bar.title,
            figure.dataset,
            figure.setting,
            f"{figure.value:.3g}{bar.unit}",
            "" if figure.cpu is None else f"{figure.cpu:.3g}{bar.unit}",
            "" if bar.first is None else f"{sign} {bar.first:g}{bar.unit}",
            "" if bar.then is None else f"{sign} {bar.then:g}{bar.unit}",
            verdict(bar, figure),
            figure.note,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
