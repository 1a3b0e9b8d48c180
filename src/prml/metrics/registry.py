"""What is here: the table of metrics: direction, input kind, and how each follows from counts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prml.metrics.gather import Gathered


@dataclass(frozen=True)
class Metric:
    """One metric of the registry.

    Attributes
    ----------
    name : str
        Key in the registry; a family ends in ``@k`` and is asked for as, say, ``precision@5``.
    title : str
        How tables call it.
    better : {"lower", "higher"}
    needs : {"scores", "labels"}
        Whether it looks at the order of the scores or at the predicted labels.
    unit : {"entries", "examples", "labels"}
        What it is a mean over.
    summary : str
        Its definition in a sentence.
    k : int or None
        Labels looked at in an ``@k`` metric.
    """

    name: str
    title: str
    better: str
    needs: str
    unit: str
    summary: str
    part: str
    compute: Callable[[Gathered, Any], tuple[float, int]]
    k: int | None = None

    @property
    def sign(self) -> int:
        """1 when higher is better, else -1: ``sign * value`` is always to be maximised."""
        return 1 if self.better == "higher" else -1

    def value(self, gathered: Gathered) -> tuple[float, int]:
        """Return the value and how many units it was averaged over."""
        return self.compute(gathered, self.k)


def mean_of_defined(values: np.ndarray) -> tuple[float, int]:
    """Return the mean of the entries that are not NaN, and their number; NaN for none."""
    values = values[~np.isnan(values)]
    return (float(values.mean()) if len(values) else float("nan")), len(values)


def ratio(numerator: Any, denominator: Any) -> np.ndarray:
    """Divide, NaN where the denominator is 0."""
    numerator = np.asarray(numerator, dtype=np.float64)
    denominator = np.asarray(denominator, dtype=np.float64)
    result = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    return np.divide(numerator, denominator, out=result, where=denominator != 0)


def f1_of_counts(counts: np.ndarray) -> np.ndarray:
    """Return F1 from true positives, false positives and false negatives; NaN when all are 0."""
    right, added, left_out = counts[:3]
    return ratio(2 * right, 2 * right + added + left_out)


def _row_mean(field: str) -> Callable[[Gathered, Any], tuple[float, int]]:
    return lambda g, k: mean_of_defined(getattr(g, field))


def _hamming(g: Gathered, k: Any) -> tuple[float, int]:
    n_known = int(g.by_row[3].sum())
    return float(ratio(g.by_label[1:].sum(), n_known)), n_known


def _subset(g: Gathered, k: Any) -> tuple[float, int]:
    exact = (g.by_row[1] + g.by_row[2] == 0).astype(np.float64)
    return mean_of_defined(exact[g.by_row[3] > 0])


def _micro_f1(g: Gathered, k: Any) -> tuple[float, int]:
    return float(f1_of_counts(g.by_label.sum(axis=1))), int(g.by_row[3].sum())


def _ndcg(g: Gathered, k: Any) -> tuple[float, int]:
    return mean_of_defined(ratio(g.top[k]["gains"], g.top[k]["ideal_gains"]))


def _weighted_precision(g: Gathered, k: Any) -> tuple[float, int]:
    best = g.top[k]["best"]
    return float(ratio(g.top[k]["weighted"].sum(), best.sum())), int((best > 0).sum())


_TABLE = [
    Metric(
        "hamming_loss", "Hamming loss", "lower", "labels", "entries",
        "share of entries predicted wrongly",
        "cuts", _hamming,
    ),
    Metric(
        "one_error", "one-error", "lower", "scores", "examples",
        "share of examples whose top label is irrelevant",
        "ranks", _row_mean("one_error"),
    ),
    Metric(
        "coverage", "coverage", "lower", "scores", "examples",
        "labels to go down the ranking until all relevant ones are seen, less one, over n_labels",
        "ranks", _row_mean("coverage"),
    ),
    Metric(
        "ranking_loss", "ranking loss", "lower", "scores", "examples",
        "share of (relevant, irrelevant) pairs in wrong order; a tie is wrong",
        "ranks", _row_mean("ranking_loss"),
    ),
    Metric(
        "average_precision", "average precision", "higher", "scores", "examples",
        "mean over the relevant labels of the share of relevant ones at or above them",
        "ranks", _row_mean("average_precision"),
    ),
    Metric(
        "macro_auc", "macro AUC", "higher", "scores", "labels",
        "area under the ROC curve, mean over the labels that have both classes",
        "auc", _row_mean("auc"),
    ),
    Metric(
        "subset_accuracy", "subset accuracy", "higher", "labels", "examples",
        "share of examples with every label right",
        "cuts", _subset,
    ),
    Metric(
        "micro_f1", "micro F1", "higher", "labels", "entries",
        "F1 of all entries taken together",
        "cuts", _micro_f1,
    ),
    Metric(
        "macro_f1", "macro F1", "higher", "labels", "labels",
        "F1, mean over the labels that occur or are predicted",
        "cuts", lambda g, k: mean_of_defined(f1_of_counts(g.by_label)),
    ),
    Metric(
        "example_f1", "example F1", "higher", "labels", "examples",
        "F1, mean over the examples that have or get a label",
        "cuts", lambda g, k: mean_of_defined(f1_of_counts(g.by_row)),
    ),
    Metric(
        "precision@k", "precision@k", "higher", "scores", "examples",
        "share of relevant labels among the k best",
        "top", lambda g, k: mean_of_defined(g.top[k]["hits"]),
    ),
    Metric(
        "ndcg@k", "nDCG@k", "higher", "scores", "examples",
        "discounted gain of the k best labels over the best attainable",
        "top", _ndcg,
    ),
    Metric(
        "psp@k", "PSP@k", "higher", "scores", "examples",
        "propensity-scored precision of the k best labels over the best attainable",
        "top", _weighted_precision,
    ),
]  # fmt: skip

METRICS: dict[str, Metric] = {metric.name: metric for metric in _TABLE}
SIX = tuple(metric.name for metric in _TABLE[:6])


def get_metric(name: str) -> Metric:
    """Look a metric up by name.

    Examples
    --------
    >>> from prml.metrics import get_metric
    >>> get_metric("ranking_loss").better
    'lower'
    >>> get_metric("precision@3").title
    'precision@3'
    """
    family, at, k = name.partition("@")
    if at and family + "@k" in METRICS and k.isdigit() and int(k) > 0:
        metric = METRICS[family + "@k"]
        return replace(metric, name=name, title=metric.title.replace("@k", "@" + k), k=int(k))
    if at or name not in METRICS:
        raise ValueError(
            f"There is no metric {name!r}; expected one of {', '.join(METRICS)} "
            "(with a number for k)."
        )
    return METRICS[name]
