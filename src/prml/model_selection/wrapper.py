"""What is here: what meta-estimators that work on the scores of another estimator share."""

from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from prml.base import MultilabelEstimator
from prml.model_selection.cross_fit import _cross_fit, scores_of
from prml.sparse_check import indexable_rows
from prml.targets import Targets, read_targets


class ScoreWrapper(MetaEstimatorMixin, MultilabelEstimator):
    """Fit an estimator, and something more to its cross-fitted scores.

    X goes to the wrapped estimator as it came: whatever it accepts is accepted. A subclass takes
    `estimator`, `cv` and `random_state` in its constructor and calls `_fit_estimator` in `fit`.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.target_tags.multi_output = inner.target_tags.multi_output
        if inner.classifier_tags is not None:
            tags.classifier_tags = inner.classifier_tags
        return tags

    def _fit_estimator(self, X: Any, y: Any, groups: Any) -> tuple[np.ndarray, Targets]:
        """Set `estimator_` and what every fitted estimator has; return scores and targets."""
        X, y, groups = indexable_rows(X=X, Y=y, groups=groups)
        targets = read_targets(y, owner=type(self).__name__)
        self.classes_ = targets.classes
        self.label_names_ = targets.label_names
        self._kind = targets.kind
        if isinstance(self.cv, str) and self.cv == "prefit":
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
            scores = scores_of(self.estimator_, X, targets.kind)
            if scores.shape != targets.positives.shape:
                raise ValueError(
                    f"The fitted estimator gave scores of shape {scores.shape}; expected that of "
                    f"Y, {targets.positives.shape}."
                )
        else:
            # the fit to all rows comes first: bad data should fail in the words of the estimator
            self.estimator_ = clone(self.estimator).fit(X, y)
            scores = _cross_fit(self.estimator, X, y, targets, self.cv, groups, self.random_state)
        return scores, targets

    @property
    def n_features_in_(self) -> int:
        try:
            check_is_fitted(self)
        except Exception as error:
            raise AttributeError("n_features_in_ is known after fit.") from error
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        if not hasattr(self, "estimator_"):
            raise AttributeError("feature_names_in_ is known after fit.")
        return self.estimator_.feature_names_in_

    def _check_predict_data(self, X: Any) -> Any:
        check_is_fitted(self)
        return X

    def _scores(self, X: Any) -> np.ndarray:
        return scores_of(self.estimator_, X, self._kind)


def known_entries(targets: Targets) -> tuple[np.ndarray, np.ndarray | None]:
    """Return Y as dense int8 and which entries are known (None: all), for score-sized work."""
    positives = targets.positives.astype(np.int8).toarray()
    if targets.missing is None:
        return positives, None
    return positives, ~targets.missing.astype(bool).toarray()
