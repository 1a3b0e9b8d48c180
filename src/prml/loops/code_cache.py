"""What is here: compiled loops kept on disk; without them a fit starts later, no more.

numba's own cache numbers its files, and processes that compile at the same time give one number to
two loops: from then on the wrong code is called. It also looks at the file of a loop alone, and so
misses edits of what is compiled into it. Here a file is named by what it holds, is written before
the index that names it, and counts only for the sources of all loops that it was made from.
"""

import hashlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

from prml.live_line import is_watched

FORMAT = "prml 1"


class NamedByContent(IndexDataCacheFile):
    """numba's index and data files of one loop, safe for any number of processes.

    Two that save at once may lose an entry of the index, which is compiled again; no entry is ever
    of other code.
    """

    def save(self, key: Any, data: Any) -> None:
        name = self._data_name_of(key)
        self._save_data(name, data)
        overloads = self._load_index()
        overloads[key] = name
        self._save_index(overloads)

    def _data_name_of(self, key: Any) -> str:
        told = repr((self._version, self._source_stamp, key)).encode()
        base = self._index_name.removesuffix(".nbi")
        return f"{base}.{hashlib.sha256(told).hexdigest()[:16]}.nbc"


class ForgivingCache:
    """numba's cache of one loop, whose failures cost a compilation and nothing else.

    The folder may be full, removed while a program runs, or hold what another version wrote: numba
    would raise out of the middle of a fit.
    """

    def __init__(self, cache: Any):
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *args: Any) -> Any:
        try:
            found = self._cache.load_overload(*args)
        except Exception:  # damage can say anything; None means: compile
            found = None
        if found is None:
            say_that_it_compiles()
        return found

    def save_overload(self, *args: Any) -> None:
        try:
            self._cache.save_overload(*args)
        except Exception:  # also a spoiled index, which numba reads before it adds to it
            return


@cache
def say_that_it_compiles() -> None:
    """One line a process, to who is watching: why a first fit may take half a minute."""
    if is_watched():
        print(
            "prml: compiling its loops for this machine; later runs find them on disk.",
            file=sys.stderr,
            flush=True,
        )


def make_safe(dispatcher: Any) -> Any:
    """Let a compiled loop share its cache with other processes, and do without when it fails."""
    held = getattr(dispatcher, "_cache", None)
    file = getattr(held, "_cache_file", None)
    if type(file) is IndexDataCacheFile:
        file.__class__ = NamedByContent
        file._version = f"{file._version} {FORMAT}"
        file._source_stamp = (file._source_stamp, _stamp_of_all_loops())
        dispatcher._cache = ForgivingCache(held)
    return dispatcher


@cache
def _stamp_of_all_loops() -> tuple[tuple[str, int, int], ...]:
    """Name, time and size of every file whose loops may be compiled into another's."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return tuple((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files)
