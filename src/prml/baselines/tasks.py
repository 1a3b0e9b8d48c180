"""What is here: many independent fits, run in order on n_jobs workers under one Monitor."""

import warnings
from collections.abc import Callable, Generator, Sequence
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from prml.monitor import Monitor


def run_tasks(
    function: Callable[..., Any],
    tasks: Sequence[tuple],
    store: Callable[[Any], dict[str, Any]],
    monitor: Monitor,
    *,
    n_jobs: int | None,
    threads: bool,
) -> int:
    """Call `function(*task)` for every task and `store` with each result, in the order of `tasks`.

    What `store` returns becomes a record of the monitor. The run ends early when a callback asks
    for it, at the time limit (the first task is always finished) and at Ctrl-C; whatever was
    stored until then stays.

    Parameters
    ----------
    threads : bool
        Work in threads. With False the workers are processes: LIBLINEAR's dual solvers draw from
        one random generator for the whole process, so that threads would share its draws and the
        result would depend on `n_jobs`. A backend chosen by the user (joblib's `parallel_config`,
        for instance Dask) has precedence over both.

    Returns
    -------
    int
        The number of tasks stored.
    """
    done = 0
    results = _results(function, tasks, n_jobs, threads)
    try:
        for result in results:
            record = store(result)
            done += 1
            if monitor.record(iteration=done, **record):
                break
            if done < len(tasks) and monitor.out_of_time:
                break
    except KeyboardInterrupt:
        if done == 0:
            raise  # nothing to keep
        monitor.interrupted()
    finally:
        results.close()
    return done


def _results(function, tasks, n_jobs, threads) -> Generator[Any, None, None]:
    workers = min(effective_n_jobs(n_jobs), len(tasks))
    if workers <= 1:
        with _quiet():
            for task in tasks:
                yield function(*task)
    elif threads:
        # Warning filters belong to the process: they are set once here, not in every thread.
        with _quiet():
            parallel = Parallel(n_jobs=workers, prefer="threads", return_as="generator")
            yield from parallel(delayed(function)(*task) for task in tasks)
    else:
        with _quiet():
            parallel = Parallel(n_jobs=workers, prefer="processes", return_as="generator")
            yield from parallel(delayed(_quietly)(function, task) for task in tasks)


def _quietly(function, task):
    with _quiet():
        return function(*task)


class _quiet(warnings.catch_warnings):
    """Silence LIBLINEAR's warning of each machine, which the estimator sums up in one, and
    joblib's of tasks cancelled, which is what an early end is for."""

    def __enter__(self):
        result = super().__enter__()
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", category=UserWarning, module=r"joblib\.parallel")
        return result
