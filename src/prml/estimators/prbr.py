"""What is here: PrBR, one SVM+ a label, the other labels its teacher."""

from collections.abc import Callable
from typing import Any

import numpy as np

from prml.estimators.privileged import PrivilegedEstimator
from prml.monitor import Monitor
from prml.solvers.feasibility import InfeasibleError
from prml.solvers.labelwise import solve_each_label
from prml.solvers.smooth.labelwise import solve_smooth
from prml.solvers.svmplus import LabelSolution, relative_gap
from prml.solvers.training_set import Hyperparameters, TrainingSet


class PrBR(PrivilegedEstimator):
    """Binary relevance with privileged labels: while a label is learned, the others excuse errors.

    For label i with margins m_j = y_j (<w, x_j> + b) and slacks xi_j, a linear function of the
    other labels of example j, it minimises ::

        1/2 (|w|^2 + b^2) + gamma2/2 |wt|^2 + C sum_j [ xi_j + theta max(0, 1 - m_j - xi_j) ]

    over w, b and wt with xi >= 0, to a certified relative duality gap of `tol`. Other losses
    replace the bracket; see `loss`.

    Parameters
    ----------
    C : float
        Weight of the slacks.
    gamma2 : float
        Regularisation of the teacher.
    theta : float
        Price of an error that the teacher does not excuse, in units of an excused one. inf is the
        constraint of the paper (no other errors); 1 makes the teacher idle.
    loss : {"hinge", "squared_hinge", "logistic", "squared"}
        What a slack costs and what the residual, t = m + xi, costs:

        - "hinge": xi, with xi >= 0, and theta max(0, 1 - t);
        - "squared_hinge": xi^2 / 2 and theta/2 max(0, 1 - t)^2;
        - "logistic": log(1 + exp(xi)) and theta log(1 + exp(-t)). Without a teacher it is
          one-vs-rest logistic regression with C * theta for C and the intercept regularised;
        - "squared": xi^2 / 2 and theta/2 (1 - t)^2. Without a teacher it is ridge regression on
          targets -1 and 1 with alpha = 1 / (C theta): one factorisation for all labels.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable
        A callable gets two arrays of rows and returns the kernel of every pair. Other than linear,
        the model is linear in features of the kernel: `coef_` then has a column for each feature,
        and `landmarks_` and `landmark_coef_` make the scores.
    gamma : float, optional
        Of ``exp(-gamma |x - x'|^2)`` and ``(gamma <x, x'> + coef0)^degree``;
        1 / (n_features variance of X) by default.
    degree, coef0 : float
        Of the polynomial kernel.
    n_landmarks : int, optional
        Go through so many training rows, drawn at random (Nystroem), instead of all of them: for
        training sets whose kernel does not fit in memory. Idle with the linear kernel.
    privileged : "all", int, bool array of shape (n_labels, n_labels) or None
        Who comments on a label: all others, the K nearest by Hamming distance between label
        columns, the labels marked in its row, or nobody.
    privileged_intercept : bool
        Whether the teacher has a constant feature; without, theta = inf may be infeasible, which
        is detected.
    fit_intercept : bool
        Adds a constant feature, regularised like any other.
    class_weight : None, "balanced" or dict
        Weights of absent (0) and present (1) entries of Y; of the classes for a 1-D y.
    tol : float
        Relative duality gap at which a label is done.
    max_iter : int
        Bound on sweeps and Newton steps a label.
    max_time : float, optional
        Seconds; shared out evenly over the labels, the best so far is kept.
    n_jobs : int, optional
        Labels solved at once (threads). The result does not depend on it.
    random_state : int, RandomState or None
        Orders the sweeps.
    callbacks : callable or list of callables
        Called with a dict after each label; a true return value ends the fit.
    verbose : int
    checkpoint : None
        Long fits that survive a crash are those of `PrML`; a label here takes milliseconds.
    warm_start : bool
        Start from the multipliers of the last fit (same X and Y, other parameters).
    keep_duals : bool
        Keep `dual_coef_` and `dual_slack_`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        With a kernel (n_labels, number of its features).
    intercept_ : ndarray of shape (n_labels,)
    privileged_coef_ : ndarray of shape (n_labels, n_labels)
        Row i: how the other labels move the slack of label i.
    privileged_intercept_ : ndarray of shape (n_labels,)
    degenerate_labels_ : ndarray
        Positions of the labels whose optimum cannot be told from a constant predictor at the
        accuracy reached: ``|w|^2 / 2`` is at most the duality gap.
    objective_, dual_objective_, dual_gap_ : float
        Upper and lower bound of the optimum, and (upper - lower) / upper.
    converged_ : bool
    stopped_by_ : str or None
        "callback", "time limit" or "interrupt" when that ended the fit before `tol` was reached.
    n_iter_ : int
        Sweeps and Newton steps of the slowest label.
    history_ : list of dict
    dual_coef_, dual_slack_ : ndarray of shape (n_labels, n_samples)
        alpha and beta, with `keep_duals`: `coef_` is the sum of alpha_j y_j x_j, and gamma2
        `privileged_coef_` that of (alpha_j + beta_j - C) v_j, v_j the labels of j in -1 and 1.
    landmarks_ : array or sparse matrix of shape (n_landmarks, n_features)
        Training rows that the kernel's features go through; of a precomputed kernel, positions.
    landmark_coef_ : ndarray of shape (n_landmarks, n_labels)
        Scores are ``kernel(X, landmarks_) @ landmark_coef_ + intercept_``.
    gamma_ : float
        The gamma used, with a kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from prml import PrBR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> Y = (X @ rng.normal(size=(4, 3)) > 0).astype(int)
    >>> model = PrBR(C=1.0, theta=2.0).fit(X, Y)
    >>> model.dual_gap_ <= 1e-3
    True
    >>> model.predict(X[:2]).shape
    (2, 3)
    """

    _parameter_table = PrivilegedEstimator._parameter_table | {
        "checkpoint": (lambda value: value is None, "None (only PrML keeps its fits in a file)"),
    }

    _solve_labels = staticmethod(solve_each_label)  # `prml.distributed` has another

    def __init__(
        self,
        *,
        C: float = 1.0,
        gamma2: float = 1.0,
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
        tol: float = 1e-3,
        max_iter: int = 5000,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Any = None,
        verbose: int = 0,
        checkpoint: None = None,
        warm_start: bool = False,
        keep_duals: bool = False,
    ) -> None:
        self.C = C
        self.gamma2 = gamma2
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
            solutions = self._solve_labels(
                training_set,
                numbers,
                tol=self.tol,
                max_iter=self.max_iter,
                seed=self._seed(),
                monitor=monitor,
                n_jobs=self.n_jobs,
                starts=self._starts(training_set, numbers),
            )
        except InfeasibleError as error:
            raise self._no_solution(error) from None
        self._store(training_set, numbers, solutions)

    def _fit_smooth(
        self, training_set: TrainingSet, numbers: Hyperparameters, monitor: Monitor
    ) -> None:
        solution = solve_smooth(
            training_set,
            numbers,
            self.loss,
            tol=self.tol,
            max_iter=self.max_iter,
            monitor=monitor,
            n_jobs=self.n_jobs,
            start=self._smooth_start(training_set),
        )
        self.coef_ = np.ascontiguousarray(solution.Z[:-1].T)
        self.intercept_ = solution.Z[-1].copy()
        self._store_smooth_teachers(training_set, numbers, solution.U)
        self._store_bounds(solution.objective, solution.objective - solution.gap)
        self.n_iter_ = solution.n_iter

    def _store(
        self, training_set: TrainingSet, numbers: Hyperparameters, solutions: list[LabelSolution]
    ) -> None:
        self.coef_ = np.array([s.z[:-1] for s in solutions])
        self.intercept_ = np.array([s.z[-1] for s in solutions])
        self.privileged_intercept_ = np.array([s.wt0 for s in solutions])
        self._store_teachers(training_set, [s.wt for s in solutions])
        self._keep_multipliers(
            training_set, numbers, [s.alpha for s in solutions], [s.beta for s in solutions]
        )
        self._store_bounds(
            np.array([s.objective for s in solutions]),
            np.array([s.dual_objective for s in solutions]),
        )
        self.n_iter_ = max(s.n_sweeps + s.n_steps for s in solutions)

    def _store_bounds(self, objective: np.ndarray, dual_objective: np.ndarray) -> None:
        """Keep the sums of the labels' bounds, and which labels they cannot tell from constants."""
        spread = 0.5 * np.einsum("ij,ij->i", self.coef_, self.coef_)
        gaps = objective - dual_objective
        has_features = self.coef_.shape[1] > 0
        self.degenerate_labels_ = np.flatnonzero(spread <= gaps) if has_features else np.arange(0)
        self.objective_ = float(objective.sum())
        self.dual_objective_ = float(dual_objective.sum())
        self.dual_gap_ = relative_gap(self.objective_, self.dual_objective_)
