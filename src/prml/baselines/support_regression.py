"""What is here: ML2's multi-output support vector regression, solved to a duality gap.

    minimise over theta:  1/2 |theta|^2 + C1/2 sum_j max(0, |mu_j - f_j| - eps)^2
                          + C2 sum_jl max(0, -s_jl f_jl),       f = Phi theta, s = sign of mu

One tube for all labels of an example (Perez-Cruz et al. 2002; Hou, Geng & Zhang 2016). Iteratively
reweighted least squares: the tube enters as weights C1 (1 - eps / |mu_j - f_j|), the least squares
problems are solved by conjugate gradients, a label at a time but all together, and a step that
does not lower the objective is halved. The kink of the sign term is met by its multipliers
t in [0, C2]: t = clip(t0 - rho s f) with the previous t0, so that rho need not be large and the
solution keeps no trace of the smoothing.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from prml.baselines.newton_cg import backtrack, conjugate_gradient, inner
from prml.monitor import Monitor

# Curvature rho that a sign on its kink is given at first, in units of C1 (at least C2, for a
# multiplier has to be able to cross its range), and its growth with each update of the multipliers.
# A small one keeps the least squares problems well conditioned (their preconditioner knows the tube
# only), a large one makes the multipliers settle in few rounds.
SIGN_CURVATURE = 10.0
SIGN_CURVATURE_GROWTH = 1.5
LARGEST_SIGN_CURVATURE = 1e4
CG_TOL = 0.1
MAX_CG = 60
# The preconditioner is factorised again when CG gets slower than this.
SLOW_CG = 20


class Regression(NamedTuple):
    """The best model found and the certificate of how good it is."""

    theta: np.ndarray
    objective: float
    dual_objective: float
    n_iter: int
    converged: bool

    @property
    def gap(self) -> float:
        """(objective - dual objective) / objective."""
        return (self.objective - self.dual_objective) / max(self.objective, np.finfo(float).tiny)


class State(NamedTuple):
    """Everything that depends on (theta, f) at given multipliers t0."""

    value: float
    objective: float
    weights: np.ndarray
    multipliers: np.ndarray
    tube_force: np.ndarray


class Problem(NamedTuple):
    """Numerical labels, their signs and the weights of the objective."""

    mu: np.ndarray
    sign: np.ndarray
    C1: float
    C2: float
    epsilon: float
    rho: float

    def stiffened(self) -> "Problem":
        """Return the same problem with a larger curvature for the signs on their kinks."""
        largest = max(self.rho, LARGEST_SIGN_CURVATURE * self.C1)
        return self._replace(rho=min(SIGN_CURVATURE_GROWTH * self.rho, largest))

    def state(self, theta, f, t0) -> State:
        """Evaluate the smoothed and the true objective, and the forces that pull on f."""
        residual = self.mu - f
        distance = np.sqrt(np.einsum("ij,ij->i", residual, residual))
        excess = np.maximum(distance - self.epsilon, 0.0)
        weights = self.C1 * np.divide(excess, distance, out=np.zeros_like(excess), where=excess > 0)
        smooth = np.vdot(theta, theta) / 2 + self.C1 / 2 * np.vdot(excess, excess)
        residual *= weights[:, None]
        if self.C2 == 0:
            return State(smooth, smooth, weights, t0, residual)
        agreement = self.sign * f
        t = np.clip(t0 - self.rho * agreement, 0.0, self.C2)
        change = t - t0
        value = smooth - np.vdot(t, agreement) - np.vdot(change, change) / (2 * self.rho)
        exact = smooth + self.C2 * np.maximum(-agreement, 0.0).sum()
        return State(float(value), float(exact), weights, t, residual)

    def force(self, state: State) -> np.ndarray:
        """Minus the slope of all losses with respect to f."""
        if self.C2 == 0:
            return state.tube_force
        return state.tube_force + self.sign * state.multipliers

    def dual(self, state: State, pulled: np.ndarray) -> float:
        """Value of the dual at the forces of a state; `pulled` is Phi' of their sum.

        The tube's conjugate at a force a_j is <a_j, mu_j> - |a_j|^2 / (2 C1) - eps |a_j|; that of
        a sign is 0 for every multiplier in [0, C2].
        """
        force = state.tube_force
        size = np.sqrt(np.einsum("ij,ij->i", force, force))
        return float(
            np.vdot(force, self.mu)
            - np.vdot(size, size) / (2 * self.C1)
            - self.epsilon * size.sum()
            - np.vdot(pulled, pulled) / 2
        )


def support_regression(
    Phi: np.ndarray,
    mu: np.ndarray,
    *,
    C1: float = 1.0,
    C2: float = 10.0,
    epsilon: float = 1e-3,
    tol: float = 1e-3,
    max_iter: int = 100,
    monitor: Monitor | None = None,
) -> Regression:
    """Fit f = Phi theta to the numerical labels mu until the relative duality gap is `tol`.

    Parameters
    ----------
    Phi : ndarray of shape (n_samples, r)
    mu : ndarray of shape (n_samples, n_labels)
        No entry is 0; its sign is the label.
    monitor : Monitor, optional
        Gets one record a step; its time limit and callbacks end the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.baselines.support_regression import support_regression
    >>> Phi, mu = np.eye(2), np.array([[1.0], [-1.0]])
    >>> support_regression(Phi, mu, C1=1.0, C2=0.0, epsilon=0.0, tol=1e-9).theta.ravel().round(6)
    array([ 0.5, -0.5])
    """
    monitor = Monitor() if monitor is None else monitor
    problem = Problem(mu, np.sign(mu), C1, C2, epsilon, rho=max(SIGN_CURVATURE * C1, C2))
    best = Regression(np.zeros((Phi.shape[1], mu.shape[1])), np.inf, -np.inf, 0, False)
    try:
        for n_iter, (theta, objective, dual) in enumerate(_steps(problem, Phi)):
            if objective < best.objective:
                best = best._replace(theta=theta, objective=objective)
            best = best._replace(dual_objective=max(best.dual_objective, dual), n_iter=n_iter)
            best = best._replace(converged=best.gap <= tol)
            stop = n_iter > 0 and monitor.record(
                iteration=n_iter,
                stage="regression",
                objective=best.objective,
                dual_objective=best.dual_objective,
                gap=best.gap,
            )
            if best.converged or stop or n_iter == max_iter or (n_iter and monitor.out_of_time):
                break
    except KeyboardInterrupt:
        monitor.interrupted()
    return best


def _steps(problem: Problem, Phi: np.ndarray) -> Iterator[tuple[np.ndarray, float, float]]:
    """Yield theta with its objective and dual value: at 0, then after each reweighted step."""
    signs = problem.C2 > 0
    theta, f = np.zeros((Phi.shape[1], problem.mu.shape[1])), np.zeros_like(problem.mu)
    t0 = np.zeros_like(f) if signs else np.zeros((1, 1))
    factor, cg_iterations, bound = None, 0, -np.inf
    while True:
        state = problem.state(theta, f, t0)
        pulled = Phi.T @ problem.force(state)
        dual = problem.dual(state, pulled)
        yield theta, state.objective, dual
        gradient = theta - pulled
        bound = max(bound, dual)
        # The smoothed objective is 1-strongly convex: half its squared gradient bounds its error.
        if signs and np.vdot(gradient, gradient) / 2 <= 0.1 * (state.objective - bound):
            t0, problem = state.multipliers, problem.stiffened()
            state = problem.state(theta, f, t0)
            gradient = theta - Phi.T @ problem.force(state)
        if factor is None or cg_iterations > SLOW_CG:
            factor = _normal_factor(Phi, state.weights)
        direction, cg_iterations = conjugate_gradient(
            _least_squares_product(problem, Phi, state),
            -gradient,
            axis=0,
            tol=CG_TOL,
            max_iter=MAX_CG,
            precondition=partial(cho_solve, factor),
        )
        along = Phi @ direction

        def value(step, state_at=problem.state, theta=theta, f=f, t0=t0, d=direction, along=along):
            moved = state_at(theta + step * d, f + step * along, t0)
            return np.full((1, 1), moved.value)

        slope = inner(gradient, direction, None)
        step = backtrack(value, np.full((1, 1), state.value), slope)
        theta, f = theta + step * direction, f + step * along


def _least_squares_product(problem: Problem, Phi: np.ndarray, state: State):
    """Return S -> S + Phi' ((weights + curvature of the signs) * (Phi S))."""
    if problem.C2 == 0:
        weights = state.weights[:, None]
    else:
        on_kink = (state.multipliers > 0) & (state.multipliers < problem.C2)
        weights = state.weights[:, None] + problem.rho * on_kink
    return lambda S: S + Phi.T @ (weights * (Phi @ S))


def _normal_factor(Phi: np.ndarray, weights: np.ndarray):
    """Cholesky factor of I + Phi' diag(weights) Phi."""
    normal = (Phi.T * weights) @ Phi
    normal[np.diag_indices_from(normal)] += 1.0
    return cho_factor(normal, overwrite_a=True)
