"""What is here: compiled loops kept on disk; without them a fit starts later, no more."""

from typing import Any


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
            return self._cache.load_overload(*args)
        except Exception:  # damage can say anything; None means: compile
            return None

    def save_overload(self, *args: Any) -> None:
        try:
            self._cache.save_overload(*args)
        except Exception:  # also a spoiled index, which numba reads before it adds to it
            return


def forgive(dispatcher: Any) -> Any:
    """Let a compiled loop do without its cache when the disk fails."""
    held = getattr(dispatcher, "_cache", None)
    if held is not None and not isinstance(held, ForgivingCache):
        dispatcher._cache = ForgivingCache(held)
    return dispatcher
