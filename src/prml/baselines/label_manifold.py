"""What is here: ML2's numerical labels, one bound-constrained quadratic programme a label.

    minimise mu' M mu  subject to  y_j mu_j >= 1,   M = (I - S)'(I - S), y in {-1, 1}

(Hou, Geng & Zhang 2016). With v = y * mu it reads: minimise |(I - S)(y * v)|^2 over v >= 1. It is
solved by MPRGP (Dostal & Schoeberl 2005): conjugate gradients on the free entries, a projected
gradient step where they hit a bound, a step along the pushing bounds when those weigh more. M is
never formed; a product costs two passes over S. The unknown is u >= 0 with v = 1 + u / |column of
I - S|: some examples are neighbours of hundreds, and in this scale they weigh like the others.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from prml.loops.jit import jit

POWER_ITERATIONS = 30


class Manifold(NamedTuple):
    """B = I - S and what its programmes share.

    `by_row` and `by_column` are CSR forms of B diag(scale) and of its transpose, with columns of
    norm 1; `safe_step` is a step that no curvature of the scaled M makes too long.
    """

    by_row: sp.csr_matrix
    by_column: sp.csr_matrix
    scale: np.ndarray
    safe_step: float


def build_manifold(S: sp.csr_matrix) -> Manifold:
    """Prepare I - S for the quadratic programmes of all labels."""
    B = (sp.identity(S.shape[0], format="csr") - S).tocsr()
    norms = np.sqrt(np.asarray(B.multiply(B).sum(axis=0)).ravel())
    scale = 1.0 / norms  # its diagonal is 1, so no norm is below 1
    B = (B @ sp.diags(scale)).tocsr()
    B.sort_indices()
    B_columns = B.T.tocsr()
    v = np.ones(S.shape[0]) + np.arange(S.shape[0]) % 7  # in no eigenspace that S is likely to have
    estimate = 0.0
    for _ in range(POWER_ITERATIONS):
        v /= np.linalg.norm(v)
        v = B_columns @ (B @ v)
        estimate = max(estimate, float(np.linalg.norm(v)))
    # Steps up to 2 / |M| converge, so an estimate that is up to 2.5 times too small does no harm.
    return Manifold(B, B_columns, scale, 1.0 / max(1.25 * estimate, 1e-300))


class NumericalLabel(NamedTuple):
    """The solution of one programme.

    `kkt_residual` is the largest violation of the optimality conditions of the programme in v,
    relative to the largest entry of the gradient at v = 1; 0 means solved exactly.
    """

    mu: np.ndarray
    kkt_residual: float
    n_iter: int


def numerical_label(
    manifold: Manifold, y: np.ndarray, *, tol: float = 1e-4, max_iter: int = 10_000
) -> NumericalLabel:
    """Solve the programme of one label.

    Parameters
    ----------
    manifold : Manifold
    y : ndarray of shape (n_samples,)
        The label in -1 and 1.
    tol : float
        Largest `kkt_residual` at which the iterations stop.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.baselines.label_manifold import build_manifold, numerical_label
    >>> from prml.baselines.reconstruction import reconstruction_matrix
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> manifold = build_manifold(reconstruction_matrix(X, 2, reg=1e-9))
    >>> numerical_label(manifold, np.array([1.0, 1.0, -1.0, -1.0]), tol=1e-9).mu.round(3)
    array([ 3.,  1., -1., -3.])
    """
    B, C, scale = manifold.by_row, manifold.by_column, manifold.scale
    y = np.ascontiguousarray(y, dtype=np.float64)
    gradient = y * (C @ (B @ (y / scale)))
    largest = float(np.abs(gradient / scale).max())
    # Rows of S sum to one: a label that is constant is rebuilt exactly and v = 1 is optimal.
    if largest <= 1e-12:
        return NumericalLabel(y.copy(), 0.0, 0)
    u = np.zeros(len(y))
    n_iter = projected_conjugate_gradients(
        B.indptr, B.indices, B.data, C.indptr, C.indices, C.data,
        y, scale, u, gradient, manifold.safe_step, tol * largest, max_iter,
    )  # fmt: skip
    v = 1.0 + scale * u
    gradient = y * (C @ (B @ (y * v / scale))) / scale  # afresh: the updated one has drifted
    return NumericalLabel(y * v, kkt_violation(v, gradient) / largest, n_iter)


def kkt_violation(v: np.ndarray, gradient: np.ndarray) -> float:
    """Largest |gradient| where v > 1, largest -gradient where v = 1."""
    return float(np.where(v > 1.0, np.abs(gradient), np.maximum(-gradient, 0.0)).max())


@jit
def _product(indptr, indices, data, x, out):
    """Write A @ x into `out`, A in CSR."""
    for j in range(len(out)):
        total = 0.0
        for e in range(indptr[j], indptr[j + 1]):
            total += data[e] * x[indices[e]]
        out[j] = total


@jit
def _gradient(row_ptr, row_idx, row_val, col_ptr, col_idx, col_val, y, scale, u, work, inside, g):
    """Write y * B'B (y * (u + 1 / scale)) into `g`: the gradient in u."""
    for j in range(len(u)):
        work[j] = y[j] * (u[j] + 1.0 / scale[j])
    _product(row_ptr, row_idx, row_val, work, inside)
    _product(col_ptr, col_idx, col_val, inside, g)
    for j in range(len(u)):
        g[j] *= y[j]


@jit
def projected_conjugate_gradients(
    row_ptr, row_idx, row_val, col_ptr, col_idx, col_val, y, scale, u, g, safe_step, tol, max_iter
):
    """Minimise 1/2 |B (y * (u + 1 / scale))|^2 over u >= 0 in place; return the iterations.

    B is (I - S) diag(scale) in CSR, col_* the CSR of its transpose. On entry u >= 0 and g is the
    gradient in u; on exit the same holds (g up to rounding) and the largest violation of the
    optimality conditions, in the scale of v = 1 + scale * u, is at most `tol`, unless `max_iter`
    ended it. Once in 50 iterations g is computed afresh.
    """
    n = len(u)
    p, work, inside, product = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    restart = True
    for iteration in range(max_iter):
        if iteration % 50 == 49:
            _gradient(row_ptr, row_idx, row_val, col_ptr, col_idx, col_val,
                      y, scale, u, work, inside, g)  # fmt: skip
        # Free gradient, its reduced form and the chopped gradient decide which kind of step is due.
        violation, chopped, reduced = 0.0, 0.0, 0.0
        for j in range(n):
            if u[j] > 0.0:
                violation = max(violation, abs(g[j]) / scale[j])
                reduced += g[j] * min(u[j] / safe_step, g[j])
            elif g[j] < 0.0:
                violation = max(violation, -g[j] / scale[j])
                chopped += g[j] * g[j]
        if violation <= tol:
            return iteration
        proportioning = chopped > reduced
        if proportioning:  # release the bounds that push outwards
            for j in range(n):
                p[j] = g[j] if u[j] <= 0.0 and g[j] < 0.0 else 0.0
        elif restart:
            for j in range(n):
                p[j] = g[j] if u[j] > 0.0 else 0.0
        for j in range(n):
            work[j] = y[j] * p[j]
        _product(row_ptr, row_idx, row_val, work, inside)
        _product(col_ptr, col_idx, col_val, inside, product)
        curvature, slope, longest = 0.0, 0.0, np.inf
        for j in range(n):
            curvature += inside[j] * inside[j]
            slope += g[j] * p[j]
            if p[j] > 0.0:
                longest = min(longest, u[j] / p[j])
        step = slope / curvature if curvature > 0.0 else np.inf
        if step == np.inf and longest == np.inf:
            return iteration  # flat and unbounded: nothing is left to gain along p
        expand = step > longest
        if expand:
            step = longest
        for j in range(n):
            product[j] *= y[j]
            u[j] = max(0.0, u[j] - step * p[j])
            g[j] -= step * product[j]
        restart = proportioning or expand
        if expand:  # beyond the bound that was hit, follow the projected gradient
            for j in range(n):
                if u[j] > 0.0:
                    u[j] = max(0.0, u[j] - safe_step * g[j])
            _gradient(row_ptr, row_idx, row_val, col_ptr, col_idx, col_val,
                      y, scale, u, work, inside, g)  # fmt: skip
        elif not proportioning:
            conjugate = 0.0
            for j in range(n):
                if u[j] > 0.0:
                    conjugate += g[j] * product[j]
            conjugate /= curvature
            for j in range(n):
                p[j] = (g[j] if u[j] > 0.0 else 0.0) - conjugate * p[j]
    return max_iter
