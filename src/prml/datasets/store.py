"""What is here: a dataset in memory, and the npz file it is kept in."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from prml.datasets.atomic_file import replacing
from prml.datasets.text_input import reason_of
from prml.sparse_check import check_sparse_indices


class Parts(NamedTuple):
    """X and Y as CSR, and what is known besides; None where a source does not say."""

    X: sp.csr_matrix
    Y: sp.csr_matrix
    train_idx: np.ndarray | None = None
    test_idx: np.ndarray | None = None
    feature_names: np.ndarray | None = None
    label_names: np.ndarray | None = None


_OPTIONAL = ("train_idx", "test_idx", "feature_names", "label_names")


def read_npz(path: Path) -> Parts:
    """Read the npz layout: X_data, X_indices, X_indptr, X_shape, Y_indices, Y_indptr, Y_shape.

    Nothing in it is ever unpickled.
    """
    try:
        with np.load(path, allow_pickle=False) as held:
            X = sp.csr_matrix(
                (held["X_data"], held["X_indices"], held["X_indptr"]), shape=tuple(held["X_shape"])
            )
            Y_indices = held["Y_indices"]
            Y = sp.csr_matrix(
                (np.ones(len(Y_indices)), Y_indices, held["Y_indptr"]), shape=tuple(held["Y_shape"])
            )
            rest = {key: held[key] for key in _OPTIONAL if key in held.files}
            for matrix in (X, Y):
                check_sparse_indices(matrix, "it")
    except (FileNotFoundError, PermissionError, MemoryError):
        raise
    except Exception as error:  # NumPy parses headers as Python, so damage can say anything
        raise ValueError(
            f"{path} is not a readable dataset file ({reason_of(error)}); expected an npz with X "
            "and Y as CSR parts. Remove it to have it fetched again."
        ) from None
    X.sort_indices()
    Y.sort_indices()
    return Parts(X, Y, **rest)


def write_npz(path: Path, parts: Parts) -> None:
    """Write `parts` so that `path` is at every moment either absent, the old file or the new one.

    Two processes may write the same file at once: the later one replaces an equal file.
    """
    arrays = {
        "X_data": parts.X.data,
        "X_indices": parts.X.indices.astype(np.int32),
        "X_indptr": parts.X.indptr.astype(np.int64),
        "X_shape": np.asarray(parts.X.shape),
        "Y_indices": parts.Y.indices.astype(np.int32),
        "Y_indptr": parts.Y.indptr.astype(np.int64),
        "Y_shape": np.asarray(parts.Y.shape),
    }
    for key in _OPTIONAL:
        value = getattr(parts, key)
        if value is not None:
            arrays[key] = value
    with replacing(path) as out:
        np.savez_compressed(out, **arrays)
