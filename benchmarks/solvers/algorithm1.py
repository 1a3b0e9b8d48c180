"""What is here: Algorithm 1 of the paper as printed: the D-step with D and W~ in full, compiled."""

import numpy as np
import scipy.sparse as sp

from prml.loops.jit import jit


class Algorithm1:
    """The state of the printed algorithm: alpha, beta, D and W~, all explicit.

    Parameters
    ----------
    X : csr_matrix of shape (n_samples, n_features)
    Y : csr_matrix of shape (n_samples, n_labels)
    W : ndarray of shape (k, n_labels)
    C, gamma2 : float
    """

    def __init__(self, X, Y, W: np.ndarray, C: float, gamma2: float):
        X = sp.csr_matrix(X)
        self.rows = (X.data.astype(np.float64), X.indices, X.indptr)
        self.signs = 2.0 * Y.toarray().astype(np.float64) - 1.0
        n, n_labels = self.signs.shape
        self.codes = np.ascontiguousarray(W.T)
        self.gamma2 = gamma2
        # line 2: the diagonal; a privileged vector has L - 1 entries of size 1
        self.squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        self.norms = np.einsum("ki,ki->i", W, W)
        # line 3: multipliers at 0, and the W~ that belongs to them
        self.alpha, self.beta = np.zeros((n_labels, n)), np.zeros((n_labels, n))
        self.D = np.zeros((X.shape[1], W.shape[0]))  # transposed: a column of D in one piece
        self.W_tilde = np.tile(-C / gamma2 * self.signs.sum(axis=0), (n_labels, 1))
        np.fill_diagonal(self.W_tilde, 0.0)

    def run(self, picks: np.ndarray) -> None:
        """Lines 5 to 17 for the indices `picks`, each in [0, 2 L n)."""
        update(
            picks,
            *self.rows,
            self.signs,
            self.squares,
            self.norms,
            self.codes,
            self.gamma2,
            self.alpha,
            self.beta,
            self.D,
            self.W_tilde,
        )


@jit
def update(
    picks, data, indices, indptr, signs, squares, norms, codes, gamma2, alpha, beta, D, W_tilde
):
    """One coordinate a pick: gradient, step, D += delta y w x', w~ += delta/gamma y~.

    The sparsity of x is used; the rest is as printed, the updates by a delta of 0 included.
    """
    n_labels, n = alpha.shape
    k = codes.shape[1]
    for pick in picks:
        is_alpha = pick < n_labels * n
        i, j = (pick % (n_labels * n)) // n, pick % n
        code, wt, y = codes[i], W_tilde[i], signs[j]
        xi = 0.0
        for l in range(n_labels):
            xi += wt[l] * y[l]  # entry i of wt is 0: y~ leaves label i out
        q = (n_labels - 1) / gamma2
        if is_alpha:
            m = 0.0
            for e in range(indptr[j], indptr[j + 1]):
                column = D[indices[e]]
                product = 0.0
                for c in range(k):
                    product += code[c] * column[c]
                m += data[e] * product
            gradient = y[i] * m - 1.0 + xi
            delta = max(-alpha[i, j], -gradient / (norms[i] * squares[j] + q))
            alpha[i, j] += delta
            for e in range(indptr[j], indptr[j + 1]):
                column = D[indices[e]]
                factor = delta * y[i] * data[e]
                for c in range(k):
                    column[c] += factor * code[c]
        else:
            delta = max(-beta[i, j], -xi / q)
            beta[i, j] += delta
        factor = delta / gamma2
        for l in range(n_labels):
            wt[l] += factor * y[l]
        wt[i] = 0.0
