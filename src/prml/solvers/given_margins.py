"""What is here: the best teacher for margins that are already there.

At a fixed predictor only wt is left: a small problem in which no x is read. Its solution is the
primal point by which the low-rank solver judges a predictor, and the step is the engine's own with
rows that are empty.
"""

from typing import NamedTuple

import numpy as np

from prml.loops import svmplus as loops
from prml.loops.rows import csr_rows, dense_rows
from prml.loops.svmplus import Csr, Dense, Problem
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


def repair_teacher(
    problem: Problem,
    z: np.ndarray,
    wt: np.ndarray,
    wt0: float,
    alpha: np.ndarray,
    beta: np.ndarray,
    *,
    lift: Lift | None = None,
) -> TeacherFit:
    """Make (wt, wt0) feasible at the predictor z; the multipliers tell how near to the best it is.

    Far quicker than `fit_teacher`, which improves it as well.
    """
    if len(alpha) == 0:
        return TeacherFit(np.zeros_like(wt), 0.0, 0.0, 0.0)
    lift = lift_direction(problem) if lift is None else lift
    wt, out = lift.unforced(wt), np.empty_like(wt)
    state = (z, wt, wt0, alpha, beta, lift.wt, lift.wt0, lift.xi, out)
    objective, wt0, bound = loops.repair_at(problem, *state)
    return TeacherFit(out, wt0, objective, objective - bound)


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
) -> TeacherFit:
    """Make (wt, wt0) feasible at the margins m, and improve it by a few Newton steps.

    alpha and beta are the multipliers near which the optimum is expected; they are not changed.
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
        return TeacherFit(np.zeros_like(wt), 0.0, 0.0)
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
    X = problem.X  # the empty rows are of its type: no loop is compiled a second time
    if isinstance(X, Dense):
        empty: Csr | Dense = dense_rows(X.values[:, :0], 0.0)
    else:
        empty = csr_rows(X.data[:0], X.indices[:0], np.zeros_like(X.indptr), 0.0)
    return problem._replace(X=empty, centre=np.zeros(1), omega=1.0)


def _repaired(p: Problem, m, wt, wt0, xi, lift: Lift, cheapest) -> TeacherFit:
    if lift.forced is not None:
        wt, xi = lift.unforced(wt), np.empty(len(p.norm))
        loops.slacks(p, wt0 - wt.sum(), wt, xi)
    out = np.empty_like(wt)
    lifting = (lift.wt, lift.wt0, lift.xi)
    objective, wt0 = loops.repair(p, p.centre, wt, wt0, m, xi, *lifting, cheapest, out)
    return TeacherFit(out, wt0, objective)
