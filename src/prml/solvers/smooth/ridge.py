"""What is here: squared loss without a teacher - one factorisation for all labels.

When every label has the same weights, label i solves (I + X' W X) z = X' W y_i with the costs W of
the examples on a diagonal. The matrix is the same for all labels: it is factored once, in the
features or, when there are fewer examples than features, in the examples.
"""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from prml.solvers.smooth.dense_cost import cholesky_seconds
from prml.solvers.smooth.operators import Examples

# Beyond this side the factor costs more than conjugate gradients would.
LARGEST_SIDE = 12_000


def ridge_applies(examples: Examples, seconds: float = np.inf) -> bool:
    """Whether one of the two factorisations is small enough, and done in half of `seconds`."""
    side = min(examples.n_features, examples.n_samples)
    in_time = seconds == np.inf or 2.0 * cholesky_seconds(side) < seconds
    return side < LARGEST_SIDE and in_time


def solve_ridge(
    examples: Examples, positives: sp.csr_matrix, cost: np.ndarray, block: int
) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
    """Solve all labels; yield (labels, Z, objectives, gaps) in blocks of labels.

    Parameters
    ----------
    examples : Examples
    positives : csr_matrix of shape (n_samples, n_labels)
        Ones where the target is +1, which is -1 elsewhere.
    cost : ndarray of shape (n_samples,)
        Weight of every example's half squared error.
    block : int
        Labels in a block.

    Yields
    ------
    labels : slice
    Z : ndarray of shape (n_features + 1, B)
    objectives, gaps : ndarrays of shape (B,)
        Values of the problems, and half the squared gradients: the duality gaps.
    """
    in_features = examples.n_features < examples.n_samples
    solve = _in_features if in_features else _in_examples
    yield from solve(examples, positives, cost, block)


def _in_features(examples, positives, cost, block):
    gram = examples.gram(cost)
    regularised = gram.copy()
    regularised.flat[:: len(gram) + 1] += 1.0
    factor = cho_factor(regularised, lower=True, overwrite_a=True, check_finite=False)
    # X' W y = 2 X' W positives - X' W 1: the signs are never formed
    weighted = sp.diags_array(cost) @ positives
    absent = examples.back(cost[:, None])
    total = float(cost.sum())
    for labels in _slices(positives.shape[1], block):
        rhs = 2.0 * _sparse_back(examples, weighted[:, labels]) - absent
        Z = cho_solve(factor, rhs, check_finite=False)
        image = gram @ Z
        # 1/2 |Z|^2 + 1/2 sum W (y - Xz)^2, expanded
        objective = 0.5 * (_dots(Z, Z) + total - 2.0 * _dots(rhs, Z) + _dots(Z, image))
        gradient = Z + image - rhs
        yield labels, Z, objective, 0.5 * _dots(gradient, gradient)


def _in_examples(examples, positives, cost, block):
    # With rows scaled by root = sqrt(W): z = Xr' a, (I + Xr Xr') a = root * y.
    root = np.sqrt(cost)
    X = examples.X
    scaled = sp.diags_array(root) @ X if sp.issparse(X) else root[:, None] * X
    kernel = scaled @ scaled.T
    kernel = kernel.toarray() if sp.issparse(kernel) else kernel
    kernel += (examples.bias * root)[:, None] * (examples.bias * root)
    kernel.flat[:: len(kernel) + 1] += 1.0
    factor = cho_factor(kernel, lower=True, overwrite_a=True, check_finite=False)
    for labels in _slices(positives.shape[1], block):
        signs = 2.0 * positives[:, labels].toarray() - 1.0
        Z = examples.back(root[:, None] * cho_solve(factor, root[:, None] * signs))
        residual = signs - examples.scores(Z)
        residual *= root[:, None]
        gradient = Z - examples.back(root[:, None] * residual)
        objective = 0.5 * (_dots(Z, Z) + _dots(residual, residual))
        yield labels, Z, objective, 0.5 * _dots(gradient, gradient)


def _sparse_back(examples: Examples, columns: sp.csr_matrix) -> np.ndarray:
    """X' columns for sparse columns, with the constant feature."""
    out = np.empty((examples.n_features + 1, columns.shape[1]))
    if sp.issparse(examples.X):
        out[:-1] = (examples.X.T @ columns).toarray()
    else:
        out[:-1] = (columns.T @ examples.X).T
    out[-1] = examples.bias * np.asarray(columns.sum(axis=0)).ravel()
    return out


def _slices(n: int, size: int) -> Iterator[slice]:
    for first in range(0, n, size):
        yield slice(first, min(first + size, n))


def _dots(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", A, B)
