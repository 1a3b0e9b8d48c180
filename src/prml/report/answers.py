"""What is here: what a model says about labelled examples, computed once for all of the page."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from prml.base import MultilabelEstimator
from prml.metrics import EvaluationTable, evaluate, expected_calibration_error, reliability_curve
from prml.metrics.calibration import ReliabilityCurve
from prml.model_selection.wrapper import ScoreWrapper
from prml.report.curves import LabelCounts
from prml.targets import read_targets

BLOCK_ROWS = 2048
MOST_ENTRIES = 40_000_000  # scores held at once; of more rows some are drawn by lot


@dataclass(frozen=True)
class Findings:
    """What the sections of the page are made of.

    Attributes
    ----------
    model, final, learner
        The model, the estimator that ends it, and the one inside that holds the coefficients.
    Y : CSR or array
        The labels of all examples.
    rows : ndarray
        The examples that scores, labels and curves are of.
    scores, predicted, true : ndarrays of shape (len(rows), n_labels)
    known : boolean ndarray or None
        None: every label is known.
    cut : ndarray of shape (n_labels,) or None
        None: the predicted labels follow no cut.
    counts : LabelCounts
    by_label : dict of arrays
        "auc", NaN where a label has one class.
    reliability : ReliabilityCurve or None
    calibration_error : float
    label_names : list of str
    n_samples, n_labels : int
    reads_text : bool
    """

    model: Any
    final: Any
    learner: Any
    Y: Any
    rows: np.ndarray
    scores: np.ndarray
    predicted: np.ndarray
    true: np.ndarray
    known: np.ndarray | None
    cut: np.ndarray | None
    counts: LabelCounts
    auc: np.ndarray
    reliability: ReliabilityCurve | None
    calibration_error: float
    label_names: list[Any]
    n_samples: int
    blocks: Callable[[], Iterator[np.ndarray]]
    all_predicted: Any
    reads_text: bool

    @property
    def n_labels(self) -> int:
        return len(self.label_names)

    def table(self, metrics: Sequence[str]) -> EvaluationTable:
        """Score the model on all examples."""
        whole = len(self.rows) == self.n_samples
        scores = self.scores if whole else self.blocks
        return evaluate(self.Y, scores, metrics=list(metrics), predicted=self.all_predicted)


def final_estimator(model: Any) -> Any:
    return model.steps[-1][1] if hasattr(model, "steps") else model


def innermost(model: Any) -> Any:
    """The estimator that holds the coefficients: inside pipelines, tuners and calibrators."""
    final = final_estimator(model)
    return innermost(final.estimator_) if isinstance(final, ScoreWrapper) else final


def learner_scores(model: Any, X: Any) -> np.ndarray:
    """The scores of the innermost estimator, before any calibration."""
    if hasattr(model, "steps"):
        for _, step in model.steps[:-1]:
            if step not in (None, "passthrough"):
                X = step.transform(X)
        model = model.steps[-1][1]
    if isinstance(model, ScoreWrapper):
        return learner_scores(model.estimator_, X)
    return as_columns(model.decision_function(X))


def as_columns(scores: Any) -> np.ndarray:
    scores = np.asarray(scores)
    return scores[:, None] if scores.ndim == 1 else scores


def take(X: Any, rows: Any) -> Any:
    """Rows of whatever a model reads."""
    if isinstance(X, list | tuple):
        where = range(*rows.indices(len(X))) if isinstance(rows, slice) else rows
        return [X[i] for i in where]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows]


def n_rows(X: Any) -> int:
    return len(X) if isinstance(X, list | tuple) else X.shape[0]


def find_out(model: Any, X: Any, Y: Any, seed: int) -> Findings:
    """Ask the model about every example."""
    final = final_estimator(model)
    if not hasattr(final, "label_names_") or not hasattr(model, "decision_function"):
        raise ValueError(
            f"A page needs a fitted estimator of prml that scores labels; this is a "
            f"{type(final).__name__}."
        )
    targets = read_targets(Y)
    n, n_labels = targets.positives.shape
    if n_labels != len(final.label_names_):
        raise ValueError(
            f"Y has {n_labels} labels and the model {len(final.label_names_)}; expected the same."
        )
    if n_rows(X) != n:
        raise ValueError(f"X has {n_rows(X)} examples and Y {n}; expected as many.")
    if n == 0:
        raise ValueError("There are no examples to report on.")
    if targets.missing is None:
        Y = targets.positives

    def blocks() -> Iterator[np.ndarray]:
        for start in range(0, n, BLOCK_ROWS):
            yield as_columns(model.decision_function(take(X, slice(start, start + BLOCK_ROWS))))

    rows = np.arange(n)
    if n * n_labels > MOST_ENTRIES:
        size = max(1, MOST_ENTRIES // n_labels)
        rows = np.sort(np.random.default_rng(seed).choice(n, size, replace=False))
    kept = take(X, rows) if len(rows) < n else X
    scores = np.vstack([
        as_columns(model.decision_function(take(kept, slice(s, s + BLOCK_ROWS))))
        for s in range(0, len(rows), BLOCK_ROWS)
    ])  # fmt: skip
    cut = cut_of(final, n_labels)
    if cut is not None and len(rows) == n:
        predicted = scores > cut
        all_predicted = sp.csr_matrix(predicted)
    else:
        all_predicted = _predicted(model, final, X, n)
        predicted = all_predicted[rows].toarray().astype(bool)
    true = targets.positives[rows].toarray() > 0
    known = None if targets.missing is None else targets.missing[rows].toarray() == 0
    seen = predicted if known is None else predicted & known
    counts = LabelCounts(true.sum(axis=0), seen.sum(axis=0), (seen & true).sum(axis=0))
    auc = evaluate(take(Y, rows), scores, metrics=["macro_auc"]).by_label["auc"]
    reliability, error = _calibration(model, final, kept, take(Y, rows))
    return Findings(
        model=model,
        final=final,
        learner=innermost(model),
        Y=Y,
        rows=rows,
        scores=scores,
        predicted=predicted,
        true=true,
        known=known,
        cut=cut,
        counts=counts,
        auc=np.asarray(auc),
        reliability=reliability,
        calibration_error=error,
        label_names=list(final.label_names_),
        n_samples=n,
        blocks=blocks,
        all_predicted=all_predicted,
        reads_text=isinstance(X, list | tuple),
    )


def cut_of(final: Any, n_labels: int) -> np.ndarray | None:
    """The cuts above which labels are predicted; None where that is not how they are chosen."""
    if final._kind == "multiclass":
        return None
    if hasattr(final, "cut_"):
        shift = final.cut_ if final._kind == "binary" else 0.0  # there the scores are moved
        return np.broadcast_to(final.cut_ - shift, (n_labels,)).astype(float)
    if type(final).predict is MultilabelEstimator.predict:
        return np.broadcast_to(np.asarray(final._cut, dtype=float), (n_labels,))
    return None


def _predicted(model: Any, final: Any, X: Any, n: int) -> sp.csr_matrix:
    found = []
    for start in range(0, n, BLOCK_ROWS):
        answer = np.asarray(model.predict(take(X, slice(start, start + BLOCK_ROWS))))
        if answer.ndim == 1:  # classes of a 1-D y: one column a label
            answer = answer[:, None] == final.label_names_[None, :]
        found.append(sp.csr_matrix(answer > 0))
    return sp.vstack(found, format="csr")


def _calibration(model: Any, final: Any, X: Any, Y: Any) -> tuple[ReliabilityCurve | None, float]:
    if final._kind != "multilabel" or not hasattr(final, "predict_proba"):
        return None, float("nan")

    def proba() -> Iterator[np.ndarray]:
        for start in range(0, n_rows(X), BLOCK_ROWS):
            yield model.predict_proba(take(X, slice(start, start + BLOCK_ROWS)))

    return reliability_curve(Y, proba, n_bins=10), expected_calibration_error(Y, proba)


def evaluate_all(other: Any, X: Any, Y: Any, metrics: Sequence[str]) -> EvaluationTable:
    """Score another method: a fitted estimator, or its scores."""
    if not hasattr(other, "decision_function"):
        return evaluate(Y, np.asarray(other), metrics=list(metrics))

    def blocks() -> Iterator[np.ndarray]:
        for start in range(0, n_rows(X), BLOCK_ROWS):
            yield as_columns(other.decision_function(take(X, slice(start, start + BLOCK_ROWS))))

    final = final_estimator(other)
    if isinstance(final, MultilabelEstimator):
        cut = cut_of(final, Y.shape[1])
        if cut is not None:
            return evaluate(Y, blocks, cut=cut, metrics=list(metrics))
        predicted = _predicted(other, final, X, n_rows(X))
        return evaluate(Y, blocks, metrics=list(metrics), predicted=predicted)
    return evaluate(Y, blocks, metrics=list(metrics))
