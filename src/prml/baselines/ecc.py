"""What is here: ECC, the ensemble of classifier chains."""

import time

import numpy as np
import scipy.sparse as sp

from prml.baselines.chain import Chain, chain_scores, fit_chain
from prml.baselines.linear import LinearBaseline
from prml.baselines.tasks import run_tasks

SAMPLING = ("bootstrap", "subsample", "all")
SUBSAMPLE_SHARE = 0.67


class ECC(LinearBaseline):
    """Ensemble of classifier chains (Read, Pfahringer, Holmes and Frank 2011).

    Each chain fits the labels one after the other in a random order on a random sample of the
    examples; the features of a step are x and the labels before it, true ones in training and
    predicted ones afterwards.

    Parameters
    ----------
    n_chains : int, default=10
    sampling : {"bootstrap", "subsample", "all"}, default="bootstrap"
        Examples of a chain: as many as there are with replacement, 67 % without, or all.
    C, loss, fit_intercept, tol, max_iter
        As in `BinaryRelevance`.
    scores : {"decision", "hard"}, default="decision"
        Mean over the chains of the decision values (cut at 0) or of the votes (cut at .5).
    max_time : float, optional
        Seconds after which the chains finished so far make the ensemble; before the first is
        finished, its remaining labels score by their frequency.
    n_jobs : int, optional
        Chains fitted at once. The result does not depend on it.
    random_state : int or RandomState, optional
        Orders, samples, and the order in which the dual solvers visit the examples.
    callbacks : callable or list of callables, optional
        Called with a record after every chain; a true value ends the fit.
    verbose : int, default=0
        With 1 the records are printed.

    Attributes
    ----------
    orders_ : ndarray of shape (n_chains, n_labels)
        Labels in the order of each chain.
    coef_ : ndarray of shape (n_chains, n_labels, n_features)
    label_coef_ : ndarray of shape (n_chains, n_labels, n_labels)
        Entry (c, i, j) is the weight of label j in the machine of label i.
    intercept_ : ndarray of shape (n_chains, n_labels)
    constant_labels_, prevalence_, n_iter_, converged_, stopped_by_, history_
        As in `BinaryRelevance`.
    classes_, label_names_ : ndarray

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from prml.baselines import ECC
    >>> X, Y = make_multilabel_classification(n_samples=60, n_classes=4, random_state=0)
    >>> model = ECC(n_chains=3, C=0.1, loss="squared_hinge", random_state=0).fit(X, Y)
    >>> model.predict(X).shape, model.orders_.shape
    ((60, 4), (3, 4))
    """

    def __init__(
        self,
        *,
        n_chains: int = 10,
        sampling: str = "bootstrap",
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
        self.n_chains = n_chains
        self.sampling = sampling
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

    def fit(self, X, y) -> "ECC":
        """Fit the chains to Y (0 and 1, dense or sparse; or a 1-D y)."""
        X, targets, machine, monitor = self._start(X, y)
        n_samples, n_features = X.shape
        n_labels = targets.n_labels
        rows = sp.csr_matrix(X)  # LIBLINEAR stores the nonzero entries in any case
        orders, counts = draw_chains(
            np.random.default_rng(machine.seed), self.n_chains, n_samples, n_labels, self.sampling
        )
        deadline = time.monotonic() + monitor.remaining
        tasks = [
            (machine, rows, targets.positives, orders[c], counts[c], deadline)
            for c in range(self.n_chains)
        ]

        self.coef_ = np.zeros((self.n_chains, n_labels, n_features))
        self.label_coef_ = np.zeros((self.n_chains, n_labels, n_labels))
        self.intercept_ = np.zeros((self.n_chains, n_labels))
        self.n_iter_ = 0
        kept = complete = slow = 0

        def store(chain: Chain) -> dict:
            nonlocal kept, complete, slow
            complete += chain.complete
            if chain.complete or kept == 0:  # half a chain is better than none, and only than none
                self.coef_[kept] = chain.coef
                self.label_coef_[kept] = chain.label_coef
                self.intercept_[kept] = chain.intercept
                self.n_iter_ = max(self.n_iter_, chain.n_iter)
                slow += chain.slow
                kept += 1
            return {"chains": complete}

        run_tasks(
            fit_chain,
            tasks,
            store,
            monitor,
            n_jobs=self.n_jobs,
            # A sample may have fewer rows than columns where the whole has not.
            threads=not machine.solves_dual(
                np.count_nonzero(counts, axis=1).min(), n_features + n_labels
            ),
        )
        self.orders_ = orders[:kept]
        self.coef_ = self.coef_[:kept]
        self.label_coef_ = self.label_coef_[:kept]
        self.intercept_ = self.intercept_[:kept]
        self._finish(monitor, done=complete, total=self.n_chains, slow=slow, what="chains")
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_chains < 1:
            raise ValueError(f"n_chains is {self.n_chains}; expected at least 1.")
        if self.sampling not in SAMPLING:
            raise ValueError(
                f"sampling is {self.sampling!r}; expected one of {', '.join(SAMPLING)}."
            )

    def _scores(self, X) -> np.ndarray:
        total = np.zeros((X.shape[0], self.n_labels_))
        chains = zip(self.coef_, self.intercept_, self.label_coef_, self.orders_, strict=True)
        for coef, intercept, label_coef, order in chains:
            scores = chain_scores(X, coef, intercept, label_coef, order)
            total += scores > 0 if self.scores == "hard" else scores
        return total / len(self.orders_)


def draw_chains(
    rng: np.random.Generator, n_chains: int, n_samples: int, n_labels: int, sampling: str
) -> tuple[np.ndarray, np.ndarray]:
    """Draw for each chain a label order and how often each example is in its sample.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.baselines.ecc import draw_chains
    >>> orders, counts = draw_chains(np.random.default_rng(0), 2, 6, 3, "bootstrap")
    >>> orders.shape, counts.sum(axis=1).tolist()
    ((2, 3), [6, 6])
    """
    orders = np.array([rng.permutation(n_labels) for _ in range(n_chains)])
    counts = np.ones((n_chains, n_samples), dtype=np.int32)
    for c in range(n_chains):
        if sampling == "bootstrap":
            counts[c] = np.bincount(rng.integers(n_samples, size=n_samples), minlength=n_samples)
        elif sampling == "subsample":
            size = max(1, round(SUBSAMPLE_SHARE * n_samples))
            counts[c] = 0
            counts[c, rng.choice(n_samples, size=size, replace=False)] = 1
    return orders, counts
