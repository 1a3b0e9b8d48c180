"""What is here: one linear machine fitted by LIBLINEAR, and what BR, ECC and RAkEL share on top."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from prml.base import MultilabelEstimator, check_size_of_values, constant_targets
from prml.monitor import Callback, Monitor
from prml.targets import Targets

LOSSES = ("hinge", "squared_hinge", "logistic")
SCORES = ("decision", "hard")
# scikit-learn has the same limit for the logistic loss, but looks at the largest, not at its size
LARGEST_OF_NEWTON = 1e30


class Machine(NamedTuple):
    """The settings of every linear machine of one fit.

    LIBLINEAR's dual solvers visit the examples in an order drawn from `seed`; all machines start
    from the same one, so that the fit of a label depends on nothing but its own data.
    """

    loss: str
    C: float
    fit_intercept: bool
    tol: float
    max_iter: int
    seed: int

    def learner(self, n_samples: int, n_features: int) -> Any:
        shared = {
            "C": self.C,
            "fit_intercept": self.fit_intercept,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "random_state": self.seed,
        }
        if self.loss == "logistic":
            return LogisticRegression(solver="liblinear", **shared)
        dual = self.solves_dual(n_samples, n_features)
        return LinearSVC(loss=self.loss, dual=dual, **shared)

    def check_size(self, X: Any) -> None:
        """Refuse features on which LIBLINEAR's Newton steps overflow: they would never end."""
        if self.loss == "logistic" or not self.solves_dual(*X.shape):
            why = f"LIBLINEAR's steps for the {self.loss} loss never end on larger ones"
            check_size_of_values(X, LARGEST_OF_NEWTON, why)

    def solves_dual(self, n_samples: int, n_features: int) -> bool:
        """Tell whether LIBLINEAR works on the dual.

        For the hinge it has no other way. For the squared hinge LinearSVC's dual="auto" goes by
        n_samples < n_features; coordinate descent on the dual is up to four times faster than
        Newton's method on the primal well beyond that, as long as C is not large.
        """
        if self.loss != "squared_hinge":
            return self.loss == "hinge"
        return n_samples < n_features or (self.C <= 1 and n_samples < 4 * n_features)


def intercept_alone(loss: str, prevalence) -> np.ndarray:
    """Score a label by its frequency: the machine without features.

    For the squared hinge 2p - 1 is the optimum, and at p = 0 and p = 1 also the limit of the
    hinge; for the logistic loss it is the log-odds, kept finite by 1e-3 at either end.
    """
    p = np.asarray(prevalence, dtype=np.float64)
    if loss == "logistic":
        return np.log((p + 1e-3) / (1 - p + 1e-3))
    return 2 * p - 1


class Hyperplanes(NamedTuple):
    """Fitted machines: `coef` (n_machines, n_features), `intercept` (n_machines,), iterations."""

    coef: np.ndarray
    intercept: np.ndarray
    n_iter: int


def fit_machine(machine: Machine, X, codes, sample_weight=None) -> Hyperplanes:
    """Fit one-vs-rest machines to class codes with at least two classes.

    Two classes give one hyperplane, positive on the larger code; more give one for each class in
    the order of their codes. X is float64, C-contiguous or CSR with 32-bit indices.
    """
    if sp.issparse(X) and X.nnz == 0:
        # LIBLINEAR's wrapper takes the address of the first entry, so there has to be one.
        X = sp.csr_matrix(([0.0], ([0], [0])), shape=X.shape)
    if machine.loss == "logistic":  # scikit-learn allows LinearSVC alone more than two classes
        classes = np.unique(codes)
        if len(classes) > 2:
            rest = [fit_machine(machine, X, codes == c, sample_weight) for c in classes]
            return Hyperplanes(
                np.vstack([one.coef for one in rest]),
                np.concatenate([one.intercept for one in rest]),
                max(one.n_iter for one in rest),
            )
    learner = machine.learner(*X.shape)
    # X was checked once for all machines.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        learner.fit(X, codes, sample_weight=sample_weight)
    intercept = np.broadcast_to(learner.intercept_, (len(learner.coef_),))
    return Hyperplanes(learner.coef_, intercept, int(np.max(learner.n_iter_)))


class LinearBaseline(MultilabelEstimator):
    """Parameters, checks and warnings of the estimators that are made of linear machines."""

    C: float
    loss: str
    scores: str
    fit_intercept: bool
    tol: float
    max_iter: int
    max_time: float | None
    n_jobs: int | None
    random_state: Any
    callbacks: Callback | list[Callback] | None
    verbose: int

    @property
    def _cut(self) -> float:  # type: ignore[override]
        return 0.5 if self.scores == "hard" else 0.0

    def _start(self, X, y) -> tuple[Any, Targets, Machine, Monitor]:
        """Check parameters and data; warn once of the labels that cannot be learned."""
        self._check_parameters()
        X, targets = self._read_training_data(X, y, dtype=(np.float64,))
        if sp.issparse(X) and X.indices.dtype != np.int32:
            X = _with_short_indices(X)
        machine = Machine(
            self.loss,
            self.C,
            self.fit_intercept,
            self.tol,
            self.max_iter,
            _seed_from(self.random_state),
        )
        machine.check_size(X)
        self.prevalence_ = targets.present / targets.n_samples
        self.constant_labels_ = np.flatnonzero(constant_targets(targets))
        if len(self.constant_labels_):
            names = [str(name) for name in self.label_names_[self.constant_labels_[:5]]]
            more = ", ..." if len(self.constant_labels_) > 5 else ""
            warnings.warn(
                f"{len(self.constant_labels_)} of {targets.n_labels} labels have a single class "
                f"in training ({', '.join(names)}{more}); their predictors are constant.",
                UserWarning,
                stacklevel=3,
            )
        return X, targets, machine, Monitor(self.callbacks, self.max_time, self.verbose)

    def _check_parameters(self) -> None:
        if self.loss not in LOSSES:
            raise ValueError(f"loss is {self.loss!r}; expected one of {', '.join(LOSSES)}.")
        if self.scores not in SCORES:
            raise ValueError(f"scores is {self.scores!r}; expected one of {', '.join(SCORES)}.")
        for name in ("C", "tol", "max_iter"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected a positive number.")

    def _finish(self, monitor: Monitor, *, done: int, total: int, slow: int, what: str) -> None:
        """Set what the run left behind and say, once, in what it fell short.

        `done` of `total` pieces of work (`what`) were finished, and `slow` machines met `max_iter`.
        """
        if done < total and monitor.stopped_by is None:
            monitor.stopped_by = "time limit"  # it struck inside the last piece of work
        self.history_ = monitor.history
        self.stopped_by_ = monitor.stopped_by if done < total else None
        self.converged_ = done == total and slow == 0
        if done < total and monitor.stopped_by == "time limit":
            warnings.warn(
                f"max_time={self.max_time} s ended the fit after {done} of {total} {what}; "
                "give it more time or more n_jobs.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if slow:
            warnings.warn(
                f"{slow} linear machines stopped at max_iter={self.max_iter} before "
                f"tol={self.tol}; raise max_iter, lower C or scale the features.",
                ConvergenceWarning,
                stacklevel=3,
            )


def _with_short_indices(X: sp.csr_matrix) -> sp.csr_matrix:
    if X.nnz > np.iinfo(np.int32).max:
        raise ValueError(
            f"X has {X.nnz} nonzero entries; LIBLINEAR indexes at most {np.iinfo(np.int32).max}."
        )
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_matrix(parts, shape=X.shape)


def _seed_from(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    if random_state is None:  # scikit-learn would draw from NumPy's global state here
        return int(np.random.default_rng().integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))
