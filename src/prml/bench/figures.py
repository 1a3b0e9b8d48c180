"""What is here: the figures of the comparison, drawn with matplotlib (extra `plot`).

Colours are those of Okabe and Ito; every line and marker also differs in shape or dash, so that
the figures survive greyscale and colour blindness.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from prml.bench.claims import Ranks
from prml.bench.methods import METHODS
from prml.bench.summary import Row
from prml.metrics import METRICS, SIX

WIDTH = 8.0  # inches; text of 9 points is then legible at the width of a README
BLACK, BLUE, ORANGE, GREEN, RED = "#000000", "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, GREY = "#56B4E9", "#CC79A7", "#6E6E6E"
# base method: colour and marker
LOOKS = {
    "BR": (BLUE, "o"), "ECC": (SKY, "s"), "RAkEL": (GREEN, "D"), "LEML": (PURPLE, "v"),
    "ML2": (GREY, "P"), "PrBR": (ORANGE, "^"), "PrML": (RED, "*"), "logistic": (BLACK, "X"),
    "ridge": (BLACK, "p"), "frequency": (BLACK, "."),
}  # fmt: skip


class Curve(NamedTuple):
    """A line of the convergence figure."""

    name: str
    seconds: Sequence[float]
    gaps: Sequence[float]


def new_figure(height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Any, Any]:
    """A figure of README width and its axes, an array (rows, columns), without boxes."""
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise ImportError("The figures need matplotlib; pip install 'prml[plot]'.") from missing
    figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for ax in axes.flat:
        ax.tick_params(labelsize=8)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    return figure, axes


def draw_ranks(ranks: Ranks) -> Any:
    """Average ranks on a line; methods under one bar are not told apart at the 5 % level."""
    n = len(ranks.methods)
    figure, axes = new_figure(1.3 + 0.19 * n)
    ax = axes[0, 0]
    half = (n + 1) // 2
    groups = _not_told_apart(ranks)
    top, step = 0.0, 1.0
    first = -1.2 - 0.6 * len(groups)
    low, high = 1.0, float(n)
    pad = 0.32 * (high - low)
    ax.hlines(top, low, high, color=BLACK, lw=1.2)
    for tick in range(1, n + 1):
        ax.vlines(tick, top, top + 0.25, color=BLACK, lw=1)
        ax.text(tick, top + 0.4, str(tick), ha="center", va="bottom", fontsize=8)
    for i, (method, rank) in enumerate(zip(ranks.methods, ranks.ranks, strict=True)):
        on_left = i < half
        y = first - step * (i if on_left else n - 1 - i)
        edge = low - 0.25 * pad if on_left else high + 0.25 * pad
        ax.plot([rank, rank, edge], [top, y, y], color=GREY, lw=0.8)
        ax.plot([rank], [top], marker="o", ms=3.5, color=BLACK, zorder=3)
        weight = "bold" if method.startswith("Pr") else "normal"
        ax.text(
            edge + (-1 if on_left else 1) * 0.02 * (high - low), y, f"{method}  {rank:.1f}",
            ha="right" if on_left else "left", va="center", fontsize=9, weight=weight,
        )  # fmt: skip
    for g, (a, b) in enumerate(groups):
        y = top - 0.7 - 0.6 * g
        ax.hlines(y, ranks.ranks[a] - 0.06, ranks.ranks[b] + 0.06, color=BLUE, lw=3.2, zorder=4)
    shown = min(ranks.critical_difference, high - low)
    ax.hlines(top + 2.3, low, low + shown, color=BLUE, lw=3.2)
    more = "" if shown == ranks.critical_difference else " (wider than the axis)"
    text = f"critical difference {ranks.critical_difference:.1f}{more}"
    ax.text(low, top + 2.6, text, fontsize=8, va="bottom")
    ax.set_xlim(low - pad, high + pad)
    ax.set_ylim(first - step * half, top + 4.0)
    ax.axis("off")
    return figure


def _not_told_apart(ranks: Ranks) -> list[tuple[int, int]]:
    """The longest runs of neighbours within one critical difference, as (first, last)."""
    runs: list[tuple[int, int]] = []
    for a in range(len(ranks.ranks)):
        b = max(
            i for i, rank in enumerate(ranks.ranks)
            if rank - ranks.ranks[a] <= ranks.critical_difference
        )  # fmt: skip
        if b > a and (not runs or b > runs[-1][1]):
            runs.append((a, b))
    return runs


def draw_time_and_accuracy(rows: Sequence[Row], metric: str = "average_precision") -> Any:
    """A panel a dataset: seconds of a trial, search included, against a metric."""
    rows = [row for row in rows if row.n_trials]
    datasets = list(dict.fromkeys(row.dataset for row in rows))
    columns = min(3, len(datasets))
    n_rows = -(-len(datasets) // columns)
    figure, axes = new_figure(0.9 + 2.4 * n_rows, n_rows, columns)
    which = list(SIX).index(metric)
    seen: dict[str, Any] = {}
    for ax, dataset in zip(axes.flat, datasets, strict=False):
        for row in rows:
            if row.dataset != dataset:
                continue
            base = row.method.partition("-")[0]
            colour, marker = LOOKS.get(base, (GREY, "."))
            is_hollow = row.method in METHODS and METHODS[row.method].group == "paper"
            handle = ax.scatter(
                max(row.seconds, 1e-2), row.mean[which], s=95 if marker == "*" else 48,
                marker=_marker(row.method, marker), edgecolors=colour, linewidths=1.3,
                facecolors="none" if is_hollow else colour, label=row.method, zorder=3,
            )  # fmt: skip
            seen.setdefault(row.method, handle)
        ax.set_xscale("log")
        # a decade at least: the labels between powers of ten would run into each other
        low, high = ax.get_xlim()
        ax.set_xlim(low, max(high, 10.0 * low))
        ax.xaxis.set_minor_formatter("")
        ax.set_title(dataset, fontsize=10, loc="left")
        ax.grid(True, color="#dddddd", lw=0.6)
    for ax in list(axes.flat)[len(datasets) :]:
        ax.axis("off")
    for ax in axes[-1]:
        ax.set_xlabel("seconds a trial (search and fit)", fontsize=9)
    for ax in axes[:, 0]:
        ax.set_ylabel(METRICS[metric].title, fontsize=9)
    order = [name for name in METHODS if name in seen]
    figure.legend(
        [seen[name] for name in order], order, loc="outside lower center", ncols=6, fontsize=8,
        frameon=False, handletextpad=0.2, columnspacing=1.0,
    )  # fmt: skip
    return figure


def _marker(method: str, marker: str) -> str:
    """Variants of one colour differ in shape too."""
    return {
        "PrBR-stopped": "<",
        "PrBR-theta": ">",
        "PrML-theta": "d",
        "PrML-stopped": "h",
        "PrML-best": "*",
        "logistic-newton": "H",
    }.get(method, marker)


def draw_privileged(curves: Mapping[str, Mapping[int, Row]], flat: Mapping[str, Row]) -> Any:
    """The six metrics against the number of labels that comment, as the paper's Figure 2.

    Parameters
    ----------
    curves : dict
        Name of a line to {number of privileged labels: row}.
    flat : dict
        Methods without a teacher: a horizontal line each.
    """
    figure, axes = new_figure(5.0, 2, 3)
    styles = [(RED, "-", "o"), (BLUE, "-.", "s"), (GREEN, ":", "^")]
    for m, (ax, name) in enumerate(zip(axes.flat, SIX, strict=True)):
        for (title, by_k), (colour, dash, marker) in zip(curves.items(), styles, strict=False):
            ks = sorted(by_k)
            mean = np.array([by_k[k].mean[m] for k in ks])
            std = np.array([by_k[k].std[m] for k in ks])
            ax.plot(ks, mean, dash, color=colour, marker=marker, ms=4, lw=1.5, label=title)
            ax.fill_between(ks, mean - std, mean + std, color=colour, alpha=0.15, lw=0)
        for (title, row), level in zip(flat.items(), ["--", (0, (1, 1.5))], strict=False):
            ax.axhline(row.mean[m], color=BLACK, ls=level, lw=1.3, label=title)
        arrow = "lower is better" if METRICS[name].better == "lower" else "higher is better"
        ax.set_title(f"{METRICS[name].title} ({arrow})", fontsize=9, loc="left")
        ax.grid(True, color="#dddddd", lw=0.6)
    for ax in axes[-1]:
        ax.set_xlabel("privileged labels", fontsize=9)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    return figure


def draw_convergence(panels: Mapping[str, Sequence[Curve]]) -> Any:
    """Relative duality gap against time, a panel a dataset."""
    columns = min(3, len(panels))
    n_rows = -(-len(panels) // columns)
    figure, axes = new_figure(0.7 + 2.6 * n_rows, n_rows, columns)
    looks = [(RED, "-", "o"), (BLUE, "--", "s"), (BLACK, ":", "^"), (GREEN, "-.", "v")]
    names = dict.fromkeys(curve.name for curves in panels.values() for curve in curves)
    styles = dict(zip(names, looks, strict=False))
    seen: dict[str, Any] = {}
    for ax, (title, curves) in zip(axes.flat, panels.items(), strict=False):
        for curve in curves:
            colour, dash, marker = styles[curve.name]
            seconds = np.maximum(np.asarray(curve.seconds, dtype=float), 1e-3)
            gaps = np.maximum(np.asarray(curve.gaps, dtype=float), 1e-6)
            (seen[curve.name],) = ax.plot(
                seconds, gaps, dash, color=colour, marker=marker, ms=3.5, lw=1.5, label=curve.name,
                markevery=max(1, len(gaps) // 8),
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.xaxis.set_minor_formatter("")
        ax.set_title(title, fontsize=10, loc="left")
        ax.grid(True, color="#dddddd", lw=0.6)
    for ax in list(axes.flat)[len(panels) :]:
        ax.axis("off")
    for ax in axes[-1]:
        ax.set_xlabel("seconds", fontsize=9)
    for ax in axes[:, 0]:
        ax.set_ylabel("relative duality gap", fontsize=9)
    figure.legend(
        list(seen.values()),
        list(seen),
        loc="outside lower center",
        ncols=4,
        fontsize=9,
        frameon=False,
    )
    return figure


def as_png(figure: Any, dpi: int = 110) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    return buffer.getvalue()


def as_data_uri(figure: Any) -> str:
    """The figure as an SVG inside a `data:` address, for pages that need no other file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()
