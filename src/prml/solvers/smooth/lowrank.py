"""What is here: low rank under a smooth loss - the nuclear norm by splitting, with a certificate.

    min over Z, U   sqrt(gamma1) |Z|_*  +  sum_i f_i(z_i, u_i)

f_i being label i's smooth objective without the term of z. As in `prml.solvers.lowrank` the method
of multipliers with Z = V decouples it: every label solves its problem around a centre (`Block` with
omega = 1/rho, a few Newton steps from where it was), V is the predictors with singular values
shrunk by sqrt(gamma1)/rho. Residuals are balanced relative to the sizes of Z and its multipliers:
they differ by orders of magnitude, and so does the best rho.

The certificate: at any point the slopes of the losses are multipliers, feasible but for the bound
sigma_max(M) <= sqrt(gamma1) on M = X'(alpha y). The domains of the conjugates are convex and hold
0, so all multipliers scaled by t = min(1, sqrt(gamma1) / sigma_max(M)) are feasible and their dual
value bounds the optimum from below; V with the teachers at hand bounds it from above.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from prml.monitor import Monitor
from prml.solvers.smooth.block import Block, make_block
from prml.solvers.smooth.labelwise import block_size
from prml.solvers.smooth.losses import LOSSES
from prml.solvers.smooth.newton import newton_step
from prml.solvers.smooth.operators import Examples
from prml.solvers.smooth.precondition import Spectra
from prml.solvers.spectral import Factors, scale_into_ball, threshold
from prml.solvers.svmplus import record_bounds, relative_gap
from prml.solvers.training_set import Hyperparameters, TrainingSet

EVALUATE_EVERY = 3
OVER_RELAXATION = 1.6
BALANCE = 1.4  # square root of the ratio of the relative residuals beyond which rho is changed
INNER_TOL = 1e-2  # relative gap of a label's own problem, of the global gap last seen


class SmoothLowRankSolution(NamedTuple):
    """The best predictor and the best bounds seen; U as in `prml.solvers.smooth.labelwise`."""

    factors: Factors  # of Z', (n_labels, n_features + 1)
    U: np.ndarray | None
    objective: float
    dual_objective: float
    n_iter: int


class _Part:
    """A block of labels and where its problem stands."""

    def __init__(self, block: Block, labels: np.ndarray):
        self.labels = labels
        self.plain = self.block = block
        self.begin(np.zeros((block.n_own, len(labels))), None)

    def begin(self, Z: np.ndarray, U: np.ndarray | None) -> None:
        self.state = self.plain.start(self.plain.pack(Z, U))

    def solve(
        self,
        centre: np.ndarray,
        omega: float,
        tol: float,
        spectra: Spectra,
        should_stop: Callable[[], bool],
    ) -> np.ndarray:
        """Newton steps around a new centre from the old point; returns the predictors."""
        Z, U = self.block.unpack(self.state.P)
        self.block = self.plain.around(centre, omega)
        state = self.block.start(self.block.pack(Z, U))
        for _ in range(3):
            if (state.gap <= tol * state.objective).all() or should_stop():
                break
            state, _ = newton_step(self.block, state, tol, spectra, should_stop)
        self.state = state
        return self.block.unpack(state.P)[0]

    def multipliers(self) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """alpha, the slack costs' multipliers, and the rows of M, transposed."""
        from_t, from_xi = self.block.slopes(self.state.t, self.state.xi)
        return -from_t, from_xi, self.plain.examples.back(-from_t * self.plain.signs)

    def dual_value(self, t: float, alpha: np.ndarray, slack: np.ndarray | None) -> float:
        """The dual value of t times the multipliers, M left out."""
        return self.plain.dual_value(t * alpha, None if slack is None else t * slack)

    def value_at(self, Z: np.ndarray) -> tuple[float, np.ndarray | None]:
        """The losses and the teachers' norms at predictors Z with the teachers at hand."""
        _, U = self.block.unpack(self.state.P)
        P = self.plain.pack(Z, U)
        t, xi = self.plain.entries(P)
        teacher = P[self.plain.n_own :]
        return float(self.plain.values(t, xi).sum() + 0.5 * np.vdot(teacher, teacher)), U


class _Splitting:
    """The rounds: labels, thresholding, multipliers of Z = V; bounds now and then."""

    def __init__(self, training_set, numbers, loss, gamma1, n_jobs, monitor):
        n_labels, width = training_set.n_labels, training_set.n_features + 1
        self.root = float(np.sqrt(gamma1))
        self.n_jobs = n_jobs
        self.monitor = monitor
        examples = Examples(training_set.matrix, training_set.X.bias)
        self.spectra = Spectra(
            examples, training_set.features, LOSSES[loss], seconds=monitor.remaining
        )
        n_unknowns = width + (n_labels + 1 if training_set.features.enabled else 0)
        size = block_size(training_set, n_unknowns)
        self.parts = [
            _Part(make_block(training_set, examples, labels, LOSSES[loss], numbers), labels)
            for labels in np.array_split(np.arange(n_labels), -(-n_labels // size))
        ]
        self.V, self.dual = np.zeros((n_labels, width)), np.zeros((n_labels, width))
        self.factors = Factors(np.zeros((n_labels, 0)), np.zeros(0), np.zeros((0, width)))
        self.U = np.zeros((n_labels + 1, n_labels)) if training_set.features.enabled else None
        self.rho = 1.0
        self.round = 0

    def start(self, Z: np.ndarray, U: np.ndarray | None) -> None:
        """Begin at predictors (n_labels, n_features + 1) and teachers of an earlier fit."""
        self.V = Z.copy()
        self.factors = threshold(Z, 0.0)
        for part in self.parts:
            part.begin(Z[part.labels].T, None if U is None else U[:, part.labels])
        # at the solution the multipliers of Z = V are the rows of M
        self.dual = np.hstack([part.multipliers()[2] for part in self.parts]).T
        if self.V.any():
            self.rho = _norm(self.dual) / _norm(self.V)

    def each_part(self, work) -> list:
        return Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(work)(part) for part in self.parts
        )

    def step(self, tol: float) -> tuple[float, float]:
        """One round; returns the primal and the dual residual of the splitting."""
        centre = (self.V - self.dual / self.rho).T

        def turn(part: _Part) -> np.ndarray:
            return part.solve(
                centre[:, part.labels],
                1.0 / self.rho,
                tol,
                self.spectra,
                lambda: self.monitor.remaining <= 0,
            )

        Z = np.hstack(self.each_part(turn)).T
        relaxed = OVER_RELAXATION * Z + (1.0 - OVER_RELAXATION) * self.V
        target = relaxed + self.dual / self.rho
        self.factors = threshold(target, self.root / self.rho, guess=self.factors.left)
        V = self.factors.product()
        self.dual = self.rho * (target - V)
        primal = _norm(Z - V) / max(_norm(V), _norm(Z), 1e-300)
        dual = self.rho * _norm(V - self.V) / max(_norm(self.dual), 1e-300)
        self.V = V
        self.round += 1
        return primal, dual

    def balance(self, primal_residual: float, dual_residual: float) -> None:
        """Change rho when one residual outweighs the other; by less as rounds go by."""
        ratio = np.sqrt(max(primal_residual, 1e-300) / max(dual_residual, 1e-300))
        if max(ratio, 1.0 / ratio) > BALANCE:
            most = 1.0 + 40.0 / (4.0 + self.round)
            self.rho *= float(np.clip(ratio, 1.0 / most, most))

    def upper_bound(self) -> tuple[float, np.ndarray | None]:
        """The objective of V with the teachers at hand, and those."""
        fits = self.each_part(lambda part: part.value_at(self.V[part.labels].T))
        total = self.root * self.factors.values.sum() + sum(value for value, _ in fits)
        return float(total), None if self.U is None else np.hstack([U for _, U in fits])

    def lower_bound(self) -> float:
        """The dual value of the labels' multipliers, scaled into the spectral ball."""
        found = self.each_part(_Part.multipliers)
        t = scale_into_ball(np.hstack([M for _, _, M in found]).T, self.root)
        return sum(
            part.dual_value(t, alpha, slack)
            for part, (alpha, slack, _) in zip(self.parts, found, strict=True)
        )


def solve_smooth_low_rank(
    training_set: TrainingSet,
    numbers: Hyperparameters,
    loss: str,
    gamma1: float,
    *,
    tol: float,
    max_iter: int,
    monitor: Monitor,
    n_jobs: int | None = None,
    start: tuple[np.ndarray, np.ndarray | None] | None = None,
) -> SmoothLowRankSolution:
    """Minimise the convex objective to the relative duality gap `tol`.

    Parameters
    ----------
    loss : a key of `LOSSES`
    start : (Z, U), optional
        Where to start: Z (n_labels, n_features + 1), U as in `SmoothLowRankSolution`.
    """
    rounds = _Splitting(training_set, numbers, loss, gamma1, n_jobs, monitor)
    if start is not None:
        rounds.start(*start)
    best = SmoothLowRankSolution(rounds.factors, rounds.U, np.inf, -np.inf, 0)
    best = _better(rounds, best)
    gap = relative_gap(best.objective, best.dual_objective)
    try:
        while gap > tol and rounds.round < max_iter and not monitor.out_of_time:
            residuals = rounds.step(INNER_TOL * gap**2)
            if rounds.round % EVALUATE_EVERY and rounds.round > 1 and monitor.remaining > 0:
                continue
            best = _better(rounds, best)
            gap = relative_gap(best.objective, best.dual_objective)
            bounds = (best.objective, best.dual_objective)
            stop = record_bounds(monitor, rounds.round, *bounds, rank=best.factors.rank)
            if stop:
                break
            rounds.balance(*residuals)
    except KeyboardInterrupt:
        monitor.interrupted()
    return best


def solve_within(
    training_set: TrainingSet,
    numbers: Hyperparameters,
    loss: str,
    gamma1: float,
    solution: SmoothLowRankSolution,
    n_components: int,
    **options,
) -> SmoothLowRankSolution:
    """Bound the rank of a solution: solve again, predictors confined to its leading directions.

    The same convex problem in the features <x, right_r>, r = 1..n_components, hence of at most that
    rank; the dual bound stays that of the unbounded problem.
    """
    directions = solution.factors.right[:n_components]
    examples = Examples(training_set.matrix, training_set.X.bias)
    confined = TrainingSet(
        examples.scores(np.ascontiguousarray(directions.T)),
        training_set.targets,
        training_set.features,
        fit_intercept=False,
        sample_weight=training_set.sample_weight,
        class_weight=training_set.class_weight,
    )
    codes = solution.factors.left[:, :n_components] * solution.factors.values[:n_components]
    start = (np.pad(codes, ((0, 0), (0, 1))), solution.U)
    inner = solve_smooth_low_rank(confined, numbers, loss, gamma1, start=start, **options)
    factors = inner.factors._replace(right=inner.factors.right[:, :-1] @ directions)
    return SmoothLowRankSolution(
        factors, inner.U, inner.objective, solution.dual_objective, solution.n_iter + inner.n_iter
    )


def multipliers_in_ball(
    training_set: TrainingSet,
    numbers: Hyperparameters,
    alpha: np.ndarray,
    beta: np.ndarray,
    gamma1: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Scale multipliers as `smooth_multipliers` returns them to where the dual is finite."""
    examples = Examples(training_set.matrix, training_set.X.bias)
    labels = range(training_set.n_labels)
    signs = np.array([training_set.signs(i) for i in labels])
    t = scale_into_ball(examples.back((alpha * signs).T).T, float(np.sqrt(gamma1)))
    cost = numbers.C * np.array([training_set.weights(i) for i in labels])
    return t * alpha, cost - t * (cost - beta)


def _norm(matrix: np.ndarray) -> float:
    return float(np.linalg.norm(matrix))


def _better(rounds: _Splitting, best: SmoothLowRankSolution) -> SmoothLowRankSolution:
    """The better of what is kept and what the rounds have now, primal and dual apart."""
    objective, U = rounds.upper_bound()
    if objective < best.objective:
        best = best._replace(factors=rounds.factors, U=U, objective=objective)
    lower = max(best.dual_objective, rounds.lower_bound(), 0.0)  # no loss is below 0
    return best._replace(dual_objective=lower, n_iter=rounds.round)
