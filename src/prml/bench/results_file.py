"""What is here: the results file - one JSON line a finished cell, safe against kill -9.

A line is appended under a lock and synced to disk, so that a run that dies loses at most the cell
it was working on. A line cut short by a crash is closed by the next append and skipped by readers.
Several runs may share one file: the cell a run works on is locked (the lock dies with the
process), and others pass it over.
"""

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

try:
    import fcntl
except ImportError:  # Windows: one run at a time is up to the user
    fcntl = None  # type: ignore[assignment]

Record = dict[str, Any]


class Key(NamedTuple):
    """What makes two cells the same; `setup` tells a full search from a quick one."""

    dataset: str
    method: str
    trial: int
    setup: str


def key_of(record: Record) -> Key:
    return Key(record["dataset"], record["method"], int(record["trial"]), record["setup"])


def search_was_cut(record: Record) -> bool:
    """Whether entries of the grid had no time."""
    search = record.get("search", {})
    return search.get("tried", 0) + search.get("beyond", 0) < search.get("of", 0)


def fit_was_cut(record: Record) -> bool:
    """Whether the time limit ended the last fit before its tolerance."""
    return record.get("stopped_by") == "time limit"


class ResultsFile:
    """Finished cells on disk.

    Parameters
    ----------
    path : str or Path
        Made with its folder by the first append.

    Examples
    --------
    >>> import tempfile
    >>> from prml.bench.results_file import ResultsFile
    >>> folder = tempfile.TemporaryDirectory()
    >>> results = ResultsFile(folder.name + "/results.jsonl")
    >>> results.append({"dataset": "flags", "method": "BR", "trial": 0, "setup": "full"})
    >>> [record["method"] for record in results.read()]
    ['BR']
    >>> results.close(); folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        self.n_unreadable = 0
        self._locks: int | None = None

    def read(self) -> list[Record]:
        """All records, oldest first; of one cell and code only the latest."""
        if not self.path.exists():
            return []
        found: dict[tuple[Key, str], Record] = {}
        self.n_unreadable = 0
        for line in self.path.read_bytes().split(b"\n"):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                key = key_of(record), str(record.get("code"))
            except (
                ValueError,
                LookupError,
                TypeError,
                AttributeError,
                OverflowError,
                RecursionError,
            ):
                self.n_unreadable += 1
                continue
            found.pop(key, None)
            found[key] = record
        return list(found.values())

    def append(self, record: Record) -> None:
        """Add one line; it is on the disk when this returns."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked(0), open(self.path, "a+b") as out:
            if out.tell() > 0:
                out.seek(-1, os.SEEK_END)
                if out.read(1) != b"\n":  # the last writer died in the middle of its line
                    line = b"\n" + line
            out.write(line)
            out.flush()
            os.fsync(out.fileno())

    @contextmanager
    def claim(self, key: Key) -> Iterator[bool]:
        """Yield True when no other run works on this cell; the claim lasts as long as the block."""
        # byte 0 is the lock of appends, the others stand for cells
        byte = 1 + zlib.crc32("\0".join(map(str, key)).encode()) % (2**31 - 2)
        with self._locked(byte, wait=False) as got:
            yield got

    def close(self) -> None:
        if self._locks is not None:
            os.close(self._locks)
            self._locks = None

    @contextmanager
    def _locked(self, byte: int, wait: bool = True) -> Iterator[bool]:
        if fcntl is None:
            yield True
            return
        if self._locks is None:
            # one descriptor for good: closing any other one would drop all locks of the process
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock_file = self.path.with_name(f".{self.path.name}.lock")
            self._locks = os.open(lock_file, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            mode = fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB
            fcntl.lockf(self._locks, mode, 1, byte)
        except (BlockingIOError, PermissionError):
            yield False
            return
        try:
            yield True
        finally:
            fcntl.lockf(self._locks, fcntl.LOCK_UN, 1, byte)
