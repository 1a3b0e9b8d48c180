"""What is here: iterative stratification as published, written as plain loops on a dense Y."""

import numpy as np


def naive_iterative_folds(Y, n_folds, seed=0):
    rng = np.random.default_rng(seed)
    n, L = Y.shape
    fold = np.full(n, -1)
    wanted = np.tile(Y.sum(axis=0) / n_folds, (n_folds, 1)).astype(float)
    wanted_size = np.full(n_folds, n / n_folds)
    while (fold < 0).any():
        left = Y[fold < 0].sum(axis=0).astype(float)
        left[left == 0] = np.inf
        label = int(np.argmin(left)) if L and np.isfinite(left).any() else None
        for i in range(n):
            if fold[i] >= 0 or (label is not None and not Y[i, label]):
                continue
            wish = wanted_size if label is None else wanted[:, label]
            best = np.flatnonzero(wish == wish.max())
            best = best[wanted_size[best] == wanted_size[best].max()]
            fold[i] = rng.choice(best)
            wanted[fold[i]] -= Y[i]
            wanted_size[fold[i]] -= 1
    return fold


def imbalance(Y, fold, n_folds):
    """Sum over labels and folds of (count - share)^2 / frequency."""
    totals = Y.sum(axis=0)
    counts = np.array([Y[fold == k].sum(axis=0) for k in range(n_folds)])
    return float((((counts - totals / n_folds) ** 2) / np.maximum(totals, 1)).sum())
