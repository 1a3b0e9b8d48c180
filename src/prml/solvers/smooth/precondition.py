"""What is here: a preconditioner shared by all labels - the spectra of X'X and of V'V.

Second derivatives of label i are I + omega X'DX for the predictor and I + V'EV / gamma2 for the
teacher, D and E its curvatures on a diagonal. With D and E replaced by their means every label has
the eigenvectors of the two Gram matrices: they are computed once, and a label only scales their
coordinates. For the squared loss without weights both blocks are exact.

The teacher's part always pays (all label vectors are nearly -1: one direction dominates). The
predictor's costs d^2 a label against the nnz of X of a product, so for the other losses it is used
only where X is dense enough.
"""

import numpy as np
from scipy.linalg import eigh

from prml.privileged import LabelFeatures
from prml.solvers.smooth.block import Block
from prml.solvers.smooth.losses import SmoothLoss
from prml.solvers.smooth.operators import Examples

# Beyond this side the eigenvectors cost more than they save.
LARGEST_SIDE = 2500
# How much faster a dense product is than a sparse one, number by number.
DENSE_SPEED = 8


class Spectra:
    """Eigenvectors of the Gram matrices of the features and of the label vectors.

    Parameters
    ----------
    examples : Examples
    features : LabelFeatures
    loss : SmoothLoss
    """

    def __init__(self, examples: Examples, features: LabelFeatures, loss: SmoothLoss):
        self.own = self.teacher = None
        self.n_own = examples.n_features + 1
        self.has_pools = features.pools is not None
        pays = loss.quadratic or self.n_own**2 <= DENSE_SPEED * examples.n_numbers
        if pays and self.n_own <= LARGEST_SIDE:
            self.own = eigh(examples.gram(None), overwrite_a=True, check_finite=False)
        if features.enabled and features.n_labels < LARGEST_SIDE:
            self.teacher = eigh(_label_gram(features), overwrite_a=True, check_finite=False)

    def __call__(self, block: Block, curvatures):
        """Return R -> approximate inverse of the second derivatives times R."""
        of_t, of_xi = curvatures
        mean_t = _column_means(of_t, block.signs.shape[1])
        own = teacher = None
        if self.own is not None:
            values = self.own[0]
            own = 1.0 / (1.0 + block.omega * np.maximum(values, 0.0)[:, None] * mean_t)
        if self.teacher is not None:
            teacher = self._teacher_part(block, mean_t + _column_means(of_xi, len(mean_t)))

        def apply(R: np.ndarray) -> np.ndarray:
            out = R.copy()
            if own is not None:
                vectors = self.own[1]
                out[: self.n_own] = vectors @ (own * (vectors.T @ R[: self.n_own]))
            if teacher is not None:
                out[self.n_own :] = teacher(R[self.n_own :])
            return out

        return apply

    def _teacher_part(self, block: Block, mean: np.ndarray):
        values, vectors = self.teacher
        shrink = 1.0 / (1.0 + np.maximum(values, 0.0)[:, None] * mean / block.numbers.gamma2)
        hide = block.teachers.hide
        if self.has_pools:
            return lambda R: hide(vectors @ (shrink * (vectors.T @ R)))
        # A label does not see itself: the inverse of the matrix without that row and column is
        # the full inverse less what brings its own coordinate to zero.
        labels = block.teachers.labels
        columns = np.arange(len(labels))
        own = vectors @ (shrink * vectors[labels].T)
        own /= own[labels, columns]

        def apply(R: np.ndarray) -> np.ndarray:
            S = vectors @ (shrink * (vectors.T @ R))
            S -= own * S[labels, columns]
            return hide(S)

        return apply


def _column_means(curvature: np.ndarray, n_columns: int) -> np.ndarray:
    return np.broadcast_to(curvature.mean(axis=0), (n_columns,))


def _label_gram(features: LabelFeatures) -> np.ndarray:
    """V'V with the privileged intercept, V = -1 + correction, (n_labels + 1, n_labels + 1)."""
    correction, n = features.correction, features.n_samples
    sums = np.asarray(correction.sum(axis=0)).ravel()
    out = np.zeros((features.n_labels + 1, features.n_labels + 1))
    out[:-1, :-1] = (correction.T @ correction).toarray() - sums - sums[:, None] + n
    out[-1, :-1] = out[:-1, -1] = features.bias * (sums - n)
    out[-1, -1] = features.bias * n
    return out
