"""What is here: raw records made into means, and the means into tables with the paper's beside."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prml.bench.methods import METHODS
from prml.bench.paper_figures import PAPER_DATASETS, PAPER_METHODS, printed_row
from prml.bench.results_file import Record, fit_was_cut, search_was_cut
from prml.datasets.atomic_file import replacing
from prml.metrics import METRICS, SIX

SHORT_TITLES = ("HL", "1-err", "Cov", "RL", "AP", "AUC")
MARK = "†"  # a row whose trials were made by more than one version of the code


@dataclass(frozen=True)
class Row:
    """One dataset and method over its trials; metrics in the order of `prml.metrics.SIX`.

    `seconds` is the median, which a machine that was busy once does not move. `codes` are the
    versions of the code behind it: more than one is shown wherever the row is.
    """

    dataset: str
    method: str
    mean: tuple[float, ...]
    std: tuple[float, ...]
    n_trials: int
    seconds: float
    peak_mb: float | None
    codes: tuple[str, ...]
    n_cut_searches: int
    n_cut_fits: int = 0
    n_failures: int = 0

    @property
    def is_mixed(self) -> bool:
        return len(self.codes) > 1


def latest(records: Iterable[Record], setup: str = "full") -> list[Record]:
    """One record a cell, the newest: older versions of the code give way."""
    kept: dict[tuple, Record] = {}
    for record in records:
        if record["setup"] == setup:
            kept[record["dataset"], record["method"], record["trial"]] = record
    return list(kept.values())


def summarise(records: Iterable[Record], setup: str = "full") -> list[Row]:
    """Means and standard deviations over the trials, datasets and methods in their usual order.

    Examples
    --------
    >>> from prml.bench.summary import summarise
    >>> from prml.metrics import SIX
    >>> cells = [{"dataset": "flags", "method": "BR", "trial": t, "setup": "full", "seconds": 1.0,
    ...           "metrics": dict.fromkeys(SIX, value)} for t, value in enumerate([0.2, 0.4])]
    >>> row, = summarise(cells)
    >>> row.n_trials, round(row.mean[0], 3), round(row.std[0], 3)
    (2, 0.3, 0.141)
    """
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in latest(records, setup):
        groups[record["dataset"], record["method"]].append(record)
    rows = [_row(dataset, method, cells) for (dataset, method), cells in groups.items()]
    return sorted(rows, key=lambda row: (dataset_order(row.dataset), _method_order(row.method)))


def _row(dataset: str, method: str, cells: Sequence[Record]) -> Row:
    good = [cell for cell in cells if "error" not in cell]
    values = np.array([[_number(cell["metrics"][name]) for name in SIX] for cell in good]).reshape(
        -1, len(SIX)
    )
    n = len(good)
    mean = values.mean(axis=0) if n else np.full(len(SIX), np.nan)
    std = values.std(axis=0, ddof=1) if n > 1 else np.zeros(len(SIX))
    peaks = [cell["peak_mb"] for cell in good if cell.get("peak_mb") is not None]
    return Row(
        dataset,
        method,
        tuple(mean.tolist()),
        tuple(std.tolist()),
        n,
        float(np.median([cell["seconds"] for cell in good])) if n else math.nan,
        max(peaks) if peaks else None,
        tuple(sorted({str(cell.get("code")) for cell in good})),
        sum(map(search_was_cut, good)),
        sum(map(fit_was_cut, good)),
        len(cells) - n,
    )


def _number(value: object) -> float:
    return math.nan if value is None else float(value)  # type: ignore[arg-type]


def dataset_order(name: str) -> tuple[int, str]:
    known = name in PAPER_DATASETS
    return (PAPER_DATASETS.index(name) if known else len(PAPER_DATASETS), name)


def _method_order(name: str) -> int:
    return list(METHODS).index(name) if name in METHODS else len(METHODS)


def paper_table(rows: Iterable[Row]) -> list[dict]:
    """The rows as `paper_table.json` holds them."""
    return [
        {
            "dataset": row.dataset,
            "method": row.method,
            "mean": [None if math.isnan(x) else round(x, 5) for x in row.mean],
            "std": [round(x, 5) for x in row.std],
            "n_trials": row.n_trials,
            "n_cut_searches": row.n_cut_searches,
            "n_cut_fits": row.n_cut_fits,
            "code": list(row.codes),
        }
        for row in rows
        if row.n_trials
    ]


def write_paper_table(path: Path, rows: Iterable[Row]) -> None:
    lines = ",\n".join(json.dumps(entry) for entry in paper_table(rows))
    with replacing(path) as out:
        out.write(f"[\n{lines}\n]\n".encode())


def best_means(rows: Sequence[Row]) -> tuple[float, ...]:
    """The best mean of each metric among the rows of one dataset, to the digits shown."""
    best = []
    for m, name in enumerate(SIX):
        shown = [round(row.mean[m], 3) for row in rows if not math.isnan(row.mean[m])]
        choose = min if METRICS[name].better == "lower" else max
        best.append(choose(shown) if shown else math.nan)
    return tuple(best)


def markdown_table(rows: Sequence[Row]) -> str:
    """A table a dataset: our mean ± std, and below each row of the paper's set its figure.

    The best mean of a column is bold. Rows with the mark † mix versions of the code.
    """
    lines: list[str] = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        ours = [row for row in rows if row.dataset == dataset]
        best = best_means(ours)
        arrows = ["↓" if METRICS[name].better == "lower" else "↑" for name in SIX]
        heads = [f"{title} {arrow}" for title, arrow in zip(SHORT_TITLES, arrows, strict=True)]
        lines += [f"### {dataset}", "", f"| method | {' | '.join(heads)} | trials | s |"]
        lines.append("|---" * (len(SIX) + 3) + "|")
        for row in ours:
            lines.append(_markdown_row(row, best))
            printed = printed_row(dataset, row.method)
            if printed is not None and row.method in PAPER_METHODS:
                cells = [
                    f"{figure(mean)} ± {figure(std)}"
                    for mean, std in zip(printed.mean, printed.std, strict=True)
                ]
                lines.append(f"| *{row.method}, paper* | {' | '.join(cells)} | 10 | |")
        lines.append("")
    notes = _notes(rows)
    return "\n".join([*lines, *notes]).rstrip() + "\n"


def _markdown_row(row: Row, best: Sequence[float]) -> str:
    cells = []
    for mean, std, top in zip(row.mean, row.std, best, strict=True):
        if math.isnan(mean):
            cells.append("-")
            continue
        shown = f"**{figure(mean)}**" if round(mean, 3) == top else figure(mean)
        cells.append(f"{shown} ± {figure(std)}" if row.n_trials > 1 else shown)
    mark = f" {MARK}" if row.is_mixed else ""
    trials = f"{row.n_trials}" + (f", {row.n_failures} failed" if row.n_failures else "")
    seconds = "-" if math.isnan(row.seconds) else f"{row.seconds:.1f}"
    return f"| {row.method}{mark} | {' | '.join(cells)} | {trials} | {seconds} |"


def _notes(rows: Sequence[Row]) -> list[str]:
    notes = []
    if any(row.is_mixed for row in rows):
        notes.append(f"{MARK} trials of more than one version of the code.")
    counts = [
        ("Searches", [row.n_cut_searches for row in rows]),
        ("Fits", [row.n_cut_fits for row in rows]),
    ]
    for what, cut in counts:
        names = [f"{r.dataset} {r.method} ({n})" for r, n in zip(rows, cut, strict=True) if n]
        if names:
            notes.append(f"{what} ended by their time limit, with the trials: {', '.join(names)}.")
    return notes


def figure(value: float) -> str:
    """Three digits without the leading zero, as the paper's table has them."""
    shown = f"{value:.3f}"
    return shown[1:] if shown.startswith("0") else shown


def code_counts(records: Iterable[Record], setup: str = "full") -> list[tuple[str, str, int, str]]:
    """(code, release, number of cells in use, last day) for each version of the code."""
    counts: dict[str, list] = {}
    for record in latest(records, setup):
        code = str(record.get("code"))
        entry = counts.setdefault(code, ["", 0, ""])
        entry[0] = record.get("versions", {}).get("prml", "")
        entry[1] += 1
        entry[2] = max(entry[2], str(record.get("finished", ""))[:10])
    return [(code, *entry) for code, entry in counts.items()]
