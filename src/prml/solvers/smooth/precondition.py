"""What is here: a preconditioner shared by all labels - the spectra of X'X and of V'V.

Second derivatives of label i are I + omega X'DX for the predictor and I + V'EV / gamma2 for the
teacher, D and E its curvatures on a diagonal. With D and E replaced by their means every label has
the eigenvectors of the two Gram matrices: they are computed once, and a label only scales their
coordinates. For the squared loss without weights both blocks are exact.

The teacher's part always pays (all label vectors are nearly -1: one direction dominates). The
predictor's costs d^2 a label against the nnz of X of a product, so for the other losses it is used
only where X is dense enough.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from prml.privileged import LabelFeatures
from prml.solvers.smooth.block import Block
from prml.solvers.smooth.dense_cost import eigh_seconds
from prml.solvers.smooth.losses import SmoothLoss
from prml.solvers.smooth.operators import Examples, Teachers

# Beyond this side the eigenvectors cost more than they save.
LARGEST_SIDE = 6000
# How much faster a dense product is than a sparse one, number by number.
DENSE_SPEED = 8

Product = Callable[[np.ndarray], np.ndarray]


class Spectrum(NamedTuple):
    """Eigenvalues and eigenvectors of a Gram matrix."""

    values: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, gram: np.ndarray) -> "Spectrum":
        values, vectors = eigh(gram, overwrite_a=True, check_finite=False)
        return cls(np.maximum(values, 0.0), vectors)

    def inverse(self, weights: np.ndarray) -> Product:
        """Return R -> columns of (I + weight gram)^-1 R, each with its own weight."""
        shrink = 1.0 / (1.0 + self.values[:, None] * weights)
        return lambda R: self.vectors @ (shrink * (self.vectors.T @ R))


class Spectra:
    """Eigenvectors of the Gram matrices of the features and of the label vectors.

    Parameters
    ----------
    examples : Examples
    features : LabelFeatures
    loss : SmoothLoss
    seconds : float
        How long there is: a Gram matrix whose eigenvectors would take a third of it does without.
    """

    def __init__(
        self,
        examples: Examples,
        features: LabelFeatures,
        loss: SmoothLoss,
        seconds: float = np.inf,
    ):
        self.n_own = examples.n_features + 1
        self.has_pools = features.pools is not None
        self.own: Spectrum | None = None
        self.teacher: Spectrum | None = None
        pays = loss.quadratic or self.n_own**2 <= DENSE_SPEED * examples.n_numbers
        if pays and self.n_own <= LARGEST_SIDE and _in_time(self.n_own, seconds):
            self.own = Spectrum.of(examples.gram(None))
        side = features.n_labels + 1
        if features.enabled and side <= LARGEST_SIDE and _in_time(side, seconds):
            self.teacher = Spectrum.of(_label_gram(features))

    def __call__(self, block: Block, curvatures) -> Product:
        """Return R -> approximate inverse of the second derivatives times R."""
        of_t, of_xi = curvatures
        n_labels = block.signs.shape[1]
        mean_t = _column_means(of_t, n_labels)
        own = teacher = None
        if self.own is not None:
            own = self.own.inverse(block.omega * mean_t)
        if self.teacher is not None and block.teachers is not None:
            mean = (mean_t + _column_means(of_xi, n_labels)) / block.numbers.gamma2
            teacher = self._of_teachers(self.teacher, block.teachers, mean)

        def apply(R: np.ndarray) -> np.ndarray:
            out = R.copy()
            if own is not None:
                out[: self.n_own] = own(R[: self.n_own])
            if teacher is not None:
                out[self.n_own :] = teacher(R[self.n_own :])
            return out

        return apply

    def _of_teachers(self, spectrum: Spectrum, teachers: Teachers, mean: np.ndarray) -> Product:
        full = spectrum.inverse(mean)
        if self.has_pools:
            return lambda R: teachers.hide(full(R))
        # A label does not see itself: the inverse of the matrix without that row and column is
        # the full inverse less what brings its own coordinate to zero.
        labels, columns = teachers.labels, np.arange(len(teachers.labels))
        units = np.zeros(teachers.shape)
        units[labels, columns] = 1.0
        own = full(units)
        own /= own[labels, columns]

        def apply(R: np.ndarray) -> np.ndarray:
            S = full(R)
            S -= own * S[labels, columns]
            return teachers.hide(S)

        return apply


def _in_time(side: int, seconds: float) -> bool:
    return seconds == np.inf or 3.0 * eigh_seconds(side) < seconds


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
