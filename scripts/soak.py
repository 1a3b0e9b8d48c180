"""What is here: hours of fit, predict, save and load in one process; memory and handles watched.

    nice -n 15 python scripts/soak.py --hours 2 --log soak.log --json soak.json

A line a minute: cycles so far, resident memory, open file handles, threads. At the end the slope
of memory over time (least squares, the warm-up left out) goes to the JSON summary. The exit code is
1 when memory grew faster than `--allow` MiB an hour, a handle stayed open, or a model read back
from its file did not score exactly as the one that was saved.
"""

import argparse
import gc
import itertools
import json
import os
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_multilabel_classification

from prml import PrBR, PrML, TeacherTransfer, load_model, save_model
from prml.baselines import ECC, LEML, ML2, BinaryRelevance, RAkEL
from prml.model_selection import MultilabelCalibrator, ThresholdTuner

MIB = 2**20
ESTIMATORS: list[Callable] = [
    lambda: PrBR(C=0.1),
    lambda: PrBR(C=0.1, theta=np.inf, max_time=1),
    lambda: PrBR(loss="squared", privileged=3),
    lambda: PrBR(loss="logistic", C=0.1, kernel="rbf", n_landmarks=30, random_state=0),
    lambda: PrML(C=0.1, max_time=1),
    lambda: PrML(C=0.1, loss="squared_hinge", n_components=3, max_time=1),
    lambda: PrML(C=0.1, algorithm="alternating", n_components=3, max_time=1),
    lambda: BinaryRelevance(loss="logistic"),
    lambda: BinaryRelevance(loss="hinge", n_jobs=2),
    lambda: ECC(n_chains=3, random_state=0),
    lambda: RAkEL(n_models=4, random_state=0),
    lambda: LEML(n_components=3, random_state=0),
    lambda: ML2(max_iter=5, random_state=0),
    lambda: TeacherTransfer(PrBR(loss="squared"), cv=3, random_state=0),
    lambda: ThresholdTuner(PrBR(loss="squared"), cv=3, random_state=0),
    lambda: MultilabelCalibrator(BinaryRelevance(), cv=3, random_state=0),
]


def resident_bytes() -> int:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def open_handles() -> int:
    """Open file descriptors of this process (the one that lists them not counted)."""
    return len(os.listdir("/proc/self/fd")) - 1


def problems(seed: int) -> Iterator[tuple]:
    """Yield (X, Y) without end: new data every time, dense and sparse in turn."""
    for number in itertools.count(seed):
        X, Y = make_multilabel_classification(
            n_samples=100 + number % 40, n_features=20, n_classes=6, random_state=number
        )
        yield (sp.csr_matrix(X) if number % 2 else X, Y)


def cycle(make: Callable, X, Y, folder: Path) -> None:
    """Fit, predict, save, load in both ways, and compare every score."""
    model = make()
    if isinstance(model, PrML) and (model.loss, model.algorithm) == ("hinge", "convex"):
        model.set_params(checkpoint=str(folder / "fit.checkpoint"))
    model.fit(X, Y)
    scores = model.decision_function(X)
    model.predict(X)
    path = save_model(model, folder / "model.prml")
    for mmap_mode in (None, "r"):
        again = load_model(path, mmap_mode=mmap_mode)
        if not np.array_equal(again.decision_function(X), scores):
            raise SystemExit(f"{model} scores otherwise after a round trip through its file.")
    for left in folder.iterdir():
        left.unlink()


def memory_slope(minutes: list[dict], warm_up: float) -> float:
    """MiB an hour, least squares over the records after `warm_up` seconds."""
    later = [m for m in minutes if m["seconds"] >= warm_up]
    if len(later) < 3:
        return float("nan")
    hours = np.array([m["seconds"] for m in later]) / 3600
    memory = np.array([m["resident_mib"] for m in later])
    return float(np.polyfit(hours, memory, 1)[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two lines")
    parser.add_argument(
        "--warm-up", type=float, default=900.0, help="seconds left out of the slope"
    )
    parser.add_argument("--share", type=float, default=0.25, help="of one core")
    parser.add_argument("--allow", type=float, default=8.0, help="MiB an hour")
    parser.add_argument("--log", type=Path, default=Path("soak.log"))
    parser.add_argument("--json", type=Path, default=Path("soak.json"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # a stopped fit on tiny data warns; it is not the point here

    start, cycles, data = time.perf_counter(), 0, problems(seed=0)
    makers = itertools.cycle(ESTIMATORS)
    minutes: list[dict] = []
    with tempfile.TemporaryDirectory() as name, options.log.open("a") as log:
        folder = Path(name)
        while (seconds := time.perf_counter() - start) < options.hours * 3600:
            before = time.process_time()
            X, Y = next(data)
            cycle(next(makers), X, Y, folder)
            cycles += 1
            busy = time.process_time() - before
            time.sleep(min(10.0, busy * (1 / options.share - 1)))
            if not minutes or seconds >= minutes[-1]["seconds"] + options.every:
                gc.collect()
                minutes.append(
                    {
                        "seconds": round(seconds, 1),
                        "cycles": cycles,
                        "resident_mib": round(resident_bytes() / MIB, 2),
                        "handles": open_handles(),
                        "threads": threading.active_count(),
                    }
                )
                slope = memory_slope(minutes, options.warm_up)
                print(*minutes[-1].items(), f"slope {slope:.2f} MiB/h", file=log, flush=True)

    warm = [m for m in minutes if m["seconds"] >= options.warm_up] or minutes
    summary = {
        "hours": round((time.perf_counter() - start) / 3600, 3),
        "cycles": cycles,
        "estimators": len(ESTIMATORS),
        "slope_mib_per_hour": memory_slope(minutes, options.warm_up),
        "resident_mib": [warm[0]["resident_mib"], warm[-1]["resident_mib"]],
        "handles": [min(m["handles"] for m in warm), max(m["handles"] for m in warm)],
        "minutes": minutes,
    }
    options.json.write_text(json.dumps(summary, indent=1))
    flat = not summary["slope_mib_per_hour"] > options.allow
    return 0 if flat and len(set(summary["handles"])) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
