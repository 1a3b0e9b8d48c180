"""What is here: the unpickler that rebuilds arrays and refuses everything else."""

import bz2
import io
import os
import pickle
import tarfile

import numpy as np
import pytest
from tests.datasets.tiny_source import python2_pickle

from prml.datasets.archive import read_members, unpickle_arrays, unpickle_compressed_arrays

ARRAYS = {"X": np.array([[0.5, -1e300], [np.nan, 0.0]]), "y": np.array([[1, 0], [0, 1]])}


class Opens:
    """Unpickled by an ordinary unpickler, this creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_arrays_of_python_2():
    held = unpickle_arrays(io.BytesIO(python2_pickle(ARRAYS)))
    for name, values in ARRAYS.items():
        np.testing.assert_array_equal(held[name], values)


@pytest.mark.parametrize("protocol", [3, 4])
def test_arrays_of_python_3(protocol):
    held = unpickle_arrays(io.BytesIO(pickle.dumps(ARRAYS, protocol=protocol)))
    np.testing.assert_array_equal(held["X"], ARRAYS["X"])


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_creates_a_file_is_refused(tmp_path, protocol):
    trap = str(tmp_path / "created")
    pickled = pickle.dumps({"X": Opens(trap)}, protocol=protocol)
    pickle.loads(pickled)["X"].close()
    assert os.path.exists(trap)  # the trap works
    os.remove(trap)
    with pytest.raises(ValueError, match=r"asks for '\w+\.open' and was refused"):
        unpickle_arrays(io.BytesIO(pickled))
    with pytest.raises(ValueError, match="was refused"):
        unpickle_compressed_arrays(io.BytesIO(bz2.compress(pickled)))
    assert not os.path.exists(trap)


@pytest.mark.parametrize(
    "opcodes",
    [
        b"cos\nsystem\n(S'touch x'\ntR.",
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"c__builtin__\neval\n(S'1'\ntR.",
        b"(S'touch x'\nios\nsystem\n.",  # INST
        b"cnumpy\nfromfile\n(S'x'\ntR.",
        b"cnumpy.core.multiarray\nfromfile\n(S'x'\ntR.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"\x80\x04\x8c\x05numpy\x94\x8c\x0cndarray.tofile\x94\x93.",  # a dotted name
        b"Psomething\n.",  # a persistent id
        b"\x82\x01.",  # an extension code
    ],
)
def test_other_names_are_refused(opcodes):
    with pytest.raises(ValueError, match=r"refused|damaged"):
        unpickle_arrays(io.BytesIO(opcodes))


@pytest.mark.parametrize(
    "content", [[1, 2], {"X": [1]}, {"X": np.array([None, {}], dtype=object)}, {1: np.ones(1)}]
)
def test_other_contents_are_refused(content):
    with pytest.raises(ValueError, match="something else than a dict of plain numpy arrays"):
        unpickle_arrays(io.BytesIO(pickle.dumps(content, protocol=4)))


def test_damaged_pickles():
    whole = python2_pickle(ARRAYS)
    for length in (0, 1, 30, 100, len(whole) - 2):
        with pytest.raises(ValueError, match=r"pickle|refused|damaged"):
            unpickle_arrays(io.BytesIO(whole[:length]))


def test_only_regular_members_of_that_name_are_read(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        link = tarfile.TarInfo("a/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
        climbing = tarfile.TarInfo("a/../../data")
        archive.addfile(climbing, io.BytesIO(b""))
    with pytest.raises(ValueError, match=r"a/link in .* is not a regular file"):
        read_members(path, {"a/link": lambda stream: stream.read()})
    with pytest.raises(ValueError, match="does not hold data"):
        read_members(path, {"data": lambda stream: stream.read()})
    assert [p.name for p in tmp_path.iterdir()] == ["a.tar"]
    path.write_bytes(b"not a tar")
    with pytest.raises(ValueError, match="is not a readable archive"):
        read_members(path, {})
