"""What is here: which labels comment on which - the pool of every label."""

from typing import Any

import numpy as np
import scipy.sparse as sp

Pools = list[np.ndarray] | None


def nearest_labels(positives: sp.csr_matrix, k: int) -> list[np.ndarray]:
    """For each label the k labels nearest to it by Hamming distance between their columns.

    The distance of columns i and l is n_i + n_l - 2 (examples that have both); ties go to the
    smaller index. No n_labels x n_labels matrix is formed.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from prml.privileged import nearest_labels
    >>> Y = sp.csr_matrix([[1, 1, 0], [1, 1, 0], [0, 1, 1.0]])
    >>> [pool.tolist() for pool in nearest_labels(Y, 1)]
    [[1], [0], [1]]
    """
    n_labels = positives.shape[1]
    if not 0 <= k < n_labels:
        raise ValueError(
            f"privileged is {k}; expected between 0 and {n_labels - 1}, the number of other labels."
        )
    counts = np.asarray(positives.sum(axis=0)).ravel()
    columns = positives.T.tocsr()
    pools = []
    for i in range(n_labels):
        distance = counts - 2.0 * np.asarray((columns[i] @ positives).todense()).ravel()
        distance[i] = np.inf
        pools.append(np.sort(np.argsort(distance, kind="stable")[:k]))
    return pools


def read_pools(privileged: Any, positives: sp.csr_matrix) -> tuple[bool, Pools]:
    """Read the parameter `privileged`; return whether there is a teacher, and the pools.

    Pools None means that all other labels comment on a label.
    """
    n_labels = positives.shape[1]
    if privileged is None:
        return False, None
    if isinstance(privileged, str):
        if privileged == "all":
            return True, None
        raise ValueError(
            f"privileged is {privileged!r}; expected 'all', a number of labels, "
            "a boolean (n_labels, n_labels) matrix, or None."
        )
    if isinstance(privileged, int | np.integer) and not isinstance(privileged, bool):
        return True, nearest_labels(positives, int(privileged))
    matrix = np.asarray(privileged)
    if matrix.dtype != bool or matrix.shape != (n_labels, n_labels):
        raise ValueError(
            f"privileged is an array of dtype {matrix.dtype} and shape {matrix.shape}; "
            f"expected booleans of shape ({n_labels}, {n_labels}), row i the pool of label i."
        )
    pools = []
    for i, row in enumerate(matrix):
        pool = np.flatnonzero(row)
        pools.append(pool[pool != i])  # a label never comments on itself
    return True, pools
