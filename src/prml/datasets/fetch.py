"""What is here: fetch a dataset from the first of its sources that answers."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np
import scipy.sparse as sp

from prml.datasets.archive import read_members, unpickle_compressed_arrays
from prml.datasets.package_index import fetch_sdist
from prml.datasets.store import Parts
from prml.datasets.table import ArchiveSource, DatasetInfo, OpenMLSource
from prml.datasets.words import number_of_word

Pair = tuple[sp.csr_matrix, sp.csr_matrix]


def fetch(info: DatasetInfo, home: Path, looked_in: list[Path]) -> Parts:
    """Fetch `info`; archives are kept in a folder of `home`.

    A source that cannot be reached is passed over for the next; one that answers with the wrong
    data is an error.
    """
    troubles = []
    for source in info.sources:
        try:
            if isinstance(source, OpenMLSource):
                from prml.datasets.openml import fetch_from_openml

                return fetch_from_openml(source, info, home)
            return _from_archive(source, info, home)
        except OSError as error:
            troubles.append(f"{source}: {error}")
    places = ", ".join(str(folder) for folder in looked_in)
    reason = " ".join(troubles) if troubles else "No public source of it is known."
    raise OSError(f"{info.name}.npz is in none of {places}, and it was not fetched. {reason}")


def _from_archive(source: ArchiveSource, info: DatasetInfo, home: Path) -> Parts:
    path = fetch_sdist(source.sdist, home / "archives")
    read: Callable[[IO[bytes]], Pair] = partial(_LAYOUTS[source.layout], dtype=info.dtype)
    held = read_members(path, {source.train_member: read, source.test_member: read})
    (X_train, Y_train), (X_test, Y_test) = held[source.train_member], held[source.test_member]
    n_train, n_test = X_train.shape[0], X_test.shape[0]
    return Parts(
        X=sp.vstack([X_train, X_test], format="csr"),
        Y=sp.vstack([Y_train, Y_test], format="csr"),
        train_idx=np.arange(n_train),
        test_idx=np.arange(n_train, n_train + n_test),
    )


def _read_pickle(stream: IO[bytes], dtype: str) -> Pair:
    held = unpickle_compressed_arrays(stream)
    if not {"X", "y"} <= set(held) or len(held["X"]) != len(held["y"]):
        raise ValueError("the pickle does not hold arrays X and y of equal length.")
    X, y = held["X"], held["y"]
    if X.dtype.kind in "US":
        X = words_to_numbers(X)
    return sp.csr_matrix(X.astype(dtype)), sp.csr_matrix(y != 0, dtype=np.float64)


def words_to_numbers(columns: np.ndarray) -> np.ndarray:
    """Turn columns of numbers or of yes and no into numbers; drop identifiers."""
    kept = []
    for column in columns.T:
        words, codes = np.unique(column, return_inverse=True)
        numbers = [number_of_word(str(word)) for word in words]
        if None not in numbers:
            kept.append(np.array(numbers, dtype=np.float64)[codes])
    return np.column_stack(kept) if kept else np.empty((len(columns), 0))


def _read_xmc(stream: IO[bytes], dtype: str) -> Pair:
    from prml.datasets.libsvm import read_xmc_stream

    return read_xmc_stream(stream, "the archive's text file", np.dtype(dtype))


_LAYOUTS = {"pickle": _read_pickle, "xmc": _read_xmc}
