"""What is here: Newton's method by conjugate gradients for a block of labels, to a duality gap."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from prml.baselines.newton_cg import backtrack
from prml.solvers.smooth.block import Block, State

# How far conjugate gradients reduce the gradient in one Newton step, at least and at most.
LOOSEST = 0.3
TIGHTEST = 1e-3
# Of the accuracy asked for: the last step should land inside it, not on its edge.
MARGIN = 0.5
MAX_PRODUCTS = 200
# The labels still open are gathered into a smaller block when they are at most this part of it.
GATHER_AT = 0.6

Precondition = Callable[[np.ndarray], np.ndarray]


class BlockSolution(NamedTuple):
    """The unknowns of every label of a block and what they certify, by label."""

    P: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    n_iter: np.ndarray


def solve_block(
    block: Block,
    start: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    precondition: Callable[[Block, tuple], Precondition] | None = None,
    report: Callable[[np.ndarray, np.ndarray], None] = lambda objective, gap: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> BlockSolution:
    """Minimise every label's problem to a relative duality gap of `tol`.

    Parameters
    ----------
    block : Block
    start : ndarray of shape (n_unknowns, B)
    tol : float
    max_iter : int
        At most so many Newton steps.
    precondition : callable, optional
        Of the labels not yet done and their curvatures; returns what to precondition with.
    report : callable
        Told the objectives and gaps of all labels after every step.
    should_stop : callable
        Asked between steps and inside them; when true the best so far is returned.
    """
    state = block.start(start)
    best = state.P.copy()
    objective, gap = state.objective.copy(), np.minimum(state.gap, state.objective)
    n_iter = np.zeros(start.shape[1], dtype=np.intp)
    open_ = np.arange(start.shape[1])  # the labels that `state` and `part` still hold
    part = block
    for iteration in range(1, max_iter + 1):
        going = state.gap > tol * state.objective
        if not going.any() or should_stop():
            break
        if not going.all():
            columns = np.flatnonzero(going)
            part, state, open_ = part.take(columns), _take(state, columns), open_[columns]
        state, moved = newton_step(part, state, tol, precondition, should_stop)
        n_iter[open_] = iteration
        best[:, open_] = state.P
        objective[open_] = state.objective
        gap[open_] = np.minimum(state.gap, state.objective)  # 0 bounds every objective from below
        report(objective, gap)
        if not moved.any():  # rounding: no step lowers any of them
            break
    return BlockSolution(best, objective, gap, n_iter)


def newton_step(
    block: Block, state: State, tol: float, precondition=None, should_stop=lambda: False
) -> tuple[State, np.ndarray]:
    """One step for every label; return the new state, and which labels moved.

    A step that `should_stop` cuts short still lowers every objective.
    """
    length = np.sqrt(2.0 * state.gap)
    target = np.sqrt(2.0 * tol * state.objective)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = MARGIN * target / length
        # the further from the solution, the less the quadratic model deserves
        loosest = (
            wanted
            if block.loss.quadratic
            else np.minimum(LOOSEST, np.sqrt(state.gap / state.objective))
        )
    forcing = np.clip(np.nan_to_num(np.maximum(wanted, loosest)), 1e-12, None)
    if not block.loss.quadratic:
        forcing = np.clip(forcing, TIGHTEST, LOOSEST)
    S = newton_direction(block, state, forcing, precondition, should_stop)
    dt, dxi = block.entries(S)
    slope = _dots(state.gradient, S)
    if block.loss.quadratic:
        step = np.ones(S.shape[1])
    else:
        step = _line_search(block, state, S, dt, dxi, slope)
    P = state.P + step * S
    t = state.t + step * dt
    xi = None if dxi is None else state.xi + step * dxi
    return block.evaluate(P, t, xi), step > 0


def newton_direction(
    block: Block, state: State, forcing: np.ndarray, precondition=None, should_stop=lambda: False
) -> np.ndarray:
    """Conjugate gradients for (second derivative) S = -gradient, every label with its own steps.

    A label is done when its residual is at most `forcing` times its gradient. Every iterate is a
    direction of descent.
    """
    curvatures = block.curvatures(state)
    out = np.zeros_like(state.gradient)
    columns = np.arange(out.shape[1])  # the labels of `block`, as columns of out
    product = block.hessian_product(curvatures)
    inverse = _identity if precondition is None else precondition(block, curvatures)
    S, residual = np.zeros_like(out), -state.gradient
    enough = (forcing * forcing) * _dots(residual, residual)
    scaled = inverse(residual)
    direction, rho = scaled.copy(), _dots(residual, scaled)
    active = _dots(residual, residual) > enough
    for _ in range(MAX_PRODUCTS):
        if not active.any() or should_stop():
            break
        if active.mean() <= GATHER_AT:
            out[:, columns] = S
            keep = np.flatnonzero(active)
            columns, block = columns[keep], block.take(keep)
            of_t, of_xi = curvatures
            curvatures = of_t[:, keep], None if of_xi is None else of_xi[:, keep]
            product = block.hessian_product(curvatures)
            inverse = _identity if precondition is None else precondition(block, curvatures)
            S, residual, direction = S[:, keep], residual[:, keep], direction[:, keep]
            rho, enough, active = rho[keep], enough[keep], active[keep]
        image = product(direction)
        curvature = _dots(direction, image)
        active &= curvature > 0  # zero or worse: rounding has used up this label's direction
        step = np.divide(rho, curvature, out=np.zeros_like(rho), where=active)
        S += step * direction
        residual -= step * image
        active &= _dots(residual, residual) > enough
        scaled = inverse(residual)
        rho_next = _dots(residual, scaled)
        ratio = np.divide(rho_next, rho, out=np.zeros_like(rho), where=active & (rho > 0))
        direction *= ratio
        direction += scaled
        rho = rho_next
    out[:, columns] = S
    return out


def _identity(R: np.ndarray) -> np.ndarray:
    return R


def _dots(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", A, B)


def _line_search(block, state, S, dt, dxi, slope) -> np.ndarray:
    cross = _dots(state.P, S)
    square = _dots(S, S)
    base = 0.5 * _dots(state.P, state.P)

    def value(step: np.ndarray) -> np.ndarray:
        xi = None if dxi is None else state.xi + step * dxi
        return block.values(state.t + step * dt, xi) + base + step * cross + 0.5 * step**2 * square

    # Close to the solution differences of values drown in rounding: let the step through there.
    slack = 1e-14 * np.abs(state.objective)
    return backtrack(value, state.objective + slack, slope)


def _take(state: State, columns: np.ndarray) -> State:
    return State(
        state.P[:, columns],
        state.t[:, columns],
        None if state.xi is None else state.xi[:, columns],
        state.gradient[:, columns],
        state.objective[columns],
        state.gap[columns],
    )
