"""What is here: what every long call owes its user - a history, callbacks, a time limit, Ctrl-C."""

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

Callback = Callable[[dict[str, Any]], Any]


class Monitor:
    """Watch one fit: keep its history, call the callbacks, say when to stop.

    Parameters
    ----------
    callbacks : callable or iterable of callables, optional
        Each is called with the record of every step (a dict with at least `time` and `iteration`);
        a true return value ends the fit with the best model so far.
    max_time : float, optional
        Seconds after which `out_of_time` is true.
    verbose : int
        With 1 or more every record is printed as a line.

    Examples
    --------
    >>> from prml.monitor import Monitor
    >>> monitor = Monitor(callbacks=lambda record: record["gap"] < 0.1)
    >>> monitor.record(iteration=1, gap=0.5)
    False
    >>> monitor.record(iteration=2, gap=0.05)
    True
    >>> len(monitor.history)
    2
    """

    def __init__(
        self,
        callbacks: Callback | Iterable[Callback] | None = None,
        max_time: float | None = None,
        verbose: int = 0,
    ):
        if callbacks is None:
            callbacks = []
        elif callable(callbacks):
            callbacks = [callbacks]
        self.callbacks = list(callbacks)
        self.max_time = max_time
        self.verbose = verbose
        self.history: list[dict[str, Any]] = []
        self.stopped_by: str | None = None
        self._start = time.perf_counter()

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self._start

    @property
    def remaining(self) -> float:
        return float("inf") if self.max_time is None else self.max_time - self.elapsed

    @property
    def out_of_time(self) -> bool:
        if self.remaining <= 0:
            self.stopped_by = "time limit"
            return True
        return False

    def record(self, **values: Any) -> bool:
        """Append a record, show it to the callbacks; True when one of them asks to stop."""
        entry = {"time": self.elapsed, **values}
        self.history.append(entry)
        if self.verbose:
            print("  ".join(f"{key} {_short(value)}" for key, value in entry.items()), flush=True)
        wishes = [callback(entry) for callback in self.callbacks]
        if any(wishes):
            self.stopped_by = "callback"
            return True
        return False

    def interrupted(self) -> None:
        """Note a Ctrl-C; the caller returns the best model so far."""
        self.stopped_by = "interrupt"
        warnings.warn("Interrupted: the best model so far is kept.", RuntimeWarning, stacklevel=3)


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is a Ctrl-C, or a compiled loop's way of passing one on.

    A Ctrl-C that arrives while numba hands over arguments comes out as a SystemError whose cause,
    or its cause, is the KeyboardInterrupt.
    """
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
