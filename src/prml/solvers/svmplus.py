"""What is here: one label's SVM+ problem, solved to a duality gap.

Two phases. Sweeps of dual coordinate descent (Algorithm 1 of the paper, pairs updated jointly,
started at beta = C) with a hold on the offset that all teachers share, without which hardly a pair
can move; mostly over the active examples. Where they crawl (large C / gamma2) the method of
multipliers takes over: its inner problem is smooth and piecewise quadratic in (z, wt); a few
semismooth Newton steps solve it, each by conjugate gradients over the examples whose alpha is free.
Every round yields a feasible primal point and feasible multipliers, so the gap is known all the
time; the best of both are kept.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from prml.loops import svmplus as loops
from prml.loops.svmplus import Problem
from prml.loops.teacher import scale_teacher, sweep_teacher
from prml.loops.visiting_order import new_seed, shuffled
from prml.monitor import Monitor

# Chosen on halves of yeast, enron, corel5k and bibtex, C from 1e-3 to 20, theta 2 and inf.
SWEEPS_A_ROUND = 8  # the first of them over all examples, the others over the active ones
SLOW = 0.8  # a round that leaves more of the gap is followed by Newton steps
NEAR = 0.3  # examples this near to a change stay active, in units of the largest violation
KAPPA = 0.02  # hold on the offset, in units of the mean squared length of the corrections
RHO_TIMES_SQUARE = 3.0  # first weight of the violations, times the mean omega |x|^2
RHO_GROWTH = 3.0  # its growth after an easy round, and its fall after a failed one
EASY_ROUND = 3  # Newton steps
RHO_BETA_OVER_ALPHA = 5.0  # the teacher's constraints bear a larger weight than the examples'
RELAXATION = 1.6  # of the multipliers' step; the method converges below 2
ROUND_TOLERANCE = 5e-2  # of a round's gradient (squared length), times the gap
DUAL_LOSS = 0.1  # a round may lower the dual value by so much of the gap
MAX_ROUND = 30  # Newton steps
MAX_PRODUCTS = 100  # of a Newton step's conjugate gradients
CG_TOLERANCE = 0.2


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

    def after(self, before: "LabelSolution") -> "LabelSolution":
        """This solution, found going on from another: the better point and multipliers of both."""
        primal = self if self.objective <= before.objective else before
        dual = self if self.dual_objective >= before.dual_objective else before
        return LabelSolution(
            primal.z,
            primal.wt,
            primal.wt0,
            dual.alpha,
            dual.beta,
            primal.objective,
            dual.dual_objective,
            before.n_sweeps + self.n_sweeps,
            before.n_steps + self.n_steps,
        )


class Lift(NamedTuple):
    """A direction of the teacher that raises every slack: how an infeasible point is repaired.

    With the privileged intercept it is that intercept; see `prml.solvers.feasibility` without.
    """

    wt: np.ndarray
    wt0: float
    xi: np.ndarray
    forced: np.ndarray | None = None  # orthonormal columns that wt must be orthogonal to

    def unforced(self, wt: np.ndarray) -> np.ndarray:
        """The part of wt that is orthogonal to what it must be orthogonal to."""
        return wt if self.forced is None else wt - self.forced @ (self.forced.T @ wt)


def relative_gap(objective: float, dual_objective: float) -> float:
    """(primal - dual) / primal, never negative; the one notion of accuracy of this package."""
    if objective <= 0.0:
        return 0.0
    if not objective < np.inf or np.isnan(dual_objective):
        return np.inf  # no feasible point is known yet, or rounding has used up the numbers
    return max(0.0, (objective - dual_objective) / objective)


def record_bounds(
    monitor: Monitor, iteration: int, objective: float, dual_objective: float, **more: Any
) -> bool:
    """Record how far a solver is; returns whether it is asked to stop."""
    gap = relative_gap(objective, dual_objective)
    bounds = {"objective": objective, "dual_objective": dual_objective, "gap": gap}
    return monitor.record(iteration=iteration, **bounds, **more)


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
        self.objective = np.inf
        self.dual_objective = -np.inf
        self.point = (problem.centre.copy(), np.zeros(problem.n_teachers), 0.0)
        self.multipliers = cold_start(problem)
        # z = centre, wt = 0 is feasible where theta is finite; it bounds the objective at once
        self.offer_point(*self.point, np.empty(len(problem.rows)), None)

    def offer_point(self, z, wt, wt0, m, xi) -> None:
        """Repair a primal point by the lift and keep it when it is the best so far."""
        p = self.problem
        if xi is None:
            loops.margins(p, z, m)
            xi = np.empty(len(p.norm))
            loops.slacks(p, wt0 - wt.sum(), wt, xi)
        if self.lift.forced is not None:
            wt, xi = self.lift.unforced(wt), np.empty(len(p.norm))
            loops.slacks(p, -wt.sum(), wt, xi)
            # examples that no teacher can excuse need their margin from z alone
            hard = np.isinf(p.upper) & (self.lift.xi[p.group] == 0.0)
            if hard.any() and 0.0 < m[hard].min() < 1.0:
                z, m = z / m[hard].min(), m / m[hard].min()
        repaired, lift = np.empty_like(wt), self.lift
        objective, wt0 = loops.repair(
            p, z, wt, wt0, m, xi, lift.wt, lift.wt0, lift.xi, self.cheapest, repaired
        )
        if objective < self.objective:
            self.objective = objective
            self.point = (z.copy(), repaired, wt0)

    def offer_multipliers(self, alpha, beta, dual_objective) -> None:
        if dual_objective > self.dual_objective:
            self.dual_objective = dual_objective
            self.multipliers = (alpha.copy(), beta.copy())

    @property
    def width(self) -> float:
        """The gap, not divided by the objective."""
        return self.objective - self.dual_objective

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.dual_objective)


def solve_label(
    problem: Problem,
    *,
    tol: float = 1e-3,
    max_iter: int = 2000,
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
    point, n_sweeps = _sweep(best, alpha, beta, tol, max_iter, rng, should_stop)
    n_steps = _multiply(best, point, alpha, beta, tol, max_iter - n_sweeps, should_stop)
    return LabelSolution(
        *best.point,
        *best.multipliers,
        best.objective,
        best.dual_objective,
        n_sweeps,
        n_steps,
    )


class _Point(NamedTuple):
    """A primal point as the Newton steps move it: m and xi belong to z, wt and offset[0]."""

    z: np.ndarray
    wt: np.ndarray
    offset: np.ndarray
    m: np.ndarray
    xi: np.ndarray


def _sweep(best: _Best, alpha, beta, tol, max_sweeps, rng, should_stop) -> tuple[_Point, int]:
    """Sweep until the gap is at tol, or falls so slowly that Newton steps are the better buy.

    alpha and beta are changed in place. Returns the primal point that belongs to them, and the
    number of sweeps.
    """
    p = best.problem
    n, n_groups = len(p.rows), len(p.norm)
    z, u, s = np.empty_like(p.centre), np.empty(p.n_teachers), np.empty(3)
    loops.dual_state(p, alpha, beta, z, u, s)
    kappa = hold_on_offset(p)
    room, sigma = np.empty(n, np.int64), np.empty(n_groups)
    near, gap, n_sweeps = 1.0, np.inf, 0
    while True:
        active = np.arange(n)
        for turn in range(min(SWEEPS_A_ROUND, max_sweeps - n_sweeps)):
            order = shuffled(active, new_seed(rng))
            n_active = loops.sweep(p, order, alpha, beta, z, u, s, kappa, near, room)
            sweep_teacher(p, beta, u, s, kappa)
            active = room[:n_active].copy() if turn == 0 else active
            n_sweeps += 1
            if should_stop():
                break
        wt, wt0 = teacher_of(p, u, s)
        point = _Point(z.copy(), wt, np.array([s[2]]), np.empty(n), np.empty(n_groups))
        loops.margins(p, z, point.m)
        loops.slacks(p, s[2], wt, point.xi)
        best.offer_point(z, wt, wt0, point.m, point.xi)
        # the dual value charges for what the held offset owes: a plain sweep pays most of it
        paid = [array.copy() for array in (alpha, beta, z, u, s)]
        loops.sweep(p, active, *paid, np.inf, near, room)
        sweep_teacher(p, paid[1], paid[3], paid[4], np.inf)
        scale_teacher(p, paid[1], paid[3], paid[4])
        loops.group_sums(p, paid[0], paid[1], sigma)
        dual = loops.dual_value(p, paid[0], (paid[2] - p.centre) / p.omega, sigma)
        best.offer_multipliers(paid[0], paid[1], dual)
        is_slow = best.gap > SLOW * gap
        if best.gap <= tol or is_slow or n_sweeps >= max_sweeps or should_stop():
            break
        near, gap = NEAR * loops.smallest_lift(p, point.m, point.xi, best.lift.xi), best.gap
    alpha[:], beta[:] = paid[0], paid[1]
    return point, n_sweeps


def teacher_of(p: Problem, u: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, float]:
    """wt and wt0 of the state of `loops.sweep`, the offset taken as it stands there."""
    if p.teacher_bias == 0.0:
        return (u - s[0]) / p.gamma2, 0.0
    wt0 = (s[1] / p.gamma2 + s[2]) / (p.n_teachers + 1.0)
    return u / p.gamma2 - wt0, float(wt0)


def curvature_of(p: Problem) -> float:
    """Mean curvature of the alphas, of the teacher's part where the features are all 0."""
    features = p.omega * float(p.square.mean()) if len(p.rows) else 0.0
    teacher = float(p.norm.mean()) / p.gamma2 if len(p.norm) else 0.0
    return features or teacher or 1.0


def hold_on_offset(p: Problem) -> float:
    """kappa of the sweeps: a part of what a pair's own labels yield; inf without the intercept."""
    if p.teacher_bias == 0.0 or len(p.values) == 0:
        return np.inf
    return KAPPA * float(p.values @ p.values) / len(p.norm) / p.gamma2


def _multiply(best: _Best, point: _Point, alpha, beta, tol, max_steps, should_stop) -> int:
    """The method of multipliers from (alpha, beta) until the gap is at tol; the steps it took.

    A round minimises the augmented Lagrangian of (alpha, beta), moves `point` there and reads new
    multipliers off it. An exact round never lowers the dual value: one that does is not done yet,
    and one that still does after MAX_ROUND steps had too large a weight.
    """
    p = best.problem
    n, n_groups = len(p.rows), len(p.norm)
    new_alpha, new_beta = np.empty(n), np.empty(n_groups)
    room = (new_alpha, new_beta, np.empty(n, np.int64), np.empty_like(p.centre), np.empty(n_groups))
    rho = RHO_TIMES_SQUARE / curvature_of(p)
    dual_before = best.dual_objective
    n_steps = 0
    while best.gap > tol and n_steps < max_steps and not should_stop():
        weights = (rho, RHO_BETA_OVER_ALPHA * rho)
        for inner in range(1, MAX_ROUND + 1):  # noqa: B007 - read after the loop
            slope, dual = loops.advance(
                p, *point, alpha, beta, *weights, MAX_PRODUCTS, CG_TOLERANCE, room
            )
            n_steps += 1
            best.offer_multipliers(new_alpha, new_beta, dual)
            risen = dual >= dual_before - DUAL_LOSS * best.width
            if risen:
                wt0 = p.teacher_bias * (point.offset[0] + point.wt.sum())
                best.offer_point(point.z, point.wt, wt0, point.m, point.xi)
                if best.gap <= tol or slope <= ROUND_TOLERANCE * best.width:
                    break
            if n_steps >= max_steps or should_stop():
                break
        if risen:
            dual_before = dual
            alpha = np.clip(alpha + RELAXATION * (new_alpha - alpha), 0.0, p.upper)
            beta = np.maximum(beta + RELAXATION * (new_beta - beta), 0.0)
            if inner <= EASY_ROUND:
                rho *= RHO_GROWTH
        else:
            # over-relaxed multipliers may be worse than those they came from: back to the best
            rho /= RHO_GROWTH
            alpha, beta = best.multipliers[0].copy(), best.multipliers[1].copy()
            dual_before = best.dual_objective
    return n_steps
