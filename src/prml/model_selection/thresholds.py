"""What is here: the cut above which a label is predicted, learnt from cross-fitted scores."""

import numbers
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.metaestimators import available_if

from prml.metrics.gather import gather
from prml.metrics.registry import get_metric
from prml.model_selection.cut_loops import choose_by_expected_f1
from prml.model_selection.cuts import best_global_cut, best_label_cuts, mark_top_k
from prml.model_selection.sigmoids import fit_label_sigmoids
from prml.model_selection.wrapper import ScoreWrapper, known_entries
from prml.targets import Targets

# which metrics a strategy can be tuned to, the default first
_GOALS = {
    "per_label": ("macro_f1", "micro_f1", "hamming_loss"),
    "global": ("micro_f1", "macro_f1", "example_f1", "hamming_loss", "subset_accuracy"),
    "top_k": ("example_f1", "micro_f1", "macro_f1", "hamming_loss", "subset_accuracy"),
    "f_measure": ("example_f1",),
}
_LABELS_WEIGHED = 128  # candidates of a row in "f_measure"


def _estimator_has_probabilities(tuner: Any) -> bool:
    return hasattr(getattr(tuner, "estimator_", tuner.estimator), "predict_proba")


class ThresholdTuner(ScoreWrapper):
    """Choose the labels to predict from an estimator's scores.

    The choice is learnt from cross-fitted scores of the training data; the estimator itself is then
    fitted to all rows. The scores, and with them every ranking metric, stay as they are.

    Parameters
    ----------
    estimator : estimator with `decision_function` (or `predict_proba`)
        Where the scores come from.
    strategy : {"per_label", "global", "top_k", "f_measure"}
        "per_label": a cut for each label, drawn towards the best global cut where positives are
        few. "global": one cut for all. "top_k": the k best labels of every
        example. "f_measure": for every example the set of labels with the greatest expected F1
        under its estimated probabilities (a sigmoid a label).
    metric : str, optional
        What is made as good as possible on the cross-fitted scores. "per_label": "macro_f1"
        (default), "micro_f1" or "hamming_loss"; "global": "micro_f1" (default) or any metric of
        predicted labels; "top_k": "example_f1" (default) or any of these.
    k : int, optional
        For "top_k": how many labels; by default the best number.
    min_positives : int
        The guard of "per_label": a label with P positives gets ``(P * own + min_positives *
        shared) / (P + min_positives)`` as its cut, and the shared one when P is below
        `min_positives`. 0 lets every label have its own. "f_measure" uses it as
        `MultilabelCalibrator` does.
    cv : int, splitter, iterable of splits, or "prefit"
        A number stands for that many folds of `MultilabelStratifiedKFold`. With "prefit" the
        estimator is already fitted and the data given to `fit` serve the choice only.
    random_state : int, RandomState instance or None
        Seed of the folds when `cv` is a number; None gives the same folds every time.

    Attributes
    ----------
    estimator_ : the fitted estimator
    cut_ : ndarray of shape (n_labels,)
        The cuts of "per_label" and "global".
    own_cut_ : boolean ndarray of shape (n_labels,)
        Labels that have a cut of their own.
    k_ : int
        The number of labels of "top_k".
    slope_, offset_ : ndarrays of shape (n_labels,)
        The sigmoids of "f_measure".
    best_score_, plain_score_ : float
        The metric on the cross-fitted scores, as tuned and with the estimator's own cut (0, or one
        half where it gives probabilities only). `best_score_` is optimistic: it was the goal.
    classes_, label_names_, n_features_in_

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from prml.metrics import macro_f1
    >>> from prml.model_selection import ThresholdTuner
    >>> X, Y = make_multilabel_classification(n_samples=400, n_classes=8, random_state=0)
    >>> plain = RidgeClassifier().fit(X[:200], Y[:200])
    >>> tuned = ThresholdTuner(RidgeClassifier()).fit(X[:200], Y[:200])
    >>> macro_f1(Y[200:], tuned.predict(X[200:])) > macro_f1(Y[200:], plain.predict(X[200:]))
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        strategy: str = "per_label",
        metric: str | None = None,
        k: int | None = None,
        min_positives: int = 20,
        cv: Any = 5,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.strategy = strategy
        self.metric = metric
        self.k = k
        self.min_positives = min_positives
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> "ThresholdTuner":
        """Fit the estimator and learn what to predict.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            0 and 1; NaN for an unknown label if the estimator accepts it. Or a 1-D y.
        groups : array-like of shape (n_samples,), optional
            Examples of one group are never on both sides of a fold.
        """
        goal = self._goal()
        scores, targets = self._fit_estimator(X, y, groups)
        relevant, known = known_entries(targets)
        for name in ("cut_", "own_cut_", "k_", "slope_", "offset_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.strategy == "top_k":
            self.k_ = self._best_k(scores, relevant, known, goal)
        elif self.strategy == "f_measure":
            self.slope_, self.offset_, _, _ = fit_label_sigmoids(
                scores, relevant, known, self.min_positives
            )
        else:
            self.cut_ = np.full(targets.n_labels, best_global_cut(scores, relevant, known, goal))
            self.own_cut_ = np.zeros(targets.n_labels, dtype=bool)
            if self.strategy == "per_label":
                self._tune_each_label(scores, relevant, known, goal)
        self.best_score_ = _measure(goal, targets, scores, self._choose(scores))
        self.plain_score_ = _measure(goal, targets, scores, scores > self._plain_cut)
        return self

    def _tune_each_label(
        self, scores: np.ndarray, relevant: np.ndarray, known: np.ndarray | None, goal: str
    ) -> None:
        seen = relevant if known is None else relevant * known
        n_positive = seen.sum(axis=0, dtype=np.int64)
        self.own_cut_ = n_positive >= max(1, self.min_positives)
        shared = self.cut_
        own = best_label_cuts(scores, relevant, known, goal, self.own_cut_, shared[0])
        trust = n_positive / np.maximum(1, n_positive + self.min_positives)
        self.cut_ = np.where(self.own_cut_, shared + trust * (own - shared), shared)

    def _goal(self) -> str:
        if self.strategy not in _GOALS:
            raise ValueError(f"strategy is {self.strategy!r}; expected one of {', '.join(_GOALS)}.")
        goals = _GOALS[self.strategy]
        if self.metric is not None and self.metric not in goals:
            raise ValueError(
                f"metric is {self.metric!r}; with strategy {self.strategy!r} expected one of "
                f"{', '.join(goals)}."
            )
        return self.metric or goals[0]

    def _best_k(
        self, scores: np.ndarray, relevant: np.ndarray, known: np.ndarray | None, goal: str
    ) -> int:
        n_labels = scores.shape[1]
        if self.k is not None:
            if not isinstance(self.k, numbers.Integral) or not 1 <= int(self.k) <= n_labels:
                raise ValueError(
                    f"k is {self.k!r}; expected a whole number from 1 to the {n_labels} labels."
                )
            return int(self.k)
        # more labels than any example has cannot help
        largest = max(1, int(relevant.sum(axis=1, dtype=np.int64).max(initial=0)))
        metric, best, best_k = get_metric(goal), -np.inf, 1
        for k in range(1, min(largest, n_labels) + 1):
            predicted = mark_top_k(scores, k)
            gathered = gather(relevant, predicted, parts={"cuts"}, mask=known, binary=True)
            value = metric.sign * metric.value(gathered)[0]
            if value > best:
                best, best_k = value, k
        return best_k

    @property
    def _plain_cut(self) -> float:
        return 0.0 if hasattr(self.estimator_, "decision_function") else 0.5

    def _choose(self, scores: np.ndarray) -> np.ndarray:
        """Mark the labels to predict."""
        if self.strategy == "top_k" and self._kind != "binary":
            return mark_top_k(scores, self.k_)
        if self.strategy == "f_measure":
            chosen = np.empty(scores.shape, dtype=bool)
            proba = expit(scores * self.slope_ + self.offset_)
            choose_by_expected_f1(proba, _LABELS_WEIGHED, chosen)
            return chosen
        return scores > getattr(self, "cut_", self._plain_cut)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of the wrapped estimator, unchanged.

        Only after a fit on a binary 1-D y, where there is no order between labels to keep, are they
        moved so that the second class is predicted above 0.
        """
        scores = super().decision_function(X)
        if self._kind != "binary":
            return scores
        if hasattr(self, "slope_"):
            return scores * self.slope_[0] + self.offset_[0]
        return scores - (self.cut_[0] if hasattr(self, "cut_") else self._plain_cut)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the labels of every row.

        Returns
        -------
        ndarray of 0 and 1, shape (n_samples, n_labels)
            After a fit on a 1-D y its classes; of more than two the one with the highest score,
            since one has to be named whatever the cuts.
        """
        scores = self._scores(self._check_predict_data(X))
        if self._kind == "multiclass":
            return self.classes_[scores.argmax(axis=1)]
        chosen = self._choose(scores)
        if self._kind == "binary":
            return self.classes_[np.minimum(chosen[:, 0], len(self.classes_) - 1).astype(np.intp)]
        return chosen.astype(np.int64)

    @available_if(_estimator_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the wrapped estimator, unchanged."""
        self._check_predict_data(X)
        return self.estimator_.predict_proba(X)


def _measure(goal: str, targets: Targets, scores: np.ndarray, chosen: np.ndarray) -> float:
    known = None if targets.missing is None else ~targets.missing.astype(bool).toarray()
    gathered = gather(targets.positives, chosen, parts={"cuts"}, mask=known, binary=True)
    return get_metric(goal).value(gathered)[0]
