"""What is here: the compiled loops of one SVM+ problem (one label): sweeps, Newton steps, values.

One label's problem, in the notation of the theory page (j: example, g: its group, the examples
that share one privileged vector):

    min  |z - centre|^2 / (2 omega) + gamma2/2 (|wt|^2 + wt0^2)
         + sum_j cost_j [ xi_g(j) + theta * max(0, 1 - m_j - xi_g(j)) ]     with xi_g >= 0,
    m_j  = sign_j <x_j, z>,     xi_g = wt0 + <wt, v_g>,    v_g = -1 + correction_g.

Its dual has alpha_j in [0, upper_j] (upper = theta * cost) and one beta_g >= 0 a group: the dual
value depends on the betas of a group through their sum alone, so the group's sum is the variable.

The helpers stand in this file because numba's cache does not notice edits in another one.
"""

from typing import NamedTuple

import numpy as np

from prml.loops.jit import DISABLED, jit


class Csr(NamedTuple):
    """Rows in CSR form; `bias` is a constant feature behind the last column (0: none)."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    bias: float


class Dense(NamedTuple):
    """Rows of a C-ordered array; `bias` is a constant feature behind the last column (0: none)."""

    values: np.ndarray
    bias: float


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


def row_dot(X, j, w):
    """<x_j, w>, the bias taken with the last entry of w."""
    if isinstance(X, Csr):
        part = slice(X.indptr[j], X.indptr[j + 1])
        return float(X.data[part] @ w[X.indices[part]] + X.bias * w[-1])
    return float(X.values[j] @ w[:-1] + X.bias * w[-1])


def row_axpy(X, j, a, w):
    """w += a * x_j."""
    if isinstance(X, Csr):
        part = slice(X.indptr[j], X.indptr[j + 1])
        w[X.indices[part]] += a * X.data[part]
    else:
        w[:-1] += a * X.values[j]
    w[-1] += a * X.bias


def row_square_axpy(X, j, a, w):
    """w += a * x_j^2, entry by entry."""
    if isinstance(X, Csr):
        part = slice(X.indptr[j], X.indptr[j + 1])
        w[X.indices[part]] += a * X.data[part] ** 2
    else:
        w[:-1] += a * X.values[j] ** 2
    w[-1] += a * X.bias**2


if not DISABLED:
    from numba import types
    from numba.extending import overload

    def _is_csr(X):
        return isinstance(X, types.NamedTuple) and X.instance_class is Csr

    # Unsigned indices spare the test for negative ones; four running sums do not wait for each
    # other. Together they halve the time of a row.
    @overload(row_dot)
    def _row_dot(X, j, w):
        if _is_csr(X):

            def csr(X, j, w):
                data, indices = X.data, X.indices
                e, end = np.uint64(X.indptr[j]), np.uint64(X.indptr[j + 1])
                a, b, c, d = X.bias * w[-1], 0.0, 0.0, 0.0
                one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
                while e + three < end:
                    a += data[e] * w[np.uint64(indices[e])]
                    b += data[e + one] * w[np.uint64(indices[e + one])]
                    c += data[e + two] * w[np.uint64(indices[e + two])]
                    d += data[e + three] * w[np.uint64(indices[e + three])]
                    e += np.uint64(4)
                while e < end:
                    a += data[e] * w[np.uint64(indices[e])]
                    e += one
                return (a + b) + (c + d)

            return csr

        def dense(X, j, w):
            row = X.values[j]
            a, b, c, d = X.bias * w[-1], 0.0, 0.0, 0.0
            k, end = 0, len(row)
            while k + 3 < end:
                a += row[k] * w[k]
                b += row[k + 1] * w[k + 1]
                c += row[k + 2] * w[k + 2]
                d += row[k + 3] * w[k + 3]
                k += 4
            while k < end:
                a += row[k] * w[k]
                k += 1
            return (a + b) + (c + d)

        return dense

    @overload(row_axpy)
    def _row_axpy(X, j, a, w):
        if _is_csr(X):

            def csr(X, j, a, w):
                data, indices = X.data, X.indices
                w[-1] += a * X.bias
                for e in range(np.uint64(X.indptr[j]), np.uint64(X.indptr[j + 1])):
                    w[np.uint64(indices[e])] += a * data[e]

            return csr

        def dense(X, j, a, w):
            row = X.values[j]
            w[-1] += a * X.bias
            for k in range(len(row)):
                w[k] += a * row[k]

        return dense

    @overload(row_square_axpy)
    def _row_square_axpy(X, j, a, w):
        if _is_csr(X):

            def csr(X, j, a, w):
                w[-1] += a * X.bias * X.bias
                for e in range(X.indptr[j], X.indptr[j + 1]):
                    w[X.indices[e]] += a * X.data[e] * X.data[e]

            return csr

        def dense(X, j, a, w):
            w[-1] += a * X.bias * X.bias
            for k in range(X.values.shape[1]):
                w[k] += a * X.values[j, k] * X.values[j, k]

        return dense


@jit
def margins(p, z, out):
    """out[j] = sign_j * <x_j, z>."""
    for j in range(len(p.rows)):
        out[j] = p.sign[j] * row_dot(p.X, p.rows[j], z)


@jit
def slack(p, g, offset, wt):
    """xi_g = offset + <wt, correction_g>, where offset = wt0 - sum(wt)."""
    total = offset
    for e in range(p.indptr[g], p.indptr[g + 1]):
        total += p.values[e] * wt[np.uint64(p.indices[e])]
    return total


@jit
def slacks(p, offset, wt, out):
    """out[g] = xi_g for every group."""
    for g in range(len(p.norm)):
        out[g] = slack(p, g, offset, wt)


@jit
def group_sums(p, alpha, beta, sigma):
    """sigma_g = sum of alpha over the group + beta_g - group_cost_g."""
    for g in range(len(beta)):
        sigma[g] = beta[g] - p.group_cost[g]
    for j in range(len(alpha)):
        sigma[p.group[j]] += alpha[j]


@jit
def dual_state(p, alpha, beta, z, u, s):
    """Fill z, u and s from the multipliers, as `sweep` expects them."""
    z[:] = p.centre
    for j in range(len(alpha)):
        if alpha[j] != 0.0:
            row_axpy(p.X, p.rows[j], p.omega * alpha[j] * p.sign[j], z)
    sigma = np.empty(len(beta))
    group_sums(p, alpha, beta, sigma)
    u[:] = 0.0
    for g in range(len(sigma)):
        for e in range(p.indptr[g], p.indptr[g + 1]):
            u[p.indices[e]] += p.values[e] * sigma[g]
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
    inverse = 1.0 / p.gamma2
    factor = p.n_teachers + p.teacher_bias
    moved = 0.0
    for k in range(len(order)):
        j = order[k]
        g = p.group[j]
        row = p.rows[j]
        m = p.sign[j] * row_dot(p.X, row, z)
        total = factor * s[0] - s[1]
        for e in range(p.indptr[g], p.indptr[g + 1]):
            total += p.values[e] * (u[p.indices[e]] - s[0])
        xi = total * inverse
        q = p.norm[g] * inverse
        curvature = p.omega * p.square[j]
        lower, upper = -alpha[j], p.upper[j] - alpha[j]
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
            row_axpy(p.X, row, p.omega * a * p.sign[j], z)
        if q > 0.0:
            beta[g] = max(beta[g] + t - a, 0.0)
            if t != 0.0:
                s[0] += t
                for e in range(p.indptr[g], p.indptr[g + 1]):
                    change = p.values[e] * t
                    u[p.indices[e]] += change
                    s[1] += change
    return moved


@jit
def multipliers(p, m, xi, alpha0, beta0, rho_alpha, rho_beta, alpha, beta, free, zsum, sigma):
    """Read the multipliers off a primal point (m, xi): one step of the method of multipliers.

    alpha = clip(alpha0 + rho_alpha (1 - m - xi), 0, upper), beta = max(beta0 - rho_beta xi, 0);
    free lists the examples strictly inside the clip, zsum = sum_j alpha_j sign_j x_j and
    sigma_g = sum of alpha over the group + beta_g - group_cost_g. Returns the length of free.
    """
    for g in range(len(beta)):
        beta[g] = max(beta0[g] - rho_beta * xi[g], 0.0)
        sigma[g] = beta[g] - p.group_cost[g]
    zsum[:] = 0.0
    n_free = 0
    for j in range(len(alpha)):
        g = p.group[j]
        value = alpha0[j] + rho_alpha * (1.0 - m[j] - xi[g])
        if value <= 0.0:
            alpha[j] = 0.0
            continue
        if value < p.upper[j]:
            free[n_free] = j
            n_free += 1
        else:
            value = p.upper[j]
        alpha[j] = value
        sigma[g] += value
        row_axpy(p.X, p.rows[j], value * p.sign[j], zsum)
    return n_free


@jit
def teacher_pullback(p, offset, wt, pull, out):
    """Gradient of gamma2/2 (|wt|^2 + wt0^2) + <pull, xi> in (offset, wt); returns that of offset.

    out receives the part of wt. Without the privileged intercept the offset is -sum(wt), so its
    gradient is handed on to wt and 0 is returned.
    """
    wt0 = 0.0
    if p.teacher_bias > 0.0:
        wt0 = offset + wt.sum()
    for l in range(len(wt)):
        out[l] = p.gamma2 * (wt[l] + wt0)
    total = 0.0
    for g in range(len(pull)):
        r = pull[g]
        if r != 0.0:
            total += r
            for e in range(p.indptr[g], p.indptr[g + 1]):
                out[p.indices[e]] += p.values[e] * r
    if p.teacher_bias > 0.0:
        return total + p.gamma2 * wt0
    for l in range(len(wt)):
        out[l] -= total
    return 0.0


@jit
def diagonal(p, free, group_weight, rho_alpha, dz, dwt):
    """Diagonal of the Newton matrix in (z, wt); returns that of the offset."""
    dz[:] = 1.0 / p.omega
    for j in free:
        row_square_axpy(p.X, p.rows[j], rho_alpha, dz)
    bias = p.teacher_bias > 0.0
    weight_sum = 0.0
    for g in range(len(group_weight)):
        weight_sum += group_weight[g]
    dwt[:] = 2.0 * p.gamma2 if bias else p.gamma2 + weight_sum
    for g in range(len(group_weight)):
        weight = group_weight[g]
        if weight > 0.0:
            for e in range(p.indptr[g], p.indptr[g + 1]):
                v = p.values[e]
                dwt[p.indices[e]] += weight * (v * v if bias else v * v - 2.0 * v)
    return p.gamma2 + weight_sum


@jit
def newton_direction(p, free, group_weight, rho_alpha, gz, gwt, goffset, dz, dwt, max_cg, tol):
    """Solve the Newton system for the direction (dz, dwt, returned offset) by conjugate gradients.

    The matrix is I/omega + rho_alpha sum over free of (x_j, v_g)(x_j, v_g)' on (z, wt), plus
    sum_g group_weight_g v_g v_g' + gamma2 on the teacher's part, where group_weight holds rho_beta
    on the groups with beta_g > 0. (gz, gwt, goffset) is the right-hand side and ends as the
    residual. The offset is a coordinate of its own because it is the slow direction: with it the
    diagonal is a good preconditioner. Returns the direction's offset, the squared length of the
    right-hand side in the preconditioner's norm, and the number of products.
    """
    mz, mwt = np.empty_like(gz), np.empty_like(gwt)
    every = group_weight.copy()
    for j in free:
        every[p.group[j]] += rho_alpha
    touched = np.flatnonzero(every)
    moffset = diagonal(p, free, every, rho_alpha, mz, mwt)
    dz[:] = 0.0
    dwt[:] = 0.0
    doffset = 0.0
    pz, pwt, poffset = gz / mz, gwt / mwt, goffset / moffset
    length = gz @ pz + gwt @ pwt + goffset * poffset
    start = length
    qz, qwt = np.empty_like(gz), np.empty_like(gwt)
    dxi, pull = np.empty_like(group_weight), np.zeros_like(group_weight)
    n_products = 0
    while n_products < max_cg and length > tol * tol * start and length > 1e-300:
        n_products += 1
        if p.teacher_bias == 0.0:
            poffset = -pwt.sum()
        for g in touched:
            dxi[g] = slack(p, g, poffset, pwt)
            pull[g] = group_weight[g] * dxi[g]
        for k in range(len(qz)):
            qz[k] = pz[k] / p.omega
        for j in free:
            row = p.rows[j]
            r = rho_alpha * (p.sign[j] * row_dot(p.X, row, pz) + dxi[p.group[j]])
            pull[p.group[j]] += r
            row_axpy(p.X, row, p.sign[j] * r, qz)
        qoffset = teacher_pullback(p, poffset, pwt, pull, qwt)
        step = length / (pz @ qz + pwt @ qwt + poffset * qoffset)
        if not np.isfinite(step):
            break
        doffset += step * poffset
        goffset -= step * qoffset
        new = goffset * goffset / moffset
        for k in range(len(dz)):
            dz[k] += step * pz[k]
            gz[k] -= step * qz[k]
            new += gz[k] * gz[k] / mz[k]
        for l in range(len(dwt)):
            dwt[l] += step * pwt[l]
            gwt[l] -= step * qwt[l]
            new += gwt[l] * gwt[l] / mwt[l]
        ratio = new / length
        length = new
        poffset = goffset / moffset + ratio * poffset
        for k in range(len(pz)):
            pz[k] = gz[k] / mz[k] + ratio * pz[k]
        for l in range(len(pwt)):
            pwt[l] = gwt[l] / mwt[l] + ratio * pwt[l]
    if p.teacher_bias == 0.0:
        doffset = -dwt.sum()
    return doffset, start, n_products


@jit
def step_length(p, m, dm, xi, dxi, alpha0, beta0, rho_alpha, rho_beta, slope, curvature, tol):
    """Minimise the augmented Lagrangian along a direction: find the zero of its slope in (0, 2].

    The slope is piecewise linear and rising: slope + curvature * t from the quadratic part, minus
    the multipliers at t times the changes (dm, dxi). Multipliers that keep to one piece up to
    t = 2, nearly all, are summed once. Newton's iteration on the rest, kept in a bracket.
    """
    n, n_groups = len(m), len(xi)
    start, rate, change = np.empty(n + n_groups), np.empty(n + n_groups), np.empty(n + n_groups)
    upper = np.empty(n + n_groups)
    k = 0
    for g in range(n_groups):
        v, r = beta0[g] - rho_beta * xi[g], rho_beta * dxi[g]
        end = v - 2.0 * r
        if v > 0.0 and end > 0.0:
            slope -= v * dxi[g]
            curvature += r * dxi[g]
        elif v > 0.0 or end > 0.0:
            start[k], rate[k], change[k], upper[k] = v, r, dxi[g], np.inf
            k += 1
    for j in range(n):
        g = p.group[j]
        c = dm[j] + dxi[g]
        v, r, top = alpha0[j] + rho_alpha * (1.0 - m[j] - xi[g]), rho_alpha * c, p.upper[j]
        end = v - 2.0 * r
        if v <= 0.0 and end <= 0.0:
            continue
        if v >= top and end >= top:
            slope -= top * c
        elif 0.0 < v < top and 0.0 < end < top:
            slope -= v * c
            curvature += r * c
        else:
            start[k], rate[k], change[k], upper[k] = v, r, c, top
            k += 1
    t, low, high = 1.0, 0.0, 2.0
    for _ in range(40):
        value, bend = slope + curvature * t, curvature
        for e in range(k):
            multiplier = start[e] - rate[e] * t
            if multiplier > 0.0:
                if multiplier < upper[e]:
                    value -= multiplier * change[e]
                    bend += rate[e] * change[e]
                else:
                    value -= upper[e] * change[e]
        if value > 0.0:
            high = t
        else:
            low = t
        if abs(value) <= tol or high - low <= 1e-12:
            break
        t -= value / bend
        if not low < t < high:
            t = 0.5 * (low + high)
    return t


@jit
def newton_step(p, z, wt, offset, m, xi, alpha0, beta0, rho_alpha, rho_beta, max_cg, tol):
    """Move the primal point (z, wt, offset, m, xi), in place, one semismooth Newton step down the
    augmented Lagrangian of (alpha0, beta0).

    On entry and on exit m and xi belong to z, wt and offset[0]. Returns the squared length of the
    gradient before the step (in the norm of the preconditioner) and the number of products.
    """
    n, n_groups = len(m), len(xi)
    alpha, beta, sigma = np.empty(n), np.empty(n_groups), np.empty(n_groups)
    free, gz = np.empty(n, np.int64), np.empty_like(z)
    n_free = multipliers(p, m, xi, alpha0, beta0, rho_alpha, rho_beta, alpha, beta, free, gz, sigma)
    free = free[:n_free]
    for k in range(len(z)):
        gz[k] -= (z[k] - p.centre[k]) / p.omega
    weight = np.where(beta > 0.0, rho_beta, 0.0)
    gwt = np.empty_like(wt)
    goffset = -teacher_pullback(p, offset[0], wt, -sigma, gwt)
    gwt *= -1.0
    dz, dwt = np.empty_like(z), np.empty_like(wt)
    doffset, length, n_products = newton_direction(
        p, free, weight, rho_alpha, gz, gwt, goffset, dz, dwt, max_cg, tol
    )
    dm, dxi = alpha, beta  # their room is free by now
    margins(p, dz, dm)
    slacks(p, doffset, dwt, dxi)
    slope, curvature = dxi @ p.group_cost, dz @ dz / p.omega + p.gamma2 * (dwt @ dwt)
    for k in range(len(z)):
        slope += (z[k] - p.centre[k]) * dz[k] / p.omega
    slope += p.gamma2 * (wt @ dwt)
    if p.teacher_bias > 0.0:
        dwt0 = doffset + dwt.sum()
        slope += p.gamma2 * (offset[0] + wt.sum()) * dwt0
        curvature += p.gamma2 * dwt0 * dwt0
    t = step_length(
        p, m, dm, xi, dxi, alpha0, beta0, rho_alpha, rho_beta, slope, curvature, 1e-3 * length
    )
    z += t * dz
    wt += t * dwt
    m += t * dm
    xi += t * dxi
    offset[0] += t * doffset
    return length, n_products


@jit
def dual_value(p, alpha, zsum, sigma):
    """sum(alpha) - omega/2 |zsum|^2 - <centre, zsum> - |sum_g sigma_g v_g|^2 / (2 gamma2)."""
    u = np.zeros(p.n_teachers)
    s = 0.0
    for g in range(len(sigma)):
        s += sigma[g]
        for e in range(p.indptr[g], p.indptr[g + 1]):
            u[p.indices[e]] += p.values[e] * sigma[g]
    square = p.teacher_bias * s * s
    for l in range(len(u)):
        square += (u[l] - s) * (u[l] - s)
    return alpha.sum() - 0.5 * p.omega * (zsum @ zsum) - p.centre @ zsum - square / (2 * p.gamma2)


@jit
def smallest_lift(p, m, xi, lift_xi):
    """Least r >= 0 with xi + r lift_xi feasible: >= 0, and >= 1 - m where upper is infinite.

    inf when a violated group has lift_xi = 0 (beyond rounding).
    """
    lift = 0.0
    for g in range(len(xi)):
        if xi[g] < 0.0:
            if lift_xi[g] > 0.0:
                lift = max(lift, -xi[g] / lift_xi[g])
            elif xi[g] < -1e-9:
                return np.inf
    for j in range(len(m)):
        if p.upper[j] == np.inf:
            g = p.group[j]
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
    out[:] = 0.0
    for j in range(len(m)):
        if p.upper[j] == np.inf and 1.0 - m[j] > out[p.group[j]]:
            out[p.group[j]] = 1.0 - m[j]


@jit
def raise_slacks(p, needed, cheapest, offset, wt, xi):
    """Raise wt, at a fixed offset, until xi >= needed; wt and xi are written, returns the offset.

    At a fixed offset a larger wt_l only raises slacks, so one pass over the groups is enough. The
    label raised for a group is the one whose examples cost least, entry cheapest[g] of the
    correction (-1: none; then the offset itself is raised, before all else).
    """
    for g in range(len(xi)):
        if cheapest[g] < 0 and offset < needed[g]:
            offset = needed[g]
    for g in range(len(xi)):
        total = slack(p, g, offset, wt)
        if total < needed[g]:
            e = cheapest[g]
            wt[p.indices[e]] += (needed[g] - total) / p.values[e]
    slacks(p, offset, wt, xi)
    return offset


@jit
def cheapest_entries(p, out):
    """out[g] = the entry of group g's correction whose label costs least to raise, -1 if none."""
    price = np.zeros(p.n_teachers)
    for g in range(len(out)):
        for e in range(p.indptr[g], p.indptr[g + 1]):
            price[p.indices[e]] += p.values[e] * p.group_cost[g]
    for g in range(len(out)):
        out[g] = -1
        least = np.inf
        for e in range(p.indptr[g], p.indptr[g + 1]):
            if price[p.indices[e]] / p.values[e] < least:
                out[g] = e
                least = price[p.indices[e]] / p.values[e]


@jit
def primal_value(p, z, wt, offset, m, xi):
    """The objective at a feasible point; m and xi belong to it."""
    total = 0.0
    for k in range(len(z)):
        total += (z[k] - p.centre[k]) ** 2
    total = 0.5 * total / p.omega + 0.5 * p.gamma2 * (wt @ wt)
    if p.teacher_bias > 0.0:
        total += 0.5 * p.gamma2 * (offset + wt.sum()) ** 2
    total += xi @ p.group_cost
    for j in range(len(m)):
        if p.upper[j] < np.inf:
            total += p.upper[j] * max(0.0, 1.0 - m[j] - xi[p.group[j]])
    return total
