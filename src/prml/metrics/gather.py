"""What is here: one or two walks over the scores that collect what the chosen metrics need."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prml.metrics import loops
from prml.metrics.inputs import KnownLabels, ScoreBlocks
from prml.metrics.propensity import propensities_from_counts

PARTS = ("ranks", "cuts", "top", "auc")


@dataclass
class Gathered:
    """Values a row, a label and a k, of which every metric is a mean or a ratio.

    Rows that a measure drops hold NaN. Parts that were not asked for stay None.
    """

    n_samples: int
    n_labels: int
    label_names: np.ndarray
    one_error: Any = None
    coverage: Any = None
    ranking_loss: Any = None
    average_precision: Any = None
    by_label: Any = None  # (3, n_labels): true positives, false positives, false negatives
    by_row: Any = None  # (4, n_samples): the same three, known entries
    auc: Any = None  # (n_labels,)
    top: dict[int, dict[str, np.ndarray]] = field(default_factory=dict)  # k -> measure -> rows


def gather(
    Y: Any,
    scores: Any,
    *,
    parts: set[str],
    cut: Any = 0.0,
    ks: Any = (),
    propensity: Any = None,
    mask: Any = None,
    predicted: Any = None,
    name: str = "scores",
    binary: bool = False,
) -> Gathered:
    """Walk over the scores and collect the `parts` (a subset of PARTS).

    `predicted`, when given, replaces `scores > cut` in the part "cuts".
    """
    known = KnownLabels(Y, mask)
    n_samples, n_labels = shape = known.n_samples, known.n_labels
    blocks = ScoreBlocks(scores, shape, name=name, binary=binary)
    labels = None
    if predicted is not None:
        labels = ScoreBlocks(predicted, shape, name="predicted", binary=True)
        if not labels.is_matrix:
            raise ValueError("predicted is expected to be one array or sparse matrix, not blocks.")
    result = Gathered(n_samples, n_labels, known.label_names)
    measures = []
    if "ranks" in parts:
        ranks = np.full((4, n_samples), np.nan)
        result.one_error, result.coverage, result.ranking_loss, result.average_precision = ranks
        measures.append(lambda start, block: loops.rank_rows(block, start, known.indices, *ranks))
    if "cuts" in parts:
        cuts = _read_cut(0.5 if labels is not None or binary else cut, known)
        result.by_label = np.zeros((3, n_labels), dtype=np.int64)
        result.by_row = np.zeros((4, n_samples), dtype=np.int64)

        def count_cut(start: int, block: np.ndarray) -> None:
            if labels is not None:
                block = labels.rows(start, start + len(block))
            loops.cut_rows(block, start, known.indices, cuts, result.by_label, result.by_row)

        measures.append(count_cut)
    if "top" in parts:
        measures.append(_top_measure(result, known, ks, propensity))
    if "auc" in parts:
        offsets = np.concatenate([[0], np.cumsum(known.count_positive())])
        filled = np.zeros(n_labels, dtype=np.int64)
        relevant = np.empty(offsets[-1])
        slices = offsets, filled, relevant
        measures.append(
            lambda start, block: loops.gather_relevant(block, start, known.indices, *slices)
        )
    for start, block in blocks.walk(again="auc" in parts):
        for measure in measures:
            measure(start, block)
    if "auc" in parts:
        loops.sort_each_label(*slices)
        twice_right, n_irrelevant = np.zeros((2, n_labels), dtype=np.int64)
        for start, block in blocks.walk():
            loops.count_ordered_pairs(
                block, start, known.indices, *slices, twice_right, n_irrelevant
            )
        with np.errstate(invalid="ignore"):
            result.auc = twice_right / (2.0 * filled * n_irrelevant)
    return result


def _read_cut(cut: Any, known: KnownLabels) -> np.ndarray:
    cut = np.asarray(cut, dtype=np.float64)
    if cut.shape not in ((), (known.n_labels,)) or np.isnan(cut).any():
        raise ValueError(
            f"cut has shape {cut.shape}; expected a number or one for each of the "
            f"{known.n_labels} labels, without NaN."
        )
    return np.full(known.n_labels, cut)


def _top_measure(result: Gathered, known: KnownLabels, ks: Any, propensity: Any) -> Any:
    ks = np.unique(np.asarray(ks, dtype=np.int64))
    if ks[0] < 1 or ks[-1] > known.n_labels:
        wrong = ks[0] if ks[0] < 1 else ks[-1]
        raise ValueError(f"k is {wrong}; expected between 1 and the {known.n_labels} labels.")
    if propensity is None:
        propensity = propensities_from_counts(known.count_positive(), known.n_samples)
    propensity = np.asarray(propensity, dtype=np.float64)
    if propensity.shape != (known.n_labels,) or not ((propensity > 0) & (propensity <= 1)).all():
        raise ValueError(
            f"propensity has shape {propensity.shape}; expected a number in (0, 1] for each of the "
            f"{known.n_labels} labels."
        )
    discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, ks[-1] + 2)))])
    arrays = np.full((5, len(ks), known.n_samples), np.nan)
    names = ("hits", "gains", "ideal_gains", "weighted", "best")
    for at, k in enumerate(ks):
        result.top[int(k)] = {name: rows[at] for name, rows in zip(names, arrays, strict=True)}
    weights = 1 / propensity
    return lambda start, block: loops.top_rows(
        block, start, known.indices, ks, weights, discounts, *arrays
    )
