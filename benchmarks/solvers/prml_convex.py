"""What is here: PrML, the convex algorithm, to a gap to the global optimum."""

import warnings

from benchmarks.datasets import Split
from benchmarks.objective import Outcome, Task
from prml import PrML


def solve(split: Split, task: Task) -> Outcome:
    """Fit all labels together to the relative gap of the task."""
    model = PrML(
        **task.numbers._asdict(), tol=task.tol, n_jobs=task.threads, max_time=task.max_time
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # degenerate labels are expected at theta = inf
        model.set_params(random_state=0).fit(split.X, split.Y)
    return Outcome(model.dual_gap_, model.converged_)
