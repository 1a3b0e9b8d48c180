"""What is here: conjugate gradients and backtracking for many independent problems at once.

A matrix of unknowns may be one problem (`axis=None`) or a stack of problems that do not see each
other: its columns (`axis=0`) or its rows (`axis=1`). Each problem then has its own step lengths,
which converges as if every one were solved alone, at the price of one product for all of them.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# A step must bring this part of the decrease that its slope promises.
ARMIJO = 1e-4
MAX_HALVINGS = 30

Product = Callable[[np.ndarray], np.ndarray]


class Solution(NamedTuple):
    """What `conjugate_gradient` found: the unknowns, and how many products it took."""

    point: np.ndarray
    n_iter: int


def inner(a: np.ndarray, b: np.ndarray, axis: int | None) -> np.ndarray:
    """Sum a * b over one problem; the shape broadcasts against a."""
    if axis is None:
        return np.vdot(a, b).reshape(1, 1)
    return np.expand_dims(np.einsum("ij,ij->j" if axis == 0 else "ij,ij->i", a, b), axis)


def conjugate_gradient(
    product: Product,
    rhs: np.ndarray,
    *,
    axis: int | None = None,
    tol: float = 1e-3,
    max_iter: int = 20,
    precondition: Product | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Solution:
    """Solve product(S) = rhs from S = 0, product being linear, symmetric and positive definite.

    A problem stops when its residual is at most `tol` times its right-hand side. Every iterate
    lowers the quadratic 1/2 <S, product(S)> - <rhs, S> of every problem, so that stopping early
    still gives a direction of descent; `should_stop` is asked before every product but the first.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.baselines.newton_cg import conjugate_gradient
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> solution = conjugate_gradient(lambda S: A @ S, np.array([[1.0], [2.0]]), tol=1e-9)
    >>> solution.point.ravel().round(4)
    array([0.0909, 0.6364])
    """
    point = np.zeros_like(rhs)
    residual = rhs.copy()
    preconditioned = residual if precondition is None else precondition(residual)
    direction = preconditioned.copy()
    rho = inner(residual, preconditioned, axis)
    enough = tol**2 * inner(rhs, rhs, axis)
    active = inner(residual, residual, axis) > enough
    n_iter = 0
    while n_iter < max_iter and active.any() and not (n_iter and should_stop()):
        image = product(direction)
        curvature = inner(direction, image, axis)
        active &= curvature > 0  # zero or worse: rounding has used up this problem's direction
        step = np.divide(rho, curvature, out=np.zeros_like(rho), where=active)
        point += step * direction
        residual -= step * image
        n_iter += 1
        active &= inner(residual, residual, axis) > enough
        preconditioned = residual if precondition is None else precondition(residual)
        rho_next = inner(residual, preconditioned, axis)
        keep = np.divide(rho_next, rho, out=np.zeros_like(rho), where=active & (rho > 0))
        direction = preconditioned + keep * direction
        rho = rho_next
    return Solution(point, n_iter)


def backtrack(
    value: Callable[[np.ndarray], np.ndarray], start: np.ndarray, slope: np.ndarray
) -> np.ndarray:
    """Halve each problem's step from 1 until its value falls by a fair part of what slope says.

    Parameters
    ----------
    value : callable
        Steps, shaped like `start`, to the values of the problems.
    start : ndarray
        Values at step 0.
    slope : ndarray
        Inner products of gradient and direction, negative for a descent.

    Returns
    -------
    ndarray like `start`: the accepted steps, 0 for a problem that none improves.
    """
    step = np.where(slope < 0, 1.0, 0.0)
    for _ in range(MAX_HALVINGS):
        # `not <=` instead of `>`: a value that overflowed to NaN has to count as a failure.
        failed = (step > 0) & ~(value(step) <= start + ARMIJO * step * slope)
        if not failed.any():
            return step
        step = np.where(failed, step / 2, step)
    return np.where(failed, 0.0, step)
