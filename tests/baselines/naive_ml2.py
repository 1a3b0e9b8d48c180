"""What is here: ML2's programmes as general solvers (SciPy's nnls, clarabel) see them."""

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls


def _solve(P, q, A, b, cones):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    P, A = sp.triu(sp.csc_matrix(P), format="csc"), sp.csc_matrix(A)
    solution = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
    assert solution.status == clarabel.SolverStatus.Solved
    return np.asarray(solution.x)


def numerical_label(S, y):
    """Minimise mu' M mu subject to y mu >= 1."""
    B = (np.eye(len(y)) - S.toarray()) * y
    # y mu = 1 + s with s >= 0; an active-set method ends exactly, a conic one may give up early
    return y * (1.0 + nnls(B, -B.sum(axis=1))[0])


def regression_objective(Phi, mu, theta, C1, C2, epsilon):
    f = Phi @ theta
    total = 0.5 * (theta**2).sum()
    for j in range(len(mu)):
        total += C1 / 2 * max(0.0, np.linalg.norm(mu[j] - f[j]) - epsilon) ** 2
        for label in range(mu.shape[1]):
            total += C2 * max(0.0, -np.sign(mu[j, label]) * f[j, label])
    return total


def support_regression(Phi, mu, C1, C2, epsilon):
    """Minimise over (theta, e, h): |mu_j - f_j| <= e_j + eps, h >= -sign f, h >= 0, e >= 0."""
    n, r = Phi.shape
    L = mu.shape[1]
    F = sp.kron(Phi, sp.identity(L))  # row-major: f = F theta
    t, e, h = r * L, n, n * L
    P = sp.diags(np.r_[np.ones(t), np.full(e, C1), np.zeros(h)])
    q = np.r_[np.zeros(t + e), np.full(h, C2)]
    signs = sp.diags(np.sign(mu).ravel())
    bounds = sp.bmat(
        [
            [None, -sp.identity(e), None],
            [None, None, -sp.identity(h)],
            [-signs @ F, sp.csr_matrix((h, e)), -sp.identity(h)],
        ]
    )
    rows, values = [bounds], [np.zeros(e + 2 * h)]
    cones = [clarabel.NonnegativeConeT(e + 2 * h)]
    for j in range(n):
        pick = sp.csr_matrix(([-1.0], ([0], [t + j])), shape=(1, t + e + h))
        own = sp.hstack([F.tocsr()[j * L : (j + 1) * L], sp.csr_matrix((L, e + h))])
        rows += [pick, own]
        values.append(np.r_[epsilon, mu[j]])
        cones.append(clarabel.SecondOrderConeT(L + 1))
    x = _solve(P, q, sp.vstack(rows), np.concatenate(values), cones)
    return x[:t].reshape(r, L)
