"""What is here: dual coordinate descent on one SVM+ problem, and the names of the whole engine.

The letters are explained in `prml.loops.problem`; Newton's method is in `prml.loops.newton`.
"""

import numpy as np

from prml.loops.jit import jit
from prml.loops.newton import advance, multipliers, newton_step, newton_turn
from prml.loops.problem import (
    Problem,
    add_correction,
    add_rows,
    dual_value,
    group_sums,
    margins,
    primal_value,
    slacks,
)
from prml.loops.repair import cheapest_entries, repair, repair_at, smallest_lift
from prml.loops.rows import Csr, Dense, row_axpy, row_dot

__all__ = [
    "Csr",
    "Dense",
    "Problem",
    "add_rows",
    "advance",
    "cheapest_entries",
    "dual_state",
    "dual_value",
    "group_sums",
    "margins",
    "multipliers",
    "newton_step",
    "newton_turn",
    "primal_value",
    "repair",
    "repair_at",
    "row_axpy",
    "row_dot",
    "slacks",
    "smallest_lift",
    "sweep",
    "teacher_response",
    "teacher_state",
]


@jit
def teacher_state(p, s, kappa):
    """(offset, mean) with wt = u / gamma2 - mean and offset = wt0 - sum(wt); see `sweep`."""
    inverse = 1.0 / p.gamma2
    if p.teacher_bias == 0.0:
        return (p.n_teachers * s[0] - s[1]) * inverse, s[0] * inverse
    n = p.n_teachers + 1.0
    offset = (s[2] / kappa + s[0] - s[1] / n) / (1.0 / kappa + p.gamma2 / n)
    return offset, (s[1] * inverse + offset) / n


@jit
def dual_state(p, alpha, beta, z, u, s):
    """Fill z, u and s from the multipliers, as `sweep` expects them; no hold on the offset."""
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
    s[2] = 0.0
    s[2], _ = teacher_state(p, s, np.inf)


@jit
def teacher_response(p, kappa):
    """How `teacher_state` changes with sigma_g, whose correction sums to `total`: the constants
    (a, b, c, d) of offset' = a - b total and mean' = c + d total.
    """
    inverse = 1.0 / p.gamma2
    if p.teacher_bias == 0.0:
        return p.n_teachers * inverse, inverse, inverse, 0.0
    n = p.n_teachers + 1.0
    rise = 1.0 / (1.0 / kappa + p.gamma2 / n)
    return rise, rise / n, rise / n, (inverse - rise / n) / n


@jit
def sweep(p, order, alpha, beta, z, u, s, kappa, near, active):
    """Update every pair (alpha_j, beta_g(j)) of the given order once, exactly.

    On entry and on exit z = centre + omega * sum_j alpha_j sign_j x_j and, with
    sigma_g = sum of alpha over the group + beta_g - group_cost_g,
    u = sum_g sigma_g correction_g,  s[0] = sum_g sigma_g,  s[1] = sum(u);
    so that wt follows from u and two numbers, without ever touching the dense -1.
    A pair costs the non-zeros of x_j and the corrections of its group. alpha, beta, z, u and s are
    written; active receives the examples worth another visit: those with alpha > 0, or whose
    constraint is kept by less than `near`. Returns their number. (Examples at their upper bound
    stay active: left out, they let the offset run off and rounds of PrML never settled.)

    The privileged vectors are -1 nearly everywhere, so that every pair pulls on the offset
    wt0 - sum(wt) and hardly one can move. With a finite kappa the offset is held back by
    (offset - s[2])^2 / (2 kappa) for one sweep; s[2] is then set to where it went (the method of
    multipliers for one variable). kappa = inf is plain coordinate descent.

    The pair's problem in (a, t) = (change of alpha, change of sigma) is separable,
    (1 - m) a - curvature/2 a^2 - xi t - q/2 t^2, with a box on a and t >= a - beta: either the
    two free optima are feasible, or the last constraint is active and one variable is left.
    """
    X, rows, sign, group, square, bound = p.X, p.rows, p.sign, p.group, p.square, p.upper
    indptr, indices, values = p.indptr, p.indices, p.values
    inverse = 1.0 / p.gamma2
    at, mean = teacher_state(p, s, kappa)
    rise, fall, sink, lean = teacher_response(p, kappa)
    n_active = 0
    for k in range(len(order)):
        j = order[k]
        g = group[j]
        row = rows[j]
        m = sign[j] * row_dot(X, row, z)
        xi, total, length = at, 0.0, 0.0
        for e in range(indptr[g], indptr[g + 1]):
            v = values[e]
            xi += v * (u[indices[e]] * inverse - mean)
            total += v
            length += v * v
        up, down = rise - fall * total, sink + lean * total
        q = length * inverse + up - total * down
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
            row_axpy(X, row, p.omega * a * sign[j], z)
        if q > 0.0:
            beta[g] = max(beta[g] + t - a, 0.0)
            if t != 0.0:
                s[0] += t
                s[1] += total * t
                at += up * t
                mean += down * t
                for e in range(indptr[g], indptr[g + 1]):
                    u[indices[e]] += values[e] * t
        if alpha[j] > 0.0 or gradient - xi > -near:
            active[n_active] = j
            n_active += 1
    s[2] = at
    return n_active
