"""What is here: how long a dense decomposition will take, foretold from a small one.

LAPACK cannot be asked to stop. A fit with a time limit therefore asks first.
"""

import time
from functools import cache

import numpy as np
from scipy.linalg import cho_factor, eigh

_SIDE = 300


@cache
def _seconds_of_small(decompose) -> float:
    """The quickest of three runs on this machine, with the threads that BLAS has now."""
    matrix = np.eye(_SIDE) + 1.0 / (1.0 + np.arange(_SIDE) + np.arange(_SIDE)[:, None])
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        decompose(matrix, check_finite=False)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def eigh_seconds(side: int) -> float:
    """About how long all eigenvectors of a matrix of this side take."""
    return _seconds_of_small(eigh) * (side / _SIDE) ** 3


def cholesky_seconds(side: int) -> float:
    """About how long a Cholesky factor of a matrix of this side takes."""
    return _seconds_of_small(cho_factor) * (side / _SIDE) ** 3
