"""What is here: the smooth members as the formulas say, one label at a time, with V formed."""

import numpy as np
from scipy.optimize import minimize


def softplus(t):
    return np.logaddexp(0.0, t)


def sigmoid(t):
    return np.exp(-softplus(-t))


RESIDUALS = {
    "squared": (lambda t: (1 - t) ** 2 / 2, lambda t: t - 1),
    "squared_hinge": (lambda t: np.maximum(0, 1 - t) ** 2 / 2, lambda t: -np.maximum(0, 1 - t)),
    "logistic": (lambda t: softplus(-t), lambda t: -sigmoid(-t)),
}
COSTS = {
    "squared": (lambda xi: xi**2 / 2, lambda xi: xi),
    "squared_hinge": (lambda xi: xi**2 / 2, lambda xi: xi),
    "logistic": (softplus, sigmoid),
}


def label_vectors(Y, pool, intercept):
    """-1, 1, or 0 for NaN, one column for each label of the pool, then the constant."""
    V = np.where(np.isnan(Y), 0.0, np.where(Y == 1, 1.0, -1.0))[:, pool]
    return np.hstack([V, np.ones((len(Y), 1))]) if intercept else V


def solve_label(
    X,
    Y,
    i,
    loss,
    C,
    gamma2,
    theta,
    *,
    pool=None,
    teacher=True,
    intercept=True,
    weight=None,
    fit_intercept=True,
):
    """Minimise label i's objective with a general optimiser; return (value, z, u)."""
    n = len(Y)
    A = np.hstack([X, np.ones((n, 1))]) if fit_intercept else X
    pool = [l for l in range(Y.shape[1]) if l != i] if pool is None else [l for l in pool if l != i]
    V = label_vectors(Y, pool, intercept) if teacher else np.zeros((n, 0))
    weight = np.ones(n) if weight is None else weight
    known = ~np.isnan(Y[:, i])
    c = C * np.where(known, weight, 0.0)
    y = np.where(Y[:, i] == 1, 1.0, -1.0)
    residual, residual_slope = RESIDUALS[loss]
    cost, cost_slope = COSTS[loss]
    d = A.shape[1]

    def value_and_gradient(p):
        z, u = p[:d], p[d:]
        xi = V @ u
        t = y * (A @ z) + xi
        value = z @ z / 2 + gamma2 * u @ u / 2 + c @ (theta * residual(t))
        r = c * theta * residual_slope(t)
        gz, gu = z + A.T @ (y * r), gamma2 * u + V.T @ r
        if teacher:
            value += c @ cost(xi)
            gu = gu + V.T @ (c * cost_slope(xi))
        return value, np.concatenate([gz, gu])

    start = np.zeros(d + V.shape[1])
    options = {"maxiter": 20000, "maxfun": 100000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 50}
    found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    return found.fun, found.x[:d], found.x[d:]


def solve_low_rank(X, Y, loss, C, gamma1, gamma2, theta, *, teacher=True, intercept=True):
    """Minimise over factors of full size, all labels together; return (value, Z)."""
    n, n_labels = Y.shape
    A = np.hstack([X, np.ones((n, 1))])
    d, k = A.shape[1], min(A.shape[1], n_labels)
    known = ~np.isnan(Y)
    c = C * known
    y = np.where(Y == 1, 1.0, -1.0)
    residual, residual_slope = RESIDUALS[loss]
    cost, cost_slope = COSTS[loss]
    V = label_vectors(Y, list(range(n_labels)), intercept)
    seen = np.ones((V.shape[1], n_labels))
    seen[np.arange(n_labels), np.arange(n_labels)] = 0.0
    seen *= teacher

    def value_and_gradient(p):
        D, W, U = np.split(p, [k * d, k * d + k * n_labels])
        D, W, U = D.reshape(k, d), W.reshape(k, n_labels), U.reshape(seen.shape) * seen
        xi = V @ U
        t = y * (A @ D.T @ W) + xi
        value = (D**2).sum() / 2 + gamma1 * (W**2).sum() / 2 + gamma2 * (U**2).sum() / 2
        value += (c * theta * residual(t)).sum() + teacher * (c * cost(xi)).sum()
        r = c * theta * residual_slope(t)
        G = A.T @ (y * r)
        gu = gamma2 * U + V.T @ (r + c * cost_slope(xi))
        gradient = [D + W @ G.T, gamma1 * W + D @ G, gu * seen]
        return value, np.concatenate([g.ravel() for g in gradient])

    start = np.random.default_rng(0).normal(size=k * (d + n_labels) + seen.size)
    options = {"maxiter": 50000, "maxfun": 100000, "ftol": 1e-16, "gtol": 1e-8, "maxcor": 50}
    found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    D, W, _ = np.split(found.x, [k * d, k * d + k * n_labels])
    return found.fun, W.reshape(k, n_labels).T @ D.reshape(k, d)
