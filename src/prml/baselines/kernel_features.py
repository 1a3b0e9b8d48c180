"""What is here: an RBF kernel as explicit features, exact while it fits in memory, else Nystroem.

Both come from a pivoted Cholesky factor K[r, r] = T T' of the kernel between landmarks: the
features of x are T^-1 k(landmarks, x), their inner products are the kernel (Nystroem: its best
approximation through the landmarks), and a model linear in them is sum_r k(x, landmark_r) beta_r.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

# Landmarks whose kernel the earlier ones explain up to this much are dropped: keeping them would
# multiply rounding errors by its inverse.
PIVOT_TOL = 1e-10
BANDWIDTH_SAMPLE = 2000


class KernelFeatures(NamedTuple):
    """Features of the training examples and what maps models in them back to the kernel.

    Attributes
    ----------
    features : ndarray of shape (n_samples, r)
    landmarks : ndarray of shape (r,)
        Rows of X.
    triangle : ndarray of shape (r, r)
        T, lower triangular.
    exact : bool
        Whether every example was admitted as a landmark.
    """

    features: np.ndarray
    landmarks: np.ndarray
    triangle: np.ndarray
    exact: bool

    def dual_coef(self, theta: np.ndarray) -> np.ndarray:
        """Turn coefficients of the features into those of the landmarks' kernels."""
        return solve_triangular(self.triangle, theta, lower=True, trans="T")


def mean_distance(X, rng: np.random.Generator) -> float:
    """Mean distance between two examples (of at most 2000 drawn ones); 1 when all are equal."""
    n = X.shape[0]
    if n > BANDWIDTH_SAMPLE:
        X = X[np.sort(rng.choice(n, BANDWIDTH_SAMPLE, replace=False))]
        n = BANDWIDTH_SAMPLE
    mean = euclidean_distances(X).sum() / max(n * (n - 1), 1)
    return float(mean) if mean > 0 else 1.0


def exact_kernel_bytes(n: int) -> int:
    """What the exact path holds at its peak: kernel, factor and normal matrix."""
    return 3 * 8 * n * n


def largest_landmark_count(n: int, max_bytes: float) -> int:
    """How many landmarks fit: the kernel to the examples, their features, two square matrices."""
    # 8 (2 n m + 2 m^2) <= max_bytes
    return int((np.sqrt(n * n + max_bytes / 4) - n) / 2)


def rbf_features(
    X, gamma: float, *, max_bytes: float, n_landmarks: int, rng: np.random.Generator
) -> KernelFeatures:
    """Return features whose inner products are exp(-gamma |x - x'|^2).

    Examples
    --------
    >>> import numpy as np
    >>> from prml.baselines.kernel_features import rbf_features
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> rng = np.random.default_rng(0)
    >>> phi = rbf_features(X, 0.5, max_bytes=1e6, n_landmarks=2, rng=rng)
    >>> phi.exact, bool(np.allclose(phi.features @ phi.features.T, np.exp(-(X - X.T) ** 2 / 2)))
    (True, True)
    """
    n = X.shape[0]
    if exact_kernel_bytes(n) <= max_bytes:
        factor, order = _pivoted_cholesky(rbf_kernel(X, gamma=gamma))
        rank = factor.shape[1]
        features = np.empty_like(factor)
        features[order] = factor
        return KernelFeatures(features, order[:rank], factor[:rank].copy(), True)
    count = min(n, n_landmarks, largest_landmark_count(n, max_bytes))
    if count < 1:
        raise ValueError(
            f"max_memory allows {max_bytes:.3g} bytes, which is too little for one landmark of "
            f"{n} examples; expected at least {16 * (n + 1)} bytes."
        )
    chosen = np.sort(rng.choice(n, count, replace=False))
    factor, order = _pivoted_cholesky(rbf_kernel(X[chosen], gamma=gamma))
    rank = factor.shape[1]
    landmarks, triangle = chosen[order[:rank]], factor[:rank].copy()
    to_landmarks = rbf_kernel(X[landmarks], X, gamma=gamma)
    features = solve_triangular(triangle, to_landmarks, lower=True, overwrite_b=True).T
    return KernelFeatures(features, landmarks, triangle, False)


def _pivoted_cholesky(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a tall lower factor F and an order with K[order][:, order] = F F' up to the tol."""
    # K is symmetric: its transpose is the same matrix in the column order that LAPACK overwrites.
    factor, pivots, rank, _ = dpstrf(K.T, lower=1, tol=PIVOT_TOL, overwrite_a=1)
    return np.tril(factor[:, :rank]), pivots - 1
