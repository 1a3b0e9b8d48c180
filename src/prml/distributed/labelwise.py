"""What is here: what joblib's Dask backend does - PrBR's labels, and estimators as they are.

Labels of PrBR do not depend on each other, so groups of them are tasks that Dask runs again
elsewhere when a worker dies; nothing has to be kept.
"""

import contextlib
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config

from prml.distributed.sources import gather_labels, is_elsewhere
from prml.monitor import Monitor
from prml.solvers.feasibility import InfeasibleError, is_feasible, lift_direction
from prml.solvers.labelwise import do_nothing_bound, zero_solution
from prml.solvers.svmplus import LabelSolution, relative_gap, solve_label
from prml.solvers.training_set import Hyperparameters, TrainingSet

GROUPS_A_THREAD = 8  # labels differ widely in cost


def fit_with_joblib(estimator: Any, X: Any, Y: Any, client: Any, sample_weight: Any) -> Any:
    """Fit with joblib's Dask backend: what the estimator runs in parallel runs on the workers."""
    rest = {} if sample_weight is None else {"sample_weight": sample_weight}
    if is_elsewhere(X):
        raise ValueError(
            f"X is a {type(X).__name__}; for {type(estimator).__name__} expected an array or a "
            "sparse matrix in the memory of the client."
        )
    with _dask_backend(client):
        return estimator.fit(X, gather_labels(Y, client), **rest)


def fit_labels(
    estimator: Any, X: Any, Y: Any, client: Any, sample_weight: Any, n_features: int | None
) -> Any:
    """Fit a PrBR, its labels in groups on the workers."""
    if estimator.loss != "hinge":
        raise ValueError(
            f"PrBR: loss is {estimator.loss!r}; over workers expected loss='hinge' (the smooth "
            "losses solve all labels in one factorisation, on one machine)."
        )
    if is_elsewhere(X):
        raise ValueError(
            f"X is a {type(X).__name__}; for PrBR expected an array or a sparse matrix in the "
            "memory of the client."
        )

    def solve(training_set: TrainingSet, numbers: Hyperparameters, **rest: Any):
        return solve_labels_on_workers(client, training_set, numbers, **rest)

    estimator._solve_labels = solve
    try:
        return estimator.fit(X, gather_labels(Y, client), sample_weight)
    finally:
        del estimator._solve_labels


def solve_labels_on_workers(
    client: Any,
    training_set: TrainingSet,
    numbers: Hyperparameters,
    *,
    tol: float,
    max_iter: int,
    seed: int,
    monitor: Monitor,
    n_jobs: int | None = None,
    starts: list | None = None,
) -> list[LabelSolution]:
    """`prml.solvers.labelwise.solve_each_label` with groups of labels as tasks of a client.

    The time limit is that of the whole: groups that do not begin in time stay at zero.
    """
    n_labels = training_set.n_labels
    n_groups = min(n_labels, GROUPS_A_THREAD * max(1, sum(client.nthreads().values())))
    groups = [np.arange(g, n_labels, n_groups) for g in range(n_groups)]
    bounds = np.array([do_nothing_bound(training_set, i, numbers) for i in range(n_labels)])
    duals, solutions, n_done = np.zeros(n_labels), {}, 0
    infeasible: list[int] = []
    with _dask_backend(client, scatter=[training_set]):
        pool = Parallel(n_jobs=-1, return_as="generator_unordered", batch_size=1)
        results = pool(
            delayed(_solve_group)(
                training_set,
                numbers,
                group,
                tol,
                max_iter,
                seed,
                None if starts is None else [starts[i] for i in group],
                monitor.remaining,
            )
            for group in groups
        )
        try:
            for group, found, without_solution in results:
                infeasible += without_solution
                n_done += len(group)
                for i, solution in found.items():
                    solutions[i] = solution
                    bounds[i], duals[i] = solution.objective, solution.dual_objective
                objective, dual = float(bounds.sum()), float(duals.sum())
                stop = monitor.record(
                    iteration=n_done,
                    objective=objective,
                    dual_objective=dual,
                    gap=relative_gap(objective, dual),
                    n_labels=n_labels,
                )
                if stop or monitor.out_of_time:
                    break
        except KeyboardInterrupt:
            monitor.interrupted()
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of tasks that are called off
                results.close()
    if infeasible:
        raise InfeasibleError(sorted(infeasible))
    return [
        solutions[i] if i in solutions else zero_solution(training_set, i, numbers)
        for i in range(n_labels)
    ]


def _solve_group(training_set, numbers, group, tol, max_iter, seed, starts, seconds):
    """Solve some labels; runs on a worker. Returns the group, solutions, labels without one."""
    limit = Monitor(max_time=None if np.isinf(seconds) else max(seconds, 1e-9))
    found, infeasible = {}, []
    for position, i in enumerate(map(int, group)):
        problem = training_set.problem(i, numbers)
        lift = lift_direction(problem)
        if not is_feasible(problem, lift):
            infeasible.append(i)
            continue
        found[i] = solve_label(
            problem,
            tol=tol,
            max_iter=max_iter,
            rng=np.random.default_rng([seed, i]),
            start=None if starts is None else starts[position],
            lift=lift,
            should_stop=lambda: limit.out_of_time,
        )
    return group, found, infeasible


@contextlib.contextmanager
def _dask_backend(client: Any, **settings: Any):
    """joblib's Dask backend on this client, which need not be the current one."""
    with client.as_current(), parallel_config(backend="dask", **settings):
        yield
