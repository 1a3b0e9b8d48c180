"""What is here: PrBR and PrML to a gap against LinearSVC, one thread, all in turn."""

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.bars import Figure
from benchmarks.datasets import Split, load_split
from benchmarks.objective import SETTINGS, Outcome, Task
from benchmarks.rows import Options
from benchmarks.solvers import one_vs_rest, paper_descent, prbr, prml_convex
from benchmarks.timing import Seconds, measure, measure_in_turn

Solve = Callable[[Split, Task], Outcome]
CONTESTANTS: dict[str, tuple[Solve, float]] = {
    "prbr": (prbr.solve, 1e-3),
    "prml-1e-2": (prml_convex.solve, 1e-2),
    "prml-1e-3": (prml_convex.solve, 1e-3),
}
PATIENCE = 20.0  # the paper's descent may take so many times the time of PrBR


def ratio(
    row: str,
    split: Split,
    setting: str,
    ours: tuple[Seconds, Outcome],
    theirs: tuple[Seconds, Outcome],
    **details: object,
) -> Figure:
    """Ours over theirs, with the seconds and the gap that was reached."""
    (our_time, outcome), (their_time, their_outcome) = ours, theirs
    note = f"{our_time.wall:.3g} s vs {their_time.wall:.3g} s, gap {outcome.gap:.1e}"
    seconds = {"ours": our_time._asdict(), "theirs": their_time._asdict()}
    return Figure(
        row,
        split.name,
        setting,
        our_time.wall / their_time.wall,
        our_time.cpu / max(their_time.cpu, 1e-9),
        note,
        {
            **seconds,
            "gap": outcome.gap,
            "reached": outcome.reached,
            "theirs_reached": their_outcome.reached,
            **details,
        },
    )


def warm_up(name: str, solve: Solve, task: Task) -> None:
    """Solve a small part of the same kind, so that nothing is compiled while the clock runs."""
    solve(load_split(name, quick=True), task._replace(tol=1e-6, max_time=60.0))


def measure_time_to_gap(options: Options) -> Iterator[Figure]:
    """The rows prbr, prml-1e-2 and prml-1e-3."""
    chosen = {row: CONTESTANTS[row] for row in CONTESTANTS if row in options.rows}
    for name in options.datasets:
        split = load_split(name, quick=options.quick)
        for setting, numbers in SETTINGS.items():
            works = [partial(one_vs_rest.solve_svc, split, Task(numbers, 0.0))]
            for solve, tol in chosen.values():
                warm_up(name, solve, Task(numbers, tol))
                works.append(partial(solve, split, Task(numbers, tol)))
            theirs, *ours = measure_in_turn(works, repeats=options.repeats)
            for row, run in zip(chosen, ours, strict=True):
                yield ratio(row, split, setting, run, theirs)


def measure_paper(options: Options) -> Iterator[Figure]:
    """The paper's start and order against ours; beyond the patience the ratio is a lower bound."""
    for name in options.datasets:
        split = load_split(name, quick=options.quick)
        for setting, numbers in SETTINGS.items():
            task = Task(numbers, 1e-3)
            warm_up(name, prbr.solve, task)
            # one epoch at the least: enough to compile
            paper_descent.solve(load_split(name, quick=True), task._replace(max_time=1e-9))
            ours = measure(partial(prbr.solve, split, task))
            limit = max(1.0, PATIENCE * ours[0].wall)
            theirs = measure(partial(paper_descent.solve, split, task._replace(max_time=limit)))
            figure = ratio("paper", split, setting, theirs, ours)
            note = figure.note + ("" if theirs[1].reached else " (stopped: a lower bound)")
            yield figure._replace(note=note)
