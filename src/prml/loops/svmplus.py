"""What is here: dual coordinate descent on one SVM+ problem, and the names of the whole engine.

The letters are explained in `prml.loops.problem`; Newton's method is in `prml.loops.newton`.
"""

import numpy as np

from prml.loops.jit import jit
from prml.loops.newton import advance, multipliers, newton_step
from prml.loops.problem import (
    Problem,
    add_correction,
    dual_value,
    group_sums,
    margins,
    primal_value,
    slacks,
)
from prml.loops.repair import cheapest_entries, cheapest_repair, smallest_lift
from prml.loops.rows import Csr, Dense, row_axpy, row_dot

__all__ = [
    "Csr",
    "Dense",
    "Problem",
    "advance",
    "cheapest_entries",
    "cheapest_repair",
    "dual_state",
    "dual_value",
    "group_sums",
    "margins",
    "multipliers",
    "newton_step",
    "primal_value",
    "row_axpy",
    "row_dot",
    "slacks",
    "smallest_lift",
    "sweep",
]


@jit
def dual_state(p, alpha, beta, z, u, s):
    """Fill z, u and s from the multipliers, as `sweep` expects them."""
    X, rows, sign = p.X, p.rows, p.sign
    indptr, indices, values = p.indptr, p.indices, p.values
    z[:] = p.centre
    for j in range(len(alpha)):
        if alpha[j] != 0.0:
            row_axpy(X, rows[j], p.omega * alpha[j] * sign[j], z)
    sigma = np.empty(len(beta))
    group_sums(p, alpha, beta, sigma)
    u[:] = 0.0
    for g in range(len(sigma)):
        add_correction(indptr, indices, values, g, sigma[g], u)
    s[0] = sigma.sum()
    s[1] = u.sum()


@jit
def sweep(p, order, alpha, beta, z, u, s):
    """Update every pair (alpha_j, beta_g(j)) once, exactly, in the given order.

    On entry and on exit z = centre + omega * sum_j alpha_j sign_j x_j and, with
    sigma_g = sum of alpha over the group + beta_g - group_cost_g,
    u = sum_g sigma_g correction_g,  s[0] = sum_g sigma_g,  s[1] = sum(u);
    so that wt = (u - s[0]) / gamma2 and wt0 = s[0] / gamma2 without ever touching the dense -1.
    A pair costs the non-zeros of x_j and the corrections of its group. alpha, beta, z, u and s are
    written. Returns the sum of the absolute changes of alpha.

    The pair's problem in (a, t) = (change of alpha, change of sigma) is separable,
    (1 - m) a - curvature/2 a^2 - xi t - q/2 t^2, with a box on a and t >= a - beta: either the
    two free optima are feasible, or the last constraint is active and one variable is left.
    """
    X, rows, sign, group, square, bound = p.X, p.rows, p.sign, p.group, p.square, p.upper
    indptr, indices, values, norm = p.indptr, p.indices, p.values, p.norm
    inverse = 1.0 / p.gamma2
    factor = p.n_teachers + p.teacher_bias
    moved = 0.0
    for k in range(len(order)):
        j = order[k]
        g = group[j]
        row = rows[j]
        m = sign[j] * row_dot(X, row, z)
        total = factor * s[0] - s[1]
        for e in range(indptr[g], indptr[g + 1]):
            total += values[e] * (u[indices[e]] - s[0])
        xi = total * inverse
        q = norm[g] * inverse
        curvature = p.omega * square[j]
        lower, upper = -alpha[j], bound[j] - alpha[j]
        gradient = 1.0 - m
        if curvature > 0.0:
            a = min(max(gradient / curvature, lower), upper)
        elif gradient > 0.0:
            a = upper
        else:
            a = lower
        t = -xi / q if q > 0.0 else 0.0
        if t < a - beta[g] and q > 0.0:
            a = min(max((gradient - xi + q * beta[g]) / (curvature + q), lower), upper)
            t = a - beta[g]
        if a != 0.0:
            alpha[j] += a
            moved += abs(a)
            row_axpy(X, row, p.omega * a * sign[j], z)
        if q > 0.0:
            beta[g] = max(beta[g] + t - a, 0.0)
            if t != 0.0:
                s[0] += t
                for e in range(indptr[g], indptr[g + 1]):
                    change = values[e] * t
                    u[indices[e]] += change
                    s[1] += change
    return moved
