"""What is here: kernels as explicit features - exact while they fit in memory, else Nystroem.

Both come from a pivoted Cholesky factor K[r, r] = T T' of the kernel between landmarks r: the
features of x are T^-1 k(landmarks, x). Their inner products are the kernel itself when all training
rows are admitted as landmarks, and its best approximation through the landmarks otherwise. Every
solver of linear models then works on those features as dense rows, and the norm of its
coefficients is the norm of the RKHS. The fitted model is sum_r k(x, landmark_r) beta_r with
beta = T^-T coef.
"""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

# Landmarks whose kernel the earlier ones explain up to this part of the largest diagonal entry are
# dropped: keeping them would multiply rounding errors by its inverse.
PIVOT_TOL = 1e-11
# A kernel may miss being positive semi-definite by this part of its largest diagonal entry.
INDEFINITE_TOL = 1e-6
SHARE_OF_MEMORY = 0.5
PREDICT_BYTES = 2**26


class Kernel(NamedTuple):
    """A kernel and its numbers, as the user set them (gamma resolved)."""

    kind: str | Callable[[Any, Any], Any]
    gamma: float
    degree: float
    coef0: float

    def between(self, A: Any, B: Any) -> np.ndarray:
        """k(a, b) for every row a of A and b of B, dense.

        For "precomputed", A already holds kernel values, one column a training row, and B the
        positions of the wanted ones.
        """
        if self.kind == "precomputed":
            return np.asarray(A[:, B], dtype=np.float64)
        if self.kind == "rbf":
            return np.asarray(rbf_kernel(A, B, gamma=self.gamma), dtype=np.float64)
        if self.kind == "poly":
            return np.asarray(
                polynomial_kernel(A, B, degree=self.degree, gamma=self.gamma, coef0=self.coef0),
                dtype=np.float64,
            )
        assert callable(self.kind)
        values = self.kind(A, B)
        values = values.toarray() if sp.issparse(values) else np.asarray(values, dtype=np.float64)
        if values.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"The kernel returned an array of shape {values.shape} for {A.shape[0]} and "
                f"{B.shape[0]} rows; expected one value for each pair of rows."
            )
        return values


class FeatureMap(NamedTuple):
    """Features of the training rows and what maps models in them back to the kernel.

    Attributes
    ----------
    features : ndarray of shape (n_samples, r)
    landmarks : ndarray or csr_matrix of shape (r, n_features), or ndarray of shape (r,)
        Rows of X; for a precomputed kernel their positions.
    triangle : ndarray of shape (r, r)
        T, lower triangular.
    kernel : Kernel
    """

    features: np.ndarray
    landmarks: Any
    triangle: np.ndarray
    kernel: Kernel

    def landmark_coef(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients of the features, (n_labels, r), as those of the kernels, (r, n_labels)."""
        return solve_triangular(self.triangle, coef.T, lower=True, trans="T")


def default_gamma(X: Any) -> float:
    """1 / (n_features * variance of X), scikit-learn's "scale"; 1 when X is constant."""
    if sp.issparse(X):
        mean = X.mean()
        variance = X.multiply(X).mean() - mean**2
    else:
        variance = np.var(X, dtype=np.float64)
    return float(1.0 / (X.shape[1] * variance)) if variance > 0 else 1.0


def kernel_features(
    X: Any, kernel: Kernel, *, n_landmarks: int | None, seed: int, max_bytes: float | None = None
) -> FeatureMap:
    """Return features whose inner products are the kernel, or approximate it through landmarks.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n_samples, n_features)
        For "precomputed" the kernel matrix.
    kernel : Kernel
    n_landmarks : int or None
        How many training rows, drawn at random, the features go through; None: all of them.
    seed : int
        Of that draw.
    max_bytes : float, optional
        Refuse beyond this; half of the machine's memory by default.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.kernels import Kernel, kernel_features
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> phi = kernel_features(X, Kernel("rbf", 0.5, 3, 1.0), n_landmarks=None, seed=0).features
    >>> bool(np.allclose(phi @ phi.T, np.exp(-((X - X.T) ** 2) / 2)))
    True
    """
    n = X.shape[0]
    if kernel.kind == "precomputed":
        _check_precomputed(X)
    m = n if n_landmarks is None else min(n, n_landmarks)
    _check_memory(n, m, _memory_limit() if max_bytes is None else max_bytes)
    if m == n:
        chosen = np.arange(n)
    else:
        chosen = np.sort(np.random.default_rng(seed).choice(n, m, replace=False))
    rows = X if m == n else X[chosen]
    # the same object twice: exact distances on the diagonal, hence the same pivots every time
    K = kernel.between(rows, chosen if kernel.kind == "precomputed" else rows)
    factor, order = _pivoted_cholesky(K)
    rank = factor.shape[1]
    triangle = factor[:rank].copy()
    kept = chosen[order[:rank]]
    landmarks = kept if kernel.kind == "precomputed" else X[kept]
    if m == n:
        features = np.empty_like(factor, order="C")
        features[order] = factor
    else:
        to_landmarks = kernel.between(X, landmarks)
        features = np.ascontiguousarray(
            solve_triangular(triangle, to_landmarks.T, lower=True, overwrite_b=True).T
        )
    return FeatureMap(features, landmarks, triangle, kernel)


def kernel_scores(X: Any, kernel: Kernel, landmarks: Any, coef: np.ndarray) -> np.ndarray:
    """sum_r k(x, landmark_r) coef_r for every row x, in blocks of bounded size."""
    n, m = X.shape[0], landmarks.shape[0]
    out = np.empty((n, coef.shape[1]))
    block = max(1, PREDICT_BYTES // (8 * max(m, 1)))
    for first in range(0, n, block):
        rows = slice(first, min(first + block, n))
        out[rows] = kernel.between(X[rows], landmarks) @ coef
    return out


def _check_precomputed(X) -> None:
    if sp.issparse(X):
        raise ValueError(
            "kernel is 'precomputed' and X is sparse; expected a dense (n_samples, n_samples) "
            "matrix of kernel values."
        )
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"kernel is 'precomputed' and X has the shape {X.shape}; expected a square matrix of "
            "the kernel between the training rows."
        )
    scale = np.abs(X).max(initial=0.0)
    if np.abs(X - X.T).max(initial=0.0) > 1e-6 * scale:
        raise ValueError(
            "kernel is 'precomputed' and X is not symmetric; expected X[i, j] = X[j, i]."
        )


def _memory_limit() -> float:
    try:
        return SHARE_OF_MEMORY * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system says
        return 4 * 2.0**30


def _check_memory(n: int, m: int, max_bytes: float) -> None:
    """Refuse a kernel that does not fit, before any of it is computed."""
    # kernel and factor of the landmarks, features of the rows and, through landmarks, their kernel
    needed = 8.0 * (2 * m * m + (n * m if m == n else 2 * n * m))
    if needed > max_bytes:
        more = "n_landmarks" if m == n else f"an n_landmarks below {m}"
        raise ValueError(
            f"The kernel of {n} examples through {m} landmarks needs {needed / 2**30:.3g} GiB and "
            f"{max_bytes / 2**30:.3g} GiB may be used; set {more}, 1000 say, for Nystroem features."
        )


def _pivoted_cholesky(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a tall lower factor F and an order with K[order][:, order] = F F' up to the tol."""
    diagonal = K.diagonal().copy()
    scale = float(np.abs(diagonal).max(initial=0.0))
    if not np.isfinite(K).all():
        raise ValueError("The kernel holds NaN or infinity; expected finite values.")
    if scale == 0.0 and not K.any():
        return np.zeros((len(K), 0)), np.arange(len(K))
    if scale == 0.0:
        raise ValueError(
            "The kernel has a zero diagonal and is not zero; expected a Mercer kernel."
        )
    # K is symmetric: its transpose is the same matrix in the column order that LAPACK overwrites.
    factor, pivots, rank, _ = dpstrf(K.T, lower=1, tol=PIVOT_TOL * scale, overwrite_a=1)
    order = pivots - 1
    factor = np.tril(factor[:, :rank])
    left = diagonal[order] - np.einsum("ij,ij->i", factor, factor)
    if left.min(initial=0.0) < -INDEFINITE_TOL * scale:
        raise ValueError(
            "The kernel is not positive semi-definite (a pivot of its Cholesky factor is "
            f"{left.min():.3g}); expected a Mercer kernel."
        )
    return factor, order
