"""What is here: what a user waits for besides the fit: predictions, the import, the first fit."""

import operator
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.bars import Figure
from benchmarks.datasets import load_split
from benchmarks.rows import Options
from benchmarks.timing import Seconds, measure, measure_in_turn
from prml import PrML

PREDICT_REPEATS = 20
PREDICT_SECONDS = 0.02  # of one measurement, at the least
TIMED = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
IMPORT = TIMED.format("import prml")
IMPORT_NAME = TIMED.format("from prml import PrML")
FIRST_FIT = """
import time, warnings
import numpy as np
from prml import PrML
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(200, 10)), (rng.random((200, 6)) < 0.3).astype(int)
t = time.perf_counter()
PrML().fit(X, Y)
print(time.perf_counter() - t)
"""


def measure_predict(options: Options) -> Iterator[Figure]:
    """predict against the bare product, on the other half."""
    for name in options.datasets:
        split = load_split(name, quick=options.quick)
        model = PrML(C=0.01, tol=0.5, max_iter=5, random_state=0).fit(split.X, split.Y)
        X = split.X_test
        repeats = 2 if options.quick else PREDICT_REPEATS
        # one call of a small model is over before the clock and the caches have settled
        predict, product = partial(model.predict, X), partial(operator.matmul, X, model.coef_.T)
        n_calls = 1 + int(PREDICT_SECONDS / measure(predict)[0].wall)
        works = [partial(_often, n_calls, call) for call in (predict, product)]
        runs = measure_in_turn(works, repeats=repeats)
        ours, theirs = (Seconds(t.wall / n_calls, t.cpu / n_calls) for t, _ in runs)
        yield Figure(
            "predict",
            name,
            "",
            ours.wall / theirs.wall,
            ours.cpu / max(theirs.cpu, 1e-9),
            f"{1e3 * ours.wall:.3g} ms vs {1e3 * theirs.wall:.3g} ms",
            {"ours": ours._asdict(), "theirs": theirs._asdict()},
        )


def _often(n_calls: int, call: Callable[[], Any]) -> None:
    for _ in range(n_calls):
        call()


def measure_start(options: Options) -> Iterator[Figure]:
    """Seconds of the import, of the first name, and of a small first fit, in new processes."""
    programs = {"import": IMPORT, "import-name": IMPORT_NAME, "first-fit": FIRST_FIT}
    for row in [row for row in programs if row in options.rows]:
        seconds = [_seconds_of(programs[row]) for _ in range(1 + options.repeats)]
        # the first process may have had to read files or compile
        note = f"the first of {len(seconds)} processes {seconds[0]:.3g} s"
        yield Figure(row, "", "", min(seconds[1:]), None, note, {"seconds": seconds})
    if "first-fit-cold" in options.rows:
        seconds = [_seconds_without_cache(FIRST_FIT) for _ in range(options.repeats)]
        note = f"{len(seconds)} processes, the slowest {max(seconds):.3g} s"
        yield Figure("first-fit-cold", "", "", min(seconds), None, note, {"seconds": seconds})


def _seconds_without_cache(program: str) -> float:
    with tempfile.TemporaryDirectory() as empty:
        return _seconds_of(program, NUMBA_CACHE_DIR=empty)


def _seconds_of(program: str, **environment: str) -> float:
    words = [sys.executable, "-c", program]
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env=os.environ | environment
    )
    return float(done.stdout.split()[-1])
