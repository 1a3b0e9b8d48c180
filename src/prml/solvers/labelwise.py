"""What is here: all labels of a training set, each by itself (PrBR), over joblib threads."""

import threading
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from prml.loops.svmplus import Problem
from prml.monitor import Monitor, is_interrupt
from prml.solvers.absent_labels import stand_in
from prml.solvers.feasibility import InfeasibleError, is_feasible, lift_direction
from prml.solvers.svmplus import LabelSolution, cold_start, record_bounds, solve_label
from prml.solvers.time_shares import TimeShares
from prml.solvers.training_set import Hyperparameters, TrainingSet


class InfeasibleLabel(NamedTuple):
    """A label whose constraints no predictor satisfies."""

    label: int


def do_nothing_bound(training_set: TrainingSet, i: int, numbers: Hyperparameters) -> float:
    """The objective of z = 0: pay every residual, or excuse all by the intercept."""
    return min(_do_nothing(training_set, i, numbers))


def _do_nothing(training_set: TrainingSet, i: int, numbers: Hyperparameters) -> tuple[float, float]:
    """What z = 0 costs when every residual is paid, and when the intercept excuses all."""
    total = numbers.C * training_set.weights(i).sum()
    if total == 0.0:
        return 0.0, 0.0
    excuse = total + 0.5 * numbers.gamma2 if training_set.features.bias else np.inf
    return numbers.theta * total, excuse


def solve_each_label(
    training_set: TrainingSet,
    numbers: Hyperparameters,
    *,
    tol: float,
    max_iter: int,
    seed: int,
    monitor: Monitor,
    n_jobs: int | None = None,
    starts: list[tuple[np.ndarray, np.ndarray]] | None = None,
) -> list[LabelSolution]:
    """Solve every label's problem to the relative gap `tol`; stop early when the monitor says so.

    The orders of the sweeps depend on the seed and the label alone, so the result does not depend
    on `n_jobs`. The time limit is shared out evenly: label k must be done at (k+1)/L of it, what
    one leaves over goes to the next, and what all leave over to those that were cut short. A label
    that was not reached stays at the zero predictor.
    """
    n_labels, one = training_set.n_labels, stand_in(training_set)
    halt = threading.Event()
    shares = TimeShares(len(one.members), monitor, halt)

    def solve(i: int) -> LabelSolution | InfeasibleLabel:
        problem = training_set.problem(i, numbers)
        lift = lift_direction(problem)
        if not is_feasible(problem, lift):
            return InfeasibleLabel(i)

        before = solutions.get(i)
        start, n_before = None if starts is None else starts[i], 0
        if before is not None:  # another turn: go on from the last one, in another order
            start, n_before = (before.alpha, before.beta), before.n_sweeps + before.n_steps
        solution = solve_label(
            problem,
            tol=tol,
            max_iter=max_iter - n_before,
            rng=np.random.default_rng([seed, i, n_before] if n_before else [seed, i]),
            start=start,
            lift=lift,
            should_stop=lambda: shares.is_over(int(one.source[i])),
        )
        return solution if before is None else solution.after(before)

    solutions: dict[int, LabelSolution] = {}
    infeasible: list[int] = []
    bounds = np.array([do_nothing_bound(training_set, i, numbers) for i in range(n_labels)])
    duals = np.zeros(n_labels)
    n_done = 0

    def interrupt(error: BaseException) -> None:
        """Stop all labels when the error is a Ctrl-C; raise it when it is anything else."""
        if not is_interrupt(error):
            raise error
        halt.set()
        monitor.interrupted()

    def numbered(i: int):
        if halt.is_set() and not infeasible:  # after an infeasible label others are looked for
            return i, None
        try:
            result = solve(i)
        except (KeyboardInterrupt, SystemError) as error:  # with one job the signal lands here
            interrupt(error)
            return i, None
        if isinstance(result, LabelSolution):  # kept here: a Ctrl-C must not lose what is done
            solutions[i] = result
        return i, result

    pool = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator_unordered")

    def results():
        for turns in shares.turns():
            yield from pool(delayed(numbered)(int(one.members[k])) for k in turns)

    try:
        for i, result in results():
            if isinstance(result, InfeasibleLabel):
                infeasible.append(i)
                halt.set()
            elif result is not None:
                solved = np.flatnonzero(one.source == one.source[i])
                bounds[solved], duals[solved] = result.objective, result.dual_objective
                n_done += len(solved)
            if infeasible or result is None or monitor.stopped_by == "interrupt":
                continue
            objective, dual = float(bounds.sum()), float(duals.sum())
            try:
                wish = record_bounds(monitor, n_done, objective, dual, n_labels=n_labels)
            except KeyboardInterrupt as error:  # out of a callback: the pool ends in order
                interrupt(error)
                continue
            if wish:
                halt.set()
    except (KeyboardInterrupt, SystemError) as error:
        interrupt(error)
    if infeasible:
        raise InfeasibleError(sorted(infeasible))

    def of_label(i: int) -> LabelSolution:
        solution = solutions.get(int(one.members[one.source[i]]))
        if solution is None:
            return zero_solution(training_set, i, numbers)
        return solution._replace(wt=one.teacher(solution.wt, i))

    return [of_label(i) for i in range(n_labels)]


def zero_solution(
    training_set: TrainingSet, i: int, numbers: Hyperparameters, problem: Problem | None = None
) -> LabelSolution:
    """The zero predictor as a solution with its true bounds: what a label not reached gets.

    `problem` is label i's, where it is at hand.
    """
    problem = training_set.problem(i, numbers) if problem is None else problem
    pay, excuse = _do_nothing(training_set, i, numbers)
    return LabelSolution(
        np.zeros(training_set.n_features + 1),
        np.zeros(problem.n_teachers),
        float(excuse < pay),
        *cold_start(problem),
        min(pay, excuse),
        0.0,
        0,
        0,
    )
