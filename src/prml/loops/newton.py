"""What is here: the method of multipliers on one SVM+ problem, its steps by Newton's method.

The inner problem is smooth and piecewise quadratic in (z, wt): a semismooth Newton step solves a
linear system by conjugate gradients over the examples whose alpha is free. The letters are
explained in `prml.loops.problem`.
"""

import numpy as np

from prml.loops.jit import jit
from prml.loops.problem import add_correction, dual_value, group_sums, margins, slack, slacks
from prml.loops.rows import row_axpy, row_dot, row_square_axpy


@jit
def multipliers(p, m, xi, alpha0, beta0, rho_alpha, rho_beta, alpha, beta, free, zsum, sigma):
    """Read the multipliers off a primal point (m, xi): one step of the method of multipliers.

    alpha = clip(alpha0 + rho_alpha (1 - m - xi), 0, upper), beta = max(beta0 - rho_beta xi, 0);
    free lists the examples strictly inside the clip, zsum = sum_j alpha_j sign_j x_j and
    sigma_g = sum of alpha over the group + beta_g - group_cost_g. Returns the length of free.
    """
    X, rows, sign, group, upper, group_cost = p.X, p.rows, p.sign, p.group, p.upper, p.group_cost
    for g in range(len(beta)):
        beta[g] = max(beta0[g] - rho_beta * xi[g], 0.0)
        sigma[g] = beta[g] - group_cost[g]
    zsum[:] = 0.0
    n_free = 0
    for j in range(len(alpha)):
        g = group[j]
        value = alpha0[j] + rho_alpha * (1.0 - m[j] - xi[g])
        if value <= 0.0:
            alpha[j] = 0.0
            continue
        if value < upper[j]:
            free[n_free] = j
            n_free += 1
        else:
            value = upper[j]
        alpha[j] = value
        sigma[g] += value
        row_axpy(X, rows[j], value * sign[j], zsum)
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
    indptr, indices, values = p.indptr, p.indices, p.values
    total = 0.0
    for g in range(len(pull)):
        if pull[g] != 0.0:
            total += pull[g]
            add_correction(indptr, indices, values, g, pull[g], out)
    if p.teacher_bias > 0.0:
        return total + p.gamma2 * wt0
    for l in range(len(wt)):
        out[l] -= total
    return 0.0


@jit
def diagonal(p, free, group_weight, rho_alpha, dz, dwt):
    """Diagonal of the Newton matrix in (z, wt); returns that of the offset."""
    X, rows, indptr, indices, values = p.X, p.rows, p.indptr, p.indices, p.values
    dz[:] = 1.0 / p.omega
    for j in free:
        row_square_axpy(X, rows[j], rho_alpha, dz)
    bias = p.teacher_bias > 0.0
    weight_sum = 0.0
    for g in range(len(group_weight)):
        weight_sum += group_weight[g]
    dwt[:] = 2.0 * p.gamma2 if bias else p.gamma2 + weight_sum
    for g in range(len(group_weight)):
        weight = group_weight[g]
        if weight > 0.0:
            for e in range(indptr[g], indptr[g + 1]):
                v = values[e]
                dwt[indices[e]] += weight * (v * v if bias else v * v - 2.0 * v)
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
    X, rows, sign, group = p.X, p.rows, p.sign, p.group
    indptr, indices, values = p.indptr, p.indices, p.values
    mz, mwt = np.empty_like(gz), np.empty_like(gwt)
    every, shared = group_weight.copy(), np.zeros(len(group_weight), np.bool_)
    for j in free:
        every[group[j]] += rho_alpha
        shared[group[j]] = True
    # The groups whose slack weighs: those with a free example wait for it, the others do not.
    mixed, alone = np.flatnonzero(shared), np.flatnonzero((every > 0.0) & ~shared)
    moffset = diagonal(p, free, every, rho_alpha, mz, mwt)
    dz[:] = 0.0
    dwt[:] = 0.0
    doffset = 0.0
    pz, pwt, poffset = gz / mz, gwt / mwt, goffset / moffset
    length = gz @ pz + gwt @ pwt + goffset * poffset
    start = length
    qz, qwt = np.empty_like(gz), np.empty_like(gwt)
    dxi, pull = np.empty_like(group_weight), np.empty_like(group_weight)
    n_products = 0
    while n_products < max_cg and length > tol * tol * start and length > 1e-300:
        n_products += 1
        if p.teacher_bias == 0.0:
            poffset = -pwt.sum()
        pwt0 = poffset + pwt.sum()  # 0 without the privileged intercept
        for l in range(len(qwt)):
            qwt[l] = p.gamma2 * (pwt[l] + pwt0)
        qoffset = 0.0
        for g in alone:
            r = group_weight[g] * slack(indptr, indices, values, g, poffset, pwt)
            qoffset += r
            add_correction(indptr, indices, values, g, r, qwt)
        for g in mixed:
            dxi[g] = slack(indptr, indices, values, g, poffset, pwt)
            pull[g] = group_weight[g] * dxi[g]
        for k in range(len(qz)):
            qz[k] = pz[k] / p.omega
        for j in free:
            row = rows[j]
            r = rho_alpha * (sign[j] * row_dot(X, row, pz) + dxi[group[j]])
            pull[group[j]] += r
            row_axpy(X, row, sign[j] * r, qz)
        for g in mixed:
            qoffset += pull[g]
            add_correction(indptr, indices, values, g, pull[g], qwt)
        if p.teacher_bias > 0.0:
            qoffset += p.gamma2 * pwt0
        else:
            qwt -= qoffset
            qoffset = 0.0
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
    group, bound = p.group, p.upper
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
        g = group[j]
        c = dm[j] + dxi[g]
        v, r, top = alpha0[j] + rho_alpha * (1.0 - m[j] - xi[g]), rho_alpha * c, bound[j]
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
    n, n_groups, centre = len(m), len(xi), p.centre
    alpha, beta, sigma = np.empty(n), np.empty(n_groups), np.empty(n_groups)
    free, gz = np.empty(n, np.int64), np.empty_like(z)
    n_free = multipliers(p, m, xi, alpha0, beta0, rho_alpha, rho_beta, alpha, beta, free, gz, sigma)
    free = free[:n_free]
    for k in range(len(z)):
        gz[k] -= (z[k] - centre[k]) / p.omega
    weight = np.zeros(n_groups)  # np.where would take two seconds more to compile
    for g in range(n_groups):
        if beta[g] > 0.0:
            weight[g] = rho_beta
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
        slope += (z[k] - centre[k]) * dz[k] / p.omega
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
def advance(p, z, wt, offset, m, xi, alpha0, beta0, rho_alpha, rho_beta, max_cg, tol, room):
    """One `newton_step`, then the multipliers of the new point, into `room`, and their dual value.

    room = (alpha, beta, free, zsum, sigma), as `multipliers` fills them. Returns the squared length
    of the gradient before the step and the dual value after it.
    """
    alpha, beta, free, zsum, sigma = room
    length, _ = newton_step(
        p, z, wt, offset, m, xi, alpha0, beta0, rho_alpha, rho_beta, max_cg, tol
    )
    multipliers(p, m, xi, alpha0, beta0, rho_alpha, rho_beta, alpha, beta, free, zsum, sigma)
    return length, dual_value(p, alpha, zsum, sigma)


@jit
def newton_turn(p, wt, offset, alpha, beta, m_row, rho_alpha, rho_beta, max_steps):
    """Newton steps from the point of (m_row, wt, offset) until the dual value has risen.

    m_row = sum_j alpha_j sign_j x_j on entry and on exit; wt and offset move. alpha, beta and
    m_row are written when it has. Returns whether it has.
    """
    n, n_groups = len(alpha), len(beta)
    z = p.centre + p.omega * m_row
    m, xi, sigma = np.empty(n), np.empty(n_groups), np.empty(n_groups)
    margins(p, z, m)
    slacks(p, offset[0], wt, xi)
    group_sums(p, alpha, beta, sigma)
    before = dual_value(p, alpha, m_row, sigma)
    zsum, free = np.empty_like(m_row), np.empty(n, np.int64)
    new_alpha, new_beta = np.empty(n), np.empty(n_groups)
    room = (new_alpha, new_beta, free, zsum, sigma)
    for _ in range(max_steps):
        _, value = advance(
            p, z, wt, offset, m, xi, alpha, beta, rho_alpha, rho_beta, 100, 0.3, room
        )
        if value >= before:
            alpha[:] = new_alpha
            beta[:] = new_beta
            m_row[:] = zsum
            return True
    return False
