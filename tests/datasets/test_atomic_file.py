"""What is here: a file that is written under others' eyes."""

import os

import pytest

from prml.datasets.atomic_file import replacing


def test_two_writers_at_once(tmp_path):
    path = tmp_path / "a"
    with replacing(path) as first:
        first.write(b"fir")
        with replacing(path) as second:
            second.write(b"second")
            assert not path.exists()
        assert path.read_bytes() == b"second"
        first.write(b"st")
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a"]


def test_an_interrupted_writer_leaves_nothing(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as out:
        out.write(b"new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a"]


def test_the_file_is_as_readable_as_any_other(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with replacing(tmp_path / "a"):
        pass
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "plain").stat().st_mode
