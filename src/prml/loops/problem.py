"""What is here: one SVM+ problem (one label) as the loops see it, and its two values.

One label's problem, in the notation of the theory page (j: example, g: its group, the examples
that share one privileged vector):

    min  |z - centre|^2 / (2 omega) + gamma2/2 (|wt|^2 + wt0^2)
         + sum_j cost_j [ xi_g(j) + theta * max(0, 1 - m_j - xi_g(j)) ]     with xi_g >= 0,
    m_j  = sign_j <x_j, z>,     xi_g = wt0 + <wt, v_g>,    v_g = -1 + correction_g.

Its dual has alpha_j in [0, upper_j] (upper = theta * cost) and one beta_g >= 0 a group: the dual
value depends on the betas of a group through their sum alone, so the group's sum is the variable.

Loops unpack the arrays they need before they start; see `prml.loops.rows` for the reason.
"""

from typing import NamedTuple

import numpy as np

from prml.loops.jit import jit
from prml.loops.rows import Csr, Dense, row_axpy, row_dot


class Problem(NamedTuple):
    """One label's SVM+ problem; see the module docstring for the letters."""

    X: Csr | Dense
    rows: np.ndarray  # which rows of X take part, (n,)
    sign: np.ndarray  # +1 or -1, (n,)
    cost: np.ndarray  # C times the example's weight, > 0, (n,)
    upper: np.ndarray  # theta * cost, may be inf, (n,)
    square: np.ndarray  # |x_j|^2 with the bias, (n,)
    group: np.ndarray  # the group of each example, (n,)
    group_cost: np.ndarray  # sum of cost over the group, (G,)
    norm: np.ndarray  # |v_g|^2 + intercept, (G,)
    indptr: np.ndarray  # correction_g in CSR form: 2 for a present label, 1 for an unknown one
    indices: np.ndarray
    values: np.ndarray
    n_teachers: int  # length of wt
    teacher_bias: float  # 1 with the privileged intercept, else 0
    gamma2: float
    omega: float
    centre: np.ndarray  # (d + 1,)


@jit
def margins(p, z, out):
    """out[j] = sign_j * <x_j, z>."""
    X, rows, sign = p.X, p.rows, p.sign
    for j in range(len(rows)):
        out[j] = sign[j] * row_dot(X, rows[j], z)


@jit
def slack(indptr, indices, values, g, offset, wt):
    """xi_g = offset + <wt, correction_g>, where offset = wt0 - sum(wt)."""
    total = offset
    for e in range(np.uint64(indptr[g]), np.uint64(indptr[g + 1])):
        total += values[e] * wt[np.uint64(indices[e])]
    return total


@jit
def slacks(p, offset, wt, out):
    """out[g] = xi_g for every group."""
    indptr, indices, values = p.indptr, p.indices, p.values
    for g in range(len(out)):
        out[g] = slack(indptr, indices, values, g, offset, wt)


@jit
def add_rows(p, weight, out):
    """out += sum_j weight_j x_j."""
    X, rows = p.X, p.rows
    for j in range(len(weight)):
        if weight[j] != 0.0:
            row_axpy(X, rows[j], weight[j], out)


@jit
def add_correction(indptr, indices, values, g, a, u):
    """u += a * correction_g."""
    for e in range(np.uint64(indptr[g]), np.uint64(indptr[g + 1])):
        u[np.uint64(indices[e])] += a * values[e]


@jit
def group_sums(p, alpha, beta, sigma):
    """sigma_g = sum of alpha over the group + beta_g - group_cost_g."""
    group, group_cost = p.group, p.group_cost
    for g in range(len(beta)):
        sigma[g] = beta[g] - group_cost[g]
    for j in range(len(alpha)):
        sigma[group[j]] += alpha[j]


@jit
def dual_value(p, alpha, zsum, sigma):
    """sum(alpha) - omega/2 |zsum|^2 - <centre, zsum> - |sum_g sigma_g v_g|^2 / (2 gamma2)."""
    indptr, indices, values = p.indptr, p.indices, p.values
    u = np.zeros(p.n_teachers)
    s = 0.0
    for g in range(len(sigma)):
        s += sigma[g]
        add_correction(indptr, indices, values, g, sigma[g], u)
    square = p.teacher_bias * s * s
    for l in range(len(u)):
        square += (u[l] - s) * (u[l] - s)
    return alpha.sum() - 0.5 * p.omega * (zsum @ zsum) - p.centre @ zsum - square / (2 * p.gamma2)


@jit
def primal_value(p, z, wt, offset, m, xi):
    """The objective at a feasible point; m and xi belong to it."""
    centre, group, upper = p.centre, p.group, p.upper
    total = 0.0
    for k in range(len(z)):
        total += (z[k] - centre[k]) ** 2
    total = 0.5 * total / p.omega + 0.5 * p.gamma2 * (wt @ wt)
    if p.teacher_bias > 0.0:
        total += 0.5 * p.gamma2 * (offset + wt.sum()) ** 2
    total += xi @ p.group_cost
    for j in range(len(m)):
        if upper[j] < np.inf:
            total += upper[j] * max(0.0, 1.0 - m[j] - xi[group[j]])
    return total
