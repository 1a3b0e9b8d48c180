"""What is here: how far predicted probabilities are from observed frequencies."""

from typing import Any, NamedTuple

import numpy as np

from prml.metrics.inputs import KnownLabels, ScoreBlocks
from prml.metrics.loops import bin_rows


class ReliabilityCurve(NamedTuple):
    """Predicted probability against observed frequency, bin by bin.

    Attributes
    ----------
    predicted : ndarray of shape (n_bins,)
        Mean predicted probability in each bin; NaN in an empty one.
    observed : ndarray of shape (n_bins,)
        Share of relevant entries in each bin; NaN in an empty one.
    n_entries : ndarray of shape (n_bins,)
        Entries in each bin.
    edges : ndarray of shape (n_bins + 1,)
        Borders of the bins.
    """

    predicted: np.ndarray
    observed: np.ndarray
    n_entries: np.ndarray
    edges: np.ndarray


def _bins(Y: Any, proba: Any, n_bins: int, mask: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if n_bins < 1:
        raise ValueError(f"n_bins is {n_bins}; expected at least 1.")
    known = KnownLabels(Y, mask)
    shape = known.n_samples, known.n_labels
    total, relevant = np.zeros((2, known.n_labels, n_bins), dtype=np.int64)
    probability = np.zeros((known.n_labels, n_bins))
    for start, block in ScoreBlocks(proba, shape, name="proba").walk():
        if block.size and (block.min() < 0 or block.max() > 1):
            raise ValueError(
                f"proba goes from {block.min():.3g} to {block.max():.3g}; expected probabilities "
                "between 0 and 1."
            )
        bin_rows(block, start, known.indices, total, relevant, probability)
    return total, relevant, probability


def reliability_curve(
    Y: Any, proba: Any, *, n_bins: int = 10, label: int | None = None, mask: Any = None
) -> ReliabilityCurve:
    """Compare predicted probabilities with observed frequencies in bins of equal width.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        0 and 1; NaN where a label is unknown.
    proba : array-like of shape (n_samples, n_labels), or row blocks of it
        Probabilities.
    n_bins : int
        Number of bins; a probability on a border belongs to the upper bin.
    label : int, optional
        Look at this label only; by default all entries are taken together.
    mask : boolean array or sparse matrix of shape (n_samples, n_labels), optional
        True for the known entries of Y.

    Returns
    -------
    ReliabilityCurve

    Examples
    --------
    >>> from prml.metrics import reliability_curve
    >>> curve = reliability_curve([[1, 0], [0, 0]], [[0.9, 0.1], [0.7, 0.2]], n_bins=2)
    >>> curve.predicted.round(2).tolist(), curve.observed.tolist(), curve.n_entries.tolist()
    ([0.15, 0.8], [0.0, 0.5], [2, 2])
    """
    total, relevant, probability = _bins(Y, proba, n_bins, mask)
    if label is not None and not -len(total) <= label < len(total):
        raise ValueError(f"label is {label}; expected one of the {len(total)} labels by number.")
    of = slice(None) if label is None else slice(label, label + 1 or None)  # label -1 is the last
    count = total[of].sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return ReliabilityCurve(
            probability[of].sum(axis=0) / count,
            relevant[of].sum(axis=0) / count,
            count,
            np.linspace(0, 1, n_bins + 1),
        )


def expected_calibration_error(
    Y: Any, proba: Any, *, n_bins: int = 15, average: str = "micro", mask: Any = None
) -> float:
    """Return the mean distance between predicted probability and observed frequency.

    Entries fall into `n_bins` bins of equal width by their probability; the distance of a bin's
    means counts as often as the bin has entries.

    Parameters
    ----------
    Y, proba, n_bins, mask
        See `reliability_curve`.
    average : {"micro", "macro"}
        All entries in one set of bins, or the mean of each label's own error (a label without known
        entries is left out).

    Examples
    --------
    >>> from prml.metrics import expected_calibration_error
    >>> round(expected_calibration_error([[1, 0], [0, 0]], [[0.9, 0.1], [0.7, 0.2]], n_bins=2), 3)
    0.225
    """
    if average not in ("micro", "macro"):
        raise ValueError(f"average is {average!r}; expected 'micro' or 'macro'.")
    total, relevant, probability = _bins(Y, proba, n_bins, mask)
    gaps = relevant - probability
    if average == "micro":
        return float(np.abs(gaps.sum(axis=0)).sum() / total.sum()) if total.any() else float("nan")
    seen = total.sum(axis=1)
    errors = np.abs(gaps).sum(axis=1)[seen > 0] / seen[seen > 0]
    return float(errors.mean()) if len(errors) else float("nan")
