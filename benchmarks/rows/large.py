"""What is here: eurlex and mediamill, two threads, with the peak of the memory; tens of minutes."""

from collections.abc import Iterator
from functools import partial

from benchmarks.bars import Figure
from benchmarks.datasets import LARGE, Split, load_split
from benchmarks.objective import SETTINGS, Task, training_set
from benchmarks.rows import Options
from benchmarks.rows.time_to_gap import ratio, warm_up
from benchmarks.solvers import one_vs_rest, prml_convex
from benchmarks.timing import forget_peak_memory, measure, peak_memory, seconds_an_epoch

SETTING = "theta 2, C .01"
THREADS = 2
PAIRS = 3  # of runs on one and on two threads, for every repeat asked for


def measure_large(options: Options) -> Iterator[Figure]:
    """The rows eurlex, mediamill and memory; each fit runs once."""
    for name in [name for name in LARGE if name in options.rows]:
        split = load_split(name, quick=options.quick)
        task = Task(SETTINGS[SETTING], 1e-2, THREADS)
        warm_up(name, prml_convex.solve, task)
        forget_peak_memory()
        ours = measure(partial(prml_convex.solve, split, task), THREADS)
        peak = peak_memory()
        theirs = measure(partial(one_vs_rest.solve_svc, split, task), THREADS)
        yield ratio(name, split, SETTING, ours, theirs, peak_gb=peak)
        if name == "eurlex":
            yield Figure("memory", name, SETTING, peak, None, "", {"peak_gb": peak})


def measure_logistic(options: Options) -> Iterator[Figure]:
    """PrML against logistic regression at a C chosen beforehand; the choice is not timed."""
    for name in options.datasets:
        split = load_split(name, quick=options.quick)
        task = Task(SETTINGS[SETTING], 1e-2)
        warm_up(name, prml_convex.solve, task)
        model = one_vs_rest.tuned_logistic(split)
        ours = measure(partial(prml_convex.solve, split, task))
        theirs = measure(partial(one_vs_rest.fit_each_label, model, split, 1))
        yield ratio("logistic", split, f"{SETTING}; theirs C {model.C:g}", ours, theirs)


def measure_threads(options: Options) -> Iterator[Figure]:
    """Speed-up of two threads over one: of whole fits, of an epoch where fits are long."""
    for name in options.datasets:
        split = load_split(name, quick=options.quick)
        warm_up(name, prml_convex.solve, Task(SETTINGS[SETTING], 1e-2))
        if name in LARGE:
            runs = [[_epoch(split, threads) for threads in (1, THREADS)]]
        else:
            runs = [
                [_whole_fit(split, threads) for threads in (1, THREADS)]
                for _ in range(PAIRS * options.repeats)
            ]
        # A core that works alone may be faster at one moment and not at the next: runs that
        # follow each other are compared, and the middle one of these ratios counts.
        runs.sort(key=lambda pair: pair[0] / pair[1])
        one, two = runs[len(runs) // 2]
        what = "an epoch" if name in LARGE else "a fit"
        note = f"{what}: {one:.3g} s on one thread, {two:.3g} s on two"
        if len(runs) > 1:
            ratios = [first / second for first, second in runs]
            note += f"; {len(runs)} pairs, {ratios[0]:.3g} to {ratios[-1]:.3g}"
        yield Figure("threads", name, SETTING, one / two, None, note, {"pairs": runs})


def _whole_fit(split: Split, threads: int) -> float:
    task = Task(SETTINGS[SETTING], 1e-2, threads)
    return measure(partial(prml_convex.solve, split, task), threads)[0].wall


def _epoch(split: Split, threads: int) -> float:
    rounds = prml_convex.rounds_of(training_set(split.X, split.Y), SETTINGS[SETTING], threads)
    return seconds_an_epoch([rounds], repeats=2, threads=threads)[0].wall
