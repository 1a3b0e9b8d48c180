"""What is here: what the contestants solve, and how they say how well."""

from typing import NamedTuple

import numpy as np

from prml.loops import svmplus as loops
from prml.loops.svmplus import Problem
from prml.privileged import LabelFeatures
from prml.solvers.training_set import Hyperparameters, TrainingSet
from prml.targets import read_targets

SETTINGS = {
    "theta 2, C .01": Hyperparameters(C=0.01, gamma2=1.0, theta=2.0),
    "theta inf, C .001": Hyperparameters(C=0.001, gamma2=1.0, theta=np.inf),
}


class Task(NamedTuple):
    """The numbers of the objective, the accuracy asked for, and what may be used for it."""

    numbers: Hyperparameters
    tol: float
    threads: int = 1
    max_time: float | None = None


class Outcome(NamedTuple):
    """How a solver ended: the relative duality gap, where it has one, and whether it got there."""

    gap: float | None
    reached: bool


def training_set(X, Y) -> TrainingSet:
    """X and Y as the solvers read them, every other label a teacher, with both intercepts."""
    targets = read_targets(Y)
    return TrainingSet(X, targets, LabelFeatures(targets))


def label_bounds(
    problem: Problem, alpha: np.ndarray, beta: np.ndarray, z: np.ndarray
) -> tuple[float, float]:
    """Objective and dual value of one label from any multipliers; beta has one entry a group.

    The primal point is that of the multipliers, its privileged intercept raised until every
    constraint holds.
    """
    n_groups = len(problem.norm)
    sigma, u, s, again = np.empty(n_groups), np.empty(problem.n_teachers), np.empty(3), z.copy()
    loops.dual_state(problem, alpha, beta, again, u, s)
    loops.group_sums(problem, alpha, beta, sigma)
    dual = loops.dual_value(problem, alpha, (again - problem.centre) / problem.omega, sigma)
    wt = (u - s[0]) / problem.gamma2
    offset = problem.teacher_bias * s[0] / problem.gamma2 - wt.sum()
    m, xi = np.empty(len(problem.rows)), np.empty(n_groups)
    loops.margins(problem, again, m)
    loops.slacks(problem, offset, wt, xi)
    lift = loops.smallest_lift(problem, m, xi, np.ones(n_groups))
    return loops.primal_value(problem, again, wt, offset + lift, m, xi + lift), dual
