"""What is here: what every multi-label estimator of prml shares once it has a decision function."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from prml.sparse_check import check_sparse_indices
from prml.targets import Targets, read_targets

# Features beyond this are refused: squares of them, summed over rows and columns, would overflow.
LARGEST_FEATURE = 1e100


class MultilabelEstimator(ClassifierMixin, BaseEstimator):
    """Read X and Y, and turn scores into labels.

    A subclass implements `fit` (calling `_read_training_data`) and `_scores(X)`, which returns an
    ndarray (n_samples, n_labels) for a checked X. `_cut` is the score above which a label is
    predicted, a number or one for each label.
    """

    _cut: float | np.ndarray = 0.0
    _allow_missing_labels = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    def _read_training_data(self, X, y, *, dtype=(np.float64, np.float32)) -> tuple:
        """Check X and Y, set what every fitted estimator has; return X (CSR or C) and Targets."""
        check_soundness(X)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=list(dtype), order="C", ensure_min_samples=1
        )
        X = in_native_order(X)
        check_size_of_values(X)
        targets = read_targets(
            y, allow_missing=self._allow_missing_labels, owner=type(self).__name__
        )
        if targets.n_samples != X.shape[0]:
            raise ValueError(
                f"X has {X.shape[0]} rows and Y has {targets.n_samples}; expected as many "
                "labelled examples as rows (inconsistent numbers of samples)."
            )
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # the caller's matrix stays as it is
            X.sum_duplicates()
        self.classes_ = targets.classes
        self.label_names_ = targets.label_names
        self._kind = targets.kind
        return X, targets

    @property
    def n_labels_(self) -> int:
        return len(self.label_names_)

    def _check_predict_data(self, X):
        if self._is_plainly_sound(X):
            return X
        check_is_fitted(self)
        check_soundness(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        X = in_native_order(X)
        check_size_of_values(X)
        return X

    def _is_plainly_sound(self, X) -> bool:
        """Whether X is a matrix of the fit's width, seen to be finite and moderate by one product.

        What scikit-learn does to find this out takes longer than the predictions of a small model.
        """
        if (
            type(X) is not np.ndarray
            or X.dtype != np.float64
            or X.ndim != 2
            or not (X.flags.c_contiguous or X.flags.f_contiguous)
            or X.size == 0
            or X.shape[1] != getattr(self, "n_features_in_", None)
            or hasattr(self, "feature_names_in_")  # a warning about the missing names is due
        ):
            return False
        values = X.ravel(order="K")
        with np.errstate(all="ignore"):
            return bool(np.dot(values, values) <= LARGEST_FEATURE**2)

    def decision_function(self, X) -> np.ndarray:
        """Score every label for every row.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), or (n_samples,) after a fit on a binary 1-D y.
        """
        scores = self._scores(self._check_predict_data(X))
        return scores[:, 0] if self._kind == "binary" else scores

    def predict(self, X) -> np.ndarray:
        """Predict the labels of every row.

        Returns
        -------
        ndarray of 0 and 1, shape (n_samples, n_labels); after a fit on a 1-D y, its classes.
        """
        scores = self._scores(self._check_predict_data(X))
        if self._kind == "multiclass":
            return self.classes_[scores.argmax(axis=1)]
        chosen = scores > self._cut
        if self._kind == "binary":
            return self.classes_[np.minimum(chosen[:, 0], len(self.classes_) - 1).astype(np.intp)]
        return chosen.astype(np.int64)  # the integers that scikit-learn expects of labels

    def _by_class(self, chance: np.ndarray) -> np.ndarray:
        """Chances of the labels as `predict_proba` gives them: after a 1-D y a column a class."""
        if self._kind == "binary":
            if len(self.classes_) == 1:
                return np.ones((len(chance), 1))
            return np.hstack([1.0 - chance, chance])
        if self._kind == "multiclass":
            return chance / chance.sum(axis=1, keepdims=True)
        return chance

    def predict_top_k(self, X, k: int = 5) -> np.ndarray:
        """Name the k best labels of every row, best first; shape (n_samples, k), of label names."""
        if not 1 <= k <= self.n_labels_:
            raise ValueError(f"k is {k}; expected between 1 and the {self.n_labels_} labels.")
        scores = self._scores(self._check_predict_data(X))
        top = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1, kind="stable")
        return self.label_names_[np.take_along_axis(top, order, axis=1)]


def check_soundness(X) -> None:
    """Refuse what scikit-learn lets through: masked entries, indices that lead out of X."""
    if np.ma.is_masked(X):
        row, feature = np.argwhere(np.ma.getmaskarray(X))[0][:2]
        raise ValueError(
            f"X is masked at row {row}, feature {feature}; expected every feature to be known "
            "(sklearn.impute fills gaps)."
        )
    if sp.issparse(X):
        check_sparse_indices(X, "X")


def in_native_order(X):
    """Return X with its bytes in the order of this machine, in which compiled code reads them."""
    return X if X.dtype.isnative else X.astype(X.dtype.newbyteorder("="))


def check_size_of_values(
    X, largest: float = LARGEST_FEATURE, why: str = "squares of larger ones overflow"
) -> None:
    """Refuse finite values that are too large: by default those whose squares are not finite."""
    values = X.data if sp.issparse(X) else X
    if values.size and max(float(values.max()), -float(values.min())) > largest:
        raise ValueError(
            f"X holds {np.abs(values).max():.3g}; expected features of at most {largest:g} in size "
            f"(scale them: {why})."
        )


def constant_targets(targets: Targets) -> np.ndarray:
    """Mark the labels that are all present or all absent among the known entries."""
    present = targets.present
    return (present == 0) | (present == targets.known)
