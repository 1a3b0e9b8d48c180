"""What is here: Algorithm 1 of the paper in the paper's own matrices, slow and obvious."""

import numpy as np


def algorithm1(X, Y, W, C, gamma, picks):
    """X (d, n), Y (L, n) in -1 and 1, W (k, L); returns alpha, beta, D (k, d) and the w~_i."""
    d, n = X.shape
    n_labels = Y.shape[0]

    def privileged(i, j):
        return np.delete(Y[:, j], i)

    eta = np.zeros(2 * n_labels * n)
    D = np.zeros((W.shape[0], d))
    w_tilde = [-C / gamma * sum(privileged(i, j) for j in range(n)) for i in range(n_labels)]
    for s in picks:
        i, j = divmod(s % (n_labels * n), n)
        y_tilde = privileged(i, j)
        Q = y_tilde @ y_tilde / gamma
        gradient = w_tilde[i] @ y_tilde
        if s < n_labels * n:
            Q += W[:, i] @ W[:, i] * (X[:, j] @ X[:, j])
            gradient += Y[i, j] * W[:, i] @ D @ X[:, j] - 1
        delta = max(-eta[s], -gradient / Q)
        if s < n_labels * n:
            D += delta * Y[i, j] * np.outer(W[:, i], X[:, j])
        w_tilde[i] = w_tilde[i] + delta / gamma * y_tilde
        eta[s] += delta
    alpha, beta = eta.reshape(2, n_labels, n)
    return alpha, beta, D, w_tilde
