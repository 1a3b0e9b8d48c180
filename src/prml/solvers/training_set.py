"""What is here: a training set as the solvers see it, and the problem of each of its labels."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from prml.kernels import FeatureMap
from prml.loops.rows import csr_rows, dense_rows
from prml.loops.svmplus import Csr, Dense, Problem
from prml.privileged import LabelFeatures, Teacher
from prml.targets import Targets


class Hyperparameters(NamedTuple):
    """The numbers of the objective; theta may be inf."""

    C: float
    gamma2: float
    theta: float


class _Examples(NamedTuple):
    """The examples of a label's problem, named as in `Problem`; never written to."""

    rows: np.ndarray
    cost: np.ndarray
    upper: np.ndarray
    square: np.ndarray


class TrainingSet:
    """X, Y, weights and the privileged features, prepared once for all labels.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n_samples, n_features)
    targets : Targets
    features : LabelFeatures
    fit_intercept : bool
        Adds a constant feature, regularised like any other; it is the last entry of every z.
    sample_weight : ndarray of shape (n_samples,), optional
    class_weight : (weights of absent, weights of present), optional
        Two arrays of shape (n_labels,) by which the cost of an entry is multiplied.
    feature_map : FeatureMap, optional
        The kernel features that X holds, when it is not the user's own.
    """

    def __init__(
        self,
        X,
        targets: Targets,
        features: LabelFeatures,
        fit_intercept: bool = True,
        sample_weight: np.ndarray | None = None,
        class_weight: tuple[np.ndarray, np.ndarray] | None = None,
        feature_map: FeatureMap | None = None,
    ):
        bias = float(fit_intercept)
        if sp.issparse(X):
            indices, indptr = X.indices, X.indptr
            if max(X.nnz, *X.shape) < 2**31:  # one compiled version serves all but giants
                indices = indices.astype(np.int32, copy=False)
                indptr = indptr.astype(np.int32, copy=False)
            self.X: Csr | Dense = csr_rows(X.data, indices, indptr, bias)
        else:
            self.X = dense_rows(X, bias)
        self.matrix = X
        self.squares = row_norms(X, squared=True).astype(np.float64) + bias
        self.n_samples, self.n_features = X.shape
        self.targets = targets
        self.features = features
        self.sample_weight = sample_weight
        self.class_weight = class_weight
        self.feature_map = feature_map
        self._present = targets.positives.tocsc()
        self._unknown = None if targets.missing is None else targets.missing.tocsc()
        self._shared: tuple[Hyperparameters, _Examples] | None = None

    def with_features(self, X: np.ndarray) -> "TrainingSet":
        """The same labels, weights and privileged features with other features."""
        common = (self.targets, self.features, bool(self.X.bias))
        return TrainingSet(X, *common, self.sample_weight, self.class_weight, self.feature_map)

    @property
    def n_labels(self) -> int:
        return self.targets.n_labels

    @property
    def has_entry_weights(self) -> bool:
        """Whether the weight of an example differs from label to label."""
        return self.class_weight is not None or self._unknown is not None

    def signs(self, i: int) -> np.ndarray:
        """+1 where label i is present, -1 elsewhere."""
        sign = np.full(self.n_samples, -1.0)
        sign[_column(self._present, i)] = 1.0
        return sign

    def weights(self, i: int) -> np.ndarray:
        """The weight of every example in the loss of label i; 0 where the entry is unknown."""
        weight = np.ones(self.n_samples) if self.sample_weight is None else self.sample_weight
        if self.class_weight is not None:
            absent, present = self.class_weight
            weight = weight * np.where(self.signs(i) > 0, present[i], absent[i])
        if self._unknown is not None:
            weight = weight.copy()
            weight[_column(self._unknown, i)] = 0.0
        return weight

    def _examples(self, i: int, numbers: Hyperparameters) -> "_Examples":
        """The examples of label i; one copy for all labels where their weights are the same."""
        if self._shared is not None and self._shared[0] == numbers:
            return self._shared[1]
        weight = self.weights(i)
        rows = np.flatnonzero(weight > 0.0)
        cost = numbers.C * weight[rows]
        examples = _Examples(rows, cost, numbers.theta * cost, self.squares[rows])
        if not self.has_entry_weights:
            self._shared = (numbers, examples)
        return examples

    def problem(
        self,
        i: int,
        numbers: Hyperparameters,
        *,
        omega: float = 1.0,
        centre: np.ndarray | None = None,
        teacher: Teacher | None = None,
    ) -> Problem:
        """Label i's SVM+ problem; `omega` and `centre` are those of the D-step."""
        examples = self._examples(i, numbers)
        if teacher is None:
            teacher = self.features.of_label(i, examples.rows)
        group_cost = np.bincount(
            teacher.group, weights=examples.cost, minlength=len(teacher.norm)
        ).astype(np.float64)  # of no examples at all bincount makes whole numbers
        return Problem(
            X=self.X,
            **examples._asdict(),
            sign=self.signs(i)[examples.rows],
            group=teacher.group,
            group_cost=group_cost,
            norm=teacher.norm,
            indptr=teacher.indptr,
            indices=teacher.indices,
            values=teacher.values,
            n_teachers=len(teacher.labels),
            teacher_bias=teacher.bias,
            gamma2=float(numbers.gamma2),
            omega=float(omega),
            centre=np.zeros(self.n_features + 1) if centre is None else centre,
        )


def _column(matrix: sp.csc_matrix, i: int) -> np.ndarray:
    return matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]
