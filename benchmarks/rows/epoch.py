"""What is here: one epoch: against Algorithm 1 as printed, and when the data double."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.bars import Figure
from benchmarks.datasets import load_split, synthetic
from benchmarks.objective import SETTINGS, training_set
from benchmarks.rows import Options
from benchmarks.solvers.algorithm1 import Algorithm1
from benchmarks.solvers.d_step import DStep
from benchmarks.solvers.prml_convex import rounds_of
from benchmarks.timing import Seconds, measure, seconds_an_epoch
from prml.solvers.training_set import TrainingSet

NUMBERS = SETTINGS["theta inf, C .001"]  # Algorithm 1 as printed knows no other theta
DOUBLING = SETTINGS["theta 2, C .01"]
PART_OF_AN_EPOCH = 0.1
FEWEST_REPEATS = 5  # an epoch takes a fraction of a second
RANK_SHARE = 0.9  # of the number of labels: the middle of the paper's choices of k
BASE = {"n": 4000, "d": 2000, "L": 50}
FACTORS = (1, 2, 4, 8)


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
        repeats = max(FEWEST_REPEATS, options.repeats)
        best = seconds_an_epoch([_epochs_of(ours)], repeats=repeats)[0]
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
        for what, work_of in (("sweep", _sweeps), ("PrML round", _rounds)):
            works = [work_of(size) for size in sizes]
            curve = seconds_an_epoch(works, repeats=max(FEWEST_REPEATS, options.repeats))
            wall, cpu = (_growth([c[k] for c in curve]) for k in (0, 1))
            yield Figure(
                "doubling",
                "synthetic",
                f"{axis}: {what}",
                wall,
                cpu,
                f"{axis} from {base[axis]}: " + ", ".join(f"{c.wall:.3g} s" for c in curve),
                {"sizes": sizes, "seconds": [c._asdict() for c in curve]},
            )


def _growth(seconds: list[float]) -> float:
    """The factor of one doubling, from the line through all of them on logarithmic axes."""
    slope = np.polyfit(np.log2(FACTORS), np.log2(np.maximum(seconds, 1e-9)), 1)[0]
    return float(2.0**slope)


def _data(size: dict[str, int]) -> TrainingSet:
    return training_set(*synthetic(size["n"], size["d"], size["L"]))


def _epochs_of(step: DStep) -> Callable[[], float]:
    rng = np.random.default_rng(0)

    def go() -> float:
        step.epoch(rng)
        return 1.0

    return go


def _sweeps(size: dict[str, int]) -> Callable[[], float]:
    return _epochs_of(DStep(_data(size), DOUBLING, np.eye(size["L"])))


def _rounds(size: dict[str, int]) -> Callable[[], float]:
    return rounds_of(_data(size), DOUBLING)
