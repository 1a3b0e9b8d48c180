"""What is here: one label's SVM+ problem, solved to a duality gap.

Two phases. Sweeps of dual coordinate descent (Algorithm 1 of the paper, pairs updated jointly,
started at beta = C) come close quickly and then crawl: the teacher's vectors are so alike that the
last digits take hundreds of sweeps. From there the method of multipliers takes over: its inner
problem is smooth and piecewise quadratic in (z, wt); a few semismooth Newton steps solve it, each
by conjugate gradients over the examples whose alpha is free. Every step yields a feasible primal
point and feasible multipliers, so the gap is known all the time; the best of both are kept.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from prml.loops import svmplus as loops
from prml.loops.svmplus import Problem

# Measured on yeast, enron, corel5k and bibtex, C from 1e-3 to 20, theta 2 and inf.
FIRST_SWEEPS = 10
RHO_BETA_OVER_ALPHA = 10.0
RHO_GROWTH = 3.0
INNER_TOLERANCE = 1e-2
MAX_INNER = 30
SLACK = 0.1
OFFER_ALL = 1
RHO0 = 1.0
FAST = 3
MAX_PRODUCTS = 100
CG_TOLERANCE = 0.3


class LabelSolution(NamedTuple):
    """A primal point, multipliers and the bounds that they certify."""

    z: np.ndarray
    wt: np.ndarray
    wt0: float
    alpha: np.ndarray
    beta: np.ndarray
    objective: float
    dual_objective: float
    n_sweeps: int
    n_steps: int

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.dual_objective)


class Lift(NamedTuple):
    """A direction of the teacher that raises every slack: how an infeasible point is repaired.

    With the privileged intercept it is that intercept; see `prml.solvers.feasibility` without.
    """

    wt: np.ndarray
    wt0: float
    xi: np.ndarray
    forced: np.ndarray | None = None  # orthonormal columns that wt must be orthogonal to


def relative_gap(objective: float, dual_objective: float) -> float:
    """(primal - dual) / primal, never negative; the one notion of accuracy of this package."""
    if objective <= 0.0:
        return 0.0
    return max(0.0, (objective - dual_objective) / objective)


def cold_start(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """alpha = 0 and beta = C: the teacher starts at 0 (the paper's start, beta = 0, is far)."""
    return np.zeros(len(problem.rows)), problem.group_cost.copy()


def intercept_lift(problem: Problem) -> Lift:
    return Lift(np.zeros(problem.n_teachers), 1.0, np.ones(len(problem.norm)))


class _Best:
    """The best primal point and the best multipliers seen; they need not belong together."""

    def __init__(self, problem: Problem, lift: Lift):
        self.problem = problem
        self.lift = lift
        self.cheapest = np.empty(len(problem.norm), dtype=np.int64)
        loops.cheapest_entries(problem, self.cheapest)
        self.needed = np.empty(len(problem.norm))
        self.objective = np.inf
        self.dual_objective = -np.inf
        self.point = (problem.centre.copy(), np.zeros(problem.n_teachers), 0.0)
        self.multipliers = cold_start(problem)
        # z = centre, wt = 0 is feasible where theta is finite; it bounds the objective at once
        self.offer_point(*self.point, np.empty(len(problem.rows)), None)

    def offer_point(self, z, wt, wt0, m, xi) -> None:
        """Repair a primal point by the lift and keep it when it is the best so far."""
        p = self.problem
        if self.lift.forced is not None:
            wt = wt - self.lift.forced @ (self.lift.forced.T @ wt)
            xi = np.empty(len(p.norm))
            loops.slacks(p, -wt.sum(), wt, xi)
            # examples that no teacher can excuse need their margin from z alone
            hard = np.isinf(p.upper) & (self.lift.xi[p.group] == 0.0)
            if hard.any() and 0.0 < m[hard].min() < 1.0:
                z, m = z / m[hard].min(), m / m[hard].min()
        if xi is None:
            loops.margins(p, z, m)
            xi = np.empty(len(p.norm))
            loops.slacks(p, wt0 - wt.sum(), wt, xi)
        lift = loops.smallest_lift(p, m, xi, self.lift.xi)
        if not np.isfinite(lift):
            return
        if p.teacher_bias and lift > 0.0:
            loops.needed_slacks(p, m, self.needed)
            for r in (0.0, 0.1 * lift, 0.3 * lift):
                w = wt.copy()
                x = np.empty_like(xi)
                off = loops.raise_slacks(p, self.needed, self.cheapest, wt0 - wt.sum() + r, w, x)
                objective = loops.primal_value(p, z, w, off, m, x)
                if objective < self.objective:
                    self.objective = objective
                    self.point = (z.copy(), w, off + w.sum())
        wt = wt + lift * self.lift.wt
        wt0 = wt0 + lift * self.lift.wt0
        objective = loops.primal_value(p, z, wt, wt0 - wt.sum(), m, xi + lift * self.lift.xi)
        if objective < self.objective:
            self.objective = objective
            self.point = (z.copy(), wt, wt0)

    def offer_multipliers(self, alpha, beta, dual_objective) -> None:
        if dual_objective > self.dual_objective:
            self.dual_objective = dual_objective
            self.multipliers = (alpha.copy(), beta.copy())

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.dual_objective)


def solve_label(
    problem: Problem,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    rng: np.random.Generator,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    lift: Lift | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> LabelSolution:
    """Solve one label's problem to a relative duality gap of `tol`.

    Parameters
    ----------
    problem : Problem
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        At most so many sweeps and Newton steps together.
    rng : Generator
        Orders the sweeps.
    start : (alpha, beta), optional
        Multipliers to start from; they need only be feasible.
    lift : Lift, optional
        How to repair an infeasible point; the privileged intercept by default.
    should_stop : callable
        Asked between steps; when true the best so far is returned.
    """
    p = problem
    best = _Best(p, intercept_lift(p) if lift is None else lift)
    alpha, beta = cold_start(p) if start is None else (start[0].copy(), start[1].copy())
    n, n_groups = len(p.rows), len(p.norm)
    z, u, s = np.empty_like(p.centre), np.empty(p.n_teachers), np.empty(2)
    loops.dual_state(p, alpha, beta, z, u, s)
    n_sweeps = n_steps = 0
    m, xi, sigma = np.empty(n), np.empty(n_groups), np.empty(n_groups)
    for n_sweeps in range(1, min(FIRST_SWEEPS, max_iter) + 1):
        loops.sweep(p, rng.permutation(n), alpha, beta, z, u, s)
        if should_stop():
            break
    wt, wt0 = (u - s[0]) / p.gamma2, p.teacher_bias * s[0] / p.gamma2
    offset = np.array([wt0 - wt.sum()])
    loops.margins(p, z, m)
    loops.slacks(p, offset[0], wt, xi)
    loops.group_sums(p, alpha, beta, sigma)
    zsum = (z - p.centre) / p.omega
    best.offer_multipliers(alpha, beta, loops.dual_value(p, alpha, zsum, sigma))
    best.offer_point(z, wt, wt0, m, xi)

    new_alpha, new_beta, free = np.empty(n), np.empty(n_groups), np.empty(n, dtype=np.int64)
    rho = RHO0 / max(p.omega * p.square.mean(), 1e-300) if n else 1.0
    dual_before = best.dual_objective
    while best.gap > tol and n_sweeps + n_steps < max_iter and not should_stop():
        for inner in range(1, MAX_INNER + 1):
            rho_beta = RHO_BETA_OVER_ALPHA * rho
            slope, _ = loops.newton_step(
                p, z, wt, offset, m, xi, alpha, beta, rho, rho_beta, MAX_PRODUCTS, CG_TOLERANCE
            )
            n_steps += 1
            loops.multipliers(
                p, m, xi, alpha, beta, rho, rho_beta, new_alpha, new_beta, free, zsum, sigma
            )
            dual = loops.dual_value(p, new_alpha, zsum, sigma)
            best.offer_multipliers(new_alpha, new_beta, dual)
            settled = dual >= dual_before - SLACK * (best.objective - best.dual_objective)
            if settled or OFFER_ALL:
                best.offer_point(z, wt, p.teacher_bias * (offset[0] + wt.sum()), m, xi)
            if best.gap <= tol or should_stop():
                break
            # An exact step of the method never lowers the dual value: one that does is not done yet.
            if slope <= INNER_TOLERANCE * (
                best.objective - best.dual_objective
            ) and dual >= dual_before - SLACK * (best.objective - best.dual_objective):
                break
        if dual >= dual_before - SLACK * (best.objective - best.dual_objective):
            dual_before = dual
            alpha, new_alpha = new_alpha, alpha
            beta, new_beta = new_beta, beta
            if inner <= FAST:
                rho *= RHO_GROWTH
        else:
            rho /= RHO_GROWTH
    return LabelSolution(
        *best.point,
        *best.multipliers,
        best.objective,
        best.dual_objective,
        n_sweeps,
        n_steps,
    )
