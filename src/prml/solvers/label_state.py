"""What is here: one label of the low-rank solvers between its turns, and what it does in one."""

import numpy as np

from prml.loops import svmplus as loops
from prml.loops.svmplus import Problem
from prml.loops.teacher import dual_parts, pay, take_turn
from prml.loops.visiting_order import new_seed
from prml.solvers.svmplus import (
    RHO_BETA_OVER_ALPHA,
    cold_start,
    curvature_of,
    hold_on_offset,
    teacher_of,
)

CORRECTIONS = 2  # least squares changes: the second makes up for what the bounds kept of the first
ACTIVE_MARGIN = 0.1  # examples whose margin exceeds 1 by less stay in the sweep


class LabelState:
    """What the solver keeps of one label between its turns."""

    def __init__(self, problem: Problem, rng: np.random.Generator, start=None):
        self.alpha: np.ndarray
        self.beta: np.ndarray
        self.alpha, self.beta = cold_start(problem) if start is None else start
        self.u, self.s = np.empty(problem.n_teachers), np.empty(3)
        self.m_row = np.empty(len(problem.centre))
        plain = problem._replace(omega=1.0, centre=np.zeros(len(problem.centre)))
        loops.dual_state(plain, self.alpha, self.beta, self.m_row, self.u, self.s)
        self.active = np.arange(len(problem.rows))
        self.kappa = hold_on_offset(problem)
        self.rng = rng
        self.gamma2, self.teacher_bias = problem.gamma2, problem.teacher_bias
        self.rho = 1.0  # of the Newton steps, in units of 1 / (omega mean |x|^2)

    def teacher(self, problem: Problem) -> tuple[np.ndarray, float]:
        """wt and wt0 as the sweeps have them."""
        return teacher_of(problem, self.u, self.s)

    def dual_parts(self) -> tuple[float, float]:
        """sum(alpha) and gamma2/2 (|wt|^2 + wt0^2): the two parts of the dual value."""
        return dual_parts(self.alpha, self.u, self.s, self.gamma2, self.teacher_bias)

    def sweep(self, problem: Problem, full: bool, n_sweeps: int = 2) -> None:
        """Pair sweeps over the active examples, before them one over all when `full`."""
        state = (self.alpha, self.beta, self.m_row, self.u, self.s, self.kappa, ACTIVE_MARGIN)
        seed = new_seed(self.rng)
        self.active = take_turn(problem, self.active, seed, full, n_sweeps, *state)

    def pay(self, problem: Problem) -> None:
        """Pay what the hold on the offset owes; the dual value charges for it."""
        state = (self.alpha, self.beta, self.m_row, self.u, self.s, ACTIVE_MARGIN)
        pay(problem, self.active, *state)

    def shed(self, problem: Problem, projected: np.ndarray, excess: np.ndarray) -> None:
        """Let m_row lose `excess` in some directions, at no cost to the teacher.

        projected holds every row of X in these directions, excess one number for each. alpha
        changes in proportion to itself, the least squares change that does it, cut to its bounds
        and corrected; what an example gives up goes to the beta of its group, or comes from there,
        so that the teacher stays.
        """
        p = problem
        if len(p.rows) < len(projected):
            projected = projected[p.rows]
        per_group = np.maximum(np.bincount(p.group, minlength=len(self.beta)), 1)
        alpha, beta = self.alpha, self.beta
        for _ in range(CORRECTIONS):
            weighted = projected * alpha[:, None]
            gram = weighted.T @ projected
            trace = np.trace(gram)
            if trace == 0.0:  # nothing to give up
                return
            gram[np.diag_indices_from(gram)] += 1e-9 * trace
            change = -p.sign * (weighted @ np.linalg.solve(gram, excess))
            share = (beta / per_group)[p.group]
            np.clip(change, -alpha, np.minimum(share, p.upper - alpha), out=change)
            moved = np.bincount(p.group, weights=change, minlength=len(beta))
            alpha, beta = alpha + change, np.maximum(beta - moved, 0.0)
            excess = excess + projected.T @ (p.sign * change)
        loops.add_rows(p, p.sign * (alpha - self.alpha), self.m_row)
        self.alpha, self.beta = alpha, beta

    def newton(self, problem: Problem, max_steps: int) -> None:
        """Newton steps on the augmented Lagrangian from here, kept when the dual value rises."""
        p = problem
        if len(p.rows) == 0:
            return
        wt, wt0 = self.teacher(p)
        offset, rho = np.array([wt0 - wt.sum()]), self.rho / curvature_of(p)
        state = (wt, offset, self.alpha, self.beta, self.m_row, rho, RHO_BETA_OVER_ALPHA * rho)
        if loops.newton_turn(p, *state, max_steps):
            self.rho = min(3.0 * self.rho, 1e3)
            loops.dual_state(p, self.alpha, self.beta, np.empty_like(p.centre), self.u, self.s)
            self.s[2] = offset[0]
        else:
            self.rho /= 3.0
