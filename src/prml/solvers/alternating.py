"""What is here: Algorithm 2 of the paper, W given D, D given W (`algorithm="alternating"`).

    min over D, W, wt   1/2 |D|^2 + gamma1/2 |W|^2 + sum_i f_i(D'w_i, wt_i)

W-step (Eq. 6): every label by itself on the features D x, an SVM+ problem with omega = 1/gamma1.
D-step (Eq. 10, Algorithm 1): with M the rows sum_j alpha_ij y_ij x_j and G = W'W the predictors are
Z = G M, so label i sees an SVM+ problem with omega = G_ii around the centre of what the others
contribute; D = W M at the end. No coordinate costs more than the non-zeros of its example.

Between half-steps the factors are balanced, which changes no predictor and lowers the objective.
Each half-step is solved to an inner gap; one that raises the objective is refused and solved more
accurately. A label whose code is 0 stays there: at theta = inf the algorithm may end above the
optimum, and the gap says so. As in the paper the change of the teachers W~ tells when to stop; the
gap to the global optimum is reported as well, so that the two algorithms can be compared.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from prml.loops import svmplus as loops
from prml.loops.rows import dense_rows
from prml.loops.svmplus import Problem
from prml.monitor import Monitor, is_interrupt
from prml.solvers.coupled_rows import CoupledRows
from prml.solvers.coupling import LowRankSolution
from prml.solvers.feasibility import InfeasibleError, is_feasible, lift_direction
from prml.solvers.given_margins import TeacherFit, fit_teacher
from prml.solvers.label_state import LabelState
from prml.solvers.label_threads import LabelThreads
from prml.solvers.spectral import Factors, scale_into_ball
from prml.solvers.svmplus import record_bounds, relative_gap, solve_label
from prml.solvers.training_set import Hyperparameters, TrainingSet

FIRST_INNER_GAP = 0.1
INNER_GAP_SHRINK = 0.7
MAX_INNER_ROUNDS = 60
NEWTON_STEPS = 4


class Alternation:
    """D, W, the teachers and the multipliers between half-steps."""

    def __init__(
        self,
        training_set: TrainingSet,
        numbers: Hyperparameters,
        gamma1: float,
        D: np.ndarray,
        W: np.ndarray | None = None,
        *,
        seed: int,
        n_jobs: int | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ):
        self.should_stop = should_stop
        self.training_set, self.numbers, self.gamma1 = training_set, numbers, gamma1
        self.threads = LabelThreads(n_jobs)
        n_labels = training_set.n_labels
        self.problems = [training_set.problem(i, numbers) for i in range(n_labels)]
        self.rngs = [np.random.default_rng([seed, i]) for i in range(n_labels)]
        self.D, self.W = D, np.zeros((len(D), n_labels)) if W is None else W
        self.codes: list[tuple | None] = [None] * n_labels  # multipliers of the W-step
        self.labels = [
            LabelState(problem, rng) for problem, rng in zip(self.problems, self.rngs, strict=True)
        ]
        self.lifts = [lift_direction(problem) for problem in self.problems]
        infeasible = [
            i
            for i, (problem, lift) in enumerate(zip(self.problems, self.lifts, strict=True))
            if not is_feasible(problem, lift)
        ]
        if infeasible:
            raise InfeasibleError(infeasible)
        self.teachers: list[TeacherFit] = self._judge(self.Z)

    @property
    def Z(self) -> np.ndarray:
        return self.W.T @ self.D

    @property
    def objective(self) -> float:
        """The factored objective at (D, W, teachers)."""
        norms = 0.5 * float(np.sum(self.D**2)) + 0.5 * self.gamma1 * float(np.sum(self.W**2))
        return norms + sum(teacher.objective for teacher in self.teachers)

    def _each(self, work) -> list:
        return self.threads.each(work, range(len(self.problems)))

    def _judge(self, Z: np.ndarray) -> list[TeacherFit]:
        """The best teacher of every label for the predictors Z."""

        def judge(i: int) -> TeacherFit:
            problem, label = self.problems[i], self.labels[i]
            m = np.empty(len(problem.rows))
            loops.margins(problem, Z[i], m)
            wt, wt0 = label.teacher(problem)
            return fit_teacher(problem, m, wt, wt0, label.alpha, label.beta, lift=self.lifts[i])

        return self._each(judge)

    def w_step(self, inner_gap: float) -> None:
        """Solve Eq. 6 for every label; a label that would get worse keeps its w."""
        X, fit_intercept = self.training_set.matrix, self.training_set.X.bias
        rows = np.asarray(
            X @ self.D[:, :-1].T if sp.issparse(X) else np.asarray(X) @ self.D[:, :-1].T,
            dtype=np.float64,
        )
        rows = rows + fit_intercept * self.D[:, -1]
        square = np.einsum("jk,jk->j", rows, rows)

        def solve(i: int):
            plain = self.problems[i]
            problem = plain._replace(
                X=dense_rows(rows, 0.0),
                square=square[plain.rows],
                omega=1.0 / self.gamma1,
                centre=np.zeros(len(self.D) + 1),
            )
            solution = solve_label(
                problem,
                tol=inner_gap,
                rng=self.rngs[i],
                start=self.codes[i],
                lift=self.lifts[i],
                max_iter=500,
                should_stop=self.should_stop,
            )
            old = self._label_objective(i, self.W[:, i])
            if solution.objective < old:
                fit = TeacherFit(solution.wt, solution.wt0, _without_z(problem, solution))
                return solution.z[:-1], fit, (solution.alpha, solution.beta)
            return self.W[:, i], self.teachers[i], (solution.alpha, solution.beta)

        done = self._each(solve)
        self.W = np.array([w for w, _, _ in done]).T.copy()
        self.teachers = [fit for _, fit, _ in done]
        self.codes = [start for _, _, start in done]

    def balance(self) -> None:
        """Write Z with the factors of least norm: |D|^2 = gamma1 |W|^2, directions orthogonal.

        Z stays as it is and the objective falls. Without it a W-step after a small D (or a D-step
        after a small W) prefers 0, from which no step leads away.
        """
        D, W = Factors(*np.linalg.svd(self.Z, full_matrices=False)).balanced(self.gamma1)
        n = min(len(self.D), len(D))
        self.D, self.W = np.zeros_like(self.D), np.zeros_like(self.W)
        self.D[:n], self.W[:n] = D[:n], W[:n]

    def _label_objective(self, i: int, w: np.ndarray) -> float:
        return 0.5 * self.gamma1 * float(w @ w) + self.teachers[i].objective

    def d_step(self, inner_gap: float) -> bool:
        """Solve Eq. 10 by Algorithm 1; False when the objective did not fall (nothing changes)."""
        before = self.objective
        G = self.W.T @ self.W
        solve_fixed_metric(self.problems, self.labels, G, inner_gap, self.should_stop)
        D = self.W @ np.array([label.m_row for label in self.labels])
        teachers = self._judge(self.W.T @ D)
        kept = self.D, self.teachers
        self.D, self.teachers = D, teachers
        if not self.objective <= before:  # NaN, when rounding has used up the numbers, is no fall
            self.D, self.teachers = kept
            return False
        return True

    def lower_bound(self) -> float:
        """The global bound that the multipliers of the D-step certify."""
        t = scale_into_ball(np.array([label.m_row for label in self.labels]), self.gamma1**0.5)
        parts = [label.dual_parts() for label in self.labels]
        return float(sum(t * gain - cost for gain, cost in parts))


def solve_fixed_metric(
    problems: list[Problem],
    labels: list[LabelState],
    G: np.ndarray,
    inner_gap: float,
    should_stop: Callable[[], bool] = lambda: False,
) -> float:
    """Minimise 1/2 tr(Z' G^-1 Z) + sum_i f_i over Z = G M, label by label; returns the gap reached.

    With G = I this is PrBR. Labels with G_ii = 0 have no predictor and are left alone.
    """
    M = np.array([label.m_row for label in labels])
    gap, newton = np.inf, False
    for round_ in range(MAX_INNER_ROUNDS):
        rows = CoupledRows(G, M)
        for i, (problem, label) in enumerate(zip(problems, labels, strict=True)):
            omega = G[i, i]
            if omega <= max(1e-12 * G.max(), 1e-100):  # less, and steps overflow
                continue
            centre = rows.row(i) - omega * M[i]
            placed = problem._replace(omega=float(omega), centre=centre)
            label.sweep(placed, full=round_ % 5 == 0)
            if newton:
                label.newton(placed, NEWTON_STEPS)
            if round_ % 3 == 2:
                label.pay(placed)
            rows.change(i, label.m_row)
        if should_stop():
            break
        if round_ % 3 != 2:
            continue
        Z = G @ M
        quadratic = 0.5 * float(np.sum(Z * M))
        upper, lower = quadratic, -quadratic
        for problem, label, z in zip(problems, labels, Z, strict=True):
            m = np.empty(len(problem.rows))
            loops.margins(problem, z, m)
            wt, wt0 = label.teacher(problem)
            upper += fit_teacher(problem, m, wt, wt0, label.alpha, label.beta).objective
            gain, cost = label.dual_parts()
            lower += gain - cost
        new_gap = relative_gap(upper, lower)
        newton = newton or new_gap > 0.7 * gap
        gap = new_gap
        if gap <= inner_gap:
            break
    return gap


def _without_z(problem: Problem, solution) -> float:
    return solution.objective - 0.5 * float(solution.z @ solution.z) / problem.omega


def first_dictionary(training_set: TrainingSet, n_components: int, seed: int) -> np.ndarray:
    """The directions of the features that go with the labels: where Algorithm 2 starts.

    Right singular vectors of Y'X, Y of +1 and -1, filled up at random, scaled so that D x has
    entries of about 30 and the first W-step is almost free. From a random D of moderate size the
    W-step often ends at W = 0, from which no step leads away.
    """
    X, positives = training_set.matrix, training_set.targets.positives
    bias = training_set.X.bias
    together = 2.0 * np.asarray((positives.T @ X).todense() if sp.issparse(X) else positives.T @ X)
    together = together - np.asarray(X.sum(axis=0)).ravel()
    counts = np.asarray(positives.sum(axis=0)).ravel()
    together = np.column_stack([together, bias * (2.0 * counts - training_set.n_samples)])
    rank = min(n_components, *together.shape)
    _, _, right = randomized_svd(together, rank, random_state=seed)
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((n_components, together.shape[1])) / np.sqrt(together.shape[1])
    D[:rank] = right
    rows = np.asarray(X @ D[:, :-1].T) + bias * D[:, -1]
    return 30.0 * D / max(float(np.sqrt(np.mean(rows**2))), 1e-300)


def solve_alternating(
    training_set: TrainingSet,
    numbers: Hyperparameters,
    gamma1: float,
    *,
    n_components: int,
    tol: float,
    max_iter: int,
    seed: int,
    monitor: Monitor,
    n_jobs: int | None = None,
    start: Factors | None = None,
    dual_objective: float = -np.inf,
) -> LowRankSolution:
    """Alternate until the teachers W~ stop changing (relative change `tol`), or the gap is `tol`.

    `start` is the predictor to start from (`first_dictionary` without it) and the result when no
    time is left; `dual_objective` is a bound already known.
    """
    if start is None:
        D, W = first_dictionary(training_set, n_components, seed), None
    else:
        D, W = start.balanced(gamma1)
    state = Alternation(
        training_set,
        numbers,
        gamma1,
        D,
        W,
        seed=seed,
        n_jobs=n_jobs,
        should_stop=lambda: monitor.remaining <= 0,
    )
    inner_gap, n_iter = FIRST_INNER_GAP, 0
    with state.threads.between_turns(training_set.n_labels, training_set.n_features):
        try:
            while n_iter < max_iter and not monitor.out_of_time and not monitor.stopped_by:
                before = np.concatenate([t.wt for t in state.teachers])
                state.w_step(inner_gap)
                state.balance()
                improved = state.d_step(inner_gap)
                state.balance()
                n_iter += 1
                dual_objective = max(dual_objective, state.lower_bound())
                after = np.concatenate([t.wt for t in state.teachers])
                size = max(float(np.linalg.norm(after)), 1e-300)
                change = float(np.linalg.norm(after - before)) / size
                objective = state.objective
                gap = relative_gap(objective, dual_objective)
                more = {"rank": len(state.D), "teacher_change": change}
                stop = record_bounds(monitor, n_iter, objective, dual_objective, **more)
                settled = change <= 0.1 * tol and improved and inner_gap <= tol
                if stop or gap <= tol or settled:
                    break
                shrink = INNER_GAP_SHRINK if improved else 0.3
                inner_gap = max(inner_gap * shrink, 0.2 * tol)
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            monitor.interrupted()
    return _solution(state, dual_objective, n_iter)


def _solution(state: Alternation, dual_objective: float, n_iter: int) -> LowRankSolution:
    """The nuclear norm of Z is at most the factored norms, so it is the objective reported."""
    left, values, right = np.linalg.svd(state.Z, full_matrices=False)
    keep = values > 1e-12 * max(values[0], 1e-300)
    factors = Factors(left[:, keep], values[keep], right[keep])
    objective = float(np.sqrt(state.gamma1) * values.sum())
    objective += sum(teacher.objective for teacher in state.teachers)
    return LowRankSolution(
        factors,
        [teacher.wt for teacher in state.teachers],
        np.array([teacher.wt0 for teacher in state.teachers]),
        [label.alpha for label in state.labels],
        [label.beta for label in state.labels],
        objective,
        dual_objective,
        n_iter,
        1.0,
    )
