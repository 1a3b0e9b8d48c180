"""What is here: fewer features where there are fewer examples than features.

The predictors of the optimum lie in the span of the examples, and neither a margin nor a singular
value changes when that space is turned: n examples of d > n features are, for the low-rank
solver, n examples of n features. What it does between the labels' turns costs n_labels x d.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from prml.solvers.spectral import Factors
from prml.solvers.training_set import TrainingSet

# A sparse row gets dense: sweeps may take so many times longer, the rest pays for it. Measured on
# 417 examples of eurlex: 1.7 times the entries, two fifths of the time of a round.
MOST_ENTRIES = 3.0
LEAST_SAVING = 2.0  # features for every example
MAX_BYTES = 1 << 28  # of the basis


class RowSpace(NamedTuple):
    """A training set in coordinates of the space that its examples span."""

    training_set: TrainingSet
    basis: np.ndarray  # orthonormal rows, (n_samples, n_features)

    def lift(self, factors: Factors) -> Factors:
        """Predictors in these coordinates, the constant last, as predictors of all features."""
        right = factors.right
        return factors._replace(right=np.hstack([right[:, :-1] @ self.basis, right[:, -1:]]))


def is_worthwhile(training_set: TrainingSet) -> bool:
    """Whether turning pays; it takes few examples, and rows that are not all too sparse."""
    X, n, d = training_set.matrix, training_set.n_samples, training_set.n_features
    n_entries = X.nnz if sp.issparse(X) else X.size
    fits = 8 * n * d <= MAX_BYTES and n * n <= MOST_ENTRIES * n_entries
    return fits and LEAST_SAVING * n <= d


def row_space(training_set: TrainingSet) -> RowSpace:
    """Turn a training set of fewer examples than features; exact up to rounding."""
    X = training_set.matrix
    columns = (X.toarray() if sp.issparse(X) else X).T.astype(np.float64)
    basis, coordinates = qr(columns, mode="economic", overwrite_a=True, check_finite=False)
    return RowSpace(training_set.with_features(coordinates.T), basis.T)
