"""What is here: read the named members of a verified archive, and nothing else of it.

No file of an archive is unpacked to disk, imported or run. Old pickles are read by an unpickler
that knows how to rebuild a numpy array and refuses to look up anything else.
"""

import bz2
import lzma
import pickle
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from prml.datasets.text_input import reason_of, shown

# numpy's own constructor, under whatever module this version of numpy keeps it.
_RECONSTRUCT = np.empty(0).__reduce__()[0]
_ADMITTED = {
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


def read_members(path: Path, readers: dict[str, Callable[[IO[bytes]], Any]]) -> dict[str, Any]:
    """Read the members named in `readers`, each with its function, in one pass over the archive.

    A name counts only when it is that of a regular file, spelled exactly so: links, devices and
    names that climb out of the archive never match.
    """
    results = {}
    try:
        with tarfile.open(path, "r:*") as archive:
            for member in archive:
                if member.name not in readers:
                    continue
                stream = archive.extractfile(member) if member.isreg() else None
                if stream is None:
                    raise ValueError(f"{member.name} in {path} is not a regular file.")
                results[member.name] = readers[member.name](stream)
                if len(results) == len(readers):
                    break
    except FileNotFoundError:
        raise
    except (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path} is not a readable archive ({reason_of(error)}).") from None
    missing = sorted(set(readers) - set(results))
    if missing:
        raise ValueError(f"{path} does not hold {missing[0]}.")
    return results


class RefusedPickle(ValueError):
    """A pickle that asks for more than numpy arrays."""


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise RefusedPickle(
                f"the pickle asks for {shown(f'{module}.{name}')} and was refused; expected numpy "
                "arrays only."
            ) from None

    def persistent_load(self, pid: Any) -> Any:
        raise RefusedPickle("the pickle refers to an outside object and was refused.")


def unpickle_arrays(stream: IO[bytes]) -> dict[str, np.ndarray]:
    """Read a pickled dict of numpy arrays, also of Python 2; refuse every other content.

    Raises
    ------
    ValueError
        When the pickle asks for anything but numpy's array constructors, holds anything but
        arrays of numbers or strings, or is damaged.
    """
    try:
        # Python 2 strings, which hold the bytes of an array, come back intact through latin-1.
        content = _ArraysOnly(stream, encoding="latin1").load()
    except RefusedPickle:
        raise
    except Exception as error:  # a damaged pickle can fail in any way
        raise ValueError(
            f"the pickle is damaged ({type(error).__name__}: {reason_of(error)})."
        ) from None
    if not isinstance(content, dict) or not all(
        isinstance(name, str) and type(value) is np.ndarray and value.dtype.kind in "biufUS"
        for name, value in content.items()
    ):
        raise ValueError("the pickle holds something else than a dict of plain numpy arrays.")
    return content


def unpickle_compressed_arrays(stream: IO[bytes]) -> dict[str, np.ndarray]:
    """`unpickle_arrays` of a bz2 stream."""
    with bz2.open(stream) as plain:
        return unpickle_arrays(plain)
