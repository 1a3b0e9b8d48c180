"""What is here: each example as an affine combination of its nearest neighbours.

The weights of ML2's label manifold, which are those of locally linear embedding: rows sum to one,
and row j minimises |x_j - sum over neighbours of s_jl x_l|^2.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from prml.loops.jit import jit

# Gram matrices of one block of examples are held together; this many bytes at most.
BLOCK_BYTES = 2**26


def reconstruction_matrix(
    X, n_neighbors: int, *, reg: float = 1e-3, n_jobs: int | None = None
) -> sp.csr_matrix:
    """Return S, sparse (n_samples, n_samples), with X about S @ X and S 1 = 1.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n_samples, n_features)
    n_neighbors : int
        At most n_samples - 1 are used; an example is not its own neighbour.
    reg : float
        Times the trace it is added to the diagonal of each Gram matrix, which is singular as soon
        as neighbours repeat each other or outnumber the features.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.baselines.reconstruction import reconstruction_matrix
    >>> S = reconstruction_matrix(np.array([[0.0], [1.0], [3.0]]), 2, reg=1e-9)
    >>> S.toarray()[1].round(3)
    array([0.667, 0.   , 0.333])
    """
    n = X.shape[0]
    k = min(n_neighbors, n - 1)
    if k == 0:
        return sp.csr_matrix((n, n))
    search = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(X)
    neighbours = search.kneighbors(return_distance=False)
    weights = barycentre_weights(X, neighbours, reg)
    S = sp.csr_matrix((weights.ravel(), neighbours.ravel(), np.arange(0, n * k + 1, k)), (n, n))
    S.sort_indices()
    return S


def barycentre_weights(X, neighbours: np.ndarray, reg: float) -> np.ndarray:
    """Return the weights, summing to one, by which neighbours[j] best rebuild row j of X."""
    n, k = neighbours.shape
    weights = np.empty((n, k))
    width = k if sp.issparse(X) else max(k, X.shape[1])
    block = max(1, BLOCK_BYTES // (8 * k * width))
    for first in range(0, n, block):
        rows = np.arange(first, min(first + block, n))
        gram = np.empty((len(rows), k, k))
        if sp.issparse(X):
            sparse_difference_grams(
                X.indptr, X.indices, X.data, rows, neighbours, gram, np.full(X.shape[1], -1)
            )
        else:
            away = X[neighbours[rows]] - X[rows, None, :]
            np.matmul(away, away.transpose(0, 2, 1), out=gram)
        trace = np.trace(gram, axis1=1, axis2=2)
        diagonal = np.arange(k)
        gram[:, diagonal, diagonal] += np.where(trace > 0, reg * trace, reg)[:, None]
        solved = np.linalg.solve(gram, np.ones((len(rows), k, 1)))[:, :, 0]
        weights[rows] = solved / solved.sum(axis=1, keepdims=True)
    return weights


@jit
def sparse_difference_grams(indptr, indices, data, rows, neighbours, gram, slot):
    """Write the inner products of (neighbour - example) for each example of `rows` into `gram`.

    gram[r] = D D' with D = X[neighbours[rows[r]]] - X[rows[r]], X in CSR. The columns that occur
    are gathered side by side first: differences are taken before products, so that near-equal rows
    lose no digits. `slot` (n_features,) is -1 everywhere on entry and on exit.
    """
    k = neighbours.shape[1]
    for r in range(len(rows)):
        j = rows[r]
        size = indptr[j + 1] - indptr[j]
        for a in range(k):
            size += indptr[neighbours[j, a] + 1] - indptr[neighbours[j, a]]
        columns = np.empty(size, np.int64)
        away = np.zeros((k, size))
        used = 0
        for e in range(indptr[j], indptr[j + 1]):
            c = indices[e]
            if slot[c] < 0:
                slot[c] = used
                columns[used] = c
                used += 1
            for a in range(k):
                away[a, slot[c]] -= data[e]
        for a in range(k):
            for e in range(indptr[neighbours[j, a]], indptr[neighbours[j, a] + 1]):
                c = indices[e]
                if slot[c] < 0:
                    slot[c] = used
                    columns[used] = c
                    used += 1
                away[a, slot[c]] += data[e]
        for a in range(k):
            for b in range(a + 1):
                total = 0.0
                for u in range(used):
                    total += away[a, u] * away[b, u]
                gram[r, a, b] = total
                gram[r, b, a] = total
        for u in range(used):
            slot[columns[u]] = -1
