"""What is here: LEML's objective and steps, slow and obvious; NaN marks a missing label."""

import numpy as np
from scipy.optimize import minimize


def loss_entry(loss, z, y):
    s = 2 * y - 1
    if loss == "squared":
        return (y - z) ** 2
    if loss == "logistic":
        return np.log1p(np.exp(-s * z))
    return max(0.0, 1 - s * z) ** 2


def objective(X, Y, W, H, lam, loss):
    total = lam / 2 * ((W**2).sum() + (H**2).sum())
    for j in range(Y.shape[0]):
        for i in range(Y.shape[1]):
            if not np.isnan(Y[j, i]):
                total += loss_entry(loss, X[j] @ W @ H[i], Y[j, i])
    return total


def slope(loss, Z, Y):
    S = 2 * Y - 1
    if loss == "squared":
        G = 2 * (Z - Y)
    elif loss == "logistic":
        G = -S / (1 + np.exp(S * Z))
    else:
        G = -2 * S * np.maximum(0, 1 - S * Z)
    return np.nan_to_num(G)


def best_objective(X, Y, k, lam, loss, rng, starts=2):
    """Minimise over both factors at once by L-BFGS from several starts; return the least value."""
    d, L = X.shape[1], Y.shape[1]

    def value_and_gradient(x):
        W, H = x[: d * k].reshape(d, k), x[d * k :].reshape(L, k)
        Z = X @ W @ H.T
        S = 2 * Y - 1
        entries = {
            "squared": (Y - Z) ** 2,
            "logistic": np.log1p(np.exp(-S * Z)),
            "squared_hinge": np.maximum(0, 1 - S * Z) ** 2,
        }[loss]
        G = slope(loss, Z, Y)
        value = np.nansum(entries) + lam / 2 * x @ x
        return value, np.r_[(X.T @ G @ H + lam * W).ravel(), (G.T @ X @ W + lam * H).ravel()]

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-14, "gtol": 1e-9}
    return min(
        minimize(
            value_and_gradient, rng.normal(size=(d + L) * k), jac=True, method="L-BFGS-B",
            options=options,
        ).fun
        for _ in range(starts)
    )  # fmt: skip
