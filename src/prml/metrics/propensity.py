"""What is here: how likely a relevant label is to be recorded, estimated from its frequency."""

from typing import Any

import numpy as np

from prml.targets import read_targets


def propensities(Y: Any, *, a: float = 0.55, b: float = 1.5) -> np.ndarray:
    """Estimate the propensity of every label from *training* labels.

    The model of Jain, Prabhu and Varma (2016), ``1 / (1 + c * exp(-a * log(n_l + b)))`` with
    ``c = (log n - 1) * (b + 1)**a``: rare labels are recorded less often than they apply.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        The training labels.
    a, b : float
        Constants of the model; 0.5 and 0.4 were fitted to Wikipedia, 0.6 and 2.6 to Amazon, the
        defaults serve elsewhere.

    Returns
    -------
    ndarray of shape (n_labels,), in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from prml.metrics import propensities
    >>> Y = np.zeros((100, 2)); Y[:50, 0] = 1; Y[:2, 1] = 1
    >>> propensities(Y).round(3).tolist()
    [0.594, 0.25]
    """
    positives = read_targets(Y, owner="propensities").positives
    counts = np.bincount(positives.indices, minlength=positives.shape[1])
    return propensities_from_counts(counts, positives.shape[0], a=a, b=b)


def propensities_from_counts(
    counts: np.ndarray, n_samples: int, *, a: float = 0.55, b: float = 1.5
) -> np.ndarray:
    """Estimate propensities from the number of examples that carry each label."""
    # below three examples log n - 1 is negative; such a set says nothing about rarity
    c = max(0.0, np.log(max(n_samples, 1)) - 1) * (b + 1) ** a
    return 1 / (1 + c * (counts + b) ** -a)
