"""What is here: npz files row block by row block, each claim checked before memory is asked for."""

import math
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from prml.datasets.text_input import reason_of

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


class NpzReader:
    """X (CSR parts or one dense array) and Y (CSR parts without data, or dense) of an npz file.

    The layout is that of the benchmark files: X_data, X_indices, X_indptr, X_shape, Y_indices,
    Y_indptr, Y_shape; or plain arrays X and Y. Nothing is unpickled.
    """

    def __init__(self, path: Path):
        self.name = str(path)
        try:
            self._archive = zipfile.ZipFile(path)
        except _DAMAGE as error:
            raise ValueError(f"{path} is not an npz file ({reason_of(error)}).") from None
        self.members = {name.removesuffix(".npy") for name in self._archive.namelist()}
        self.is_sparse = "X_data" in self.members
        if not self.is_sparse and "X" not in self.members:
            raise ValueError(f"{path} holds neither X nor X_data; expected an npz of features.")

    def __enter__(self) -> "NpzReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def has(self, name: str) -> bool:
        return name in self.members

    def array(self, name: str, most: int = 1 << 31) -> np.ndarray:
        """Read a member whole; at most `most` bytes."""
        stream, shape, fortran, dtype = self._open(name)
        with stream:
            wanted = math.prod(shape) * dtype.itemsize
            if wanted > most:
                raise ValueError(
                    f"{self.name}: {name} takes {wanted} bytes; at most {most} are read."
                )
            content = self._read(stream, wanted, name)
        return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")

    def _open(self, name: str) -> tuple[IO[bytes], tuple[int, ...], bool, np.dtype]:
        """Open a member and read its header; its size must be what its shape asks for."""
        if name not in self.members:
            raise ValueError(f"{self.name} holds no {name}.")
        try:
            info = self._archive.getinfo(f"{name}.npy")
            stream = self._archive.open(info)
            version = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0
            if version != (1, 0):
                read = np.lib.format.read_array_header_2_0
            shape, fortran, dtype = read(stream, max_header_size=4096)
            start = stream.tell()
        except (*_DAMAGE, LookupError, OSError, SyntaxError, TypeError, ValueError) as error:
            raise ValueError(f"{self.name}: {name} cannot be read ({reason_of(error)}).") from None
        except Exception as error:  # NumPy parses the header as Python and may say anything
            raise ValueError(f"{self.name}: {name} cannot be read ({reason_of(error)}).") from None
        if dtype.hasobject or dtype.kind not in "biufUS":
            raise ValueError(
                f"{self.name}: {name} has the dtype {dtype}; expected numbers or text."
            )
        if any(size < 0 for size in shape) or (
            start + math.prod(shape) * dtype.itemsize != info.file_size
        ):
            raise ValueError(
                f"{self.name}: {name} claims the shape {shape}, which it does not hold."
            )
        return stream, shape, fortran, dtype

    def _read(self, stream: IO[bytes], n_bytes: int, name: str) -> bytearray:
        content = bytearray()
        try:
            while len(content) < n_bytes:  # piece by piece: a size may be a lie until it is read
                piece = stream.read(min(n_bytes - len(content), 1 << 22))
                if not piece:
                    raise EOFError("it ends too early")
                content += piece
        except _DAMAGE as error:
            raise ValueError(f"{self.name}: {name} is damaged ({reason_of(error)}).") from None
        return content

    def sparse_shape(self, prefix: str) -> tuple[int, int]:
        shape = self.array(f"{prefix}_shape", 64)
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
            raise ValueError(
                f"{self.name}: {prefix}_shape is {shape.tolist()}; expected two sizes."
            )
        return int(shape[0]), int(shape[1])

    def _row_starts(self, prefix: str, n_rows: int) -> np.ndarray:
        starts = self.array(f"{prefix}_indptr")
        if (
            starts.shape != (n_rows + 1,)
            or starts.dtype.kind not in "iu"
            or starts[0] != 0
            or (np.diff(starts.astype(np.int64)) < 0).any()
        ):
            raise ValueError(
                f"{self.name}: {prefix}_indptr is not the row starts of {n_rows} rows."
            )
        return starts.astype(np.int64)

    def sparse_blocks(self, prefix: str, rows: int) -> Iterator[sp.csr_matrix]:
        """Yield blocks of a CSR matrix; `X` has values, `Y` is ones."""
        n_rows, n_columns = self.sparse_shape(prefix)
        starts = self._row_starts(prefix, n_rows)
        streams: list[tuple[str, IO[bytes], np.dtype]] = []
        for part in ("indices", "data") if f"{prefix}_data" in self.members else ("indices",):
            stream, shape, _, dtype = self._open(f"{prefix}_{part}")
            if shape != (starts[-1],) or dtype.kind not in ("iu" if part == "indices" else "biuf"):
                raise ValueError(
                    f"{self.name}: {prefix}_{part} has {shape} entries of {dtype}; expected "
                    f"{starts[-1]} numbers."
                )
            streams.append((part, stream, dtype))
        for first in range(0, n_rows, rows):
            last = min(first + rows, n_rows)
            count = int(starts[last] - starts[first])
            held: dict[str, Any] = {"data": np.ones(count)}
            for part, stream, dtype in streams:
                content = self._read(stream, count * dtype.itemsize, f"{prefix}_{part}")
                held[part] = np.frombuffer(content, dtype)
            indices = held["indices"]
            if count and (indices.min() < 0 or indices.max() >= n_columns):
                raise ValueError(
                    f"{self.name}: a column of {prefix} between rows {first} and {last} is out of "
                    f"range; expected less than {n_columns}."
                )
            data = np.asarray(held["data"], dtype=np.float64)
            block = sp.csr_matrix(
                (data, indices, starts[first : last + 1] - starts[first]),
                shape=(last - first, n_columns),
            )
            block.sum_duplicates()
            yield block

    def dense_blocks(self, name: str, rows: int) -> Iterator[np.ndarray]:
        """Yield blocks of a dense matrix."""
        stream, shape, fortran, dtype = self._open(name)
        if len(shape) != 2 or dtype.kind not in "biuf":
            raise ValueError(f"{self.name}: {name} is {shape} of {dtype}; expected a matrix.")
        if fortran:  # columns lie together: no block of rows can be read alone
            whole = self.array(name)
            yield from (whole[i : i + rows] for i in range(0, shape[0], rows))
            return
        for first in range(0, shape[0], rows):
            n = min(rows, shape[0] - first)
            content = self._read(stream, n * shape[1] * dtype.itemsize, name)
            yield np.frombuffer(content, dtype).reshape(n, shape[1])

    def blocks(self, prefix: str, rows: int) -> Iterator[Any]:
        """Yield row blocks of X or Y, however the file holds it."""
        if f"{prefix}_indptr" in self.members:
            return self.sparse_blocks(prefix, rows)
        return self.dense_blocks(prefix, rows)
