"""What is here: multi-output ridge, what a user would try first, and what looks at no feature."""

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from sklearn.utils.extmath import safe_sparse_dot

from prml.base import MultilabelEstimator


class MultiOutputRidge(MultilabelEstimator):
    """Ridge regression on targets -1 and 1, all labels through one factorisation.

    Works on the smaller of the two Gram matrices; the intercept is not regularised.

    Parameters
    ----------
    alpha : float
        Weight of 1/2 |coef|^2 against half the squared errors.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.bench.yardsticks import MultiOutputRidge
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0], [0], [1], [1]])
    >>> Y = np.hstack([Y, 1 - Y])
    >>> MultiOutputRidge(alpha=0.1).fit(X, Y).predict(X)[:, 0].tolist()
    [0, 0, 1, 1]
    """

    def __init__(self, *, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y):
        """Solve the normal equations."""
        X, targets = self._read_training_data(X, y)
        n, d = X.shape
        T = 2.0 * targets.positives.toarray() - 1.0
        x_mean = np.asarray(X.mean(axis=0)).ravel()
        t_mean = T.mean(axis=0)
        T -= t_mean
        if d <= n:
            gram = _dense(X.T @ X) - n * np.outer(x_mean, x_mean)
            gram[np.diag_indices(d)] += self.alpha
            # centred targets sum to zero: X needs no centring here
            weights = cho_solve(cho_factor(gram, overwrite_a=True), _dense(X.T @ T))
        else:
            inner = _dense(X @ x_mean).ravel()
            gram = _dense(X @ X.T) - inner[:, None] - inner[None, :] + x_mean @ x_mean
            gram[np.diag_indices(n)] += self.alpha
            multipliers = cho_solve(cho_factor(gram, overwrite_a=True), T)
            weights = _dense(X.T @ multipliers) - np.outer(x_mean, multipliers.sum(axis=0))
        self.coef_ = np.ascontiguousarray(weights.T)
        self.intercept_ = t_mean - self.coef_ @ x_mean
        return self

    def _scores(self, X) -> np.ndarray:
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_


class LabelFrequency(MultilabelEstimator):
    """Every example is given the labels in the order of how often they occur in training.

    Whatever is learned from features has to be better than that.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.bench.yardsticks import LabelFrequency
    >>> X, Y = np.zeros((4, 1)), np.array([[1, 0], [1, 1], [1, 0], [0, 0]])
    >>> LabelFrequency().fit(X, Y).decision_function(X[:1]).tolist()
    [[0.25, -0.25]]
    """

    def fit(self, X, y):
        """Count the labels."""
        _, targets = self._read_training_data(X, y)
        self.share_ = targets.present / np.maximum(targets.known, 1)
        return self

    def _scores(self, X) -> np.ndarray:
        return np.tile(self.share_ - 0.5, (X.shape[0], 1))


def _dense(product) -> np.ndarray:
    return product.toarray() if sp.issparse(product) else np.asarray(product)
