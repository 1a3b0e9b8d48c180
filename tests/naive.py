"""What is here: slow, obvious twins of the SVM+ loops, in plain numpy with dense ±1 vectors."""

import numpy as np


def algorithm_1(X, signs, teacher_vectors, W, gamma, C, order):
    """Algorithm 1 of the paper as printed, over the coordinates in `order`.

    X is (n, d), signs (L, n) in ±1, teacher_vectors[i] the (n, p_i) privileged features of label
    i, W (L, k). Coordinates 0 .. L*n - 1 are the alphas row by row, the next L*n the betas.
    Returns D (k, d), the list of w_tilde and eta = [alpha; beta].
    """
    n_labels, n = signs.shape
    size = n_labels * n
    eta = np.zeros(2 * size)
    D = np.zeros((W.shape[1], X.shape[1]))
    wt = [-C / gamma * vectors.sum(axis=0) for vectors in teacher_vectors]
    for s in order:
        i, j = divmod(s % size, n)
        v = teacher_vectors[i][j]
        curvature = v @ v / gamma
        gradient = wt[i] @ v
        if s < size:
            curvature += (W[i] @ W[i]) * (X[j] @ X[j])
            gradient += signs[i, j] * (W[i] @ D @ X[j]) - 1.0
        delta = max(-eta[s], -gradient / curvature)
        if s < size:
            D += delta * signs[i, j] * np.outer(W[i], X[j])
        wt[i] = wt[i] + delta / gamma * v
        eta[s] += delta
    return D, wt, eta


def best_pair(gradient, xi, curvature, q, alpha, beta, upper):
    """Maximise gradient a - curvature/2 a^2 - xi t - q/2 t^2, t = a + b, over the box of a pair.

    The box: 0 <= alpha + a <= upper, 0 <= beta + b. All candidates are tried: the free optimum,
    the optimum on each edge and the corners. Returns (a, b).
    """
    if q == 0.0:  # an example of which no other label is known: beta does nothing
        return min(max(gradient / curvature, -alpha), upper - alpha), 0.0
    candidates = [(gradient / curvature, -xi / q - gradient / curvature)]
    edges = [-alpha] if np.isinf(upper) else [-alpha, upper - alpha]
    candidates += [(a, -xi / q - a) for a in edges]
    candidates += [((gradient - xi + q * beta) / (curvature + q), -beta)]
    candidates += [(a, -beta) for a in edges]

    def value(pair):
        a, t = pair[0], pair[0] + pair[1]
        return gradient * a - curvature / 2 * a * a - xi * t - q / 2 * t * t

    def inside(pair):
        tiny = 1e-12
        return -tiny <= alpha + pair[0] <= upper + tiny and beta + pair[1] >= -tiny

    return max(filter(inside, candidates), key=value)


def pair_sweep(x, sign, upper, v, group, group_cost, gamma2, omega, centre, order, alpha, beta):
    """Sweep over the pairs (alpha_j, beta_g(j)), everything recomputed from the multipliers.

    x is (n, d + 1), v (n_groups, n_teachers + 1) with the privileged intercept as its last column.
    alpha and beta are changed in place. Returns z and (wt, wt0).
    """
    for j in order:
        g = group[j]
        z, wt = primal_from_dual(x, sign, v, group, group_cost, gamma2, omega, centre, alpha, beta)
        gradient, xi = 1.0 - sign[j] * (x[j] @ z), v[g] @ wt
        curvature, q = omega * (x[j] @ x[j]), v[g] @ v[g] / gamma2
        a, b = best_pair(gradient, xi, curvature, q, alpha[j], beta[g], upper[j])
        alpha[j] += a
        beta[g] += b
    return primal_from_dual(x, sign, v, group, group_cost, gamma2, omega, centre, alpha, beta)


def held_pair_sweep(
    x, sign, upper, v, group, group_cost, gamma2, omega, centre, order, alpha, beta, offset, kappa
):
    """As `pair_sweep`, with (wt0 - sum(wt) - offset)^2 / (2 kappa) added to the objective.

    Returns z, (wt, wt0) and the offset wt0 - sum(wt) that the sweep ends with.
    """
    pull = np.r_[-np.ones(v.shape[1] - 1), 1.0]
    H = gamma2 * np.eye(v.shape[1]) + np.outer(pull, pull) / kappa

    def primal():
        sigma = np.bincount(group, weights=alpha, minlength=len(v)) + beta - group_cost
        w = np.linalg.solve(H, sigma @ v + pull * offset / kappa)
        return centre + omega * ((alpha * sign) @ x), w

    for j in order:
        g = group[j]
        z, w = primal()
        gradient, xi = 1.0 - sign[j] * (x[j] @ z), v[g] @ w
        curvature, q = omega * (x[j] @ x[j]), v[g] @ np.linalg.solve(H, v[g])
        a, b = best_pair(gradient, xi, curvature, q, alpha[j], beta[g], upper[j])
        alpha[j] += a
        beta[g] += b
    z, w = primal()
    return z, w, pull @ w


def primal_from_dual(x, sign, v, group, group_cost, gamma2, omega, centre, alpha, beta):
    """z = centre + omega sum alpha sign x and wt = sum_g sigma_g v_g / gamma2."""
    sigma = np.bincount(group, weights=alpha, minlength=len(v)) + beta - group_cost
    return centre + omega * ((alpha * sign) @ x), sigma @ v / gamma2


def shed(x, sign, upper, group, projected, excess, alpha, beta, corrections):
    """The changed multipliers of `LabelState.shed`, example by example; x has dense rows."""
    k = len(excess)
    alpha, beta, left = alpha.copy(), beta.copy(), excess.copy()
    for _ in range(corrections):
        gram = np.zeros((k, k))
        for j in range(len(alpha)):
            gram += alpha[j] * np.outer(projected[j], projected[j])
        gram += 1e-9 * np.trace(gram) * np.eye(k)
        weights = np.linalg.solve(gram, left)
        given = beta.copy()
        for j in range(len(alpha)):
            g = group[j]
            wanted = -sign[j] * alpha[j] * (projected[j] @ weights)
            share = given[g] / np.count_nonzero(group == g)
            change = min(max(wanted, -alpha[j]), share, upper[j] - alpha[j])
            alpha[j] += change
            beta[g] -= change
            left += change * sign[j] * projected[j]
        beta = np.maximum(beta, 0.0)
    m_row = np.zeros(x.shape[1])
    for j in range(len(alpha)):
        m_row += alpha[j] * sign[j] * x[j]
    return alpha, beta, m_row
