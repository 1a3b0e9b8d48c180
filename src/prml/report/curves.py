"""What is here: what a report page shows of labels and cuts, computed from scores."""

from typing import Any, NamedTuple

import numpy as np

N_SHIFTS = 101
POINTS_A_LABEL = 16


class LabelCounts(NamedTuple):
    """For each label: examples that have it, that get it, and that have and get it."""

    present: np.ndarray
    predicted: np.ndarray
    right: np.ndarray

    @property
    def precision(self) -> np.ndarray:
        return ratio(self.right, self.predicted)

    @property
    def recall(self) -> np.ndarray:
        return ratio(self.right, self.present)

    @property
    def f1(self) -> np.ndarray:
        return ratio(2 * self.right, self.present + self.predicted)


def ratio(numerator: Any, denominator: Any) -> np.ndarray:
    """Divide; NaN where there is nothing to divide by."""
    top, below = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    empty = np.full(np.broadcast_shapes(top.shape, below.shape), np.nan)
    return np.divide(top, below, out=empty, where=below != 0)


class ShiftCurve(NamedTuple):
    """What happens when all cuts move by the same amount: `shift` and four figures for each."""

    shift: np.ndarray
    micro_f1: np.ndarray
    macro_f1: np.ndarray
    precision: np.ndarray
    recall: np.ndarray


def shift_curve(margins: np.ndarray, true: np.ndarray, known: np.ndarray | None) -> ShiftCurve:
    """Move all cuts together.

    Parameters
    ----------
    margins : ndarray of shape (n_samples, n_labels)
        Scores less the cut of their label.
    true, known : boolean ndarrays of the same shape; `known` None: every entry is

    Examples
    --------
    >>> import numpy as np
    >>> from prml.report.curves import shift_curve
    >>> margins, true = np.array([[1.0, -1.0], [0.5, 2.0]]), np.array([[1, 0], [1, 1]]) > 0
    >>> curve = shift_curve(margins, true, None)
    >>> middle = len(curve.shift) // 2
    >>> float(curve.shift[middle]), float(curve.micro_f1[middle])
    (0.0, 1.0)
    """
    n_labels = margins.shape[1]
    relevant = margins[true] if true.any() else margins.ravel()[:1]
    reach = float(np.quantile(np.abs(relevant), 0.98)) or 1.0
    shift = np.linspace(-reach, reach, N_SHIFTS)
    shift[N_SHIFTS // 2] = 0.0
    predicted = np.zeros((n_labels, N_SHIFTS + 1))
    right = np.zeros((n_labels, N_SHIFTS + 1))
    offset = np.arange(n_labels) * (N_SHIFTS + 1)
    block = max(1, 2_000_000 // max(1, n_labels))
    for start in range(0, len(margins), block):
        rows = slice(start, start + block)
        # an entry is predicted at every shift below its margin
        place = np.searchsorted(shift, margins[rows], side="left") + offset
        seen = place if known is None else place[known[rows]]
        hit = true[rows] if known is None else true[rows] & known[rows]
        size = predicted.size
        predicted += np.bincount(seen.ravel(), minlength=size).reshape(predicted.shape)
        right += np.bincount(place[hit], minlength=size).reshape(right.shape)
    predicted = predicted[:, ::-1].cumsum(axis=1)[:, ::-1]
    right = right[:, ::-1].cumsum(axis=1)[:, ::-1]
    present = right[:, :1]
    predicted, right = predicted[:, 1:], right[:, 1:]
    by_label = ratio(2 * right, predicted + present)
    some = np.isfinite(by_label).sum(axis=0)
    return ShiftCurve(
        shift,
        ratio(2 * right.sum(axis=0), predicted.sum(axis=0) + present.sum()),
        ratio(np.nansum(by_label, axis=0), some),
        ratio(right.sum(axis=0), predicted.sum(axis=0)),
        ratio(right.sum(axis=0), np.full(N_SHIFTS, present.sum())),
    )


def label_curve(scores: np.ndarray, true: np.ndarray) -> list[tuple[float, float, float]] | None:
    """Precision and recall of one label at cuts of its own; None when it never occurs.

    Returns
    -------
    list of (cut, precision, recall), the highest cut first
        About sixteen, closer together where few examples are predicted; the last one predicts a few
        times as many as have the label. A tie is never parted.
    """
    n_present = int(true.sum())
    if n_present == 0 or len(scores) < 2:
        return None
    negative = -scores
    order = np.argsort(negative)
    negative = negative[order]
    right = np.cumsum(true[order])
    last = min(len(scores) - 1, 5 * n_present + 10)
    counts = np.exp(np.linspace(0.0, np.log(last), POINTS_A_LABEL)).round().astype(int)
    # a cut at the score of the next one; with ties fewer are strictly above it
    n_above = np.unique(np.searchsorted(negative, negative[counts], side="left"))
    n_above = n_above[n_above > 0]
    if len(n_above) < 2:
        return None
    n_right = right[n_above - 1]
    figures = -negative[n_above], n_right / n_above, n_right / n_present
    return list(zip(*(values.tolist() for values in figures), strict=True))
