"""What is here: ML2, the label-manifold baseline, as a scikit-learn estimator."""

import warnings
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_random_state

from prml.base import MultilabelEstimator
from prml.baselines.kernel_features import mean_distance, rbf_features
from prml.baselines.label_manifold import build_manifold, numerical_label
from prml.baselines.reconstruction import reconstruction_matrix
from prml.baselines.support_regression import Regression, support_regression
from prml.monitor import Monitor

# Rows of a kernel block at prediction: this many bytes at most.
BLOCK_BYTES = 2**27


class ML2(MultilabelEstimator):
    """Multi-label manifold learning (Hou, Geng & Zhang 2016).

    1. Every training example is rebuilt from its nearest neighbours (weights that sum to one).
    2. The labels -1 and 1 become real numbers that keep their sign, are at least 1 in size and
       follow the same weights as well as possible: one quadratic programme a label.
    3. Multi-output support vector regression with an RBF kernel learns these numbers; a prediction
       is their sign.

    Parameters
    ----------
    n_neighbors : int or None, default=10
        Neighbours that rebuild an example; None is the number of labels plus one.
    reg : float, default=1e-3
        Part of its trace that is added to the diagonal of a neighbourhood's Gram matrix.
    C1 : float, default=1.0
        Weight of the squared distance beyond the tube.
    C2 : float, default=10.0
        Weight of predictions with the wrong sign.
    epsilon : float, default=1e-3
        Radius of the tube, one for all labels of an example.
    gamma : float or None, default=None
        The kernel is ``exp(-gamma |x - x'|^2)``; None takes 1 / (2 sigma^2), sigma being the mean
        distance between training examples.
    fit_intercept : bool, default=True
        Add a constant to the kernel's features, regularised like them.
    max_memory : float, default=2.0
        Gigabytes (1e9 bytes) that the kernel may take while fitting. When the exact one needs
        more (24 n_samples^2 bytes) it is replaced by its Nystroem approximation.
    n_landmarks : int, default=2000
        Training examples that carry the approximation; fewer when `max_memory` says so.
    tol : float, default=1e-3
        Relative duality gap at which the regression stops.
    qp_tol : float, default=1e-4
        Largest relative violation of the optimality conditions of a label's programme.
    max_iter : int, default=100
        Steps of the regression.
    max_time : float or None, default=None
        Seconds after which the model reached is kept; programmes that were not reached leave their
        labels at -1 and 1.
    n_jobs : int or None, default=None
        Threads for the neighbours and the labels' programmes. Does not change the result.
    random_state : int, RandomState or None, default=None
        Decides the landmarks, and the examples behind the mean distance when there are many.
    callbacks : callable or list of callables, optional
        Called with a record for each block of programmes and each step of the regression; a true
        return value ends the fit. Whatever ends it during the programmes, one step of the
        regression follows, so that there is a model.
    verbose : int, default=0

    Attributes
    ----------
    landmarks_ : ndarray or csr_matrix of shape (r, n_features)
        The examples in whose kernels the model is written; `landmark_indices_` their rows in X.
    dual_coef_ : ndarray of shape (r, n_labels)
    intercept_ : ndarray of shape (n_labels,)
    gamma_ : float
    exact_kernel_ : bool
        False when the Nystroem approximation was needed.
    kkt_residuals_ : ndarray of shape (n_labels,)
        Relative violation of the optimality conditions of each label's programme; NaN where none
        was solved for lack of time.
    objective_, dual_objective_, dual_gap_ : float
        Of the regression, given the numerical labels; the gap is relative.
    n_iter_ : int
    converged_ : bool
        Whether the gap and all programmes have reached their tolerances.
    stopped_by_ : str or None
        "callback", "time limit" or "interrupt" when the fit ended early.
    history_ : list of dict

    References
    ----------
    P. Hou, X. Geng, M.-L. Zhang. Multi-label manifold learning. AAAI 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.baselines import ML2
    >>> X = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [1.0, 1.0], [1.1, 1.0], [1.0, 1.1]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]])
    >>> model = ML2(n_neighbors=2).fit(X, Y)
    >>> model.predict([[0.1, 0.1], [0.9, 1.0]]).tolist()
    [[1, 0], [0, 1]]
    """

    def __init__(
        self,
        *,
        n_neighbors: int | None = 10,
        reg: float = 1e-3,
        C1: float = 1.0,
        C2: float = 10.0,
        epsilon: float = 1e-3,
        gamma: float | None = None,
        fit_intercept: bool = True,
        max_memory: float = 2.0,
        n_landmarks: int = 2000,
        tol: float = 1e-3,
        qp_tol: float = 1e-4,
        max_iter: int = 100,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        callbacks: Callable | Iterable[Callable] | None = None,
        verbose: int = 0,
    ):
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.C1 = C1
        self.C2 = C2
        self.epsilon = epsilon
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.max_memory = max_memory
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.qp_tol = qp_tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X, y) -> "ML2":
        """Learn numerical labels, then their regression on X.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        y : array, sparse matrix or DataFrame of shape (n_samples, n_labels)
            0 and 1, none missing; a 1-D y, binary or multiclass, is accepted too.
        """
        self._check_parameters()
        monitor = Monitor(self.callbacks, self.max_time, self.verbose)
        X, targets = self._read_training_data(X, y, dtype=(np.float64,))
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.gamma_ = self.gamma
        if self.gamma_ is None:
            self.gamma_ = 1.0 / (2.0 * mean_distance(X, rng) ** 2)
        signs = 2.0 * targets.positives.toarray() - 1.0
        mu, self.kkt_residuals_ = self._numerical_labels(X, signs, monitor)
        kernel = rbf_features(
            X,
            self.gamma_,
            max_bytes=self.max_memory * 1e9,
            n_landmarks=self.n_landmarks,
            rng=rng,
        )
        features = kernel.features
        if self.fit_intercept:
            features = np.hstack([features, np.ones((len(features), 1))])
        model = support_regression(
            features,
            mu,
            C1=self.C1,
            C2=self.C2,
            epsilon=self.epsilon,
            tol=self.tol,
            max_iter=self.max_iter if monitor.stopped_by is None else 1,
            monitor=monitor,
        )
        theta, self.intercept_ = model.theta, np.zeros(mu.shape[1])
        if self.fit_intercept:
            theta, self.intercept_ = theta[:-1], theta[-1]
        self.dual_coef_ = kernel.dual_coef(theta)
        self.landmark_indices_ = kernel.landmarks
        self.landmarks_ = X[kernel.landmarks]
        self.exact_kernel_ = kernel.exact
        self._keep_certificates(model, monitor)
        return self

    def _numerical_labels(self, X, signs: np.ndarray, monitor: Monitor):
        """Solve the programmes in blocks of labels; what time or Ctrl-C leaves out stays at ±1."""
        L = signs.shape[1]
        mu, residuals = signs.copy(), np.full(L, np.nan)
        k = L + 1 if self.n_neighbors is None else self.n_neighbors
        try:
            S = reconstruction_matrix(X, k, reg=self.reg, n_jobs=self.n_jobs)
            manifold = build_manifold(S)
            block = 8 * effective_n_jobs(self.n_jobs)
            with Parallel(n_jobs=self.n_jobs, prefer="threads", require="sharedmem") as parallel:
                for first in range(0, L, block):
                    if monitor.out_of_time:
                        break
                    labels = range(first, min(first + block, L))
                    solved = parallel(
                        delayed(numerical_label)(manifold, signs[:, i], tol=self.qp_tol)
                        for i in labels
                    )
                    for i, label in zip(labels, solved, strict=True):
                        mu[:, i], residuals[i] = label.mu, label.kkt_residual
                    if monitor.record(
                        iteration=labels[-1] + 1,
                        stage="numerical labels",
                        kkt_residual=float(np.nanmax(residuals)),
                    ):
                        break
        except KeyboardInterrupt:
            monitor.interrupted()
        return mu, residuals

    def _keep_certificates(self, model: Regression, monitor: Monitor) -> None:
        self.objective_, self.dual_objective_ = model.objective, model.dual_objective
        self.dual_gap_, self.n_iter_ = model.gap, max(model.n_iter, 1)
        solved = bool((self.kkt_residuals_ <= self.qp_tol).all())
        self.converged_ = model.converged and solved
        self.history_ = monitor.history
        self.stopped_by_ = None if self.converged_ else monitor.stopped_by
        if not self.converged_ and self.stopped_by_ is None:
            unsolved = int((~(self.kkt_residuals_ <= self.qp_tol)).sum())
            warnings.warn(
                f"ML2 stopped at a relative duality gap of {self.dual_gap_:.1e} (tol is "
                f"{self.tol:.1e}) with {unsolved} labels' programmes short of qp_tol; raise "
                "max_iter or the tolerances, or scale the features.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _check_parameters(self) -> None:
        for name in ("C1", "max_memory", "reg", "tol", "qp_tol"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected a number above 0.")
        for name in ("C2", "epsilon"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected 0 or more.")
        for name in ("max_iter", "n_landmarks", "n_neighbors"):
            value = getattr(self, name)
            if not (value is None and name == "n_neighbors") and not value >= 1:
                raise ValueError(f"{name} is {value}; expected at least 1.")
        if self.gamma is not None and not self.gamma > 0:
            raise ValueError(f"gamma is {self.gamma}; expected a number above 0, or None.")

    def _scores(self, X) -> np.ndarray:
        scores = np.empty((X.shape[0], len(self.intercept_)))
        for rows in _row_blocks(X.shape[0], len(self.landmark_indices_)):
            kernel = rbf_kernel(X[rows], self.landmarks_, gamma=self.gamma_)
            scores[rows] = kernel @ self.dual_coef_ + self.intercept_
        return scores


def _row_blocks(n: int, width: int) -> Iterator[slice]:
    """Cut n rows into slices whose kernel with `width` landmarks stays small."""
    rows = max(1, BLOCK_BYTES // (8 * max(width, 1)))
    return (slice(first, first + rows) for first in range(0, n, rows))
