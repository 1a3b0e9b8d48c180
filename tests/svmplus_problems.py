"""What is here: random SVM+ problems for the tests, in every form, and their exact solution."""

from typing import NamedTuple

import clarabel
import numpy as np
import scipy.sparse as sp

from prml.loops.rows import csr_rows, dense_rows
from prml.loops.svmplus import Problem
from prml.privileged import LabelFeatures
from prml.targets import read_targets


class Explicit(NamedTuple):
    """The dense twins of a Problem's implicit parts."""

    x: np.ndarray  # (n, d + 1), the bias as last column
    v: np.ndarray  # (n_groups, n_teachers + 1), the privileged intercept as last column


def random_problem(
    seed,
    *,
    n=40,
    d=6,
    n_labels=5,
    theta=2.0,
    C=0.5,
    gamma2=1.0,
    intercept=True,
    bias=1.0,
    form="csr",
    dtype=np.float64,
    pool=None,
    missing=0.0,
    weighted=False,
    omega=1.0,
    centred=False,
    teacher=True,
):
    """A problem for label 0 of a random multi-label data set, and its dense parts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    X = X.astype(dtype)
    scores = X @ rng.normal(size=(d, n_labels)) + rng.normal(size=(n, n_labels))
    Y = (scores > 0.5).astype(float)
    if missing:
        Y[rng.random(Y.shape) < missing] = np.nan
        Y[:, 0] = scores[:, 0] > 0.5
    pools = None if pool is None else [np.asarray(pool)] * n_labels
    features = LabelFeatures(read_targets(Y), pools, intercept=intercept, enabled=teacher)
    seen = features.of_label(0)
    cost = C * (rng.uniform(0.2, 2.0, size=n) if weighted else np.ones(n))
    wide = X.astype(np.float64)
    problem = Problem(
        X=_rows(X, form, bias),
        rows=np.arange(n),
        sign=np.where(Y[:, 0] > 0, 1.0, -1.0),
        cost=cost,
        upper=theta * cost,
        square=(wide**2).sum(axis=1) + bias**2,
        group=seen.group,
        group_cost=np.bincount(seen.group, weights=cost, minlength=len(seen.norm)),
        norm=seen.norm,
        indptr=seen.indptr,
        indices=seen.indices,
        values=seen.values,
        n_teachers=len(seen.labels),
        teacher_bias=seen.bias,
        gamma2=gamma2,
        omega=omega,
        centre=0.3 * rng.normal(size=d + 1) if centred else np.zeros(d + 1),
    )
    v = np.column_stack([seen.vectors(), np.full(len(seen.norm), seen.bias)])
    return problem, Explicit(np.column_stack([wide, np.full(n, bias)]), v)


def _rows(X, form, bias):
    if form == "dense":
        return dense_rows(X, bias)
    rows = sp.csr_matrix(X)
    return csr_rows(rows.data, rows.indices, rows.indptr, bias)


def exact_objective(problem, explicit):
    """The optimal value of the explicit quadratic programme, by an interior-point method.

    Variables (z, wt, wt0, r): r_j is the residual of example j, 0 where theta is infinite.
    """
    p = problem
    x, v = explicit
    n, n_z, n_w = len(p.rows), x.shape[1], v.shape[1]
    examples = v[p.group]
    soft = np.isfinite(p.upper)
    quadratic = np.r_[np.full(n_z, 1.0 / p.omega), np.full(n_w, p.gamma2), np.zeros(n)]
    linear = np.r_[-p.centre / p.omega, p.cost @ examples, np.where(soft, p.upper, 0.0)]
    margin = -np.hstack([p.sign[:, None] * x, examples, np.diag(soft.astype(float))])
    slack = -np.hstack([np.zeros((len(v), n_z)), v, np.zeros((len(v), n))])
    residual = -np.hstack([np.zeros((n, n_z + n_w)), np.eye(n)])
    A = sp.csc_matrix(np.vstack([margin, slack, residual]))
    b = np.r_[-np.ones(n), np.zeros(len(v)), np.zeros(n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(
        sp.csc_matrix(sp.diags(quadratic)),
        linear,
        A,
        b,
        [clarabel.NonnegativeConeT(len(b))],
        settings,
    ).solve()
    assert "Solved" in str(solution.status), solution.status
    return solution.obj_val + p.centre @ p.centre / (2.0 * p.omega)


def objective_and_violation(problem, explicit, z, wt, wt0):
    """The objective of a point, written out, and by how much it violates the constraints."""
    p = problem
    m = p.sign * (explicit.x @ z)
    w = np.r_[wt, wt0]
    xi = explicit.v @ w
    residual = np.maximum(0.0, 1.0 - m - xi[p.group])
    soft = np.isfinite(p.upper)
    value = (z - p.centre) @ (z - p.centre) / (2.0 * p.omega) + p.gamma2 / 2.0 * (w @ w)
    value += p.cost @ xi[p.group] + p.upper[soft] @ residual[soft]
    return value, max(0.0, -xi.min(), residual[~soft].max(initial=0.0))
