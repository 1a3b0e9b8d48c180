"""What is here: RAkEL, an ensemble of label powersets over small random sets of labels."""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from prml.baselines.linear import LinearBaseline, Machine, fit_machine, intercept_alone
from prml.baselines.tasks import run_tasks

# Scores held at once while predicting: 8 MB.
_BLOCK_ENTRIES = 2**20


class RAkEL(LinearBaseline):
    """Random k-labelsets (Tsoumakas, Katakis and Vlahavas 2011).

    Each model looks at k labels and treats every combination of them that occurs in training as a
    class of one multi-class linear machine (one-vs-rest). The score of a label is the mean over
    the models that look at it.

    Parameters
    ----------
    k : int, default=3
        Labels of a model; with fewer labels in all, one model looks at all of them.
    n_models : int, optional
        Number of distinct label sets; by default min(2 n_labels, number of sets of k labels). The
        first of them cover all labels once, the rest are random.
    disjoint : bool, default=False
        Split the labels at random into sets of k instead, one model for each.
    C, loss, fit_intercept, tol, max_iter
        As in `BinaryRelevance`.
    scores : {"decision", "hard"}, default="decision"
        "hard": the share of the models that predict the label (cut at .5). "decision": the mean of
        half the distance between the best combination with the label and the best without it
        (cut at 0), which for k = 1 is the decision value of binary relevance.
    max_time : float, optional
        Seconds after which the models fitted so far make the ensemble; labels that none of them
        looks at score by their frequency.
    n_jobs : int, optional
        Models fitted at once. The result does not depend on it.
    random_state : int or RandomState, optional
        Label sets, and the order in which the dual solvers visit the examples.
    callbacks : callable or list of callables, optional
        Called with a record after every model; a true value ends the fit.
    verbose : int, default=0
        With 1 the records are printed.

    Attributes
    ----------
    labelsets_ : ndarray of shape (n_models, k)
        Labels of each model, ascending; the last set of a disjoint split may be filled with -1.
    class_offsets_ : ndarray of shape (n_models + 1,)
        The classes of model m are the rows class_offsets_[m] to class_offsets_[m + 1] of the
        next three.
    combinations_ : ndarray of shape (n_classes_total, k)
        Which labels of the set each class has.
    coef_ : ndarray of shape (n_classes_total, n_features)
    intercept_ : ndarray of shape (n_classes_total,)
    constant_labels_, prevalence_, n_iter_, converged_, stopped_by_, history_
        As in `BinaryRelevance`.
    classes_, label_names_ : ndarray

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from prml.baselines import RAkEL
    >>> X, Y = make_multilabel_classification(n_samples=60, n_classes=4, random_state=0)
    >>> model = RAkEL(C=0.1, loss="squared_hinge", random_state=0).fit(X, Y)
    >>> model.predict(X).shape, model.labelsets_.shape
    ((60, 4), (4, 3))
    """

    def __init__(
        self,
        *,
        k: int = 3,
        n_models: int | None = None,
        disjoint: bool = False,
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
        self.k = k
        self.n_models = n_models
        self.disjoint = disjoint
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

    def fit(self, X, y) -> "RAkEL":
        """Fit the label powersets to Y (0 and 1, dense or sparse; or a 1-D y)."""
        X, targets, machine, monitor = self._start(X, y)
        labelsets = draw_labelsets(
            np.random.default_rng(machine.seed),
            targets.n_labels,
            self.k,
            self.n_models,
            self.disjoint,
        )
        by_label = targets.positives.tocsc()
        tasks = [(machine, X, by_label, labels) for labels in labelsets]
        fitted: list[Powerset] = []

        def store(powerset: Powerset) -> dict:
            fitted.append(powerset)
            return {"classes": len(powerset.coef)}

        run_tasks(
            fit_powerset,
            tasks,
            store,
            monitor,
            n_jobs=self.n_jobs,
            threads=not machine.solves_dual(*X.shape),
        )
        self.labelsets_ = labelsets[: len(fitted)]
        self.class_offsets_ = np.cumsum([0] + [len(one.coef) for one in fitted])
        self.combinations_ = np.vstack([one.combinations for one in fitted])
        self.coef_ = np.vstack([one.coef for one in fitted])
        self.intercept_ = np.concatenate([one.intercept for one in fitted])
        self.n_iter_ = max(one.n_iter for one in fitted)
        slow = sum(one.n_iter >= self.max_iter for one in fitted)
        self._finish(monitor, done=len(fitted), total=len(labelsets), slow=slow, what="models")
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not 1 <= self.k <= 62:  # a combination is the bits of one integer
            raise ValueError(f"k is {self.k}; expected between 1 and 62.")

    def _scores(self, X) -> np.ndarray:
        n_samples = X.shape[0]
        total = np.zeros((n_samples, self.n_labels_))
        always = intercept_alone(self.loss, 1.0)
        offsets = self.class_offsets_
        first = 0
        while first < len(self.labelsets_):
            # As many models at a time as their scores fit the block, and at least one.
            room = offsets[first] + max(1, _BLOCK_ENTRIES // max(1, n_samples))
            last = max(first + 1, int(np.searchsorted(offsets, room, side="right")) - 1)
            rows = slice(offsets[first], offsets[last])
            values = np.asarray(X @ self.coef_[rows].T)
            values += self.intercept_[rows]
            for m in range(first, last):
                classes = slice(offsets[m] - offsets[first], offsets[m + 1] - offsets[first])
                combinations = self.combinations_[offsets[m] : offsets[m + 1]]
                labels = self.labelsets_[m]
                real = labels >= 0
                if self.scores == "hard":
                    winners = values[:, classes].argmax(axis=1)
                    total[:, labels[real]] += combinations[winners][:, real]
                else:
                    _add_distances(
                        total, labels[real], combinations[:, real], values[:, classes], always
                    )
            first = last
        looks = np.bincount(self.labelsets_[self.labelsets_ >= 0], minlength=self.n_labels_)
        total /= np.maximum(looks, 1)
        unseen = np.flatnonzero(looks == 0)  # the fit was ended before any model looked at them
        alone = intercept_alone(self.loss, self.prevalence_[unseen])
        total[:, unseen] = alone > 0 if self.scores == "hard" else alone
        return total


class Powerset(NamedTuple):
    """One fitted model: a row of `combinations`, `coef` and `intercept` for each class."""

    combinations: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    n_iter: int


def fit_powerset(machine: Machine, X, by_label: sp.csc_matrix, labels: np.ndarray) -> Powerset:
    """Fit one multi-class machine to the combinations of some labels (-1: no label)."""
    codes = np.zeros(X.shape[0], dtype=np.int64)
    for bit, label in enumerate(labels):
        if label >= 0:
            rows = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
            codes[rows] |= 1 << bit
    occurring = np.unique(codes)
    combinations = (occurring[:, None] >> np.arange(len(labels)) & 1).astype(np.int8)
    if len(occurring) == 1:
        return Powerset(combinations, np.zeros((1, X.shape[1])), np.zeros(1), 0)
    fitted = fit_machine(machine, X, codes)
    coef, intercept = fitted.coef, fitted.intercept
    if len(occurring) == 2:
        coef, intercept = np.vstack([-coef, coef]), np.concatenate([-intercept, intercept])
    return Powerset(combinations, coef, intercept, fitted.n_iter)


def draw_labelsets(
    rng: np.random.Generator, n_labels: int, k: int, n_models: int | None, disjoint: bool
) -> np.ndarray:
    """Draw distinct sets of k labels that together cover every label, one ascending set a row.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.baselines.rakel import draw_labelsets
    >>> draw_labelsets(np.random.default_rng(0), 5, 2, None, True).tolist()
    [[2, 4], [0, 3], [-1, 1]]
    """
    k = min(k, n_labels)
    n_cover = math.ceil(n_labels / k)
    shuffled = rng.permutation(n_labels)
    n_short = n_cover * k - n_labels
    # The last set of the split is short of labels: an overlapping one borrows from the first sets.
    filler = np.full(n_short, -1) if disjoint else shuffled[:n_short]
    cover = np.sort(np.concatenate([shuffled, filler]).reshape(n_cover, k), axis=1)
    if disjoint:
        return cover
    n_distinct = math.comb(n_labels, k)
    if n_models is None:
        n_models = min(2 * n_labels, n_distinct)
    if not n_cover <= n_models <= n_distinct:
        raise ValueError(
            f"n_models is {n_models}; {n_labels} labels in sets of {k} need at least {n_cover} "
            f"models to be covered and have {n_distinct} distinct sets."
        )
    chosen = dict.fromkeys(map(tuple, cover.tolist()))
    while len(chosen) < n_models:
        chosen[tuple(sorted(rng.choice(n_labels, size=k, replace=False).tolist()))] = None
    return np.array(list(chosen))


def _add_distances(total, labels, combinations, values, always) -> None:
    """Add half the distance between the best class with a label and the best without it.

    A label that all classes have, or none, adds what an intercept alone would: `always` or its
    opposite.
    """
    for label, has in zip(labels, combinations.T.astype(bool), strict=True):
        if has.all() or not has.any():
            total[:, label] += always if has[0] else -always
        else:
            distance = values[:, has].max(axis=1) - values[:, ~has].max(axis=1)
            total[:, label] += distance / 2
