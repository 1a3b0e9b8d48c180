"""What is here: probabilities from the scores of any multi-label estimator."""

from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.isotonic import isotonic_regression

from prml.metrics.calibration import ReliabilityCurve, reliability_curve
from prml.model_selection.sigmoids import fit_label_sigmoids
from prml.model_selection.wrapper import ScoreWrapper, known_entries

_METHODS = ("sigmoid", "isotonic")
_EDGE = 1e-9  # probabilities keep this distance from 0 and 1


class MultilabelCalibrator(ScoreWrapper):
    """Turn the scores of an estimator into probabilities, label by label.

    The calibration is learnt from cross-fitted scores, so that it is honest; the estimator itself
    is then fitted to all rows. Rare labels lean on a prior shared by all labels.

    Parameters
    ----------
    estimator : estimator with `decision_function` (or `predict_proba`)
        What is calibrated.
    method : {"sigmoid", "isotonic"}
        "sigmoid" (Platt): two numbers a label, with a normal prior learnt from the frequent labels.
        "isotonic": a free monotone curve, mixed with the label's sigmoid in proportion to its
        number of positives; strictly increasing, so that no order is lost.
    cv : int, splitter, iterable of splits, or "prefit"
        A number stands for that many folds of `MultilabelStratifiedKFold`. With "prefit" the
        estimator is already fitted and the data given to `fit` serve the calibration only.
    min_positives : int
        Labels with at least so many positive and negative examples shape the shared prior; for
        "isotonic" it is also how many positives the prior weighs.
    random_state : int, RandomState instance or None
        Seed of the folds when `cv` is a number; None gives the same folds every time.

    Attributes
    ----------
    estimator_ : the fitted estimator
    slope_, offset_ : ndarrays of shape (n_labels,)
        The sigmoids: probability = 1 / (1 + exp(-(slope * score + offset))).
    prior_mean_, prior_covariance_ : ndarrays of shape (2,) and (2, 2)
        The prior of (slope, offset).
    curve_indptr_, curve_scores_, curve_values_ : ndarrays
        The isotonic curves one after the other, that of label l between indptr[l] and indptr[l+1].
    curve_weight_ : ndarray of shape (n_labels,)
        Weight of the isotonic curve against the sigmoid.
    classes_, label_names_, n_features_in_

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from prml.model_selection import MultilabelCalibrator
    >>> X, Y = make_multilabel_classification(n_samples=300, random_state=0)
    >>> model = MultilabelCalibrator(RidgeClassifier()).fit(X[:200], Y[:200])
    >>> proba = model.predict_proba(X[200:])
    >>> proba.shape, bool((proba > 0).all() and (proba < 1).all())
    ((100, 5), True)
    >>> bool(abs(proba.mean() - Y[200:].mean()) < 0.05)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "sigmoid",
        cv: Any = 5,
        min_positives: int = 10,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.min_positives = min_positives
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> "MultilabelCalibrator":
        """Fit the estimator and the calibration.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            0 and 1; NaN for an unknown label if the estimator accepts it. Or a 1-D y.
        groups : array-like of shape (n_samples,), optional
            Examples of one group are never on both sides of a fold.
        """
        if self.method not in _METHODS:
            raise ValueError(f"method is {self.method!r}; expected one of {_METHODS}.")
        scores, targets = self._fit_estimator(X, y, groups)
        relevant, known = known_entries(targets)
        self.slope_, self.offset_, self.prior_mean_, self.prior_covariance_ = fit_label_sigmoids(
            scores, relevant, known, self.min_positives
        )
        self.__dict__.pop("curve_indptr_", None)  # of an earlier fit
        if self.method == "isotonic":
            self._fit_curves(scores, relevant, known)
        return self

    def _fit_curves(
        self, scores: np.ndarray, relevant: np.ndarray, known: np.ndarray | None
    ) -> None:
        curves, n_positive = [], np.empty(scores.shape[1])
        for label in range(scores.shape[1]):
            seen = slice(None) if known is None else known[:, label]
            s, y = scores[seen, label], relevant[seen, label]
            n_positive[label] = y.sum()
            distinct, where, weight = np.unique(s, return_inverse=True, return_counts=True)
            share = np.bincount(where, weights=y, minlength=len(distinct)) / np.maximum(weight, 1)
            values = isotonic_regression(share, sample_weight=weight, y_min=0, y_max=1)
            # the inside of a level says nothing that its ends do not
            ends = np.ones(len(values), dtype=bool)
            ends[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
            curves.append((distinct[ends], values[ends]))
        self.curve_indptr_ = np.concatenate([[0], np.cumsum([len(s) for s, _ in curves])])
        self.curve_scores_ = np.concatenate([s for s, _ in curves])
        self.curve_values_ = np.concatenate([v for _, v in curves])
        self.curve_weight_ = n_positive / (n_positive + max(1, self.min_positives))

    def _probabilities(self, X: Any) -> np.ndarray:
        scores = super()._scores(X)
        proba = expit(scores * self.slope_ + self.offset_)
        if hasattr(self, "curve_indptr_"):
            for label, weight in enumerate(self.curve_weight_):
                if weight > 0:
                    part = slice(self.curve_indptr_[label], self.curve_indptr_[label + 1])
                    on_curve = np.interp(
                        scores[:, label], self.curve_scores_[part], self.curve_values_[part]
                    )
                    proba[:, label] += weight * (on_curve - proba[:, label])
        return np.clip(proba, _EDGE, 1 - _EDGE, out=proba)

    def _scores(self, X: Any) -> np.ndarray:
        return logit(self._probabilities(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every label for every row.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), in (0, 1)
            After a fit on a 1-D y: one column a class, rows adding up to one.
        """
        proba = self._probabilities(self._check_predict_data(X))
        if self._kind == "binary":
            return np.column_stack([1 - proba[:, 0], proba[:, 0]])[:, -len(self.classes_) :]
        if self._kind == "multiclass":
            return proba / proba.sum(axis=1, keepdims=True)
        return proba

    def reliability_curve(
        self, X: Any, Y: Any, *, n_bins: int = 10, label: int | None = None, mask: Any = None
    ) -> ReliabilityCurve:
        """Compare predicted probabilities with observed frequencies on labelled data.

        Parameters
        ----------
        X, Y
            Data that were not used to fit.
        n_bins, label, mask
            See `prml.metrics.reliability_curve`.
        """
        proba = self._probabilities(self._check_predict_data(X))
        return reliability_curve(Y, proba, n_bins=n_bins, label=label, mask=mask)
