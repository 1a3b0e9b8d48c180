"""What is here: what a fitted model says of its labels - teachers, relations, excuses, features.

The teacher of label i reads the other labels of an example as v_l = 1 (present), -1 (absent) or 0
(unknown) and grants the slack xi = intercept + sum_l wt_l v_l. Measured from an example that has
none of the labels, a present label therefore adds 2 wt_l and an unknown one wt_l.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from prml.targets import read_targets


class Excuse(NamedTuple):
    """What the teacher of a label grants one example, and why.

    Attributes
    ----------
    slack : float
        By how much the margin may fall short of 1: ``baseline`` plus the amounts of *all* labels.
    baseline : float
        The slack of an example that has no label at all.
    reasons : list of (label name, amount)
        The labels that move the slack most, strongest first; positive amounts excuse.

    Examples
    --------
    >>> from prml.estimators.understanding import Excuse
    >>> excuse = Excuse(slack=0.7, baseline=0.1, reasons=[("sea", 0.6)])
    >>> excuse.reasons[0]
    ('sea', 0.6)
    """

    slack: float
    baseline: float
    reasons: list[tuple[Any, float]]


class UnderstandingMixin:
    """Questions to a model with `coef_`, `privileged_coef_` and `privileged_intercept_`."""

    coef_: np.ndarray
    privileged_coef_: np.ndarray
    privileged_intercept_: np.ndarray
    label_names_: np.ndarray

    def teachers(self, label: Any, n: int = 10) -> list[tuple[Any, float]]:
        """The labels that comment most on a label while it is learned.

        Parameters
        ----------
        label : a label name, or its position
        n : int

        Returns
        -------
        list of (label name, weight), strongest first. A positive weight: examples that have the
        commenting label are excused (their slack is larger); a negative one: they are not.

        Examples
        --------
        >>> from sklearn.datasets import make_multilabel_classification
        >>> from prml import PrBR
        >>> X, Y = make_multilabel_classification(n_classes=4, random_state=0)
        >>> model = PrBR(loss="squared_hinge").fit(X, Y)
        >>> [label for label, weight in model.teachers(0, n=2)]
        [3, 2]
        """
        check_is_fitted(self)
        weights = self.privileged_coef_[self._label_position(label)]
        return _strongest(weights, self.label_names_, n)

    def label_relations(self, *, symmetric: bool = False) -> np.ndarray:
        """By how much each label, when present, raises the slack of each other one.

        Parameters
        ----------
        symmetric : bool
            Take the mean of the two directions: a relation instead of a comment, for clustering
            labels or drawing them as a graph.

        Returns
        -------
        ndarray of shape (n_labels, n_labels)
            Row: the label that is learned; column: the label that comments; ``2 *
            privileged_coef_``, the diagonal zero.

        Examples
        --------
        >>> from sklearn.datasets import make_multilabel_classification
        >>> from prml import PrBR
        >>> X, Y = make_multilabel_classification(n_classes=4, random_state=0)
        >>> relations = PrBR(loss="squared_hinge").fit(X, Y).label_relations(symmetric=True)
        >>> bool((relations == relations.T).all() and (relations.diagonal() == 0).all())
        True
        """
        check_is_fitted(self)
        comments = self.privileged_coef_
        return comments + comments.T if symmetric else 2.0 * comments

    def explain_slack(self, label: Any, Y: Any, n: int = 3) -> list[Excuse]:
        """Tell which of their labels excuse examples from being right about one label.

        Parameters
        ----------
        label : a label name, or its position
        Y : array or sparse matrix of shape (n_samples, n_labels)
            All labels of the examples; the column of `label` itself is not read, NaN is unknown.
        n : int
            How many reasons to name for each example.

        Returns
        -------
        list of Excuse
            One for each row: the slack granted, and the labels it comes from.

        Examples
        --------
        >>> from sklearn.datasets import make_multilabel_classification
        >>> from prml import PrBR
        >>> X, Y = make_multilabel_classification(n_classes=4, random_state=0)
        >>> model = PrBR(loss="squared_hinge").fit(X, Y)
        >>> excuse = model.explain_slack(0, Y[:1], n=4)[0]
        >>> amounts = sum(amount for label, amount in excuse.reasons)
        >>> bool(abs(excuse.slack - excuse.baseline - amounts) < 1e-12)
        True
        """
        check_is_fitted(self)
        position = self._label_position(label)
        weights = self.privileged_coef_[position]
        baseline = float(self.privileged_intercept_[position] - weights.sum())
        targets = read_targets(Y, owner="explain_slack")
        if targets.kind != "multilabel" or targets.n_labels != len(weights):
            raise ValueError(
                f"Y has {targets.n_labels} label column(s); expected all {len(weights)} labels of "
                "the model for every example."
            )
        excuses = []
        for j in range(targets.n_samples):
            amounts = np.zeros(len(weights))
            present = targets.positives[[j]].indices
            amounts[present] = 2.0 * weights[present]
            if targets.missing is not None:
                unknown = targets.missing[[j]].indices
                amounts[unknown] = weights[unknown]
            slack = baseline + float(amounts.sum())
            excuses.append(Excuse(slack, baseline, _strongest(amounts, self.label_names_, n)))
        return excuses

    def feature_weights(
        self, label: Any, n: int = 10, *, feature_names: Any = None
    ) -> list[tuple[Any, float]]:
        """The features that speak most for a label, or against it.

        Parameters
        ----------
        label : a label name, or its position
        n : int
        feature_names : sequence, optional
            By default the column names of the DataFrame that the model was fitted to, or positions.

        Returns
        -------
        list of (feature name, weight), strongest first: weights of `coef_`, comparable where the
        features are of one scale.

        Examples
        --------
        >>> from sklearn.datasets import make_multilabel_classification
        >>> from prml import PrBR
        >>> X, Y = make_multilabel_classification(n_classes=4, random_state=0)
        >>> model = PrBR(loss="squared_hinge").fit(X, Y)
        >>> len(model.feature_weights(0, n=5))
        5
        """
        check_is_fitted(self)
        n_features = self.n_features_in_  # type: ignore[attr-defined]
        if hasattr(self, "landmarks_"):
            raise ValueError(
                f"{type(self).__name__} was fitted with a kernel: its coefficients are those of "
                "training rows, not of features; expected kernel='linear'."
            )
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", range(n_features))
        if len(feature_names) != n_features:
            raise ValueError(
                f"feature_names has {len(feature_names)} entries; expected one for each of the "
                f"{n_features} features."
            )
        return _strongest(self.coef_[self._label_position(label)], feature_names, n)

    def _label_position(self, label: Any) -> int:
        found = np.flatnonzero(self.label_names_ == label)
        if len(found):
            return int(found[0])
        n_labels = len(self.label_names_)
        if isinstance(label, int | np.integer) and 0 <= label < n_labels:
            return int(label)
        raise ValueError(
            f"{label!r} is not a label of this model; expected one of its {n_labels} label "
            "names, or a position."
        )


def _strongest(weights: np.ndarray, names: Any, n: int) -> list[tuple[Any, float]]:
    """The n largest weights by size, with their names; zeros say nothing and are left out."""
    order = np.argsort(-np.abs(weights), kind="stable")[:n]
    plain = names.tolist() if hasattr(names, "tolist") else list(names)
    return [(plain[l], float(weights[l])) for l in order if weights[l] != 0.0]
