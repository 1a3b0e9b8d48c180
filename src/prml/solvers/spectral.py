"""What is here: singular values - thresholding, the largest one, balanced factors."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, qr
from scipy.sparse.linalg import LinearOperator, svds

# Up to this size of the smaller side a full eigendecomposition is the quickest and exact.
FULL_SIZE = 800


class Factors(NamedTuple):
    """A matrix as left * values @ right: orthonormal columns, values, orthonormal rows."""

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray

    @property
    def rank(self) -> int:
        return len(self.values)

    def leading(self, n: int) -> "Factors":
        """The part of the n largest values."""
        return Factors(self.left[:, :n], self.values[:n], self.right[:n])

    def product(self) -> np.ndarray:
        return (self.left * self.values) @ self.right

    def balanced(self, gamma1: float) -> tuple[np.ndarray, np.ndarray]:
        """D and W with W'D the matrix and |D|^2 = gamma1 |W|^2, the factors of least norm."""
        root, scale = np.sqrt(self.values)[:, None], gamma1**0.25
        return scale * root * self.right, root / scale * self.left.T


def threshold(matrix: np.ndarray, tau: float, *, guess: np.ndarray | None = None) -> Factors:
    """Shrink the singular values by tau and drop those that vanish: the prox of tau * nuclear norm.

    Parameters
    ----------
    matrix : ndarray of shape (n_labels, n_features)
    tau : float
    guess : ndarray of shape (n_labels, r), optional
        A basis near the left singular vectors; with it a large matrix takes a few products.
    """
    if min(matrix.shape) <= FULL_SIZE:
        left, values = _left_factors(matrix)
    else:
        left, values = _leading_factors(matrix, tau, guess)
    keep = values > tau
    left, values = left[:, keep], values[keep]
    return Factors(left, values - tau, (left.T @ matrix) / values[:, None])


def _left_factors(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All left singular vectors and values, largest first, through the smaller Gram matrix."""
    if matrix.shape[0] <= matrix.shape[1]:
        squares, left = _eigenpairs(matrix @ matrix.T)
        return left[:, ::-1], np.sqrt(np.maximum(squares[::-1], 0.0))
    squares, right = _eigenpairs(matrix.T @ matrix)
    values = np.sqrt(np.maximum(squares[::-1], 0.0))
    positive = values > 1e-8 * max(values[0], 1e-300)
    return (matrix @ right[:, ::-1][:, positive]) / values[positive], values[positive]


def _eigenpairs(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, smallest first, and vectors; divide and conquer is the quickest way to all."""
    # (SciPy 1.13 gives that too little room for a single number)
    return eigh(gram, overwrite_a=True, driver="evd" if len(gram) > 1 else None)


def _leading_factors(matrix, tau, guess) -> tuple[np.ndarray, np.ndarray]:
    """Leading singular pairs by subspace iteration from `guess`, until one falls below tau."""
    n = min(matrix.shape)
    rng = np.random.default_rng(0)
    size = 32 if guess is None else guess.shape[1] + 16
    while True:
        size = min(size, n)
        basis = rng.standard_normal((matrix.shape[0], size))
        if guess is not None:
            known = min(guess.shape[1], size)
            basis[:, :known] = guess[:, :known]
        n_passes = 4 if guess is None else 2
        for _ in range(n_passes):
            basis = matrix @ (matrix.T @ basis)
            basis = qr(basis, mode="economic", overwrite_a=True, check_finite=False)[0]
        small = basis.T @ matrix
        squares, turn = eigh(small @ small.T)
        values = np.sqrt(np.maximum(squares[::-1], 0.0))
        guess = basis @ turn[:, ::-1]
        if values[-1] <= tau or size == n:
            return guess, values
        size *= 2


def scale_into_ball(matrix: np.ndarray, radius: float) -> float:
    """The largest t <= 1 for which no singular value of t * matrix exceeds the radius."""
    top = largest_singular_value(matrix)
    return min(1.0, radius / top) if top > 0.0 else 1.0


def largest_singular_value(matrix: np.ndarray) -> float:
    """An upper bound of the largest singular value, tight to about 1e-6."""
    if min(matrix.shape) <= FULL_SIZE:
        small = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
        last = small.shape[0] - 1
        top = eigh(small @ small.T, eigvals_only=True, subset_by_index=[last, last])
        return float(np.sqrt(max(top[0], 0.0)) * (1 + 1e-10))
    if not matrix.any():
        return 0.0
    operator = LinearOperator(
        matrix.shape, matvec=lambda v: matrix @ v, rmatvec=lambda v: matrix.T @ v, dtype=float
    )
    u, value, v = svds(operator, k=1, tol=1e-4, v0=np.ones(min(matrix.shape)))
    residual = np.linalg.norm(matrix @ v[0] - value[0] * u[:, 0])
    residual += np.linalg.norm(matrix.T @ u[:, 0] - value[0] * v[0])
    return float(value[0] + residual)
