"""What is here: the alternation of LEML - W by Newton-CG, H label by label - and its certificate.

    minimise over W (n_features, k), H (n_labels, k):
        sum of loss(y_ji, x_j' W h_i) over the known entries + lam/2 (|W|^2 + |H|^2)

(Yu, Jain, Kar & Dhillon 2014). A = XW is kept beside W, so that a score costs k products.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, svds

from prml.baselines.label_losses import EntrywiseFit, SquaredFit
from prml.baselines.newton_cg import backtrack, conjugate_gradient, inner

# Residual at which conjugate gradients stop. A quadratic deserves the better solution; elsewhere
# the next turn has a new Hessian, and one loose Newton step a turn reaches a value in half the time
# of three good ones.
CG_TOL_QUADRATIC = 1e-2
CG_TOL = 0.1


class Factors(NamedTuple):
    """A point of the alternation; the scores are A H' and A = XW."""

    W: np.ndarray
    H: np.ndarray
    A: np.ndarray


class Design:
    """X for many products: a sparse X is cut into blocks of rows, one for each thread.

    Each entry of a product is summed by one thread in one order, so that results do not depend on
    the number of threads. A dense X is left to the BLAS, which has threads of its own.
    """

    def __init__(self, X, n_threads: int = 1):
        self.X = X
        self.squared_norms = np.asarray(
            X.multiply(X).sum(axis=0) if sp.issparse(X) else np.einsum("ij,ij->j", X, X)
        ).ravel()
        self._pool = None
        self._blocks = [X]
        self._transposed_blocks = [X.T]
        if sp.issparse(X) and n_threads > 1:
            self._pool = ThreadPoolExecutor(n_threads)
            self._blocks = _row_blocks(X, n_threads)
            self._transposed_blocks = _row_blocks(X.T.tocsr(), n_threads)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._pool is not None:
            self._pool.shutdown()

    def times(self, S: np.ndarray) -> np.ndarray:
        """X @ S."""
        return self._product(self._blocks, S)

    def transposed_times(self, S: np.ndarray) -> np.ndarray:
        """X' @ S."""
        return self._product(self._transposed_blocks, S)

    def _product(self, blocks, S):
        if self._pool is None:
            return blocks[0] @ S
        return np.concatenate(list(self._pool.map(lambda block: block @ S, blocks)))


def _row_blocks(X, n_blocks: int) -> list:
    """Cut a CSR matrix into blocks of rows with about as many entries each."""
    aims = np.linspace(0, X.nnz, n_blocks + 1)[1:-1]
    cuts = [0, *np.searchsorted(X.indptr, aims), X.shape[0]]
    return [X[a:b] for a, b in pairwise(cuts)]


def start(design: Design, known: np.ndarray, k: int, rng: np.random.Generator) -> Factors:
    """Return W = 0 and a random H with orthonormal columns: no label is left out at the start.

    `known` marks the labels of which some entry is known; the others have nothing to learn from,
    their row of H is 0 from the start and no step moves it.
    """
    H, _ = np.linalg.qr(rng.standard_normal((len(known), k)))
    H[~known] = 0.0
    n, d = design.X.shape
    return Factors(np.zeros((d, k)), H, np.zeros((n, k)))


def objective(fit: SquaredFit | EntrywiseFit, factors: Factors, lam: float) -> float:
    W, H, A = factors
    return float(fit.value(A, H) + lam / 2 * (np.vdot(W, W) + np.vdot(H, H)))


def w_step(
    design: Design,
    fit: SquaredFit | EntrywiseFit,
    factors: Factors,
    lam: float,
    max_cg: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> Factors:
    """Lower the objective in W by a Newton step, found by conjugate gradients.

    The Hessian product is S -> X' f''(XS) + lam S; for the squared loss with every label known it
    is 2 X'(XS) H'H + lam S. There the factors are first rotated so that H'H is diagonal, which
    changes neither the scores nor the norms and lets every component have its own step lengths.
    """
    W, H, A = factors
    axis = None
    if fit.separates_components:
        rotation = eigh(H.T @ H)[1]
        W, H, A = W @ rotation, H @ rotation, A @ rotation
        axis = 0
    diagonal = (
        fit.largest_curvature * np.outer(design.squared_norms, np.einsum("ij,ij->j", H, H)) + lam
    )
    slope_A, curve_A = fit.expand_in_A(A, H)
    gradient = design.transposed_times(slope_A) + lam * W
    direction = conjugate_gradient(
        lambda S: design.transposed_times(curve_A(design.times(S))) + lam * S,
        -gradient,
        axis=axis,
        tol=CG_TOL_QUADRATIC if fit.quadratic else CG_TOL,
        max_iter=max_cg,
        precondition=lambda R: R / diagonal,
        should_stop=should_stop,
    ).point
    direction_A = design.times(direction)
    if fit.quadratic:  # the step of a quadratic is exact, however early CG stopped
        return Factors(W + direction, H, A + direction_A)

    def value(step):
        moved = Factors(W + step * direction, H, A + step * direction_A)
        return np.full((1, 1), objective(fit, moved, lam))

    step = backtrack(value, value(0.0), inner(gradient, direction, None))
    return Factors(W + step * direction, H, A + step * direction_A)


def h_step(
    fit: SquaredFit | EntrywiseFit,
    factors: Factors,
    lam: float,
    max_cg: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> Factors:
    """Lower the objective in H, each label (a row of H) being a problem of its own.

    Squared loss, every label known: one Cholesky factor of A'A + lam/2 I serves all of them. Else a
    Newton step with conjugate gradients and step lengths for each label.
    """
    W, H, A = factors
    if isinstance(fit, SquaredFit):
        gram = A.T @ A
        gram[np.diag_indices_from(gram)] += lam / 2
        return Factors(W, cho_solve(cho_factor(gram), (fit.Y_by_label @ A).T).T, A)
    diagonal = fit.largest_curvature * np.einsum("ij,ij->j", A, A) + lam
    slope, curve = fit.expand_in_H(A, H)
    gradient = slope + lam * H
    direction = conjugate_gradient(
        lambda S: curve(S) + lam * S,
        -gradient,
        axis=1,
        tol=CG_TOL_QUADRATIC if fit.quadratic else CG_TOL,
        max_iter=max_cg,
        precondition=lambda R: R / diagonal,
        should_stop=should_stop,
    ).point
    if fit.quadratic:
        return Factors(W, H + direction, A)

    def value(step):
        moved = H + step * direction
        return fit.by_label(A, moved)[:, None] + lam / 2 * inner(moved, moved, 1)

    step = backtrack(value, value(np.zeros((1, 1))), inner(gradient, direction, 1))
    return Factors(W, H + step * direction, A)


def lower_bound(
    design: Design, fit: SquaredFit | EntrywiseFit, factors: Factors, lam: float
) -> float:
    """Return a number that no W and H of any rank can get below.

    lam/2 (|W|^2 + |H|^2) is at least lam times the nuclear norm of Z = WH', which makes the
    problem convex in Z; by duality, for any Q with largest singular value of X'Q at most lam,
    the sum of min over z of loss(z) + q z is such a bound. Q here is minus the slopes of the
    loss, shrunk until it is feasible.
    """
    times_v, times_w, dual_value = fit.dual_direction(factors.A, factors.H)
    d, L = design.X.shape[1], factors.H.shape[0]

    def forward(v):
        return design.transposed_times(times_v(v.reshape(L, -1)))

    if min(d, L) <= 2:
        top = float(np.linalg.norm(forward(np.eye(L)), 2))
    else:
        operator = LinearOperator(
            (d, L),
            matvec=lambda v: forward(v).ravel(),
            rmatvec=lambda w: times_w(design.times(w.reshape(d, -1))).ravel(),
            dtype=np.float64,
        )
        # Lanczos must not start where the matrix vanishes: a random start, unless all of it does
        first = np.random.default_rng(0).standard_normal(min(d, L))
        image = operator.matvec(first) if d >= L else operator.rmatvec(first)
        top = 0.0
        if image.any():
            top = float(svds(operator, k=1, return_singular_vectors=False, v0=first, tol=1e-8)[0])
    top *= 1 + 1e-6  # Lanczos comes from below; the bound has to hold
    if top <= lam:
        return dual_value(1.0)
    return dual_value(lam / top)
