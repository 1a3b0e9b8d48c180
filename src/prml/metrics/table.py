"""What is here: many metrics at once, and the table they come in."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from prml.metrics.gather import gather
from prml.metrics.registry import METRICS, SIX, Metric, f1_of_counts, get_metric

_ALL_KS = (1, 3, 5)


class EvaluationTable(Mapping):
    """The values of several metrics; a mapping from metric name to value.

    Attributes
    ----------
    counts : dict
        For each metric how many entries, examples or labels were averaged.
    by_label : dict of arrays
        What was computed for every label: "auc" and "f1", where a metric needed them.
    n_samples, n_labels : int
        The shape of Y.
    label_names : ndarray
    """

    def __init__(
        self,
        metrics: Sequence[Metric],
        values: dict[str, float],
        counts: dict[str, int],
        n_samples: int,
        label_names: np.ndarray,
        by_label: dict[str, np.ndarray],
    ):
        self.metrics = tuple(metrics)
        self._values = dict(values)
        self.counts = dict(counts)
        self.n_samples, self.n_labels = n_samples, len(label_names)
        self.label_names = label_names
        self.by_label = by_label

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def to_dict(self) -> dict[str, float]:
        """Return the values by metric name."""
        return dict(self._values)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, one row a metric (pandas has to be installed)."""
        import pandas as pd

        rows = [
            (self[m.name], m.better, m.needs, self.counts[m.name], m.unit) for m in self.metrics
        ]
        columns = ["value", "better", "needs", "count", "unit"]
        return pd.DataFrame(rows, columns=columns, index=pd.Index(list(self), name="metric"))

    def __str__(self) -> str:
        lines = [f"{'metric':<20}{'value':>8}  better  mean over"]
        for metric in self.metrics:
            value, count = self[metric.name], self.counts[metric.name]
            shown = "undefined" if np.isnan(value) else f"{value:.4f}"
            total = {"examples": self.n_samples, "labels": self.n_labels}.get(metric.unit, count)
            of = f" of {total:,}" if total != count else ""
            lines.append(
                f"{metric.title:<19}{shown:>9}  {metric.better:<7} {count:,}{of} {metric.unit}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value:.4g}" for name, value in self.items())
        return f"EvaluationTable({inside})"


def evaluate(
    Y: Any,
    scores: Any,
    cut: Any = 0.0,
    metrics: str | Sequence[str] | None = None,
    *,
    mask: Any = None,
    predicted: Any = None,
    propensity: Any = None,
) -> EvaluationTable:
    """Compute several metrics in one walk over the scores (two for macro AUC).

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        0 and 1; NaN (in a dense Y) where a label is unknown.
    scores : array-like of shape (n_samples, n_labels), or row blocks of it
        Blocks are an iterable of arrays that follow each other, or a function that returns one;
        then nothing of the size of the scores is held in memory.
    cut : float or array of shape (n_labels,)
        Labels scored above it count as predicted.
    metrics : list of str, "all" or str, optional
        Names of the registry, such as "micro_f1" or "precision@3"; by default the six of the paper.
    mask : boolean array or sparse matrix of shape (n_samples, n_labels), optional
        True for the known entries of Y.
    predicted : array or sparse matrix of shape (n_samples, n_labels), optional
        Predicted labels, instead of ``scores > cut``.
    propensity : array of shape (n_labels,), optional
        For "psp@k": `propensities` of the training labels; estimated from Y when left out.

    Returns
    -------
    EvaluationTable

    Examples
    --------
    >>> from prml.metrics import evaluate
    >>> Y = [[1, 0, 0], [0, 1, 1], [1, 0, 1]]
    >>> scores = [[0.7, -0.2, -0.5], [-0.1, 0.6, -0.3], [0.4, -0.8, 0.9]]
    >>> table = evaluate(Y, scores)
    >>> print(table)
    metric                 value  better  mean over
    Hamming loss          0.1111  lower   9 entries
    one-error             0.0000  lower   3 examples
    coverage              0.3333  lower   3 examples
    ranking loss          0.1667  lower   3 examples
    average precision     0.9444  higher  3 examples
    macro AUC             1.0000  higher  3 labels
    >>> table["ranking_loss"]
    0.16666666666666666
    """
    chosen = [get_metric(name) for name in _names(metrics, Y)]
    gathered = gather(
        Y,
        scores,
        parts={metric.part for metric in chosen},
        cut=cut,
        ks=[metric.k for metric in chosen if metric.k is not None],
        propensity=propensity,
        mask=mask,
        predicted=predicted,
    )
    values, counts = {}, {}
    for metric in chosen:
        values[metric.name], counts[metric.name] = metric.value(gathered)
    by_label = {}
    if gathered.auc is not None:
        by_label["auc"] = gathered.auc
    if gathered.by_label is not None:
        by_label["f1"] = f1_of_counts(gathered.by_label)
    return EvaluationTable(
        chosen, values, counts, gathered.n_samples, gathered.label_names, by_label
    )


def _names(metrics: str | Sequence[str] | None, Y: Any) -> list[str]:
    if metrics is None:
        return list(SIX)
    if isinstance(metrics, str) and metrics == "all":
        shape = np.shape(Y)
        n_labels = shape[1] if len(shape) == 2 else len(np.unique(np.asarray(Y)))
        return [
            name
            for family in METRICS
            for name in (
                [family[:-1] + str(k) for k in _ALL_KS if k <= n_labels]
                if family.endswith("@k")
                else [family]
            )
        ]
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    if not names:
        raise ValueError("metrics is empty; expected names of metrics, or None for the six.")
    return list(dict.fromkeys(names))


def scorer(name: str) -> Callable[[Any, Any, Any], float]:
    """Make a metric usable as `scoring` in scikit-learn's model selection.

    Metrics of scores read `decision_function` (or `predict_proba` where there is none), metrics of
    labels read `predict`. The sign is turned where lower is better, so that greater is better.

    Parameters
    ----------
    name : str
        A name of the registry.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> from prml.metrics import scorer
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> cross_val_score(RidgeClassifier(), X, Y, cv=3, scoring=scorer("ranking_loss")).shape
    (3,)
    """
    metric = get_metric(name)

    def score(estimator: Any, X: Any, Y: Any) -> float:
        if metric.needs == "labels":
            predicted = estimator.predict(X)
            table = evaluate(Y, predicted, cut=0.5, metrics=[name])
        elif hasattr(estimator, "decision_function"):
            table = evaluate(Y, estimator.decision_function(X), metrics=[name])
        else:
            table = evaluate(Y, estimator.predict_proba(X), metrics=[name])
        return metric.sign * table[name]

    score.__name__ = name
    return score
