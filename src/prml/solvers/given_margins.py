"""What is here: the best teacher for margins that are already there.

At a fixed predictor only wt is left: a small problem in which no x is read. Its solution is the
primal point by which the low-rank solver judges a predictor, and the step is the engine's own with
rows that are empty.
"""

from typing import NamedTuple

import numpy as np

from prml.loops import svmplus as loops
from prml.loops.svmplus import Csr, Problem
from prml.solvers.feasibility import lift_direction
from prml.solvers.svmplus import RHO_BETA_OVER_ALPHA, Lift


class TeacherFit(NamedTuple):
    """A feasible teacher and the label's objective without the term of z.

    `distance` bounds how far above the optimum the objective is; inf where it was not asked for.
    """

    wt: np.ndarray
    wt0: float
    objective: float
    distance: float = np.inf


def fit_teacher(
    problem: Problem,
    m: np.ndarray,
    wt: np.ndarray,
    wt0: float,
    alpha: np.ndarray,
    beta: np.ndarray,
    *,
    n_steps: int = 6,
    lift: Lift | None = None,
    enough: float = 0.0,
) -> TeacherFit:
    """Make (wt, wt0) feasible at the margins m, and improve it by a few Newton steps.

    alpha and beta are the multipliers near which the optimum is expected; they are not changed.
    They bound the optimum from below: no step is taken where the repaired teacher is within
    `enough` of that bound.
    """
    p = without_rows(problem)
    lift = lift_direction(p) if lift is None else lift
    cheapest = np.empty(len(p.norm), dtype=np.int64)
    loops.cheapest_entries(p, cheapest)
    wt, offset = wt.copy(), np.array([wt0 - wt.sum()])
    z, xi = np.zeros(1), np.empty(len(p.norm))
    loops.slacks(p, offset[0], wt, xi)
    best = _repaired(p, m, wt, wt0, xi, lift, cheapest)
    if len(m) == 0:
        return TeacherFit(np.zeros_like(wt), 0.0, 0.0, 0.0)
    if enough > 0.0 and best.objective < np.inf:
        distance = best.objective - _lower_bound(p, m, alpha, beta)
        if distance <= enough:
            return best._replace(distance=distance)
    if p.n_teachers == 0 and not p.teacher_bias:
        return best
    m = m.copy()
    # the scale at which one step of the multipliers is about one typical alpha
    rho = max(float(p.cost.mean()), 1e-300)
    room = np.empty(len(m)), np.empty(len(xi)), np.empty(len(m), np.int64), z.copy(), xi.copy()
    for _ in range(n_steps):
        rho_beta = RHO_BETA_OVER_ALPHA * rho
        loops.newton_step(p, z, wt, offset, m, xi, alpha, beta, rho, rho_beta, 50, 0.1)
        loops.multipliers(p, m, xi, alpha, beta, rho, rho_beta, *room)
        alpha, beta = room[0].copy(), room[1].copy()
        point = _repaired(p, m, wt, p.teacher_bias * (offset[0] + wt.sum()), xi, lift, cheapest)
        gain = best.objective - point.objective
        if gain > 0.0:
            best = point
        if abs(gain) <= 1e-4 * best.objective:
            break
        rho *= 4.0
    return best


def without_rows(problem: Problem) -> Problem:
    """The problem with no features: its margins are whatever the caller says."""
    n_rows = int(problem.rows.max()) + 1 if len(problem.rows) else 0
    empty = Csr(np.empty(0), np.empty(0, np.int32), np.zeros(n_rows + 1, np.int32), 0.0)
    return problem._replace(X=empty, centre=np.zeros(1), omega=1.0)


def _lower_bound(p: Problem, m, alpha, beta) -> float:
    sigma = np.empty(len(p.norm))
    loops.group_sums(p, alpha, beta, sigma)
    return loops.dual_value(p, alpha, np.zeros(1), sigma) - float(alpha @ m)


def _repaired(p: Problem, m, wt, wt0, xi, lift: Lift, cheapest) -> TeacherFit:
    """The cheaper of two repairs: along the lift, or by raising single labels of the teacher."""
    if lift.forced is not None:
        wt = wt - lift.forced @ (lift.forced.T @ wt)
        xi = np.empty(len(p.norm))
        loops.slacks(p, wt0 - wt.sum(), wt, xi)
    r = loops.smallest_lift(p, m, xi, lift.xi)
    if not np.isfinite(r):
        return TeacherFit(wt, wt0, np.inf)
    lifted, lifted0 = wt + r * lift.wt, wt0 + r * lift.wt0
    offset, nothing = lifted0 - lifted.sum(), np.zeros(1)
    value = loops.primal_value(p, nothing, lifted, offset, m, xi + r * lift.xi)
    if p.teacher_bias and r > 0.0:
        raised = np.empty_like(wt)
        cost, offset = loops.cheapest_repair(
            p, nothing, wt, wt0 - wt.sum(), m, xi, r, cheapest, raised
        )
        if cost < value:
            return TeacherFit(raised, float(offset + raised.sum()), cost)
    return TeacherFit(lifted, lifted0, value)
