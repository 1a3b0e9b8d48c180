"""What is here: products with the examples and with the implicit label vectors of the teachers.

For a block of labels the unknowns are the columns of two matrices: Z (n_features + 1, B), the
predictors with their intercepts last, and U (n_labels + 1, B), the teachers with their privileged
intercepts last. Rows of U that a label's teacher does not see (itself, labels outside its pool)
are held at zero; everything else is sparse or BLAS products.
"""

import numpy as np
import scipy.sparse as sp

from prml.privileged import LabelFeatures


class Examples:
    """X with a constant feature behind its last column: x -> <x, z> and back, for many z.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n_samples, n_features)
    bias : float
        The constant feature; 0 for none.
    """

    def __init__(self, X, bias: float):
        # one conversion here instead of one in every product
        self.X = X.astype(np.float64, copy=False)
        self.bias = bias
        self.n_samples, self.n_features = X.shape

    def scores(self, Z: np.ndarray) -> np.ndarray:
        """X Z, (n_samples, B)."""
        out = self.X @ Z[:-1]
        if self.bias:
            out += self.bias * Z[-1]
        return out

    def back(self, R: np.ndarray) -> np.ndarray:
        """X' R, (n_features + 1, B)."""
        out = np.empty((self.n_features + 1, R.shape[1]))
        out[:-1] = self.X.T @ R
        out[-1] = self.bias * R.sum(axis=0)
        return out

    @property
    def n_numbers(self) -> int:
        """How many numbers of X a product reads."""
        return self.X.nnz if sp.issparse(self.X) else self.X.size

    def gram(self, weight: np.ndarray | None) -> np.ndarray:
        """X' diag(weight) X with the constant feature, (n_features + 1, n_features + 1)."""
        X = self.X
        if weight is not None:
            root = np.sqrt(weight)
            X = sp.diags_array(root) @ X if sp.issparse(X) else root[:, None] * X
        else:
            root = np.ones(self.n_samples)
        out = np.empty((self.n_features + 1, self.n_features + 1))
        product = X.T @ X
        out[:-1, :-1] = product.toarray() if sp.issparse(product) else product
        out[-1, :-1] = out[:-1, -1] = self.bias * (X.T @ root)
        out[-1, -1] = self.bias**2 * (root @ root)
        return out


class Teachers:
    """The label vectors v = -1 + correction as features of the teachers of a block of labels.

    Parameters
    ----------
    features : LabelFeatures
    labels : ndarray of shape (B,)
        The labels of the block.
    """

    def __init__(self, features: LabelFeatures, labels: np.ndarray):
        self.features = features
        self.labels = labels
        self.correction = features.correction
        self.bias = features.bias
        self.shape = (features.n_labels + 1, len(labels))
        if features.pools is None:  # only the label itself is not seen
            self._hidden: tuple[np.ndarray, ...] = (labels, np.arange(len(labels)))
        else:
            hidden = np.ones((features.n_labels, len(labels)), dtype=bool)
            for column, label in enumerate(labels):
                hidden[features.pools[label], column] = False
            self._hidden = np.nonzero(hidden)

    def take(self, columns: np.ndarray) -> "Teachers":
        """The teachers of some labels of the block."""
        return Teachers(self.features, self.labels[columns])

    def hide(self, U: np.ndarray) -> np.ndarray:
        """Zero, in place, the rows that a teacher does not see."""
        U[self._hidden] = 0.0
        if not self.bias:
            U[-1] = 0.0
        return U

    def slacks(self, U: np.ndarray) -> np.ndarray:
        """V U for a U that is zero where hidden, (n_samples, B)."""
        out = self.correction @ U[:-1]
        out += self.bias * U[-1] - U[:-1].sum(axis=0)
        return out

    def back(self, R: np.ndarray) -> np.ndarray:
        """V' R, zero where hidden, (n_labels + 1, B)."""
        out = np.empty(self.shape)
        total = R.sum(axis=0)
        out[:-1] = self.correction.T @ R
        out[:-1] -= total
        out[-1] = self.bias * total
        return self.hide(out)
