"""What is here: a sigmoid for each label, the rare ones leaning on what the others have learnt."""

import numpy as np

from prml.model_selection.sigmoid_loops import fit_sigmoid

_WIDE = np.diag([1e-6, 1e-6])  # keeps separable labels finite, moves nothing else
_ENOUGH_FOR_A_PRIOR = 5  # labels


def fit_label_sigmoids(
    scores: np.ndarray, relevant: np.ndarray, known: np.ndarray | None, min_positives: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Fit p = sigmoid(slope * score + offset) to every label.

    Labels with `min_positives` positive and as many negative examples are fitted first (with
    Platt's smoothed targets). Their mean and covariance make the normal prior with which every
    label is then fitted: frequent ones hardly feel it, a label never seen rests on it and on its
    negatives.

    Returns
    -------
    slope, offset : ndarrays of shape (n_labels,)
    prior_mean : ndarray of shape (2,)
    prior_covariance : ndarray of shape (2, 2)
    """
    n_labels = scores.shape[1]
    # in units of the scores' spread slopes are of order one, whatever the estimator
    spread = float(np.std(scores)) or 1.0

    def column(label: int) -> tuple[np.ndarray, np.ndarray]:
        seen = slice(None) if known is None else known[:, label]
        return scores[seen, label] / spread, relevant[seen, label].astype(np.float64)

    counts = np.array([(y.sum(), len(y) - y.sum()) for _, y in map(column, range(n_labels))])
    frequent = np.flatnonzero(counts.min(axis=1) >= max(1, min_positives))
    start = np.array([1.0, 0.0])
    first = np.empty((len(frequent), 2))
    for at, label in enumerate(frequent.tolist()):
        s, y = column(label)
        fit_sigmoid(s, smoothed(y), start, _WIDE, start, True, first[at])
    if len(frequent) >= _ENOUGH_FOR_A_PRIOR:
        mean, covariance = _robust_moments(first)
    else:
        # too few to learn a prior from: all labels together, and a wide berth around them
        seen = np.ones(scores.shape, dtype=bool) if known is None else known
        mean, y = np.empty(2), relevant[seen].astype(np.float64)
        fit_sigmoid(scores[seen] / spread, smoothed(y), start, _WIDE, start, True, mean)
        covariance = np.diag([1.0, 4.0])
    precision = np.linalg.inv(covariance)
    fitted = np.empty((n_labels, 2))
    floor = 1e-3 * max(mean[0], 1e-3)
    for label in range(n_labels):
        # with the prior in place the targets need no smoothing
        s, y = column(label)
        fit_sigmoid(s, y, mean, precision, mean, True, fitted[label])
        if fitted[label, 0] < floor:  # a higher score must never mean a lower probability
            flat = np.array([floor, fitted[label, 1]])
            fit_sigmoid(s, y, mean, precision, flat, False, fitted[label])
    scale = np.array([1 / spread, 1.0])
    return (
        fitted[:, 0] / spread,
        fitted[:, 1],
        mean * scale,
        covariance * np.outer(scale, scale),
    )


def _robust_moments(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return median and covariance, values far out drawn in (a separable label has no bounds)."""
    median = np.median(parameters, axis=0)
    far = 4 * 1.4826 * np.median(np.abs(parameters - median), axis=0)
    drawn_in = np.clip(parameters, median - far, median + far)
    return median, np.cov(drawn_in.T) + 1e-3 * np.eye(2)


def smoothed(y: np.ndarray) -> np.ndarray:
    """Return Platt's targets: 0 and 1 drawn in by what one more example of each could change."""
    n_positive = y.sum()
    high, low = (n_positive + 1) / (n_positive + 2), 1 / (len(y) - n_positive + 2)
    return np.where(y > 0, high, low)
