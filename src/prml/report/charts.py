"""What is here: line charts as SVG, drawn without a plotting library; colours come from the page.

Series differ by colour and by dash, so that a black and white print can be read.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

WIDTH, HEIGHT = 640, 304
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 50
MOST_POINTS = 240


@dataclass(frozen=True)
class Series:
    """A line: its name, and its points."""

    name: str
    x: Any
    y: Any


@dataclass(frozen=True)
class Axis:
    """A scale from data to the page; None leaves an end to the data."""

    title: str
    low: float | None = None
    high: float | None = None
    log: bool = False


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    """What the template draws.

    Attributes
    ----------
    lines : list of (name, points)
        Points as the `points` of an SVG polyline.
    x_ticks, y_ticks : lists of Tick
    marks : list of Tick
        Vertical lines with a word each.
    """

    title: str
    x_title: str
    y_title: str
    lines: list[tuple[str, str]]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    marks: list[Tick]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def draw(
    title: str, series: Sequence[Series], x: Axis, y: Axis, marks: Sequence[tuple[float, str]] = ()
) -> Chart | None:
    """Lay a chart out; None when no series has two finite points.

    Examples
    --------
    >>> from prml.report.charts import Axis, Series, draw
    >>> gap = Series("gap", [0, 1, 2], [1, 0.1, 0.01])
    >>> chart = draw("Gap", [gap], Axis("seconds"), Axis("", log=True))
    >>> [tick.text for tick in chart.y_ticks]
    ['0.01', '0.1', '1']
    """
    kept = []
    for one in series:
        px, py = np.asarray(one.x, dtype=float), np.asarray(one.y, dtype=float)
        seen = np.isfinite(px) & np.isfinite(py)
        seen &= (px > 0) | (not x.log)
        seen &= (py > 0) | (not y.log)
        if seen.sum() >= 2:
            kept.append((one.name, *_thinned(px[seen], py[seen])))
    if not kept:
        return None
    to_x, x_ticks, x_ends = _scale(x, [px for _, px, _ in kept], LEFT, WIDTH - RIGHT, 7)
    to_y, y_ticks, _ = _scale(y, [py for _, _, py in kept], HEIGHT - BOTTOM, TOP, 5)
    lines = [
        (name, " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(to_x(px), to_y(py), strict=True)))
        for name, px, py in kept
    ]
    inside = [(at, word) for at, word in marks if x_ends[0] <= at <= x_ends[1]]
    placed = [Tick(round(float(to_x(np.array([at]))[0]), 1), word) for at, word in inside]
    return Chart(title, x.title, y.title, lines, x_ticks, y_ticks, placed)


def _thinned(px: np.ndarray, py: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if len(px) <= MOST_POINTS:
        return px, py
    kept = np.unique(np.linspace(0, len(px) - 1, MOST_POINTS).round().astype(int))
    return px[kept], py[kept]


def _scale(axis: Axis, values: list[np.ndarray], start: float, end: float, n_ticks: int):
    """Return the map to the page, the ticks on it, and the ends of the axis in data."""
    low = min(float(v.min()) for v in values) if axis.low is None else axis.low
    high = max(float(v.max()) for v in values) if axis.high is None else axis.high
    if axis.log:
        low, high = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
        high = max(high, low + 1)
        step = max(1, math.ceil((high - low) / n_ticks))
        at = np.arange(low, high + 1, step, dtype=float)
        texts = [f"{10.0**e:g}" for e in at]
    else:
        if high <= low:
            low, high = low - 0.5, low + 0.5
        at = nice_ticks(low, high, n_ticks)
        texts = [_number(v, float(at[1] - at[0]) if len(at) > 1 else 1.0) for v in at]

    def place(data: np.ndarray) -> np.ndarray:
        moved = np.log10(data) if axis.log else data
        return start + (np.clip(moved, low, high) - low) / (high - low) * (end - start)

    pixels = start + (at - low) / (high - low) * (end - start)
    ticks = [Tick(round(float(p), 1), text) for p, text in zip(pixels, texts, strict=True)]
    ends = (10.0**low, 10.0**high) if axis.log else (low, high)
    return place, ticks, ends


def nice_ticks(low: float, high: float, n: int) -> np.ndarray:
    """Return round numbers between low and high, about n of them.

    Examples
    --------
    >>> from prml.report.charts import nice_ticks
    >>> nice_ticks(0, 0.93, 5).round(2).tolist()
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    raw = (high - low) / max(1, n)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return np.arange(first, last + 1) * step


def _number(value: float, step: float) -> str:
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if abs(value) >= 1e5 or decimals > 5:
        return f"{value:.3g}"
    return f"{value + 0.0:,.{decimals}f}"
