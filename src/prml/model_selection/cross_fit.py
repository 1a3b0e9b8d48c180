"""What is here: scores of training examples from models that did not see them."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from prml.model_selection.splits import MultilabelStratifiedKFold
from prml.sparse_check import indexable_rows
from prml.targets import Targets, read_targets


def scores_of(estimator: Any, X: Any, kind: str = "multilabel") -> np.ndarray:
    """Return the scores of a fitted estimator, shape (n_samples, n_labels).

    Reads `decision_function`, or `predict_proba` where there is none. `kind` is that of
    `prml.targets.Targets`: for a binary 1-D y the one column is that of the second class.
    """
    if hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(X)
    elif hasattr(estimator, "predict_proba"):
        scores = estimator.predict_proba(X)
        if isinstance(scores, list):  # one (n_samples, 2) array for each label
            scores = np.column_stack(
                [p[:, 1] if p.shape[1] == 2 else np.zeros(len(p)) for p in scores]
            )
        elif kind == "binary" and scores.ndim == 2 and scores.shape[1] == 2:
            scores = scores[:, 1]
    else:
        raise ValueError(
            f"{type(estimator).__name__} has neither decision_function nor predict_proba; expected "
            "an estimator that scores the labels."
        )
    scores = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(scores).all():
        row = int(np.argwhere(~np.isfinite(scores))[0, 0])
        raise ValueError(
            f"{type(estimator).__name__} gave a score of NaN or infinity at row {row} of the rows "
            "it was asked for; expected finite scores."
        )
    return scores[:, None] if scores.ndim == 1 else scores


def cross_fitted_scores(
    estimator: Any, X: Any, Y: Any, *, cv: Any = 5, groups: Any = None, random_state: Any = None
) -> np.ndarray:
    """Score every example with a model fitted to the other folds.

    Parameters
    ----------
    estimator : estimator with `decision_function` or `predict_proba`
        Cloned and fitted once a fold.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Passed on as it is.
    Y : array-like or sparse matrix of shape (n_samples, n_labels), or 1-D y
        Passed on as it is.
    cv : int, splitter or iterable of (train, test) row numbers
        A number stands for that many folds of `MultilabelStratifiedKFold`.
    groups : array-like of shape (n_samples,), optional
        Examples of one group are never on both sides.
    random_state : int, RandomState instance or None
        Seed of the folds when `cv` is a number; None gives the same folds every time.

    Returns
    -------
    ndarray of shape (n_samples, n_labels)

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from prml.model_selection import cross_fitted_scores
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> cross_fitted_scores(RidgeClassifier(), X, Y, cv=3).shape
    (100, 5)
    """
    X, Y, groups = indexable_rows(X=X, Y=Y, groups=groups)
    return _cross_fit(estimator, X, Y, read_targets(Y), cv, groups, random_state)


def _cross_fit(
    estimator: Any, X: Any, Y: Any, targets: Targets, cv: Any, groups: Any, random_state: Any
) -> np.ndarray:
    if isinstance(cv, int | np.integer):
        seeded = random_state is not None
        cv = MultilabelStratifiedKFold(int(cv), shuffle=seeded, random_state=random_state)
    scores = np.full(targets.positives.shape, np.nan)
    times_tested = np.zeros(targets.n_samples, dtype=np.int64)
    for train, test in check_cv(cv).split(X, Y, groups):
        with warnings.catch_warnings():
            # a label may be absent from a fold; that says nothing about the user's data
            warnings.filterwarnings("ignore", message="Label .* present in all training examples")
            model = clone(estimator).fit(_safe_indexing(X, train), _safe_indexing(Y, train))
        of_fold = scores_of(model, _safe_indexing(X, test), targets.kind)
        if of_fold.shape[1] != targets.n_labels:
            raise ValueError(
                f"{type(estimator).__name__} gave {of_fold.shape[1]} columns of scores for "
                f"{targets.n_labels} labels; expected one a label even when a fold lacks it."
            )
        scores[test] = of_fold
        times_tested[test] += 1
    if (times_tested != 1).any():
        row = int(np.flatnonzero(times_tested != 1)[0])
        raise ValueError(
            f"cv tests row {row} {times_tested[row]} times; expected folds that test every row "
            "once."
        )
    return scores
