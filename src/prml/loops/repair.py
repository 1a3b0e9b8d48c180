"""What is here: making a primal point of an SVM+ problem feasible by raising its slacks."""

import numpy as np

from prml.loops.jit import jit
from prml.loops.problem import dual_value, group_sums, margins, primal_value, slack, slacks


@jit
def smallest_lift(p, m, xi, lift_xi):
    """Least r >= 0 with xi + r lift_xi feasible: >= 0, and >= 1 - m where upper is infinite.

    inf when a violated group has lift_xi = 0 (beyond rounding).
    """
    group, upper = p.group, p.upper
    lift = 0.0
    for g in range(len(xi)):
        if xi[g] < 0.0:
            if lift_xi[g] > 0.0:
                lift = max(lift, -xi[g] / lift_xi[g])
            elif xi[g] < -1e-9:
                return np.inf
    for j in range(len(m)):
        if upper[j] == np.inf:
            g = group[j]
            short = 1.0 - m[j] - xi[g]
            if short > 0.0:
                if lift_xi[g] > 0.0:
                    lift = max(lift, short / lift_xi[g])
                elif short > 1e-9:
                    return np.inf
    return lift


@jit
def needed_slacks(p, m, out):
    """out[g] = the least feasible xi_g: 0, and 1 - m_j for its members without an upper bound."""
    group, upper = p.group, p.upper
    out[:] = 0.0
    for j in range(len(m)):
        if upper[j] == np.inf and 1.0 - m[j] > out[group[j]]:
            out[group[j]] = 1.0 - m[j]


@jit
def raise_slacks(p, needed, cheapest, offset, wt, xi):
    """Raise wt, at a fixed offset, until xi >= needed; wt and xi are written, returns the offset.

    At a fixed offset a larger wt_l only raises slacks, so one pass over the groups is enough. The
    label raised for a group is the one whose examples cost least, entry cheapest[g] of the
    correction (-1: none; then the offset itself is raised, before all else).
    """
    indptr, indices, values = p.indptr, p.indices, p.values
    for g in range(len(xi)):
        if cheapest[g] < 0 and offset < needed[g]:
            offset = needed[g]
    for g in range(len(xi)):
        total = slack(indptr, indices, values, g, offset, wt)
        if total < needed[g]:
            e = cheapest[g]
            wt[indices[e]] += (needed[g] - total) / values[e]
    slacks(p, offset, wt, xi)
    return offset


@jit
def cheapest_entries(p, out):
    """out[g] = the entry of group g's correction whose label costs least to raise, -1 if none."""
    indptr, indices, values, group_cost = p.indptr, p.indices, p.values, p.group_cost
    price = np.zeros(p.n_teachers)
    for g in range(len(out)):
        for e in range(indptr[g], indptr[g + 1]):
            price[indices[e]] += values[e] * group_cost[g]
    for g in range(len(out)):
        out[g] = -1
        least = np.inf
        for e in range(indptr[g], indptr[g + 1]):
            if price[indices[e]] / values[e] < least:
                out[g] = e
                least = price[indices[e]] / values[e]


@jit
def cheapest_repair(p, z, wt, offset, m, xi, lift, cheapest, out):
    """Make a point feasible by `raise_slacks` after a part of the lift; keep the cheapest, in out.

    lift is what the offset alone would have to be raised by. Returns the objective and the offset.
    """
    needed, raised, trial = np.empty_like(xi), np.empty_like(xi), np.empty_like(wt)
    needed_slacks(p, m, needed)
    best, best_offset = np.inf, offset
    for part in (0.0, 0.1, 0.3):
        trial[:] = wt
        trial_offset = raise_slacks(p, needed, cheapest, offset + part * lift, trial, raised)
        value = primal_value(p, z, trial, trial_offset, m, raised)
        if value < best:
            best, best_offset = value, trial_offset
            out[:] = trial
    return best, best_offset


@jit
def repair(p, z, wt, wt0, m, xi, lift_wt, lift_wt0, lift_xi, cheapest, out):
    """Make a point feasible: along the lift or by raising single labels, whichever is cheaper.

    m and xi belong to the point and stay. `out` receives the new wt; returns the objective (inf
    where the lift cannot help) and the new wt0.
    """
    r = smallest_lift(p, m, xi, lift_xi)
    if r == np.inf:
        out[:] = wt
        return np.inf, wt0
    lifted0, raised_xi = wt0 + r * lift_wt0, np.empty_like(xi)
    for l in range(len(wt)):
        out[l] = wt[l] + r * lift_wt[l]
    for g in range(len(xi)):
        raised_xi[g] = xi[g] + r * lift_xi[g]
    value = primal_value(p, z, out, lifted0 - out.sum(), m, raised_xi)
    if p.teacher_bias > 0.0 and r > 0.0:
        raised = np.empty_like(wt)
        cost, offset = cheapest_repair(p, z, wt, wt0 - wt.sum(), m, xi, r, cheapest, raised)
        if cost < value:
            out[:] = raised
            return cost, offset + raised.sum()
    return value, lifted0


@jit
def repair_at(p, z, wt, wt0, alpha, beta, lift_wt, lift_wt0, lift_xi, out):
    """Make a teacher feasible at the predictor z; `out` receives its wt.

    Returns the objective without the term of z, the new wt0, and the bound that the multipliers
    set to the objective of any teacher at z.
    """
    n_groups = len(beta)
    m, xi, sigma = np.empty(len(alpha)), np.empty(n_groups), np.empty(n_groups)
    cheapest = np.empty(n_groups, np.int64)
    margins(p, z, m)
    slacks(p, wt0 - wt.sum(), wt, xi)
    cheapest_entries(p, cheapest)
    value, new0 = repair(p, p.centre, wt, wt0, m, xi, lift_wt, lift_wt0, lift_xi, cheapest, out)
    group_sums(p, alpha, beta, sigma)
    bound = dual_value(p, alpha, np.zeros(len(z)), sigma) - alpha @ m
    return value, new0, bound
