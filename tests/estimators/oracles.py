"""What is here: the problems of PrBR and PrML written out in full, naive values, outside solvers.

Y is dense, 0 and 1, NaN for an unknown entry. Everything is a loop over labels and dense algebra.
"""

from typing import NamedTuple

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from tests.real_data import load_real


class Case(NamedTuple):
    """A training set and the numbers of the objective; `pool` is boolean, row i that of label i."""

    X: np.ndarray
    Y: np.ndarray
    C: float = 1.0
    gamma2: float = 1.0
    theta: float = 2.0
    pool: np.ndarray | None = None
    teacher: bool = True
    privileged_intercept: bool = True
    fit_intercept: bool = True
    weight: np.ndarray | None = None  # of every entry of Y, (n_samples, n_labels)

    def features(self):
        return np.hstack([self.X, np.full((len(self.X), 1), float(self.fit_intercept))])

    def label(self, i):
        """Sign, cost and privileged vectors (n, n_labels + 1) of the known entries of label i."""
        known = ~np.isnan(self.Y[:, i])
        sign = np.where(self.Y[:, i] == 1, 1.0, -1.0)
        cost = np.full(len(sign), self.C)
        if self.weight is not None:
            cost = cost * self.weight[:, i]
        known &= cost > 0
        others = np.where(np.isnan(self.Y), 0.0, np.where(self.Y == 1, 1.0, -1.0))
        n_labels = self.Y.shape[1]
        pool = np.ones((n_labels, n_labels), bool) if self.pool is None else self.pool
        seen = pool[i] & (np.arange(n_labels) != i) & self.teacher
        bias = float(self.privileged_intercept and self.teacher)
        v = np.hstack([others * seen, np.full((len(sign), 1), bias)])
        return known, sign, cost, v


def label_value(case, i, z, wt):
    """Label i's objective without the term of z, and the largest violation of a constraint."""
    known, sign, cost, v = case.label(i)
    xi = (v @ wt)[known]
    residual = (1.0 - sign * (case.features() @ z))[known] - xi
    violation = max(0.0, -xi.min(initial=0.0))
    value = 0.5 * case.gamma2 * wt @ wt + cost[known] @ xi
    if np.isinf(case.theta):
        violation = max(violation, residual.max(initial=0.0))
    else:
        value += case.theta * cost[known] @ np.maximum(residual, 0.0)
    return value, violation


def prbr_value(case, model):
    """Sum over the labels of the objective at the fitted point, and the largest violation."""
    total, worst = 0.0, 0.0
    for i in range(case.Y.shape[1]):
        z = np.r_[model.coef_[i], model.intercept_[i]]
        wt = np.r_[model.privileged_coef_[i], model.privileged_intercept_[i]]
        value, violation = label_value(case, i, z, wt)
        total += value + 0.5 * z @ z
        worst = max(worst, violation)
    return total, worst


def prml_value(case, gamma1, model):
    """The objective with the nuclear norm at the fitted point, and the largest violation."""
    Z = np.hstack([model.coef_, model.intercept_[:, None]])
    total, worst = np.sqrt(gamma1) * np.linalg.svd(Z, compute_uv=False).sum(), 0.0
    for i in range(len(Z)):
        wt = np.r_[model.privileged_coef_[i], model.privileged_intercept_[i]]
        value, violation = label_value(case, i, Z[i], wt)
        total += value
        worst = max(worst, violation)
    return total, worst


def dual_parts(case, alpha, beta):
    """sum(alpha), gamma2/2 |wt|^2 summed over labels, M, and the largest violation of the box."""
    gain, cost_of_teachers, rows, worst = 0.0, 0.0, [], 0.0
    for i in range(case.Y.shape[1]):
        known, sign, cost, v = case.label(i)
        a, b, c = alpha[i][known], beta[i][known], cost[known]
        worst = max(worst, -a.min(initial=0.0), -b.min(initial=0.0))
        worst = max(worst, (a - case.theta * c).max(initial=0.0))
        worst = max(worst, np.abs(alpha[i][~known]).max(initial=0.0))
        wt = (a + b - c) @ v[known] / case.gamma2
        gain += a.sum()
        cost_of_teachers += 0.5 * case.gamma2 * wt @ wt
        rows.append((a * sign[known]) @ case.features()[known])
    return gain, cost_of_teachers, np.array(rows), worst


def prbr_dual_value(case, alpha, beta):
    gain, teachers, M, worst = dual_parts(case, alpha, beta)
    return gain - teachers - 0.5 * (M**2).sum(), worst


def exact_label(case, i):
    """The optimum of label i's PrBR problem by an interior point method; inf when infeasible."""
    z_size, v_size = case.X.shape[1] + 1, case.Y.shape[1] + 1
    q, A, b = _label_blocks(case, i)
    width = len(q)
    quadratic = np.zeros(width)
    quadratic[:z_size] = 1.0
    quadratic[z_size : z_size + v_size] = case.gamma2
    return _solve(sp.diags(quadratic).tocsc(), q, A, b, [clarabel.NonnegativeConeT(len(b))])


def exact_prbr(case):
    return sum(exact_label(case, i) for i in range(case.Y.shape[1]))


def exact_prml(case, gamma1):
    """The optimum of the convex problem: the nuclear norm as a semidefinite programme."""
    n_labels, z_size = case.Y.shape[1], case.X.shape[1] + 1
    side = n_labels + z_size
    n_triangle = side * (side + 1) // 2
    # variables: the triangle of [[A, Z], [Z', B]], then (wt, residuals) of every label
    column_of = np.empty((side, side), dtype=int)
    position = 0
    linear = np.zeros(n_triangle)
    for k in range(side):
        for j in range(k + 1):
            column_of[j, k] = position
            if j == k:
                linear[position] = 0.5 * np.sqrt(gamma1)
            position += 1
    blocks, costs, quadratics, rights = [], [linear], [np.zeros(n_triangle)], []
    for i in range(n_labels):
        q, A, b = _label_blocks(case, i)
        own = A[:, :z_size].tocoo()
        place = column_of[i, n_labels + own.col]
        shared = sp.csc_matrix((own.data / np.sqrt(2.0), (own.row, place)), (len(b), n_triangle))
        blocks.append((shared, A[:, z_size:]))
        costs.append(q[z_size:])
        quadratic = np.zeros(A.shape[1] - z_size)
        quadratic[: n_labels + 1] = case.gamma2
        quadratics.append(quadratic)
        rights.append(b)
    A = sp.hstack(
        [sp.vstack([s for s, _ in blocks]), sp.block_diag([own for _, own in blocks])]
    ).tocsc()
    width = A.shape[1]
    psd = sp.hstack([-sp.eye(n_triangle), sp.csc_matrix((n_triangle, width - n_triangle))])
    cones = [clarabel.NonnegativeConeT(A.shape[0]), clarabel.PSDTriangleConeT(side)]
    return _solve(
        sp.diags(np.concatenate(quadratics)).tocsc(),
        np.concatenate(costs),
        sp.vstack([A, psd]).tocsc(),
        np.concatenate([*rights, np.zeros(n_triangle)]),
        cones,
    )


def _label_blocks(case, i):
    """Label i in the variables (z, wt, residuals): linear cost, A x <= b."""
    known, sign, cost, v = case.label(i)
    Xs = (sign[:, None] * case.features())[known]
    v, cost, n = v[known], cost[known], int(known.sum())
    q = np.r_[np.zeros(Xs.shape[1]), cost @ v]
    A = sp.vstack(
        [
            sp.hstack([sp.csc_matrix((n, Xs.shape[1])), -sp.csc_matrix(v)]),
            sp.hstack([-sp.csc_matrix(Xs), -sp.csc_matrix(v)]),
        ]
    ).tocsc()
    b = np.r_[np.zeros(n), -np.ones(n)]
    if np.isfinite(case.theta):
        q = np.r_[q, case.theta * cost]
        A = sp.bmat([[A, sp.vstack([sp.csc_matrix((n, n)), -sp.eye(n)])], [None, -sp.eye(n)]])
        b = np.r_[b, np.zeros(n)]
    return q, A.tocsc(), b


def _solve(P, q, A, b, cones):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_feas = 1e-9
    settings.tol_gap_abs = 1e-12
    result = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
    status = str(result.status)
    if "PrimalInfeasible" in status or ("Solved" not in status and _is_empty(A, b, cones)):
        return np.inf
    return result.obj_val if "Solved" in status else np.nan  # no interior: it may lose its way


def _is_empty(A, b, cones):
    """Whether A x <= b has no solution: a linear programme is sure where the first solver was not.

    Only for the problems without a semidefinite part.
    """
    if len(cones) > 1:
        return False
    bounds = (None, None)
    return linprog(np.zeros(A.shape[1]), A_ub=A, b_ub=b, bounds=bounds, method="highs").status == 2


def make_case(seed=0, n=50, d=4, n_labels=4, rank=None, missing=0.0, flips=0.15, **numbers):
    """A random problem; labels follow a linear model of the given rank, some of them flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    inner = min(d, n_labels) if rank is None else rank
    truth = rng.normal(size=(d, inner)) @ rng.normal(size=(inner, n_labels))
    Y = (X @ truth > 0).astype(float)
    flipped = rng.random(Y.shape) < flips
    Y[flipped] = 1.0 - Y[flipped]
    if missing:
        Y[rng.random(Y.shape) < missing] = np.nan
    return Case(X, Y, **numbers)


def parameters(case):
    """The constructor parameters that belong to a case."""
    privileged = "all" if case.pool is None else case.pool
    return {
        "C": case.C,
        "gamma2": case.gamma2,
        "theta": case.theta,
        "privileged": privileged if case.teacher else None,
        "privileged_intercept": case.privileged_intercept,
        "fit_intercept": case.fit_intercept,
    }


def real_data(name, labels=slice(None), n_samples=None):
    """X scaled by its largest column norm and dense Y; skip where the data are absent."""
    data = load_real(name)
    X = data.X.toarray() if sp.issparse(data.X) else np.asarray(data.X, dtype=float)
    rows = np.random.default_rng(0).permutation(len(X))[:n_samples]
    return X[rows], data.Y.toarray()[rows][:, labels].astype(float)
