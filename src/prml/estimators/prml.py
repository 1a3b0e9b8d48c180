"""What is here: PrML, label predictors of low rank, each label taught by the others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot

from prml.estimators import parameters as allowed
from prml.estimators.privileged import PrivilegedEstimator
from prml.monitor import Monitor
from prml.solvers.alternating import solve_alternating
from prml.solvers.checkpoint import SECONDS_BETWEEN_WRITES, Checkpoint
from prml.solvers.coupling import LowRankSolution
from prml.solvers.feasibility import InfeasibleError
from prml.solvers.lowrank import solve_low_rank
from prml.solvers.smooth.lowrank import (
    SmoothLowRankSolution,
    multipliers_in_ball,
    solve_smooth_low_rank,
    solve_within,
)
from prml.solvers.spectral import Factors
from prml.solvers.svmplus import relative_gap
from prml.solvers.training_set import Hyperparameters, TrainingSet

MAX_CAPPED_ROUNDS = 10
MANY_ROWS = 64  # from which on a copy of the components pays
DENSE_SPEED = 8.0  # multiplications of a dense product in the time of one with a sparse matrix


class PrML(PrivilegedEstimator):
    """Privileged multi-label learning: a low-rank predictor, every label taught by the others.

    With Z = (label predictors, intercepts in the last column) and the margins and slacks of `PrBR`,
    it minimises ::

        min over factors Z = W'D of 1/2 |D|^2 + gamma1/2 |W|^2     (= sqrt(gamma1) |Z|_*)
        + sum over labels of  gamma2/2 |wt|^2 + C sum_j [ xi_j + theta max(0, 1 - m_j - xi_j) ]

    with xi >= 0. In Z this is convex: `dual_gap_` bounds the distance to the *global* optimum.

    Parameters
    ----------
    C : float
        Weight of the slacks.
    gamma1 : float
        Regularisation of the codes W; sqrt(gamma1) weighs the nuclear norm.
    gamma2 : float
        Regularisation of the teachers.
    n_components : int, optional
        Bound on the rank. With a bound below the rank of the optimum the gap reported is that to
        the unbounded problem. The smooth losses then stay within the leading directions of the
        unbounded optimum.
    theta : float
        Price of an error that the teacher does not excuse, in units of an excused one; inf is the
        constraint of the paper.
    loss, kernel, gamma, degree, coef0, n_landmarks, privileged, privileged_intercept,
    fit_intercept, class_weight
        As in `PrBR`; with another loss its terms replace the bracket.
    algorithm : {"convex", "alternating"}
        "convex" solves the problem to the gap `tol`; "alternating" is Algorithm 2 of the paper.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Bound on the rounds.
    max_time : float, optional
        Seconds after which the best so far is kept.
    n_jobs : int, optional
        Labels solved at once (threads). The result does not depend on it.
    random_state, callbacks, verbose, warm_start, keep_duals
        As in `PrBR`; callbacks are called after each evaluation of the bounds.
    checkpoint : str or path, optional
        File in which the fit is kept while it runs, written every few seconds; the same fit called
        again goes on from there (`history_` then begins there too). It is removed when `tol` is
        reached and kept when the fit stopped before, by `max_iter`, `max_time`, a callback or a
        crash: with a higher limit or another `tol` it can go on. A file that is damaged or was
        written for other data or parameters is refused. Fits that run at the same time need files
        of their own. Only with loss="hinge" and algorithm="convex".

    Attributes
    ----------
    coef_, intercept_, privileged_coef_, privileged_intercept_, degenerate_labels_, objective_,
    dual_objective_, dual_gap_, converged_, stopped_by_, n_iter_, history_, dual_coef_, dual_slack_
        As in `PrBR`.
    components_ : ndarray of shape (k, n_features)
        The dictionary D.
    components_intercept_ : ndarray of shape (k,)
    codes_ : ndarray of shape (n_labels, k)
        W', with ``codes_ @ components_ = coef_``.
    rank_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from prml import PrML
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> Y = (X @ rng.normal(size=(5, 2)) @ rng.normal(size=(2, 4)) > 0).astype(int)
    >>> model = PrML(C=1.0).fit(X, Y)
    >>> model.dual_gap_ <= 1e-3
    True
    >>> bool(np.allclose(model.codes_ @ model.components_, model.coef_))
    True
    """

    _parameter_table = PrivilegedEstimator._parameter_table | {
        "gamma1": allowed.POSITIVE,
        "n_components": allowed.COUNT_OR_NONE,
        "algorithm": allowed.one_of("convex", "alternating"),
        "checkpoint": allowed.PATH_OR_NONE,
    }
    _checkpoint_every = SECONDS_BETWEEN_WRITES
    _solve_convex = staticmethod(solve_low_rank)  # `prml.distributed` has another

    def __init__(
        self,
        *,
        C: float = 1.0,
        gamma1: float = 1.0,
        gamma2: float = 1.0,
        n_components: int | None = None,
        theta: float = 2.0,
        loss: str = "hinge",
        kernel: str | Callable[[Any, Any], Any] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        n_landmarks: int | None = None,
        privileged: Any = "all",
        privileged_intercept: bool = True,
        fit_intercept: bool = True,
        class_weight: str | dict[Any, float] | None = None,
        algorithm: str = "convex",
        tol: float = 1e-3,
        max_iter: int = 2000,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Any = None,
        verbose: int = 0,
        checkpoint: str | Path | None = None,
        warm_start: bool = False,
        keep_duals: bool = False,
    ) -> None:
        self.C = C
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.n_components = n_components
        self.theta = theta
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_landmarks = n_landmarks
        self.privileged = privileged
        self.privileged_intercept = privileged_intercept
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.keep_duals = keep_duals

    def _fit_hinge(
        self, training_set: TrainingSet, numbers: Hyperparameters, monitor: Monitor
    ) -> None:
        try:
            solution = self._solve(training_set, numbers, monitor)
        except InfeasibleError as error:
            raise self._no_solution(error) from None
        self._store(training_set, numbers, solution)

    def _fit_smooth(
        self, training_set: TrainingSet, numbers: Hyperparameters, monitor: Monitor
    ) -> None:
        if self.algorithm == "alternating":
            raise ValueError(
                f"PrML: algorithm is 'alternating' and loss is {self.loss!r}; the paper's "
                "algorithm is one for the hinge, expected algorithm='convex'."
            )
        if self.checkpoint is not None:
            raise ValueError(
                f"PrML: checkpoint is {str(self.checkpoint)!r} and loss is {self.loss!r}; "
                "only loss='hinge' keeps its fits in a file."
            )
        start = self._smooth_start(training_set)
        common: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "monitor": monitor,
            "n_jobs": self.n_jobs,
        }
        problem = (training_set, numbers, self.loss, float(self.gamma1))
        solution = solve_smooth_low_rank(
            *problem, start=None if start is None else (start[0].T, start[1]), **common
        )
        if self.n_components is not None and solution.factors.rank > self.n_components:
            solution = solve_within(*problem, solution, self.n_components, **common)
        self._store_factors(solution)
        self._store_smooth_teachers(training_set, numbers, solution.U)
        if self.keep_duals:
            self.dual_coef_, self.dual_slack_ = multipliers_in_ball(
                training_set, numbers, self.dual_coef_, self.dual_slack_, float(self.gamma1)
            )

    def _solve(
        self, training_set: TrainingSet, numbers: Hyperparameters, monitor: Monitor
    ) -> LowRankSolution:
        gamma1 = float(self.gamma1)
        common: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "seed": self._seed(),
            "monitor": monitor,
            "n_jobs": self.n_jobs,
        }
        full = min(training_set.n_labels, training_set.n_features + 1)
        k = min(self.n_components or full, full)
        if self.algorithm == "alternating":
            if self.checkpoint is not None:
                raise ValueError(
                    f"PrML: checkpoint is {str(self.checkpoint)!r} and algorithm is 'alternating'; "
                    "only algorithm='convex' keeps its fits in a file."
                )
            return solve_alternating(training_set, numbers, gamma1, n_components=k, **common)
        solution = self._solve_convex(
            training_set,
            numbers,
            gamma1,
            starts=self._starts(training_set, numbers),
            checkpoint=self._open_checkpoint(training_set, numbers),
            **common,
        )
        if solution.factors.rank <= k:
            return solution
        # the optimum's rank is above the bound: go on from its best part, W and D in turn
        left, values, right = solution.factors
        common["max_iter"] = MAX_CAPPED_ROUNDS
        return solve_alternating(
            training_set,
            numbers,
            gamma1,
            n_components=k,
            start=Factors(left[:, :k], values[:k], right[:k]),
            dual_objective=solution.dual_objective,
            **common,
        )

    def _open_checkpoint(
        self, training_set: TrainingSet, numbers: Hyperparameters
    ) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        return Checkpoint(
            self.checkpoint,
            training_set,
            numbers,
            float(self.gamma1),
            every=self._checkpoint_every,
        )

    def _gap_advice(self) -> str:
        if self.n_components is not None and self.rank_ >= self.n_components:
            return (
                "the rank is at its bound n_components, and the gap is that to the unbounded "
                "problem"
            )
        return super()._gap_advice()

    def _store(
        self, training_set: TrainingSet, numbers: Hyperparameters, solution: LowRankSolution
    ) -> None:
        self._store_factors(solution)
        self.privileged_intercept_ = solution.wt0
        self._store_teachers(training_set, solution.wt)
        self._keep_multipliers(training_set, numbers, solution.alpha, solution.beta)

    def _store_factors(self, solution: LowRankSolution | SmoothLowRankSolution) -> None:
        """Keep the predictors and the bounds that are certified for them."""
        factors = solution.factors
        # balanced: |D|^2 = gamma1 |W|^2, where the factored objective equals the nuclear norm
        components, codes = factors.balanced(float(self.gamma1))
        self.codes_ = np.ascontiguousarray(codes.T)
        self.components_ = np.ascontiguousarray(components[:, :-1])
        self.components_intercept_ = components[:, -1].copy()
        self.coef_ = self.codes_ @ self.components_
        self.intercept_ = self.codes_ @ self.components_intercept_
        self.rank_ = factors.rank
        self.objective_ = solution.objective
        self.dual_objective_ = solution.dual_objective
        self.dual_gap_ = relative_gap(solution.objective, solution.dual_objective)
        self.n_iter_ = max(1, solution.n_iter)
        flat = np.abs(self.coef_).max(axis=1, initial=0.0) <= 1e-12
        self.degenerate_labels_ = np.flatnonzero(flat)

    def _linear_scores(self, X) -> np.ndarray:
        n_labels, rank = self.codes_.shape
        n_entries, speed = (X.nnz, DENSE_SPEED) if sp.issparse(X) else (X.size, 1.0)
        through_factors = rank * (n_entries + X.shape[0] * n_labels / speed)
        if through_factors >= n_entries * n_labels:
            return super()._linear_scores(X)
        basis = self.components_.T
        if not sp.issparse(X) and X.shape[0] >= MANY_ROWS:
            basis = np.ascontiguousarray(basis)  # of a few columns BLAS reads this much faster
        return safe_sparse_dot(X, basis, dense_output=True) @ self.codes_.T
