"""What is here: whether the parts of a sparse matrix fit together."""

from typing import Any

import scipy.sparse as sp


def check_sparse_indices(matrix: Any, name: str) -> None:
    """Refuse a CSR or CSC matrix whose indices lead out of it: compiled code trusts them.

    SciPy's own `check_format` looks no further when the last row start is negative.
    """
    if matrix.format not in ("csr", "csc"):
        return  # the others are checked where they are made
    major, minor = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    starts, indices = matrix.indptr, matrix.indices
    sound = (
        len(starts) == major + 1
        and starts[0] == 0
        and starts[-1] <= min(len(indices), len(matrix.data))
        and bool((starts[1:] >= starts[:-1]).all())
    )
    used = indices[: starts[-1]] if sound else indices[:0]
    if not sound or (len(used) and not 0 <= used.min() <= used.max() < minor):
        raise ValueError(
            f"{name} is a {matrix.format.upper()} matrix of shape {matrix.shape} whose indices or "
            "row starts lead out of it; expected indices below its sizes."
        )


def indexable_rows(**arrays: Any) -> list:
    """`sklearn.utils.indexable`, which turns sparse matrices round, after a look at their indices.

    The names are those that a refusal tells.
    """
    from sklearn.utils import indexable  # readers of files need this module, but not scikit-learn

    for name, array in arrays.items():
        if sp.issparse(array):
            check_sparse_indices(array, name)
    return indexable(*arrays.values())
