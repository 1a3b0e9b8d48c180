"""What is here: prediction and evaluation over Dask collections; scores stay on the workers.

Every metric is a mean or a ratio of values a row and a label, so a worker sends those of its chunks
and no score; the area under the ROC curve compares every score with the relevant ones of its label,
so the relevant ones, as many as Y has ones, are sent, sorted, and sent back.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from prml.metrics import loops
from prml.metrics.gather import Gathered, gather
from prml.metrics.inputs import KnownLabels
from prml.metrics.propensity import propensities_from_counts
from prml.metrics.registry import f1_of_counts, get_metric
from prml.metrics.table import EvaluationTable, _names

METHODS = ("predict", "decision_function", "predict_proba")


def predict_dask(model: Any, X: Any, method: str = "predict") -> Any:
    """Predict the rows of a Dask array or DataFrame, chunk by chunk, when they are asked for.

    Parameters
    ----------
    model : fitted estimator
        It is sent to every worker once.
    X : Dask array or DataFrame
    method : {"predict", "decision_function", "predict_proba"}

    Returns
    -------
    Dask array of shape (n_samples, n_labels)

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from prml import PrML
    >>> from prml.distributed import predict_dask
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> Y = (X @ rng.normal(size=(5, 4)) > 0).astype(int)
    >>> model = PrML(C=1.0).fit(X, Y)
    >>> predicted = predict_dask(model, da.from_array(X, chunks=(20, 5)))
    >>> bool((predicted.compute() == model.predict(X)).all())
    True
    """
    import dask.array as da
    from dask import delayed

    if method not in METHODS:
        raise ValueError(f"method is {method!r}; expected one of {', '.join(METHODS)}.")
    chunks, heights = _chunks(X)
    sent = delayed(model, pure=False)
    some = getattr(model, method)(_first_row(model, X))
    parts = [
        da.from_delayed(delayed(_apply)(sent, chunk, method), (n, *some.shape[1:]), some.dtype)
        for chunk, n in zip(chunks, heights, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def evaluate_dask(
    model: Any,
    X: Any,
    Y: Any,
    metrics: str | Sequence[str] | None = None,
    *,
    propensity: Any = None,
) -> EvaluationTable:
    """Evaluate a model on a Dask collection; the scores are never gathered.

    Parameters
    ----------
    model : fitted estimator
    X : Dask array or DataFrame
    Y : Dask array or DataFrame in chunks of the same rows, or an array or sparse matrix
    metrics, propensity
        As for `prml.metrics.evaluate`, which gives the same table.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from prml import PrML
    >>> from prml.distributed import evaluate_dask
    >>> from prml.metrics import evaluate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> Y = (X @ rng.normal(size=(5, 4)) > 0).astype(int)
    >>> model = PrML(C=1.0).fit(X, Y)
    >>> there = da.from_array(X, chunks=(20, 5)), da.from_array(Y, chunks=(20, 4))
    >>> table = evaluate_dask(model, *there)
    >>> table.to_dict() == evaluate(Y, model.decision_function(X)).to_dict()
    True
    """
    import dask
    from dask import delayed

    x_chunks, heights = _chunks(X)
    y_chunks = _matching_chunks(Y, heights)
    n_labels = _scores(model, _first_row(model, X)).shape[1]
    chosen = [get_metric(name) for name in _names(metrics, np.empty((0, n_labels)))]
    parts = {metric.part for metric in chosen}
    ks = [metric.k for metric in chosen if metric.k is not None]
    sent = delayed(model, pure=False)
    if "top" in parts and propensity is None:
        counts = dask.compute(*[delayed(_count)(y) for y in y_chunks])
        propensity = propensities_from_counts(
            sum(count for count, _ in counts), sum(n for _, n in counts)
        )
    tasks = [
        delayed(_gather_chunk)(sent, x, y, parts, ks, propensity)
        for x, y in zip(x_chunks, y_chunks, strict=True)
    ]
    found = dask.compute(*tasks)
    gathered = _joined([chunk for chunk, _ in found])
    if "auc" in parts:
        relevant = _merge_relevant([part for _, part in found], gathered.n_labels)
        shared = delayed(relevant, pure=False)
        pairs = dask.compute(
            *[
                delayed(_count_pairs)(sent, x, y, shared)
                for x, y in zip(x_chunks, y_chunks, strict=True)
            ]
        )
        twice_right, n_irrelevant = np.sum(pairs, axis=0)
        with np.errstate(invalid="ignore"):
            gathered.auc = twice_right / (2.0 * np.diff(relevant[0]) * n_irrelevant)
    values, counts_by_name = {}, {}
    for metric in chosen:
        values[metric.name], counts_by_name[metric.name] = metric.value(gathered)
    by_label = {} if gathered.auc is None else {"auc": gathered.auc}
    if gathered.by_label is not None:
        by_label["f1"] = f1_of_counts(gathered.by_label)
    return EvaluationTable(
        chosen, values, counts_by_name, gathered.n_samples, gathered.label_names, by_label
    )


def _chunks(X: Any) -> tuple[list[Any], list[float]]:
    """Delayed chunks of whole rows, and how many rows each has (NaN where nobody knows)."""
    if not hasattr(X, "__dask_graph__"):
        raise ValueError(f"X is a {type(X).__name__}; expected a Dask array or DataFrame.")
    if hasattr(X, "columns"):
        chunks = list(X.to_delayed())
        return chunks, [float("nan")] * len(chunks)
    X = X.rechunk({1: -1}) if X.ndim == 2 else X
    return list(X.to_delayed().ravel()), list(X.chunks[0])


def _matching_chunks(Y: Any, heights: list[float]) -> list[Any]:
    if hasattr(Y, "__dask_graph__"):
        chunks, y_heights = _chunks(Y)
        known = [(a, b) for a, b in zip(heights, y_heights, strict=False) if a == a and b == b]
        if len(chunks) != len(heights) or any(a != b for a, b in known):
            raise ValueError(
                f"X is in {len(heights)} chunks of rows and Y in {len(chunks)}, or their heights "
                "differ; expected the same chunks."
            )
        return chunks
    if any(n != n for n in heights):
        raise ValueError("the rows of X's chunks are not known; expected Y as a Dask collection.")
    ends = np.cumsum([0, *heights]).astype(int)
    Y = Y.tocsr() if sp.issparse(Y) else Y
    take = getattr(Y, "iloc", Y)
    if Y.shape[0] != ends[-1]:
        raise ValueError(f"X has {ends[-1]} rows and Y has {Y.shape[0]}; expected as many.")
    return [take[a:b] for a, b in pairwise(ends)]


def _first_row(model: Any, X: Any) -> Any:
    """A row like those of X, to see what a prediction looks like."""
    row = np.zeros((1, model.n_features_in_))
    if not hasattr(X, "columns"):
        return row
    import pandas as pd

    return pd.DataFrame(row, columns=list(X.columns))


def _apply(model: Any, chunk: Any, method: str = "decision_function") -> np.ndarray:
    if chunk.shape[0] == 0:
        return getattr(model, method)(_first_row(model, chunk))[:0]
    return getattr(model, method)(chunk)


def _cut(model: Any) -> Any:
    """The score above which a label is predicted."""
    return getattr(model, "_cut", 0.0)


def _scores(model: Any, chunk: Any) -> np.ndarray:
    scores = _apply(model, chunk)
    return np.ascontiguousarray(scores if scores.ndim == 2 else scores[:, None], dtype=np.float64)


def _count(Y: Any) -> tuple[np.ndarray, int]:
    known = KnownLabels(Y)
    return known.count_positive(), known.n_samples


def _gather_chunk(model, X, Y, parts, ks, propensity) -> tuple[Gathered, Any]:
    """What the metrics need of one chunk, and the relevant scores for the area under the curve."""
    scores = _scores(model, X)
    rest = parts - {"auc"}
    gathered = gather(Y, scores, parts=rest, cut=_cut(model), ks=ks, propensity=propensity)
    if "auc" not in parts:
        return gathered, None
    known = KnownLabels(Y)
    offsets = np.concatenate([[0], np.cumsum(known.count_positive())])
    filled, relevant = np.zeros(known.n_labels, dtype=np.int64), np.empty(offsets[-1])
    loops.gather_relevant(scores, 0, known.indices, offsets, filled, relevant)
    inside = [relevant[a : a + n] for a, n in zip(offsets, filled, strict=False)]
    return gathered, (filled, np.concatenate(inside) if inside else relevant)


def _merge_relevant(parts: list[Any], n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """The relevant scores of every label over all chunks, sorted: where they begin, and they."""
    counts = np.array([filled for filled, _ in parts])
    offsets = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    merged, next_free = np.empty(offsets[-1]), offsets[:-1].copy()
    for filled, relevant in parts:
        for label, scores in enumerate(np.split(relevant, np.cumsum(filled)[:-1])):
            merged[next_free[label] : next_free[label] + len(scores)] = scores
            next_free[label] += len(scores)
    loops.sort_each_label(offsets, np.diff(offsets), merged)
    return offsets, merged


def _count_pairs(model: Any, X: Any, Y: Any, relevant: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    known, (offsets, merged) = KnownLabels(Y), relevant
    totals = np.zeros((2, known.n_labels), dtype=np.int64)
    # arrays that came over the wire are read-only, and the loops are compiled for others
    slices = offsets.copy(), np.diff(offsets), merged.copy()
    loops.count_ordered_pairs(_scores(model, X), 0, known.indices, *slices, *totals)
    return totals


def _joined(chunks: list[Gathered]) -> Gathered:
    """Rows one after another, labels summed."""
    first = chunks[0]
    whole = Gathered(sum(c.n_samples for c in chunks), first.n_labels, first.label_names)
    for name in ("one_error", "coverage", "ranking_loss", "average_precision"):
        if getattr(first, name) is not None:
            setattr(whole, name, np.concatenate([getattr(c, name) for c in chunks]))
    if first.by_label is not None:
        whole.by_label = sum(c.by_label for c in chunks)
        whole.by_row = np.concatenate([c.by_row for c in chunks], axis=1)
    for k, rows in first.top.items():
        whole.top[k] = {name: np.concatenate([c.top[k][name] for c in chunks]) for name in rows}
    return whole
