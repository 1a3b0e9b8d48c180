"""What is here: ML2's multi-output support vector regression, solved to a duality gap.

    minimise over theta:  1/2 |theta|^2 + C1/2 sum_j max(0, |mu_j - f_j| - eps)^2
                          + C2 sum_jl max(0, -s_jl f_jl),       f = Phi theta, s = sign of mu

One tube for all labels of an example (Perez-Cruz et al. 2002; Hou, Geng & Zhang 2016). Iteratively
reweighted least squares: the tube enters as weights C1 (1 - eps / |mu_j - f_j|), and a step that
does not lower the objective is halved. The kink of the sign term is met by its multipliers
t in [0, C2]: t = clip(t0 - rho s f) with the previous t0, so that rho need not be large and the
solution keeps no trace of the smoothing.

The least squares problems of all labels share I + Phi' diag(weights) Phi = R R', factorised once,
and differ by the examples that lie on the kink of the label, mostly few: with G = Phi R^-T a
label's matrix is R (I + rho G_A' G_A) R', A being those examples, and the middle is inverted on its
shorter side.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve, solve_triangular

from prml.baselines.newton_cg import backtrack, inner
from prml.monitor import Monitor

# Curvature rho that a sign on its kink is given at first, in units of C1 (at least C2, for a
# multiplier has to be able to cross its range), and its growth with each update of the multipliers.
# A small one puts many examples on their kinks, whose systems are then large; a large one makes
# steps that are halved often.
SIGN_CURVATURE = 10.0
SIGN_CURVATURE_GROWTH = 1.5
LARGEST_SIGN_CURVATURE = 1e4
# The shared matrix is factorised again when an example's weight has changed by this part of C1.
STALE_WEIGHT = 0.1


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

    def on_kink(self, state: State) -> list[np.ndarray]:
        """The examples of each label whose multiplier is strictly inside [0, C2]."""
        if self.C2 == 0:
            return []
        inside = (state.multipliers > 0) & (state.multipliers < self.C2)
        return [np.flatnonzero(label) for label in inside.T]

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


class SharedFactor(NamedTuple):
    """R, lower triangular, with R R' = I + Phi' diag(weights) Phi, and G = Phi R^-T."""

    weights: np.ndarray
    R: np.ndarray
    G: np.ndarray

    @classmethod
    def build(cls, Phi: np.ndarray, weights: np.ndarray) -> "SharedFactor":
        """Factorise what the least squares problems of all labels have in common."""
        normal = (Phi.T * weights) @ Phi
        normal[np.diag_indices_from(normal)] += 1.0
        R = cholesky(normal, lower=True, overwrite_a=True)
        return cls(weights, R, solve_triangular(R, Phi.T, lower=True).T)

    def is_stale(self, weights: np.ndarray, C1: float) -> bool:
        """Whether these weights are far from those that were factorised."""
        return bool(np.abs(weights - self.weights).max() > STALE_WEIGHT * C1)

    def solve(self, rhs: np.ndarray, rho: float, on_kink: list[np.ndarray]) -> np.ndarray:
        """Solve R (I + rho G_A' G_A) R' x = rhs for each label, A being its part of `on_kink`."""
        inside = solve_triangular(self.R, rhs, lower=True)
        for i, rows in enumerate(on_kink):
            if len(rows) == 0:
                continue
            G_A = self.G[rows]
            if len(rows) <= rhs.shape[0]:  # (I + rho G'G)^-1 = I - G' (I / rho + G G')^-1 G
                small = G_A @ G_A.T
                small[np.diag_indices_from(small)] += 1.0 / rho
                inside[:, i] -= G_A.T @ solve(small, G_A @ inside[:, i], assume_a="pos")
            else:
                small = rho * (G_A.T @ G_A)
                small[np.diag_indices_from(small)] += 1.0
                inside[:, i] = solve(small, inside[:, i], assume_a="pos")
        return solve_triangular(self.R, inside, lower=True, trans="T")


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
    shared, bound = None, -np.inf
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
        if shared is None or shared.is_stale(state.weights, problem.C1):
            shared = None  # its memory is needed for the next one
            shared = SharedFactor.build(Phi, state.weights)
        direction = -shared.solve(gradient, problem.rho, problem.on_kink(state))
        along = Phi @ direction

        def value(step, state_at=problem.state, theta=theta, f=f, t0=t0, d=direction, along=along):
            moved = state_at(theta + step * d, f + step * along, t0)
            return np.full((1, 1), moved.value)

        slope = inner(gradient, direction, None)
        step = backtrack(value, np.full((1, 1), state.value), slope)
        theta, f = theta + step * direction, f + step * along
