"""What is here: the two forms in which the rows of X reach the loops, and what is done with a row.

One loop serves both forms: `row_dot` and its kin are chosen by type when a loop is compiled. Loops
unpack a problem's arrays before they start: an array taken out of a tuple inside a loop costs
numba a reference count each time, more than a short row.

Numba's cache does not notice an edit of this file: touch the other files of this folder after one.
"""

from typing import NamedTuple

import numpy as np

from prml.loops.jit import DISABLED


class Csr(NamedTuple):
    """Rows in CSR form; `bias` is a constant feature behind the last column (0: none)."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    bias: float


class Dense(NamedTuple):
    """Rows of a C-ordered array; `bias` is a constant feature behind the last column (0: none)."""

    values: np.ndarray
    bias: float


def read_only(array: np.ndarray) -> np.ndarray:
    """A view that may not be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def csr_rows(data, indices, indptr, bias: float) -> Csr:
    """Rows in CSR form, read only: no loop writes to them.

    Numba compiles every loop once for arrays that may be written to and once for those that may
    not (a memory map, what joblib hands its workers): half a minute for a user who has both.
    """
    return Csr(read_only(data), read_only(indices), read_only(indptr), bias)


def dense_rows(values: np.ndarray, bias: float) -> Dense:
    """Rows of an array, read only; see `csr_rows`."""
    return Dense(read_only(np.ascontiguousarray(values)), bias)


def row_dot(X, j, w):
    """<x_j, w>, the bias taken with the last entry of w."""
    if isinstance(X, Csr):
        part = slice(X.indptr[j], X.indptr[j + 1])
        return float(X.data[part] @ w[X.indices[part]] + X.bias * w[-1])
    return float(X.values[j] @ w[:-1] + X.bias * w[-1])


def row_axpy(X, j, a, w):
    """w += a * x_j."""
    if isinstance(X, Csr):
        part = slice(X.indptr[j], X.indptr[j + 1])
        w[X.indices[part]] += a * X.data[part]
    else:
        w[:-1] += a * X.values[j]
    w[-1] += a * X.bias


def row_square_axpy(X, j, a, w):
    """w += a * x_j^2, entry by entry."""
    if isinstance(X, Csr):
        part = slice(X.indptr[j], X.indptr[j + 1])
        w[X.indices[part]] += a * X.data[part] ** 2
    else:
        w[:-1] += a * X.values[j] ** 2
    w[-1] += a * X.bias**2


if not DISABLED:
    from numba import types
    from numba.extending import overload

    def _is_csr(X):
        return isinstance(X, types.NamedTuple) and X.instance_class is Csr

    # Unsigned indices spare the test for negative ones; four running sums do not wait for each
    # other. Together they halve the time of a row.
    @overload(row_dot)
    def _row_dot(X, j, w):
        if _is_csr(X):

            def csr(X, j, w):
                data, indices = X.data, X.indices
                e, end = np.uint64(X.indptr[j]), np.uint64(X.indptr[j + 1])
                a, b, c, d = X.bias * w[-1], 0.0, 0.0, 0.0
                one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
                while e + three < end:
                    a += data[e] * w[np.uint64(indices[e])]
                    b += data[e + one] * w[np.uint64(indices[e + one])]
                    c += data[e + two] * w[np.uint64(indices[e + two])]
                    d += data[e + three] * w[np.uint64(indices[e + three])]
                    e += np.uint64(4)
                while e < end:
                    a += data[e] * w[np.uint64(indices[e])]
                    e += one
                return (a + b) + (c + d)

            return csr

        def dense(X, j, w):
            row = X.values[j]
            a, b, c, d = X.bias * w[-1], 0.0, 0.0, 0.0
            k, end = 0, len(row)
            while k + 3 < end:
                a += row[k] * w[k]
                b += row[k + 1] * w[k + 1]
                c += row[k + 2] * w[k + 2]
                d += row[k + 3] * w[k + 3]
                k += 4
            while k < end:
                a += row[k] * w[k]
                k += 1
            return (a + b) + (c + d)

        return dense

    @overload(row_axpy)
    def _row_axpy(X, j, a, w):
        if _is_csr(X):

            def csr(X, j, a, w):
                data, indices = X.data, X.indices
                w[-1] += a * X.bias
                for e in range(np.uint64(X.indptr[j]), np.uint64(X.indptr[j + 1])):
                    w[np.uint64(indices[e])] += a * data[e]

            return csr

        def dense(X, j, a, w):
            row = X.values[j]
            w[-1] += a * X.bias
            for k in range(len(row)):
                w[k] += a * row[k]

        return dense

    @overload(row_square_axpy)
    def _row_square_axpy(X, j, a, w):
        if _is_csr(X):

            def csr(X, j, a, w):
                w[-1] += a * X.bias * X.bias
                for e in range(X.indptr[j], X.indptr[j + 1]):
                    w[X.indices[e]] += a * X.data[e] * X.data[e]

            return csr

        def dense(X, j, a, w):
            w[-1] += a * X.bias * X.bias
            for k in range(X.values.shape[1]):
                w[k] += a * X.values[j, k] * X.values[j, k]

        return dense
