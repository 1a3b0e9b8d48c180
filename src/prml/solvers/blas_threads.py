"""What is here: a limit on the threads of BLAS that fits at the same time can share."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController


class _Limits:
    """The limits that hold now; the smallest counts.

    BLAS has one number for the whole process. `threadpool_limits` of two fits that overlap would
    restore it in the wrong order, and the last one would leave the limit of the other behind.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted: list[int] = []
        self._before: list[tuple] = []  # the libraries and what each had

    def add(self, n: int) -> None:
        with self._lock:
            if not self._wanted:
                libraries = ThreadpoolController().select(user_api="blas").lib_controllers
                self._before = [(library, library.num_threads) for library in libraries]
            self._wanted.append(n)
            self._apply()

    def remove(self, n: int) -> None:
        with self._lock:
            self._wanted.remove(n)
            self._apply()

    def _apply(self) -> None:
        for library, before in self._before:
            allowed = min([before, *self._wanted])
            if library.num_threads != allowed:
                library.set_num_threads(allowed)


_LIMITS = _Limits()


@contextmanager
def blas_threads(at_most: int) -> Iterator[None]:
    """Let BLAS have at most so many threads meanwhile, in the whole process.

    Examples
    --------
    >>> from prml.solvers.blas_threads import blas_threads
    >>> with blas_threads(at_most=1):
    ...     pass
    """
    _LIMITS.add(at_most)
    try:
        yield
    finally:
        _LIMITS.remove(at_most)
