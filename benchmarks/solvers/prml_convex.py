"""What is here: PrML, the convex algorithm, to a gap to the global optimum."""

import warnings
from collections.abc import Callable

from benchmarks.datasets import Split
from benchmarks.objective import Outcome, Task
from prml import PrML
from prml.solvers.lowrank import Splitting
from prml.solvers.training_set import Hyperparameters, TrainingSet


def solve(split: Split, task: Task) -> Outcome:
    """Fit all labels together to the relative gap of the task."""
    model = PrML(
        **task.numbers._asdict(), tol=task.tol, n_jobs=task.threads, max_time=task.max_time
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # degenerate labels are expected at theta = inf
        model.set_params(random_state=0).fit(split.X, split.Y)
    return Outcome(model.dual_gap_, model.converged_)


def rounds_of(data: TrainingSet, numbers: Hyperparameters, threads: int = 1) -> Callable[[], float]:
    """What runs a round without Newton steps; it returns the epochs that the round was.

    A round visits every example of every label, then again those that are worth it, which depends
    on how far the fit is.
    """
    rounds = Splitting(data, numbers, 1.0, seed=0, n_jobs=threads)
    n_pairs = data.n_samples * data.n_labels

    def go() -> float:
        rounds.round = 0  # the first rounds are those that visit all
        rounds.step()
        return 1.0 + sum(len(label.active) for label in rounds.labels) / n_pairs

    return go
