"""What is here: the loops of the low-rank solver that go around the pair sweep of `svmplus`."""

import numpy as np

from prml.loops.jit import jit
from prml.loops.problem import add_correction
from prml.loops.svmplus import sweep, teacher_response, teacher_state
from prml.loops.visiting_order import another_seed, shuffled


@jit
def sweep_teacher(p, beta, u, s, kappa):
    """Update every beta_g once, exactly, at fixed alpha; no x is read.

    u, s and kappa as in `svmplus.sweep`; beta, u and s are written.
    """
    indptr, indices, values = p.indptr, p.indices, p.values
    inverse = 1.0 / p.gamma2
    at, mean = teacher_state(p, s, kappa)
    rise, fall, sink, lean = teacher_response(p, kappa)
    for g in range(len(beta)):
        xi, total, length = at, 0.0, 0.0
        for e in range(indptr[g], indptr[g + 1]):
            v = values[e]
            xi += v * (u[indices[e]] * inverse - mean)
            total += v
            length += v * v
        up, down = rise - fall * total, sink + lean * total
        q = length * inverse + up - total * down
        if q <= 0.0:
            continue
        t = max(-xi / q, -beta[g])
        if t != 0.0:
            beta[g] += t
            s[0] += t
            s[1] += total * t
            at += up * t
            mean += down * t
            for e in range(indptr[g], indptr[g + 1]):
                u[indices[e]] += values[e] * t
    s[2] = at


@jit
def scale_teacher(p, beta, u, s):
    """Multiply beta by the factor that is best for the dual value, exactly, without a hold.

    What a held offset still owes is a small change of sum(sigma), dear because all privileged
    vectors share it; one factor for all betas pays it where single pairs would need many sweeps.
    """
    indptr, indices, values = p.indptr, p.indices, p.values
    part, total = np.zeros(len(u)), 0.0  # u and s[0] of beta alone
    for g in range(len(beta)):
        if beta[g] > 0.0:
            total += beta[g]
            add_correction(indptr, indices, values, g, beta[g], part)
    inner, square = p.teacher_bias * s[0] * total, p.teacher_bias * total * total
    for l in range(len(u)):
        inner += (u[l] - s[0]) * (part[l] - total)
        square += (part[l] - total) * (part[l] - total)
    if square <= 0.0:
        return
    change = max(-inner / square, -1.0)
    beta *= 1.0 + change
    u += change * part
    s[0] += change * total
    s[1] += change * part.sum()


@jit
def dual_parts(alpha, u, s, gamma2, teacher_bias):
    """sum(alpha) and gamma2/2 (|wt|^2 + wt0^2), of the multipliers alone: no hold on the offset."""
    square = teacher_bias * s[0] * teacher_bias * s[0]
    for l in range(len(u)):
        square += (u[l] - s[0]) * (u[l] - s[0])
    return alpha.sum(), 0.5 * square / gamma2


@jit
def scaled(alpha, beta, group, t):
    """t alpha, and beta with what the group's alphas give up: no teacher changes."""
    new_alpha, new_beta = np.empty_like(alpha), beta.copy()
    for j in range(len(alpha)):
        new_alpha[j] = t * alpha[j]
        new_beta[group[j]] += (1.0 - t) * alpha[j]
    return new_alpha, new_beta


@jit
def visit(p, order, n_sweeps, alpha, beta, m_row, u, s, kappa, near, active):
    """Pair sweeps over `order`, each followed by one of the teacher.

    m_row = sum_j alpha_j sign_j x_j on entry and on exit; alpha, beta, u and s are written too.
    `active` receives the examples that the last sweep found active; returns their number.
    """
    z = p.centre + p.omega * m_row
    n_active = 0
    for _ in range(n_sweeps):
        n_active = sweep(p, order, alpha, beta, z, u, s, kappa, near, active)
        sweep_teacher(p, beta, u, s, kappa)
    for k in range(len(z)):
        m_row[k] = (z[k] - p.centre[k]) / p.omega
    return n_active


@jit
def pay(p, active, alpha, beta, m_row, u, s, near):
    """A sweep without the hold on the offset: the dual value charges for what it owes."""
    offset = s[2]
    scale_teacher(p, beta, u, s)
    visit(p, active, 1, alpha, beta, m_row, u, s, np.inf, near, np.empty_like(active))
    scale_teacher(p, beta, u, s)
    s[2] = offset


@jit
def take_turn(p, active, seed, full, n_sweeps, alpha, beta, m_row, u, s, kappa, near):
    """A label's turn: sweeps over the active examples in a random order; returns these.

    When `full`, a sweep over all examples goes before and finds out who is active. One call, so
    that threads wait for the interpreter once a turn.
    """
    if full:
        n = len(alpha)
        room = np.empty(n, np.int64)
        order = shuffled(np.arange(n), seed)
        n_active = visit(p, order, 1, alpha, beta, m_row, u, s, kappa, near, room)
        active = room[:n_active].copy()
        seed = another_seed(seed)  # the same order twice would do much less
    order = shuffled(active, seed)
    visit(p, order, n_sweeps, alpha, beta, m_row, u, s, kappa, near, np.empty_like(order))
    return active
