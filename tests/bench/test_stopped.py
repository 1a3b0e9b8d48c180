"""What is here: the paper's descent against its Algorithm 1 written out, and the published row."""

import numpy as np
import pytest

from prml.bench.protocol import halves, load_data
from prml.bench.stopped import StoppedPrBR, StoppedPrML
from prml.metrics import SIX, evaluate


def algorithm_1(X, Y, C, gamma2, n_sweeps, seed):
    """Lines 3-17 of Algorithm 1 with W = I, privileged and input features with a constant 1."""
    n, n_labels = Y.shape
    seed = np.random.RandomState(seed).randint(2**31 - 1)
    Xb = np.hstack([X, np.ones((n, 1))])
    coefs = []
    for i in range(n_labels):
        rng = np.random.default_rng([seed, i])
        y = 2.0 * Y[:, i] - 1
        V = np.hstack([2.0 * np.delete(Y, i, axis=1) - 1, np.ones((n, 1))])
        eta, w = np.zeros(2 * n), np.zeros(Xb.shape[1])
        wt = -C / gamma2 * V.sum(axis=0)
        for _ in range(n_sweeps):
            for s in rng.permutation(2 * n):
                j = s % n
                Q = V[j] @ V[j] / gamma2
                gradient = wt @ V[j]
                if s < n:
                    gradient += y[j] * (w @ Xb[j]) - 1
                    Q += Xb[j] @ Xb[j]
                delta = max(-eta[s], -gradient / Q)
                if s < n:
                    w += delta * y[j] * Xb[j]
                wt += delta / gamma2 * V[j]
                eta[s] += delta
        coefs.append(w)
    return np.array(coefs)


def test_equals_algorithm_1_written_out():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 3))
    Y = (rng.random((25, 4)) < 0.4).astype(int)
    Y[:5] = Y[5:10]  # equal label vectors share a group
    model = StoppedPrBR(C=0.2, gamma2=0.7, n_sweeps=6, random_state=3).fit(X, Y)
    expected = algorithm_1(X, Y, 0.2, 0.7, 6, 3)
    assert np.allclose(np.column_stack([model.coef_, model.intercept_]), expected, atol=1e-10)


def alternate(X, Y, C, gamma2, k, n_rounds, n_sweeps, seed):
    """Algorithm 2 with Algorithm 1 as printed: D is k x d, one w_i x_j' at a time."""
    seed = np.random.RandomState(seed).randint(2**31 - 1)
    n, n_labels = Y.shape
    Xb = np.hstack([X, np.ones((n, 1))])
    signs = 2.0 * Y - 1
    first = np.random.default_rng(seed).standard_normal((k, Xb.shape[1]))
    D = first / np.sqrt((Xb**2).sum(axis=1).mean())
    rngs = [np.random.default_rng([seed, i]) for i in range(n_labels)]
    V = [np.hstack([np.delete(signs, i, axis=1), np.ones((n, 1))]) for i in range(n_labels)]
    for _ in range(n_rounds):
        W = np.zeros((k, n_labels))
        for i in range(n_labels):
            eta, wt = np.zeros(2 * n), -C / gamma2 * V[i].sum(axis=0)
            for _ in range(n_sweeps):
                for s in rngs[i].permutation(2 * n):
                    j = s % n
                    row, q = D @ Xb[j], V[i][j] @ V[i][j] / gamma2
                    gradient = wt @ V[i][j]
                    if s < n:
                        gradient += signs[j, i] * (W[:, i] @ row) - 1
                        q += row @ row
                    delta = max(-eta[s], -gradient / q)
                    if s < n:
                        W[:, i] += delta * signs[j, i] * row
                    wt += delta / gamma2 * V[i][j]
                    eta[s] += delta
        D = np.zeros_like(D)
        etas = [np.zeros(2 * n) for _ in range(n_labels)]
        wts = [-C / gamma2 * V[i].sum(axis=0) for i in range(n_labels)]
        for _ in range(n_sweeps):
            for i in range(n_labels):
                for s in rngs[i].permutation(2 * n):
                    j = s % n
                    q = V[i][j] @ V[i][j] / gamma2
                    gradient = wts[i] @ V[i][j]
                    if s < n:
                        gradient += signs[j, i] * (W[:, i] @ D @ Xb[j]) - 1
                        q += (W[:, i] @ W[:, i]) * (Xb[j] @ Xb[j])
                    delta = max(-etas[i][s], -gradient / q)
                    if s < n:
                        D += delta * signs[j, i] * np.outer(W[:, i], Xb[j])
                    wts[i] += delta / gamma2 * V[i][j]
                    etas[i][s] += delta
    return W.T @ D


def test_equals_algorithm_2_written_out():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(15, 3))
    Y = (rng.random((15, 4)) < 0.4).astype(int)
    model = StoppedPrML(
        C=0.2, gamma2=0.7, n_components=2, n_rounds=2, n_sweeps=3, random_state=1
    ).fit(X, Y)
    expected = alternate(X, Y, 0.2, 0.7, 2, 2, 3, 1)
    assert np.allclose(np.column_stack([model.coef_, model.intercept_]), expected, atol=1e-9)


def test_time_limit_ends_the_sweeps():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(30, 3)), (rng.random((30, 2)) < 0.5).astype(int)
    model = StoppedPrBR(n_sweeps=10**6, max_time=0.05, random_state=0).fit(X, Y)
    assert model.n_iter_ < 10**6


def test_yeast_row_is_near_the_published_one():
    try:
        data = load_data("yeast")
    except Exception as absent:
        pytest.skip(f"yeast is not here: {absent}")
    parts = halves(data, 0)
    model = StoppedPrBR(C=0.01, gamma2=1.0, random_state=0).fit(parts.X_train, parts.Y_train)
    table = evaluate(parts.Y_test, model.decision_function(parts.X_test))
    published = (0.227, 0.237, 0.487, 0.204, 0.719, 0.623)
    assert np.allclose([table[name] for name in SIX], published, atol=0.06)
