"""What is here: one function for each metric.

All take Y as a dense or sparse (n_samples, n_labels) matrix of 0 and 1. NaN in a dense Y, or `mask`
where it is not true, says that a label is unknown; it is then treated as if it
did not exist for that example. Scores are an array, or row blocks of one: an iterable of arrays, or
a function that returns such an iterable. A value that is not defined is NaN.
"""

from typing import Any

import numpy as np

from prml.metrics.gather import Gathered, gather
from prml.metrics.registry import f1_of_counts, get_metric

__all__ = [
    "average_precision",
    "coverage",
    "example_f1",
    "hamming_loss",
    "label_auc",
    "label_f1",
    "macro_auc",
    "macro_f1",
    "micro_f1",
    "ndcg_at_k",
    "one_error",
    "precision_at_k",
    "propensity_scored_precision_at_k",
    "ranking_loss",
    "subset_accuracy",
]


def _of_scores(name: str, Y: Any, scores: Any, mask: Any, **settings: Any) -> tuple[float, int]:
    metric = get_metric(name)
    ks = () if metric.k is None else (metric.k,)
    return metric.value(gather(Y, scores, parts={metric.part}, mask=mask, ks=ks, **settings))


def _cut(Y: Any, predicted: Any, cut: Any, mask: Any) -> Gathered:
    if cut is None:
        return gather(Y, predicted, parts={"cuts"}, mask=mask, name="predicted", binary=True)
    return gather(Y, predicted, parts={"cuts"}, mask=mask, cut=cut)


def _of_labels(name: str, Y: Any, predicted: Any, cut: Any, mask: Any) -> tuple[float, int]:
    return get_metric(name).value(_cut(Y, predicted, cut, mask))


def hamming_loss(Y: Any, predicted: Any, *, cut: Any = None, mask: Any = None) -> float:
    """Return the share of known entries that are predicted wrongly.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        0 and 1; NaN where a label is unknown.
    predicted : array-like, sparse matrix or row blocks
        0 and 1, or scores when `cut` is given.
    cut : float or array of shape (n_labels,), optional
        Labels scored above it are predicted.
    mask : boolean array or sparse matrix of shape (n_samples, n_labels), optional
        True for the known entries of Y.

    Examples
    --------
    >>> from prml.metrics import hamming_loss
    >>> hamming_loss([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.25
    >>> hamming_loss([[1, 0], [0, 1]], [[0.3, -2.0], [0.1, 0.7]], cut=0.0)
    0.25
    """
    return _of_labels("hamming_loss", Y, predicted, cut, mask)[0]


def one_error(Y: Any, scores: Any, *, mask: Any = None) -> float:
    """Return the share of examples whose best label is irrelevant.

    An example is right when any of the labels tied at the top is relevant. Examples without a
    relevant or without an irrelevant label are left out.

    Examples
    --------
    >>> from prml.metrics import one_error
    >>> one_error([[1, 0, 0], [0, 1, 1]], [[0.2, 0.9, 0.1], [0.3, 0.8, 0.5]])
    0.5
    """
    return _of_scores("one_error", Y, scores, mask)[0]


def coverage(Y: Any, scores: Any, *, mask: Any = None) -> float:
    """Return how far down the ranking the last relevant label is, in [0, 1).

    (rank of the last relevant label - 1) / n_labels, mean over the examples that have a label; a
    tie takes the worst rank. With unknown entries n_labels is the number of known ones.

    Examples
    --------
    >>> from prml.metrics import coverage
    >>> coverage([[1, 0, 0, 0], [0, 1, 1, 0]], [[0.2, 0.9, 0.1, 0], [0.3, 0.8, 0.5, 0]])
    0.25
    """
    return _of_scores("coverage", Y, scores, mask)[0]


def ranking_loss(Y: Any, scores: Any, *, mask: Any = None) -> float:
    """Return the share of (relevant, irrelevant) label pairs in wrong order.

    Mean over the examples that have both; a tie is a full error.

    Examples
    --------
    >>> from prml.metrics import ranking_loss
    >>> ranking_loss([[1, 0, 0], [0, 1, 1]], [[0.2, 0.9, 0.1], [0.3, 0.8, 0.5]])
    0.25
    """
    return _of_scores("ranking_loss", Y, scores, mask)[0]


def average_precision(Y: Any, scores: Any, *, mask: Any = None) -> float:
    """Return the example-wise (label ranking) average precision.

    For each relevant label the share of relevant ones among the labels at or above it; mean over
    the relevant labels, then over the examples that have both relevant and irrelevant labels. A tie
    takes the worst rank.

    Examples
    --------
    >>> from prml.metrics import average_precision
    >>> average_precision([[1, 0, 0], [0, 1, 1]], [[0.2, 0.9, 0.1], [0.3, 0.8, 0.5]])
    0.75
    """
    return _of_scores("average_precision", Y, scores, mask)[0]


def macro_auc(Y: Any, scores: Any, *, mask: Any = None, return_count: bool = False) -> Any:
    """Return the area under the ROC curve, averaged over the labels that have both classes.

    A tie counts half. It reads the scores twice: row blocks from a one-shot iterator are kept in a
    temporary file meanwhile, those from a list or a function are not.

    Parameters
    ----------
    Y, scores, mask
        As for `hamming_loss`, with scores instead of labels.
    return_count : bool
        Also return the number of labels averaged.

    Examples
    --------
    >>> from prml.metrics import macro_auc
    >>> Y = [[1, 0, 0], [0, 1, 0], [0, 1, 0]]
    >>> macro_auc(Y, [[0.2, 0.9, 0.1], [0.3, 0.8, 0.5], [0.1, 0.95, 0]], return_count=True)
    (0.5, 2)
    """
    value, count = _of_scores("macro_auc", Y, scores, mask)
    return (value, count) if return_count else value


def label_auc(Y: Any, scores: Any, *, mask: Any = None) -> np.ndarray:
    """Return the area under the ROC curve of every label; NaN for a label with one class.

    Examples
    --------
    >>> from prml.metrics import label_auc
    >>> label_auc([[1, 0], [0, 0]], [[0.2, 0.9], [0.1, 0.8]])
    array([ 1., nan])
    """
    return gather(Y, scores, parts={"auc"}, mask=mask).auc


def subset_accuracy(Y: Any, predicted: Any, *, cut: Any = None, mask: Any = None) -> float:
    """Return the share of examples that have every known label right.

    Examples
    --------
    >>> from prml.metrics import subset_accuracy
    >>> subset_accuracy([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.5
    """
    return _of_labels("subset_accuracy", Y, predicted, cut, mask)[0]


def micro_f1(Y: Any, predicted: Any, *, cut: Any = None, mask: Any = None) -> float:
    """Return F1 of all known entries taken together; NaN when nothing is relevant or predicted.

    Examples
    --------
    >>> from prml.metrics import micro_f1
    >>> micro_f1([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.8
    """
    return _of_labels("micro_f1", Y, predicted, cut, mask)[0]


def macro_f1(
    Y: Any, predicted: Any, *, cut: Any = None, mask: Any = None, return_count: bool = False
) -> Any:
    """Return F1 averaged over the labels that occur or are predicted.

    With `return_count` also the number of these labels.

    Examples
    --------
    >>> from prml.metrics import macro_f1
    >>> macro_f1([[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 0, 0]], return_count=True)
    (0.5, 2)
    """
    value, count = _of_labels("macro_f1", Y, predicted, cut, mask)
    return (value, count) if return_count else value


def label_f1(Y: Any, predicted: Any, *, cut: Any = None, mask: Any = None) -> np.ndarray:
    """Return F1 of every label; NaN for a label that neither occurs nor is predicted.

    Examples
    --------
    >>> from prml.metrics import label_f1
    >>> label_f1([[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 0, 0]])
    array([ 1.,  0., nan])
    """
    return f1_of_counts(_cut(Y, predicted, cut, mask).by_label)


def example_f1(Y: Any, predicted: Any, *, cut: Any = None, mask: Any = None) -> float:
    """Return F1 averaged over the examples that have or get a label.

    Examples
    --------
    >>> from prml.metrics import example_f1
    >>> example_f1([[1, 0], [0, 0]], [[1, 0], [0, 0]])
    1.0
    """
    return _of_labels("example_f1", Y, predicted, cut, mask)[0]


def precision_at_k(Y: Any, scores: Any, k: int = 5, *, mask: Any = None) -> float:
    """Return the share of relevant labels among the k best of an example.

    Labels of equal score count with their mean over all orders of the tie. An example with fewer
    than k known labels is divided by their number.

    Examples
    --------
    >>> from prml.metrics import precision_at_k
    >>> precision_at_k([[1, 0, 1]], [[0.9, 0.5, 0.1]], k=2)
    0.5
    """
    return _of_scores(f"precision@{k}", Y, scores, mask)[0]


def ndcg_at_k(Y: Any, scores: Any, k: int = 5, *, mask: Any = None) -> float:
    """Return the normalised discounted cumulative gain of the k best labels.

    A relevant label at place r gains 1/log2(r + 1); the sum is divided by the best attainable, mean
    over the examples that have a label. Ties as in `precision_at_k`.

    Examples
    --------
    >>> from prml.metrics import ndcg_at_k
    >>> round(ndcg_at_k([[1, 0, 1]], [[0.9, 0.5, 0.1]], k=3), 4)
    0.9197
    """
    return _of_scores(f"ndcg@{k}", Y, scores, mask)[0]


def propensity_scored_precision_at_k(
    Y: Any, scores: Any, k: int = 5, *, propensity: Any = None, mask: Any = None
) -> float:
    """Return precision at k with every relevant label weighted by 1 / propensity.

    Divided by the best attainable (sums over all examples), as extreme classification reports it.

    Parameters
    ----------
    Y, scores, mask
        As for `precision_at_k`.
    k : int
        Labels looked at.
    propensity : array of shape (n_labels,), optional
        `propensities` of the training labels; by default they are estimated from Y itself.

    Examples
    --------
    >>> from prml.metrics import propensity_scored_precision_at_k
    >>> Y, scores = [[1, 0, 1]], [[0.9, 0.5, 0.1]]
    >>> propensity_scored_precision_at_k(Y, scores, k=2, propensity=[1.0, 0.5, 0.25])
    0.2
    """
    return _of_scores(f"psp@{k}", Y, scores, mask, propensity=propensity)[0]
