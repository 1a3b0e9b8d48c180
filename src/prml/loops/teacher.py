"""What is here: the loops of the low-rank solver that go around the pair sweep of `svmplus`."""

from prml.loops.jit import jit
from prml.loops.svmplus import sweep, teacher_response, teacher_state


@jit
def sweep_teacher(p, beta, u, s, kappa):
    """Update every beta_g once, exactly, at fixed alpha; no x is read.

    u, s and kappa as in `svmplus.sweep`; beta, u and s are written.
    """
    indptr, indices, values = p.indptr, p.indices, p.values
    inverse = 1.0 / p.gamma2
    at, mean = teacher_state(p, s, kappa)
    for g in range(len(beta)):
        xi, total, length = at, 0.0, 0.0
        for e in range(indptr[g], indptr[g + 1]):
            v = values[e]
            xi += v * (u[indices[e]] * inverse - mean)
            total += v
            length += v * v
        rise, sink = teacher_response(p, kappa, total)
        q = length * inverse + rise - total * sink
        if q <= 0.0:
            continue
        t = max(-xi / q, -beta[g])
        if t != 0.0:
            beta[g] += t
            s[0] += t
            s[1] += total * t
            at += rise * t
            mean += sink * t
            for e in range(indptr[g], indptr[g + 1]):
                u[indices[e]] += values[e] * t
    s[2] = at


@jit
def visit(p, order, n_sweeps, n_teacher_sweeps, alpha, beta, m_row, u, s, kappa, near, active):
    """A label's turn: n_sweeps pair sweeps over `order`, each followed by sweeps of the teacher.

    m_row = sum_j alpha_j sign_j x_j on entry and on exit; alpha, beta, u and s are written too.
    `active` receives the examples that the last sweep found active; returns their number.
    """
    z = p.centre + p.omega * m_row
    n_active = 0
    for _ in range(n_sweeps):
        n_active = sweep(p, order, alpha, beta, z, u, s, kappa, near, active)
        for _ in range(n_teacher_sweeps):
            sweep_teacher(p, beta, u, s, kappa)
    for k in range(len(z)):
        m_row[k] = (z[k] - p.centre[k]) / p.omega
    return n_active
