"""What is here: a time limit shared out between labels - what some leave over goes to others."""

import numpy as np
import pytest

from prml.monitor import Monitor
from prml.privileged import LabelFeatures
from prml.solvers.labelwise import solve_each_label
from prml.solvers.smooth import labelwise as smooth
from prml.solvers.svmplus import solve_label
from prml.solvers.training_set import Hyperparameters, TrainingSet
from prml.targets import read_targets

NUMBERS = Hyperparameters(5.0, 1.0, 2.0)


class Steps(Monitor):
    """A monitor whose clock is asked before every step, and goes on by a second each time."""

    seconds = 0.0

    @property
    def elapsed(self):
        self.seconds += 1.0
        return self.seconds


def one_hard_label(n_easy=12):
    """The first label is noise in the features; of the others nothing is known."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = np.full((60, 1 + n_easy), np.nan)
    Y[:, 0] = rng.integers(0, 2, size=60)
    targets = read_targets(Y)
    return TrainingSet(X, targets, LabelFeatures(targets, None, True, enabled=False), True)


def hinge_gaps(training_set, monitor, n_jobs):
    options = {"tol": 1e-7, "max_iter": 5000, "seed": 0, "monitor": monitor, "n_jobs": n_jobs}
    return [s.gap for s in solve_each_label(training_set, NUMBERS, **options)]


def logistic_gaps(training_set, monitor, n_jobs):
    options = {"tol": 1e-7, "max_iter": 5000, "monitor": monitor, "n_jobs": n_jobs}
    solution = smooth.solve_smooth(training_set, NUMBERS, "logistic", **options)
    return [solution.gap[0] / solution.objective[0], *solution.gap[1:]]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("gaps_of", [hinge_gaps, logistic_gaps])
def test_what_easy_labels_leave_over_goes_to_those_cut_short(gaps_of, n_jobs, monkeypatch):
    monkeypatch.setattr(smooth, "block_size", lambda *sizes: 1)
    training_set = one_hard_label()
    free = Steps(max_time=1e9)
    assert max(gaps_of(training_set, free, n_jobs)) <= 1e-7
    limit = 1.5 * free.seconds  # ample for all of them; a thirteenth of it is not for the first
    monitor = Steps(max_time=limit)
    assert max(gaps_of(training_set, monitor, n_jobs)) <= 1e-7
    assert monitor.stopped_by is None
    monitor = Steps(max_time=0.5 * free.seconds)
    assert max(gaps_of(training_set, monitor, n_jobs)) > 1e-7
    assert monitor.stopped_by == "time limit"


def test_a_second_turn_never_loses_what_the_first_had():
    training_set = one_hard_label()
    problem = training_set.problem(0, NUMBERS)
    first = solve_label(problem, tol=1e-9, max_iter=30, rng=np.random.default_rng(0))
    start = first.alpha, first.beta
    cut = solve_label(
        problem, tol=1e-9, rng=np.random.default_rng(1), start=start, should_stop=lambda: True
    )
    both = cut.after(first)
    assert both.objective == min(first.objective, cut.objective)
    assert both.dual_objective == max(first.dual_objective, cut.dual_objective)
    assert both.n_sweeps + both.n_steps >= first.n_sweeps + first.n_steps
