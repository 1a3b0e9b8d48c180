"""What is here: one epoch: against Algorithm 1 as printed, and when the data double."""

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from benchmarks.bars import Figure
from benchmarks.datasets import load_split, synthetic
from benchmarks.objective import SETTINGS, training_set
from benchmarks.rows import Options
from benchmarks.solvers.algorithm1 import Algorithm1
from benchmarks.solvers.d_step import DStep
from benchmarks.timing import Seconds, measure
from prml.solvers.lowrank import Splitting

NUMBERS = SETTINGS["theta inf, C .001"]  # Algorithm 1 as printed knows no other theta
PART_OF_AN_EPOCH = 0.1
FEWEST_REPEATS = 5  # an epoch takes a fraction of a second
RANK_SHARE = 0.9  # of the number of labels: the middle of the paper's choices of k
BASE = {"n": 4000, "d": 2000, "L": 50}
FACTORS = (1, 2, 4)
ROUNDS = 6


def measure_d_step(options: Options) -> Iterator[Figure]:
    """Seconds of the printed algorithm, extrapolated from a part of an epoch, over ours."""
    for name in options.datasets:
        split = load_split(name, quick=options.quick)
        n, n_labels = split.Y.shape
        rng = np.random.default_rng(0)
        k = math.ceil(RANK_SHARE * n_labels)
        W = rng.normal(size=(k, n_labels)) / np.sqrt(k)
        printed = Algorithm1(split.X, split.Y, W, NUMBERS.C, NUMBERS.gamma2)
        total = 2 * n_labels * n
        printed.run(rng.integers(total, size=10))  # compiles
        picks = rng.integers(total, size=math.ceil(PART_OF_AN_EPOCH * total))
        theirs = measure(lambda printed=printed, picks=picks: printed.run(picks))[0]
        theirs = Seconds(*(t * total / len(picks) for t in theirs))
        ours = DStep(training_set(split.X, split.Y), NUMBERS, W.T @ W)
        best = _epoch_seconds(ours, options.repeats)
        yield Figure(
            "d-step",
            name,
            f"k {k}, theta inf, C .001",
            theirs.wall / best.wall,
            theirs.cpu / max(best.cpu, 1e-9),
            f"{best.wall:.3g} s vs {theirs.wall:.3g} s an epoch",
            {"ours": best._asdict(), "theirs": theirs._asdict(), "part": PART_OF_AN_EPOCH},
        )


def measure_doubling(options: Options) -> Iterator[Figure]:
    """A sweep over all labels, and a round of PrML, as n, L and d grow one at a time."""
    base = {name: size // 10 for name, size in BASE.items()} if options.quick else BASE
    for axis in base:
        sizes = [{**base, axis: factor * base[axis]} for factor in FACTORS]
        for what, seconds_of in (("sweep", _sweep_seconds), ("PrML round", _round_seconds)):
            curve = [seconds_of(size, options.repeats) for size in sizes]
            steps = [Seconds(b.wall / a.wall, b.cpu / max(a.cpu, 1e-9)) for a, b in pairwise(curve)]
            worst = max(steps)
            yield Figure(
                "doubling",
                "synthetic",
                f"{axis}: {what}",
                worst.wall,
                worst.cpu,
                f"{axis} from {base[axis]}: " + ", ".join(f"{c.wall:.3g} s" for c in curve),
                {"sizes": sizes, "seconds": [c._asdict() for c in curve]},
            )


def _data(size: dict[str, int]):
    return training_set(*synthetic(size["n"], size["d"], size["L"]))


def _epoch_seconds(step: DStep, repeats: int) -> Seconds:
    rng = np.random.default_rng(0)
    step.epoch(rng)  # compiles, and leaves the start
    repeats = max(FEWEST_REPEATS, repeats)
    return min(measure(lambda: step.epoch(rng))[0] for _ in range(repeats))


def _sweep_seconds(size: dict[str, int], repeats: int) -> Seconds:
    step = DStep(_data(size), SETTINGS["theta 2, C .01"], np.eye(size["L"]))
    return _epoch_seconds(step, repeats)


def _round_seconds(size: dict[str, int], repeats: int) -> Seconds:
    """The mean of full and partial rounds, sweeps only: Newton steps start at different rounds."""
    rounds = Splitting(_data(size), SETTINGS["theta 2, C .01"], 1.0, seed=0, n_jobs=1)
    rounds.step()

    def go():
        for _ in range(ROUNDS):
            rounds.step()

    best = min(measure(go)[0] for _ in range(max(FEWEST_REPEATS, repeats)))
    return Seconds(best.wall / ROUNDS, best.cpu / ROUNDS)
