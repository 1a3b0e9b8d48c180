"""What is here: TeacherTransfer, labels estimated in a first fit and read as features by a second.

While it learns, a label hears the other labels of an example; at prediction time they are silent.
Here their estimates speak in their place (knowledge transfer, Vapnik & Izmailov 2015).
"""

import numbers
import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from prml.base import MultilabelEstimator
from prml.model_selection.cross_fit import _cross_fit, scores_of
from prml.sparse_check import indexable_rows
from prml.targets import Targets


def _second_stage_has(method: str):
    def check(self) -> bool:
        inner = self.final_estimator if self.final_estimator is not None else self.estimator
        getattr(getattr(self, "final_estimator_", inner), method)
        return True

    return check


class TeacherTransfer(MetaEstimatorMixin, MultilabelEstimator):
    """Append cross-fitted scores of the labels to the features, and fit again.

    A first stage scores every training row with a model that was fitted to the other folds. These
    scores, centred and brought to the size of the features, are appended to them, and a second
    stage is fitted. New rows are scored by a first stage fitted to all training rows. The scores of
    a training row never come from a model that saw it, so the second stage learns how far to trust
    them. Sparse features stay sparse; the scores themselves are a dense block, of
    n_samples * (size of the pool) numbers.

    Parameters
    ----------
    estimator : estimator with `decision_function` (or `predict_proba`)
        The first stage; cloned. Scaling belongs before this meta-estimator, not into it: a step
        that normalises rows would mix the scores into the norm.
    final_estimator : estimator, optional
        The second stage; by default a clone of `estimator`.
    cv : int, splitter, iterable of splits, or "prefit"
        A number stands for that many folds of `MultilabelStratifiedKFold`. With "prefit" the
        estimator is already fitted, to data other than those given to `fit`.
    scale : float
        Size of the scores: the root of their mean squared length over a row, divided by that of the
        features. All labels share one factor, so that a label that hardly varies stays quiet.
    pool : "all", int or array-like of label positions
        Whose scores are features: all labels, the so many most frequent ones, or those listed.
    passthrough : bool
        Whether the features stay beside the scores; without them the second stage sees scores only.
    random_state : int, RandomState instance or None
        Seed of the folds when `cv` is a number; None gives the same folds every time.

    Attributes
    ----------
    estimator_ : the first stage, fitted to all rows
    final_estimator_ : the second stage
    pool_ : ndarray
        Positions of the labels whose scores are features.
    score_mean_ : ndarray of shape (n_pool,)
    score_factor_ : float
        The second stage reads ``(score - score_mean_) * score_factor_``.
    classes_, label_names_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from prml import PrBR, TeacherTransfer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> Y = (X @ rng.normal(size=(4, 3)) > 0).astype(int)
    >>> ridge = PrBR(loss="squared", privileged=None)
    >>> model = TeacherTransfer(ridge, cv=3).fit(X, Y)
    >>> model.final_estimator_.n_features_in_
    7
    >>> model.predict(X[:2]).shape
    (2, 3)
    """

    _allow_missing_labels = True
    estimator_: Any
    final_estimator_: Any
    score_mean_: np.ndarray
    score_factor_: float

    def __init__(
        self,
        estimator: Any,
        *,
        final_estimator: Any = None,
        cv: Any = 5,
        scale: float = 1.0,
        pool: Any = "all",
        passthrough: bool = True,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.final_estimator = final_estimator
        self.cv = cv
        self.scale = scale
        self.pool = pool
        self.passthrough = passthrough
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        if inner.classifier_tags is not None:
            tags.classifier_tags = inner.classifier_tags
        return tags

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit both stages.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array, sparse matrix or DataFrame of shape (n_samples, n_labels), or 1-D
            Passed on to both stages as it is.
        groups : array of shape (n_samples,), optional
            Rows of one group never score each other.

        Returns
        -------
        self
        """
        if not (isinstance(self.scale, numbers.Real) and 0 < self.scale < np.inf):
            raise ValueError(
                f"TeacherTransfer: scale is {self.scale!r}; expected a finite number above 0."
            )
        X, targets = self._read_training_data(X, y)
        X, y, groups = indexable_rows(X=X, Y=y, groups=groups)  # y goes on as it came, by rows
        self.pool_ = _read_pool(self.pool, targets)
        scores = self._first_stage(X, y, targets, groups)[:, self.pool_]
        self.score_mean_ = scores.mean(axis=0)
        self.score_factor_ = float(self.scale) * _row_size(X) / _row_size(scores - self.score_mean_)
        second = self.estimator if self.final_estimator is None else self.final_estimator
        self.final_estimator_ = clone(second).fit(self._with_scores(X, scores), y)
        return self

    def _first_stage(self, X, y, targets: Targets, groups) -> np.ndarray:
        """Set `estimator_`; return scores of the training rows that no model was fitted to."""
        if isinstance(self.cv, str) and self.cv == "prefit":
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
            scores = scores_of(self.estimator_, X, targets.kind)
            if scores.shape != targets.positives.shape:
                raise ValueError(
                    f"The fitted first stage gave scores of shape {scores.shape}; expected that of "
                    f"Y, {targets.positives.shape}."
                )
            return scores
        # the fit to all rows comes first: bad data should fail in the words of the estimator
        self.estimator_ = clone(self.estimator).fit(X, y)
        with warnings.catch_warnings():
            # what the fit to all rows has said, or what is true of one fold only
            warnings.filterwarnings("ignore", message="For .* the optimum cannot be told from")
            return _cross_fit(self.estimator, X, y, targets, self.cv, groups, self.random_state)

    def _with_scores(self, X, scores: np.ndarray):
        """Put the scores of the pool beside the features."""
        block = ((scores - self.score_mean_) * self.score_factor_).astype(X.dtype, copy=False)
        if not self.passthrough:
            return block
        if sp.issparse(X):
            return sp.hstack([X, sp.csr_matrix(block)], format="csr")
        return np.hstack([X, block])

    def _second_stage_features(self, X):
        scores = scores_of(self.estimator_, X, self._kind)
        return self._with_scores(X, scores[:, self.pool_])

    def _scores(self, X) -> np.ndarray:
        return scores_of(self.final_estimator_, self._second_stage_features(X), self._kind)

    def predict(self, X) -> np.ndarray:
        """Predict the labels of every row, as the second stage does."""
        X = self._check_predict_data(X)
        return self.final_estimator_.predict(self._second_stage_features(X))

    @available_if(_second_stage_has("predict_proba"))
    def predict_proba(self, X) -> np.ndarray:
        """Return the probabilities of the second stage."""
        X = self._check_predict_data(X)
        return self.final_estimator_.predict_proba(self._second_stage_features(X))


def _row_size(rows: Any) -> float:
    """Root of the mean squared length of the rows; 1 where all are zero."""
    values = rows.data if sp.issparse(rows) else np.asarray(rows)
    square = float(np.vdot(values, values)) / max(rows.shape[0], 1)
    return float(np.sqrt(square)) or 1.0


def _read_pool(pool: Any, targets: Targets) -> np.ndarray:
    """Positions of the labels of a pool, ascending."""
    n_labels = targets.n_labels
    if isinstance(pool, str) and pool == "all":
        return np.arange(n_labels)
    if isinstance(pool, numbers.Integral) and not isinstance(pool, bool):
        if int(pool) < 1:
            raise ValueError(f"TeacherTransfer: pool is {pool}; expected at least one label.")
        return np.sort(np.argsort(-targets.present, kind="stable")[: int(pool)])
    positions = np.asarray(pool)
    if positions.ndim != 1 or len(positions) == 0 or positions.dtype.kind not in "iu":
        raise ValueError(
            f"TeacherTransfer: pool is {pool!r}; expected 'all', a number of labels, or a list of "
            "label positions."
        )
    if positions.min() < 0 or positions.max() >= n_labels:
        raise ValueError(
            f"TeacherTransfer: pool holds the position "
            f"{positions.min() if positions.min() < 0 else positions.max()}; expected positions "
            f"from 0 to {n_labels - 1}."
        )
    return np.unique(positions)
