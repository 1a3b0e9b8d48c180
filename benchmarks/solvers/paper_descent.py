"""What is here: PrBR as the paper starts and orders it: beta = 0, one coordinate at a time."""

import time

import numpy as np

from benchmarks.datasets import Split
from benchmarks.objective import Outcome, Task, label_bounds, training_set
from prml.loops import svmplus as loops
from prml.loops.jit import jit
from prml.loops.rows import row_axpy, row_dot
from prml.solvers.svmplus import relative_gap

SWEEPS_BETWEEN_GAPS = 10


def solve(split: Split, task: Task) -> Outcome:
    """Every label to the gap of the task, or until its share of `max_time` is over."""
    data = training_set(split.X, split.Y)
    share = np.inf if task.max_time is None else task.max_time / data.n_labels
    bounds = []
    for i in range(data.n_labels):
        end = time.perf_counter() + share
        bounds.append(_solve_label(data.problem(i, task.numbers), i, task.tol, end))
    gap = relative_gap(*np.sum(bounds, axis=0))
    return Outcome(gap, all(relative_gap(*bound) <= task.tol for bound in bounds))


def _solve_label(problem, seed: int, tol: float, end: float) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    n, n_groups = len(problem.rows), len(problem.norm)
    alpha, beta = np.zeros(n), np.zeros(n)
    z, u, s = problem.centre.copy(), np.empty(problem.n_teachers), np.empty(3)
    loops.dual_state(problem, alpha, np.zeros(n_groups), z, u, s)
    best_objective, best_dual = np.inf, -np.inf
    while True:
        for _ in range(SWEEPS_BETWEEN_GAPS):
            sweep_single(problem, rng.integers(2 * n, size=2 * n), alpha, beta, z, u, s)
        by_group = np.bincount(problem.group, weights=beta, minlength=n_groups)
        objective, dual = label_bounds(problem, alpha, by_group, z)
        best_objective, best_dual = min(best_objective, objective), max(best_dual, dual)
        if relative_gap(best_objective, best_dual) <= tol or time.perf_counter() > end:
            return best_objective, best_dual


@jit
def sweep_single(p, picks, alpha, beta, z, u, s):
    """Update the coordinates `picks`: j < n is alpha_j, n + j is beta_j, as in Algorithm 1.

    The invariant is that of `prml.loops.svmplus.sweep`, with one beta an example; the label
    features stay implicit here too, so that start and order alone are compared.
    """
    X, rows, sign, group, square, bound = p.X, p.rows, p.sign, p.group, p.square, p.upper
    indptr, indices, values, norm = p.indptr, p.indices, p.values, p.norm
    n = len(alpha)
    inverse = 1.0 / p.gamma2
    factor = p.n_teachers + p.teacher_bias
    for pick in picks:
        j = pick % n
        g = group[j]
        total = factor * s[0] - s[1]
        for e in range(indptr[g], indptr[g + 1]):
            total += values[e] * (u[indices[e]] - s[0])
        xi, q = total * inverse, norm[g] * inverse
        if pick < n:
            m = sign[j] * row_dot(X, rows[j], z)
            step = (1.0 - m - xi) / (p.omega * square[j] + q)
            step = min(max(step, -alpha[j]), bound[j] - alpha[j])
            alpha[j] += step
            if step != 0.0:
                row_axpy(X, rows[j], p.omega * step * sign[j], z)
        else:
            step = max(-xi / q, -beta[j])
            beta[j] += step
        if step != 0.0:
            s[0] += step
            for e in range(indptr[g], indptr[g + 1]):
                change = values[e] * step
                u[indices[e]] += change
                s[1] += change
