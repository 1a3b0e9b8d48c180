"""What is here: BinaryRelevance, one linear machine for each label."""

import numpy as np

from prml.baselines.linear import Hyperplanes, LinearBaseline, Machine, fit_machine, intercept_alone
from prml.baselines.tasks import run_tasks


class BinaryRelevance(LinearBaseline):
    """One linear machine for each label, fitted by LIBLINEAR.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the squared norm of the coefficients.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        The support vector machine of the literature, its smooth variant, logistic regression.
    scores : {"decision", "hard"}, default="decision"
        What `decision_function` returns: the signed distances, or the predicted 0 and 1 that
        older comparisons ranked by (see `prml.baselines.break_ties_by_label`).
    fit_intercept : bool, default=True
        The intercept is the weight of a constant feature 1 and is regularised like any other.
    tol : float, default=1e-4
        LIBLINEAR's stopping tolerance.
    max_iter : int, default=1000
        LIBLINEAR's iterations for each label.
    max_time : float, optional
        Seconds after which no further label is begun; labels not reached score by their frequency.
    n_jobs : int, optional
        Labels fitted at once. The result does not depend on it.
    random_state : int or RandomState, optional
        Order in which the dual solvers visit the examples.
    callbacks : callable or list of callables, optional
        Called with a record after every label; a true value ends the fit.
    verbose : int, default=0
        With 1 the records are printed.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    constant_labels_ : ndarray of int
        Labels that have a single class in training; their coefficients are 0.
    prevalence_ : ndarray of shape (n_labels,)
        Share of the training examples that carry each label.
    n_iter_ : int
        Most iterations spent on a label.
    converged_ : bool
        Whether every label was fitted to `tol`.
    stopped_by_ : str or None
        "callback", "time limit" or "interrupt" when the fit ended early.
    history_ : list of dict
    classes_, label_names_ : ndarray

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from prml.baselines import BinaryRelevance
    >>> X, Y = make_multilabel_classification(n_samples=60, n_classes=4, random_state=0)
    >>> model = BinaryRelevance(C=0.1, loss="squared_hinge").fit(X, Y)
    >>> model.predict(X).shape, model.coef_.shape
    ((60, 4), (4, 20))
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "hinge",
        scores: str = "decision",
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 1000,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state=None,
        callbacks=None,
        verbose: int = 0,
    ):
        self.C = C
        self.loss = loss
        self.scores = scores
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X, y) -> "BinaryRelevance":
        """Fit one machine to each label of Y (0 and 1, dense or sparse; or a 1-D y)."""
        X, targets, machine, monitor = self._start(X, y)
        n_samples, n_features = X.shape
        by_label = targets.positives.tocsc()
        varying = np.setdiff1d(np.arange(targets.n_labels), self.constant_labels_)

        self.coef_ = np.zeros((targets.n_labels, n_features))
        # What a label scores by until its machine is there.
        self.intercept_ = intercept_alone(self.loss, self.prevalence_)
        self.n_iter_ = 0
        slow = 0
        bounds = by_label.indptr
        tasks = [
            (machine, X, label, by_label.indices[bounds[label] : bounds[label + 1]])
            for label in varying
        ]

        def store(fitted: tuple[int, Hyperplanes]) -> dict:
            nonlocal slow
            label, one = fitted
            self.coef_[label] = one.coef[0]
            self.intercept_[label] = one.intercept[0]
            self.n_iter_ = max(self.n_iter_, one.n_iter)
            slow += one.n_iter >= self.max_iter
            return {"label": int(label)}

        done = run_tasks(
            fit_label,
            tasks,
            store,
            monitor,
            n_jobs=self.n_jobs,
            threads=not machine.solves_dual(n_samples, n_features),
        )
        self._finish(monitor, done=done, total=len(tasks), slow=slow, what="labels")
        return self

    def _scores(self, X) -> np.ndarray:
        scores = np.asarray(X @ self.coef_.T)
        scores += self.intercept_
        return (scores > 0).astype(np.float64) if self.scores == "hard" else scores


def fit_label(machine: Machine, X, label: int, rows: np.ndarray) -> tuple[int, Hyperplanes]:
    """Fit a machine to a label, given the rows where it is present."""
    present = np.zeros(X.shape[0])
    present[rows] = 1
    return label, fit_machine(machine, X, present)
