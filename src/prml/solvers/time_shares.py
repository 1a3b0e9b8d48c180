"""What is here: a time limit shared out between the parts of a fit that are solved one by one."""

import threading
from collections.abc import Iterator

from prml.monitor import Monitor


class TimeShares:
    """The turns of some parts, each with its share of the seconds left.

    What one leaves over goes to those after it, and what all leave over to those that were cut
    short: they have another turn.

    Parameters
    ----------
    n_parts : int
    monitor : Monitor
        Whose time limit it is; told when that ended the last turn.
    halt : threading.Event
        Set when all parts have to end.
    """

    def __init__(self, n_parts: int, monitor: Monitor, halt: threading.Event):
        self.n_parts, self.monitor, self.halt = n_parts, monitor, halt
        self._deadlines: dict[int, float] = {}
        self._cut: set[int] = set()  # parts that their deadline ended

    def turns(self) -> Iterator[list[int]]:
        """Yield all parts, then as long as there is time those that were cut short."""
        parts = list(range(self.n_parts))
        while parts:
            now, left = self.monitor.elapsed, self.monitor.remaining
            self._deadlines = {p: now + left * (k + 1) / len(parts) for k, p in enumerate(parts)}
            self._cut.clear()
            yield parts
            is_over = self.halt.is_set() or self.monitor.remaining <= 0.0
            parts = [] if is_over else sorted(self._cut)
        if self.monitor.remaining <= 0.0:
            self.monitor.stopped_by = self.monitor.stopped_by or "time limit"

    def is_over(self, part: int) -> bool:
        """Whether a part has to end where it is."""
        if self.halt.is_set():
            return True
        if self.monitor.elapsed > self._deadlines[part]:
            self._cut.add(part)
            return True
        return False
