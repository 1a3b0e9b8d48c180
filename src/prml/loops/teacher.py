"""What is here: the loops of the low-rank solver that go around the pair sweep of `svmplus`."""

from prml.loops.jit import jit
from prml.loops.svmplus import sweep


@jit
def sweep_teacher(p, beta, u, s):
    """Update every beta_g once, exactly, at fixed alpha; no x is read.

    u and s as in `svmplus.sweep`; beta, u and s are written. Returns the largest |xi| corrected.
    """
    indptr, indices, values, norm = p.indptr, p.indices, p.values, p.norm
    inverse = 1.0 / p.gamma2
    factor = p.n_teachers + p.teacher_bias
    sigma_sum, u_sum, largest = s[0], s[1], 0.0
    for g in range(len(beta)):
        q = norm[g] * inverse
        if q <= 0.0:
            continue
        total = factor * sigma_sum - u_sum
        for e in range(indptr[g], indptr[g + 1]):
            total += values[e] * (u[indices[e]] - sigma_sum)
        t = max(-total * inverse / q, -beta[g])
        if t != 0.0:
            beta[g] += t
            largest = max(largest, abs(t) * q)
            sigma_sum += t
            for e in range(indptr[g], indptr[g + 1]):
                change = values[e] * t
                u[indices[e]] += change
                u_sum += change
    s[0], s[1] = sigma_sum, u_sum
    return largest


@jit
def visit(p, order, n_sweeps, n_teacher_sweeps, alpha, beta, m_row, u, s):
    """A label's turn: n_sweeps pair sweeps over `order`, each followed by sweeps of the teacher.

    m_row = sum_j alpha_j sign_j x_j on entry and on exit; alpha, beta, u and s are written too.
    """
    z = p.centre + p.omega * m_row
    for _ in range(n_sweeps):
        sweep(p, order, alpha, beta, z, u, s)
        for _ in range(n_teacher_sweeps):
            sweep_teacher(p, beta, u, s)
    for k in range(len(z)):
        m_row[k] = (z[k] - p.centre[k]) / p.omega
