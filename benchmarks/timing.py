"""What is here: seconds of the clock and of the processor, and the peak of the memory."""

import re
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

LONG = 5.0  # seconds; a longer run is not repeated


class Seconds(NamedTuple):
    """Of the clock on the wall, and of all processors together."""

    wall: float
    cpu: float


def measure(work: Callable[[], Any], threads: int = 1) -> tuple[Seconds, Any]:
    """Run `work` once with so many threads for BLAS; its time and what it returned."""
    with threadpool_limits(threads):
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        return Seconds(time.perf_counter() - wall, time.process_time() - cpu), result


def measure_in_turn(
    works: list[Callable[[], Any]], *, repeats: int = 3, threads: int = 1
) -> list[tuple[Seconds, Any]]:
    """Run all `works`, one after the other, up to `repeats` times; the quickest run of each.

    Taking turns, they meet the same disturbances; the quickest run is the least disturbed one.
    """
    best: list[tuple[Seconds, Any] | None] = [None] * len(works)
    for _ in range(repeats):
        for i, work in enumerate(works):
            kept = best[i]
            if kept is not None and kept[0].wall > LONG:
                continue
            run = measure(work, threads)
            if kept is None or run[0].wall < kept[0].wall:
                best[i] = run
    return [run for run in best if run is not None]


def seconds_an_epoch(
    works: list[Callable[[], float]], *, repeats: int = 3, threads: int = 1
) -> list[Seconds]:
    """As `measure_in_turn`, for works that return how many epochs they were; the first compiles."""
    for work in works:
        measure(work, threads)
    runs = measure_in_turn(works, repeats=repeats, threads=threads)
    return [Seconds(time.wall / epochs, time.cpu / epochs) for time, epochs in runs]


def forget_peak_memory() -> None:
    """Let the peak start at what is in use now, where the system can do so (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float:
    """The largest resident memory, in GB, since `forget_peak_memory` or the start."""
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return int(found[1]) * 1024 / 1e9
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
