"""What is here: eurlex and mediamill, two threads, with the peak of the memory; tens of minutes."""

from collections.abc import Iterator
from functools import partial

from benchmarks.bars import Figure
from benchmarks.datasets import LARGE, Split, load_split
from benchmarks.objective import SETTINGS, Task, training_set
from benchmarks.rows import Options
from benchmarks.rows.time_to_gap import ratio, warm_up
from benchmarks.solvers import one_vs_rest, prml_convex
from benchmarks.timing import Seconds, forget_peak_memory, measure, peak_memory
from prml.solvers.lowrank import Splitting

SETTING = "theta 2, C .01"
THREADS = 2
N_ROUNDS = 3  # of a large fit, to see what a second thread brings


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
    """Speed-up of two threads over one: of whole fits, of the first rounds where those are long."""
    for name in options.datasets:
        split = load_split(name, quick=options.quick)
        task = Task(SETTINGS[SETTING], 1e-2)
        warm_up(name, prml_convex.solve, task)
        is_large = name in LARGE
        runs = [
            [
                _rounds_seconds(split, threads)
                if is_large
                else measure(
                    partial(prml_convex.solve, split, task._replace(threads=threads)), threads
                )[0]
                for threads in (1, THREADS)
            ]
            for _ in range(1 if is_large else options.repeats)
        ]
        one, two = (min(pair[k].wall for pair in runs) for k in (0, 1))
        note = f"{one:.3g} s on one thread, {two:.3g} s on two"
        setting = f"{SETTING}, {N_ROUNDS} rounds" if is_large else SETTING
        yield Figure("threads", name, setting, one / two, None, note, {"one": one, "two": two})


def _rounds_seconds(split: Split, threads: int) -> Seconds:
    data = training_set(split.X, split.Y)
    rounds = Splitting(data, SETTINGS[SETTING], 1.0, seed=0, n_jobs=threads)

    def go():
        for _ in range(N_ROUNDS):
            rounds.step()

    return measure(go, threads)[0]
