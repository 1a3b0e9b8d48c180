"""What is here: the smooth losses as a table - residual and slack cost, derivatives, conjugates.

An entry of label i and example j with t = m + xi (margin plus slack) pays

    phi(m, xi) = theta * residual(t) + cost(xi),

and the dual of the problem needs the conjugate, which separates:

    phi*(-a, -b) = theta * residual*(-a / theta) + cost*(a - b).

| loss          | residual(t)         | cost(xi)         | -residual*(-p)      | cost*(s)    |
|---------------|---------------------|------------------|---------------------|-------------|
| squared       | (1 - t)^2 / 2       | xi^2 / 2         | p - p^2 / 2         | s^2 / 2     |
| squared_hinge | max(0, 1 - t)^2 / 2 | xi^2 / 2         | the same, p >= 0    | s^2 / 2     |
| logistic      | log(1 + exp(-t))    | log(1 + exp(xi)) | entropy(p) in [0,1] | -entropy(s) |

The logistic slack cost is the softplus, max(0, xi) smoothed on the scale on which the log-loss
smooths max(0, -t). It is log 2 at xi = 0; without a teacher there is no slack and it is left out.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import entr, expit

Entrywise = Callable[[np.ndarray], np.ndarray]


class Curve(NamedTuple):
    """A convex function of one number, entry by entry.

    `dual(p)` is minus the conjugate at -p for a residual (the most that the multiplier p certifies)
    and the conjugate at p for a slack cost.
    """

    value: Entrywise
    slope: Entrywise
    curvature: Entrywise
    dual: Entrywise
    largest_curvature: float


class SmoothLoss(NamedTuple):
    """A residual, the cost of a slack, and whether every problem is one linear system."""

    residual: Curve
    cost: Curve
    quadratic: bool


def _bell(t: np.ndarray) -> np.ndarray:
    p = expit(t)
    return p * (1.0 - p)


def _softplus(t: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, t)


def _entropy(p: np.ndarray) -> np.ndarray:
    """-p log p - (1-p) log(1-p); -inf outside of [0, 1], where nothing is certified."""
    return entr(p) + entr(1.0 - p)


_HALF_SQUARE = Curve(
    value=lambda xi: 0.5 * xi * xi,
    slope=lambda xi: xi,
    curvature=np.ones_like,
    dual=lambda s: 0.5 * s * s,
    largest_curvature=1.0,
)
_SOFTPLUS = Curve(
    value=_softplus,
    slope=expit,
    curvature=_bell,
    dual=lambda s: -_entropy(s),
    largest_curvature=0.25,
)

LOSSES: dict[str, SmoothLoss] = {
    "squared": SmoothLoss(
        residual=Curve(
            value=lambda t: 0.5 * (1.0 - t) ** 2,
            slope=lambda t: t - 1.0,
            curvature=np.ones_like,
            dual=lambda p: p - 0.5 * p * p,
            largest_curvature=1.0,
        ),
        cost=_HALF_SQUARE,
        quadratic=True,
    ),
    "squared_hinge": SmoothLoss(
        residual=Curve(
            value=lambda t: 0.5 * np.maximum(0.0, 1.0 - t) ** 2,
            slope=lambda t: np.minimum(0.0, t - 1.0),
            curvature=lambda t: (t < 1.0).astype(np.float64),
            dual=lambda p: np.where(p >= 0.0, p - 0.5 * p * p, -np.inf),
            largest_curvature=1.0,
        ),
        cost=_HALF_SQUARE,
        quadratic=False,
    ),
    "logistic": SmoothLoss(
        residual=Curve(
            value=lambda t: _softplus(-t),
            slope=lambda t: -expit(-t),
            curvature=_bell,
            dual=_entropy,
            largest_curvature=0.25,
        ),
        cost=_SOFTPLUS,
        quadratic=False,
    ),
}
