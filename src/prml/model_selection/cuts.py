"""What is here: the best cuts for given scores; plain functions, no estimator.

Everywhere `relevant` is Y as int8, `known` marks the entries to look at (None: all), and a cut lies
half way between the lowest score that is predicted and the highest that is not.
"""

import numpy as np

from prml.model_selection.cut_loops import walk_down_the_scores

_WALKED = ("micro_f1", "macro_f1", "example_f1", "hamming_loss", "subset_accuracy")


def best_global_cut(
    scores: np.ndarray, relevant: np.ndarray, known: np.ndarray | None, metric: str
) -> float:
    """Return the one cut for all labels at which `metric` is best on these scores, exactly."""
    n_rows, n_labels = scores.shape
    flat = np.ascontiguousarray(scores).ravel()
    order = np.argsort(flat)[::-1]  # ties in any order: no cut can part them
    if known is not None:
        order = order[known.ravel()[order]]
    best, best_at = np.empty(5), np.zeros(5, dtype=np.int64)
    walk_down_the_scores(order, flat, relevant.ravel(), n_rows, n_labels, best, best_at)
    n_predicted = int(best_at[_WALKED.index(metric)])
    around = flat[order[max(0, n_predicted - 1) : n_predicted + 1]]
    return cut_after(around, min(n_predicted, 1))


def cut_after(descending: np.ndarray, n_predicted: int) -> float:
    """Return a cut that predicts the first `n_predicted` of these scores."""
    n = len(descending)
    if n == 0:
        return 0.0
    if n_predicted == 0:
        return float(descending[0])
    last = descending[n_predicted - 1]
    if n_predicted == n:
        return float(np.nextafter(last, -np.inf))
    middle = 0.5 * last + 0.5 * descending[n_predicted]
    # neighbouring floating-point numbers have no middle
    return float(middle if middle < last else descending[n_predicted])


class LabelCurve:
    """The possible cuts of one label: how many are predicted, and how many of these are right."""

    def __init__(self, scores: np.ndarray, relevant: np.ndarray):
        order = np.argsort(-scores, kind="stable")
        self.descending = scores[order]
        right = np.concatenate([[0], np.cumsum(relevant[order], dtype=np.int64)])
        possible = np.ones(len(scores) + 1, dtype=bool)
        possible[1:-1] = self.descending[:-1] != self.descending[1:]
        self.predicted = np.flatnonzero(possible)
        self.right = right[self.predicted]
        self.n_relevant = int(right[-1])

    def cut_for(self, values: np.ndarray) -> float:
        """Return the cut where `values`, one for each possible cut, are largest (the highest)."""
        return cut_after(self.descending, int(self.predicted[np.argmax(values)]))

    def best_f1(self) -> float:
        return self.cut_for(2 * self.right / np.maximum(1, self.predicted + self.n_relevant))

    def fewest_errors(self) -> float:
        return self.cut_for(2 * self.right - self.predicted)


def best_label_cuts(
    scores: np.ndarray,
    relevant: np.ndarray,
    known: np.ndarray | None,
    metric: str,
    own: np.ndarray,
    shared_cut: float,
) -> np.ndarray:
    """Return a cut for each label: its own where `own`, else `shared_cut`.

    "macro_f1" and "hamming_loss" are separate problems for each label. "micro_f1" is solved exactly
    by Dinkelbach's method: at a trial value F every label maximises 2 right - F (predicted +
    relevant) on its own, and F grows until that gains nothing.
    """
    cuts = np.full(scores.shape[1], shared_cut, dtype=np.float64)
    curves = {}
    shared = np.zeros(2, dtype=np.int64)  # right, predicted + relevant of the labels not tuned
    for label in range(scores.shape[1]):
        seen = slice(None) if known is None else known[:, label]
        if own[label]:
            curves[label] = LabelCurve(scores[seen, label], relevant[seen, label])
        else:
            predicted = scores[seen, label] > shared_cut
            shared += (
                relevant[seen, label][predicted].sum(dtype=np.int64),
                predicted.sum() + relevant[seen, label].sum(dtype=np.int64),
            )
    if metric in ("macro_f1", "hamming_loss"):
        for label, curve in curves.items():
            cuts[label] = curve.best_f1() if metric == "macro_f1" else curve.fewest_errors()
        return cuts
    f1, grown = 0.0, True
    while grown:
        right, total = shared
        for curve in curves.values():
            at = np.argmax(2 * curve.right - f1 * curve.predicted)
            right += curve.right[at]
            total += curve.predicted[at] + curve.n_relevant
        new_f1 = 2 * int(right) / max(1, int(total))
        grown, f1 = new_f1 > f1 + 1e-12, max(f1, new_f1)
    for label, curve in curves.items():
        cuts[label] = curve.cut_for(2 * curve.right - f1 * curve.predicted)
    return cuts


def mark_top_k(scores: np.ndarray, k: int) -> np.ndarray:
    """Mark the k best labels of every row; a tie goes to the label that comes first."""
    chosen = np.zeros(scores.shape, dtype=bool)
    top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.put_along_axis(chosen, top, True, axis=1)
    return chosen
