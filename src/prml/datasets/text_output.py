"""What is here: rows on their way into a text file, and a compressed file that appears whole."""

import bz2
import gzip
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from prml.datasets.atomic_file import replacing
from prml.targets import Targets, read_targets

_COMPRESSORS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class Row(NamedTuple):
    """One example: the columns and values of X that are not zero, and its labels."""

    columns: np.ndarray
    values: np.ndarray
    labels: np.ndarray
    missing_labels: np.ndarray


def read_pair(X: Any, Y: Any, *, allow_missing: bool) -> tuple[Any, Targets]:
    """Check X (NaN allowed) and Y as they are given to a writer."""
    X = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
    )
    Y = Y if sp.issparse(Y) or hasattr(Y, "columns") else np.asarray(Y)
    if Y.ndim != 2:
        raise ValueError(f"Y has {Y.ndim} dimensions; expected a (n_samples, n_labels) matrix.")
    targets = read_targets(Y, allow_missing=allow_missing, owner="the writer")
    if targets.kind != "multilabel":
        raise ValueError("Y is not a matrix of 0 and 1; expected one column a label.")
    if targets.n_samples != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows and Y has {targets.n_samples}; expected equal.")
    return X, targets


def rows_to_write(X: Any, Y: Any, *, allow_missing: bool) -> Iterator[Row]:
    """Check X and Y now; yield their rows when asked."""
    X, targets = read_pair(X, Y, allow_missing=allow_missing)
    return iterate_rows(X, targets)


def iterate_rows(X: Any, targets: Targets) -> Iterator[Row]:
    """Yield row after row, X dense or CSR."""
    nothing = np.empty(0, dtype=np.int32)
    positives, missing = targets.positives, targets.missing
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    for i in range(X.shape[0]):
        if sp.issparse(X):
            held = slice(X.indptr[i], X.indptr[i + 1])
            columns, values = X.indices[held], X.data[held]
            if not values.all():
                columns, values = columns[values != 0], values[values != 0]
        else:
            columns = np.flatnonzero(X[i])
            values = X[i, columns]
        yield Row(
            columns,
            values,
            positives.indices[positives.indptr[i] : positives.indptr[i + 1]],
            nothing
            if missing is None
            else missing.indices[missing.indptr[i] : missing.indptr[i + 1]],
        )


def numbers_as_text(values: np.ndarray) -> list[str]:
    """Write each number as briefly as reads back exactly; NaN as "nan"."""
    if values.dtype == np.float32:
        return [f"{value:.9g}" for value in values.tolist()]
    return [
        str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
        for value in values.tolist()
    ]


@contextmanager
def open_output(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """Open a file that appears when the block ends well, compressed by its suffix."""
    path = Path(path)
    compressor = _COMPRESSORS.get(path.suffix)
    with replacing(path) as raw:
        if compressor is None:
            yield raw
        else:
            with compressor(raw, "wb") as out:
                yield out
