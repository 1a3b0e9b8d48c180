"""What is here: LEML, the low-rank linear multi-label baseline, as a scikit-learn estimator."""

import warnings
from collections.abc import Callable, Iterable
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from prml.base import MultilabelEstimator
from prml.baselines.label_losses import LOSSES, choose_fit
from prml.baselines.leml_solver import Design, h_step, lower_bound, objective, start, w_step
from prml.monitor import Monitor
from prml.targets import Targets


class LEML(MultilabelEstimator):
    """Low-rank empirical risk minimisation for multi-label learning (Yu et al. 2014).

    All labels share k linear features of x: the scores are x'WH'. W and H minimise
    sum of ``loss(y_ji, x_j'W h_i)`` over the known labels ``+ alpha/2 (|W|^2 + |H|^2)``, in turns.

    Parameters
    ----------
    n_components : int, float or None, default=None
        The rank k; a float in (0, 1] is a part of the number of labels, rounded up; None is all of
        them. More than the labels or the features could use makes no difference and is cut.
    alpha : float, default=1.0
        Weight of the norms (lambda in the paper).
    loss : {"squared", "logistic", "squared_hinge"}, default="squared"
        "squared" regresses on 0 and 1 and cuts at one half. The others hold a few numbers for each
        known entry of Y; "squared" does not, unless labels are missing.
    fit_intercept : bool, default=True
        Add a constant feature, regularised like any other.
    max_iter : int, default=10
        Turns of the alternation; 10 is the published setting.
    max_cg : int, default=20
        Conjugate gradient iterations in a Newton step.
    tol : float, default=1e-2
        The fit has converged when a turn lowers the objective by at most this part of it.
    max_time : float or None, default=None
        Seconds after which the model reached is kept; the first turn is always finished.
    n_jobs : int or None, default=None
        Threads for the products with a sparse X. Does not change the result.
    random_state : int, RandomState or None, default=None
        Decides the start of H.
    callbacks : callable or list of callables, optional
        Called with the record of each turn; a true return value ends the fit.
    verbose : int, default=0
        1 prints a line for each turn.

    Attributes
    ----------
    components_ : ndarray of shape (k, n_features)
        W'; `components_intercept_` of shape (k,) belongs to the constant feature.
    codes_ : ndarray of shape (n_labels, k)
        H.
    coef_ : ndarray of shape (n_labels, n_features)
        ``codes_ @ components_``, computed when asked for.
    intercept_ : ndarray of shape (n_labels,)
        ``codes_ @ components_intercept_``, minus one half for the squared loss: a label is
        predicted where its score is positive.
    n_components_, n_iter_ : int
    objective_ : float
    dual_objective_, dual_gap_ : float
        A value that no model of any rank gets below, and how far above it this one is, relative to
        its own objective. With a small k the gap stays open however long the fit runs.
    converged_ : bool
        Whether the last turn lowered the objective by less than `tol` of itself: the factors are
        nearly stationary. Nothing more is meant; how far the optimum may be is what `dual_gap_`
        bounds, and it is often far from 0 (the bound knows no rank).
    stopped_by_ : str or None
        "callback", "time limit" or "interrupt" when the fit ended early.
    history_ : list of dict
        time, iteration, objective and decrease for each turn.

    Notes
    -----
    Y may have NaN where a label is unknown: the loss is summed over the other entries. A label of
    which nothing is known is never predicted.

    References
    ----------
    H.-F. Yu, P. Jain, P. Kar, I. Dhillon. Large-scale multi-label learning with missing labels.
    ICML 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.baselines import LEML
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    >>> Y = np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1]])
    >>> model = LEML(n_components=2, alpha=0.01, max_iter=50, random_state=0).fit(X, Y)
    >>> model.predict([[0.8, 0.1], [0.2, 1.1]]).tolist()
    [[1, 0, 1], [0, 1, 1]]
    """

    _allow_missing_labels = True

    def __init__(
        self,
        *,
        n_components: int | float | None = None,
        alpha: float = 1.0,
        loss: str = "squared",
        fit_intercept: bool = True,
        max_iter: int = 10,
        max_cg: int = 20,
        tol: float = 1e-2,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        callbacks: Callable | Iterable[Callable] | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.max_cg = max_cg
        self.tol = tol
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X, y) -> "LEML":
        """Learn W and H.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        y : array, sparse matrix or DataFrame of shape (n_samples, n_labels)
            0, 1 or NaN (unknown); a 1-D y, binary or multiclass, is accepted too.
        """
        self._check_parameters()
        monitor = Monitor(self.callbacks, self.max_time, self.verbose)
        X, targets = self._read_training_data(X, y, dtype=(np.float64,))
        if self.fit_intercept:
            X = _with_constant_feature(X)
        k = self._rank_for(targets.n_labels, X.shape[1])
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        fit = choose_fit(self.loss, targets)
        with Design(X, effective_n_jobs(self.n_jobs)) as design:
            factors = start(design, _labels_with_known_entries(targets), k, rng)
            value = objective(fit, factors, self.alpha)
            self.converged_, self.n_iter_, bound = False, 0, 0.0  # no loss is below 0
            try:
                while self.n_iter_ < self.max_iter:
                    how = self.alpha, self.max_cg, lambda: monitor.out_of_time
                    factors = h_step(fit, w_step(design, fit, factors, *how), *how)
                    self.n_iter_ += 1
                    value, before = objective(fit, factors, self.alpha), value
                    decrease = (before - value) / max(abs(before), np.finfo(float).tiny)
                    self.converged_ = bool(decrease <= self.tol)
                    stop = monitor.record(
                        iteration=self.n_iter_, objective=value, decrease=decrease
                    )
                    if stop or self.converged_ or monitor.out_of_time:
                        break
                bound = lower_bound(design, fit, factors, self.alpha)
            except KeyboardInterrupt:
                monitor.interrupted()
        self._keep(factors, value, bound)
        self.history_ = monitor.history
        self.stopped_by_ = None if self.converged_ else monitor.stopped_by
        if not self.converged_ and self.stopped_by_ is None:
            warnings.warn(
                f"LEML stopped after {self.n_iter_} turns while the objective was still falling by "
                f"{decrease:.1e} of itself a turn (tol is {self.tol:.1e}); raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _check_parameters(self) -> None:
        if self.loss not in LOSSES:
            raise ValueError(f"loss is {self.loss!r}; expected one of {', '.join(LOSSES)}.")
        if not self.alpha > 0:
            raise ValueError(f"alpha is {self.alpha}; expected a number above 0.")
        for name in ("max_iter", "max_cg"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; expected at least 1.")
        k = self.n_components
        whole = isinstance(k, Integral) and not isinstance(k, bool) and k >= 1
        part = isinstance(k, Real) and not isinstance(k, Integral) and 0 < k <= 1
        if not (k is None or whole or part):
            raise ValueError(
                f"n_components is {k!r}; expected a positive int, a float in (0, 1] as a part of "
                "the labels, or None for all of them."
            )

    def _rank_for(self, n_labels: int, n_features: int) -> int:
        k = self.n_components
        if k is None:
            k = n_labels
        elif not isinstance(k, Integral):
            k = int(np.ceil(k * n_labels))
        return min(int(k), n_labels, n_features)

    def _keep(self, factors, value: float, bound: float) -> None:
        W, self.codes_ = factors.W, factors.H
        self.n_components_ = W.shape[1]
        if self.fit_intercept:
            W, self.components_intercept_ = W[:-1], W[-1]
        else:
            self.components_intercept_ = np.zeros(self.n_components_)
        self.components_ = np.ascontiguousarray(W.T)
        self.intercept_ = self.codes_ @ self.components_intercept_ - LOSSES[self.loss].cut
        self.objective_, self.dual_objective_ = value, max(bound, 0.0)
        self.dual_gap_ = (value - self.dual_objective_) / max(abs(value), np.finfo(float).tiny)

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of each label, (n_labels, n_features)."""
        return self.codes_ @ self.components_

    def _scores(self, X) -> np.ndarray:
        return (X @ self.components_.T) @ self.codes_.T + self.intercept_


def _with_constant_feature(X):
    """Append a column of ones."""
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])


def _labels_with_known_entries(targets: Targets) -> np.ndarray:
    if targets.missing is None:
        return np.ones(targets.n_labels, dtype=bool)
    return targets.missing.getnnz(axis=0) < targets.n_samples
