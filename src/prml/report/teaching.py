"""What is here: who comments on whom, and what the teacher says to a wrong prediction."""

from dataclasses import dataclass
from typing import Any

import numpy as np

MAP_LABELS = 60
LEVELS = 5  # shades of either sign on the map


@dataclass(frozen=True)
class HeatMap:
    """The teacher weights among some labels.

    Attributes
    ----------
    labels : ndarray
        Positions of the labels shown.
    paths : list of (level, path)
        Cells of one shade as one SVG path, one unit a cell; level from -5 to 5, without 0.
    weights : ndarray of shape (n, n)
        Row: the label that is learned; column: the label that comments.
    largest : float
        The weight of the strongest shade.
    """

    labels: np.ndarray
    paths: list[tuple[int, str]]
    weights: np.ndarray
    largest: float


def heat_map(weights: np.ndarray) -> HeatMap:
    """Lay the map out; of more than 60 labels those with the largest weights are shown."""
    n_labels = len(weights)
    labels = np.arange(n_labels)
    if n_labels > MAP_LABELS:
        strength = np.zeros(n_labels)
        for i, row in enumerate(weights):  # row by row: a copy of the whole could be large
            size = np.abs(row)
            strength[i] += size.sum()
            strength += size
        labels = np.sort(np.argsort(-strength, kind="stable")[:MAP_LABELS])
    shown = weights[np.ix_(labels, labels)]
    # a few very large weights would leave the rest blank
    largest = float(np.quantile(np.abs(shown), 0.995)) or float(np.abs(shown).max(initial=0.0))
    paths: dict[int, list[str]] = {}
    if largest > 0:
        shade = np.ceil(np.minimum(np.abs(shown) / largest, 1.0) * LEVELS - 0.5).astype(int)
        shade *= np.sign(shown).astype(int)
        for i, l in np.argwhere(shade != 0).tolist():
            paths.setdefault(int(shade[i, l]), []).append(f"M{l} {i}h1v1h-1z")
    return HeatMap(labels, [(k, "".join(paths[k])) for k in sorted(paths)], shown, largest)


def strongest(weights: np.ndarray, n: int, *, by_column: bool = False) -> list[list[list[float]]]:
    """For each label the n labels with the largest weights, as [position, weight] pairs.

    Weights below a hundredth of the label's largest, or of 0.0005, say nothing and are left out.
    """
    found = []
    for i in range(len(weights)):
        row = weights[:, i] if by_column else weights[i]
        size = np.abs(row)
        top = np.argpartition(-size, n)[:n] if len(row) > n else np.arange(len(row))
        top = top[np.argsort(-size[top], kind="stable")]
        least = max(0.01 * float(size[top].max(initial=0.0)), 0.0005)
        found.append([[int(l), float(f"{row[l]:.3g}")] for l in top if size[l] >= least])
    return found


@dataclass(frozen=True)
class Comment:
    """What the teacher of a label says to an example whose label came out wrong.

    Attributes
    ----------
    short : float
        By how much the score misses a margin of 1.
    excused : float
        The slack that the teacher, who sees the other labels, allows.
    reasons : list of (label, amount)
        The present labels that move the slack most.
    """

    short: float
    excused: float
    reasons: list[tuple[int, float]]

    @property
    def verdict(self) -> str:
        if self.excused <= 0.005:
            return "excuses nothing"
        if self.excused >= self.short - 0.005:
            return "excuses all of it"
        return f"excuses {self.excused:.2f} of it"


def comment(learner: Any, label: int, score: float, true: np.ndarray, known: Any) -> Comment:
    """Ask the teacher of `label` about one example.

    Its slack is <wt, v> + intercept with v = +1 for present, -1 for absent and 0 for unknown
    labels; measured from an example without labels, a present label adds 2 wt.

    Parameters
    ----------
    learner : fitted PrBR or PrML
    label : int
    score : float
        That of the learner.
    true : boolean ndarray of shape (n_labels,)
    known : boolean ndarray of shape (n_labels,) or None
    """
    weights = learner.privileged_coef_[label]
    view = np.where(true, 1.0, -1.0)
    if known is not None:
        view[~known] = 0.0
    slack = float(weights @ view + learner.privileged_intercept_[label])
    others = np.flatnonzero(true & (2.0 * np.abs(weights) >= 0.005))  # else it would read 0.00
    others = others[others != label]
    order = others[np.argsort(-np.abs(weights[others]), kind="stable")][:3]
    sign = 1.0 if true[label] else -1.0
    return Comment(
        max(0.0, 1.0 - sign * score),
        max(0.0, slack),
        [(int(l), 2.0 * float(weights[l])) for l in order],
    )
