"""What is here: Y as a user gives it, turned into the one form that every learner reads."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from prml.sparse_check import check_sparse_indices


class Targets(NamedTuple):
    """The labels of the training examples.

    Attributes
    ----------
    positives : csr_matrix of shape (n_samples, n_labels)
        Ones where a label is present; sorted indices, no explicit zeros.
    missing : csr_matrix of shape (n_samples, n_labels) or None
        Ones where a label is unknown; None when every entry is known.
    kind : {"multilabel", "binary", "multiclass"}
        What the user gave; "binary" and "multiclass" are 1-D.
    classes : ndarray
        The sorted values of a 1-D y, or the label names.
    label_names : ndarray of shape (n_labels,)
        Column names of a DataFrame, else 0..n_labels-1; for a 1-D y its classes (binary: the
        positive one).
    """

    positives: sp.csr_matrix
    missing: sp.csr_matrix | None
    kind: str
    classes: np.ndarray
    label_names: np.ndarray

    @property
    def n_samples(self) -> int:
        return self.positives.shape[0]

    @property
    def n_labels(self) -> int:
        return self.positives.shape[1]

    @property
    def present(self) -> np.ndarray:
        """How many examples have each label, shape (n_labels,)."""
        return np.asarray(self.positives.sum(axis=0)).ravel()

    @property
    def known(self) -> np.ndarray:
        """For how many examples each label is known, shape (n_labels,)."""
        known = np.full(self.n_labels, float(self.n_samples))
        if self.missing is not None:
            known -= np.asarray(self.missing.sum(axis=0)).ravel()
        return known


def read_targets(y: Any, *, allow_missing: bool = True, owner: str = "this estimator") -> Targets:
    """Read Y in any accepted form.

    Accepted: a dense or sparse (n_samples, n_labels) matrix of 0 and 1, NaN for a missing label
    (dense only); a DataFrame, whose column names become the label names; a 1-D y, binary or
    multiclass.

    Examples
    --------
    >>> from prml.targets import read_targets
    >>> read_targets([[1, 0], [0, 1], [1, 1]]).positives.toarray().astype(int).tolist()
    [[1, 0], [0, 1], [1, 1]]
    >>> read_targets(["cat", "dog", "cat"]).label_names.tolist()
    ['dog']
    """
    if y is None:
        # scikit-learn's checks look for this very wording.
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    if sp.issparse(y):
        check_sparse_indices(y, "Y")
        return _multilabel(_sparse_positives(y), None, None)
    names = getattr(y, "columns", None)
    if names is not None:
        dense = y.to_numpy()
        if dense.ndim == 2 and dense.shape[1] == 1 and not _is_indicator(dense):
            return _one_dimensional(dense.ravel())
        return _dense_multilabel(dense, _name_array(names), allow_missing, owner)
    if np.ma.is_masked(y) and y.ndim == 2:  # a masked label is a missing one
        y = np.ma.filled(y.astype(np.float64), np.nan)
    dense = np.asarray(y)
    if dense.ndim == 2:
        if dense.shape[1] == 1 and not _is_indicator(dense):
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected; it is read as 1-D.",
                DataConversionWarning,
                stacklevel=3,
            )
            return _one_dimensional(dense.ravel())
        return _dense_multilabel(dense, None, allow_missing, owner)
    if dense.ndim != 1:
        raise ValueError(
            f"Y has {dense.ndim} dimensions; expected a 1-D y or a (n_samples, n_labels) matrix."
        )
    return _one_dimensional(dense)


def _name_array(names: Any) -> np.ndarray:
    """Column names as they are: numbers beside text stay numbers, tuples stay whole."""
    names = list(names)
    if len({type(name) for name in names}) == 1 and not isinstance(names[0], tuple):
        return np.asarray(names)
    held = np.empty(len(names), dtype=object)
    for i, name in enumerate(names):
        held[i] = name
    return held


def _one_dimensional(y: np.ndarray) -> Targets:
    y = column_or_1d(y)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity; a 1-D y must be complete.")
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    n = len(y)
    if len(classes) <= 2:
        rows = np.flatnonzero(codes == 1) if len(classes) == 2 else np.empty(0, dtype=np.intp)
        positives = sp.csr_matrix(
            (np.ones(len(rows)), (rows, np.zeros(len(rows), dtype=np.intp))), shape=(n, 1)
        )
        return Targets(positives, None, "binary", classes, classes[-1:])
    positives = sp.csr_matrix((np.ones(n), codes, np.arange(n + 1)), shape=(n, len(classes)))
    return Targets(positives, None, "multiclass", classes, classes)


def _is_indicator(dense: np.ndarray) -> bool:
    if dense.dtype.kind == "b":
        return True
    if dense.dtype.kind == "O":
        try:
            dense = dense.astype(np.float64)
        except (TypeError, ValueError):
            return False
    if dense.dtype.kind not in "iuf":
        return False
    return bool(((dense == 0) | (dense == 1) | np.isnan(dense)).all())


def _dense_multilabel(dense, names, allow_missing, owner) -> Targets:
    if dense.dtype.kind == "O":
        try:
            dense = dense.astype(float)
        except (TypeError, ValueError):
            raise ValueError(
                "Y holds values that are not numbers; expected 0, 1 or NaN in every entry."
            ) from None
    if dense.dtype.kind not in "biuf":
        raise ValueError(f"Y has dtype {dense.dtype}; expected 0, 1 or NaN in every entry.")
    unknown = np.isnan(dense) if dense.dtype.kind == "f" else np.zeros(dense.shape, dtype=bool)
    wrong = ~((dense == 0) | (dense == 1) | unknown)
    if wrong.any():
        row, label = np.argwhere(wrong)[0]
        raise ValueError(
            f"Y holds {dense[row, label]} at row {row}, label {label}; expected 0 or 1"
            + (", or NaN for a missing label." if allow_missing else ".")
        )
    if unknown.any() and not allow_missing:
        row, label = np.argwhere(unknown)[0]
        raise ValueError(
            f"Y is missing (NaN) at row {row}, label {label}; {owner} needs every label known."
        )
    missing = sp.csr_matrix(unknown, dtype=np.float64) if unknown.any() else None
    return _multilabel(sp.csr_matrix(dense == 1, dtype=np.float64), missing, names)


def _sparse_positives(y) -> sp.csr_matrix:
    y = sp.csr_matrix(y, copy=True)
    y.sum_duplicates()
    y.eliminate_zeros()
    if y.nnz and not (y.data == 1).all():
        where = int(np.flatnonzero(y.data != 1)[0])
        row = int(np.searchsorted(y.indptr, where, side="right")) - 1
        raise ValueError(
            f"Y holds {y.data[where]} at row {row}, label {y.indices[where]}; "
            "a sparse Y is expected to hold ones only (give NaN for a missing label in a dense Y)."
        )
    y = y.astype(np.float64)
    y.sort_indices()
    return y


def _multilabel(positives, missing, names) -> Targets:
    n_labels = positives.shape[1]
    if n_labels == 0:
        raise ValueError("Y has 0 labels; expected at least one column.")
    if names is None:
        names = np.arange(n_labels)
    return Targets(positives, missing, "multilabel", names, names)
