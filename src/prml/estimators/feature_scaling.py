"""What is here: FeatureScaler, which brings raw features to a size that the search can rely on."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted, validate_data

SCALINGS = ("none", "unit", "standard", "idf")


class FeatureScaler(TransformerMixin, BaseEstimator):
    """Scale features in one of a few ways, then all of them so that a row has length 1 on average.

    After it, one range of C and of kernel widths serves all data, whatever their units. Sparse
    features stay sparse: their columns are scaled and never centred.

    Parameters
    ----------
    method : {"none", "unit", "standard", "idf"}
        "none": the common factor only; "unit": every row at length 1; "standard": columns with mean
        0 (dense features only) and variance 1; "idf": columns weighted by the logarithm of their
        rarity, as words are, then rows at length 1.

    Attributes
    ----------
    column_mean_, column_factor_ : ndarray of shape (n_features,) or None
    factor_ : float
        The common factor.

    Examples
    --------
    >>> from prml.estimators.feature_scaling import FeatureScaler
    >>> FeatureScaler("unit").fit_transform([[3.0, 4.0], [0.0, 2.0]]).tolist()
    [[0.6, 0.8], [0.0, 1.0]]
    """

    def __init__(self, method="none"):
        self.method = method

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X, y=None):
        """Learn means, weights and the common factor."""
        if self.method not in SCALINGS:
            raise ValueError(
                f"FeatureScaler: method is {self.method!r}; expected one of {', '.join(SCALINGS)}."
            )
        X = self._checked(X, reset=True)
        self.column_mean_ = self.column_factor_ = None
        self.factor_ = 1.0
        if self.method == "standard":
            self._learn_columns(X)
        elif self.method == "idf":
            present = _count_present(X)
            self.column_factor_ = (np.log((1 + X.shape[0]) / (1 + present)) + 1).astype(X.dtype)
        scaled = self._scale_columns(X)
        if self._unit_rows:
            return self
        values = scaled.data if sp.issparse(scaled) else scaled
        square = float(np.vdot(values, values)) / X.shape[0]
        self.factor_ = 1.0 / np.sqrt(square) if square > 0.0 else 1.0
        return self

    @property
    def _unit_rows(self) -> bool:
        return self.method in ("unit", "idf")

    def _checked(self, X, reset: bool):
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset
        )

    def _learn_columns(self, X) -> None:
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        if sp.issparse(X):
            square = np.asarray(X.multiply(X).mean(axis=0), dtype=np.float64).ravel()
            variance = np.maximum(square - mean**2, 0.0)
        else:
            variance = X.var(axis=0, dtype=np.float64)
            self.column_mean_ = mean.astype(X.dtype)
        # a constant column, up to rounding, is left in peace
        spread = np.sqrt(np.where(variance > 1e-14 * (mean**2 + variance), variance, 1.0))
        self.column_factor_ = (1.0 / spread).astype(X.dtype)

    def _scale_columns(self, X):
        if self.column_mean_ is not None:
            X = X - self.column_mean_
        if self.column_factor_ is None:
            return X
        if sp.issparse(X):
            return sp.csr_matrix(X.multiply(self.column_factor_))
        return X * self.column_factor_

    def transform(self, X):
        """Scale the rows of X."""
        check_is_fitted(self)
        X = self._scale_columns(self._checked(X, reset=False))
        if self._unit_rows:
            return normalize(X)
        return X * X.dtype.type(self.factor_)


def _count_present(X) -> np.ndarray:
    """In how many rows every column is other than 0."""
    if not sp.issparse(X):
        return np.count_nonzero(X, axis=0)
    return np.bincount(X.indices[X.data != 0], minlength=X.shape[1])
