"""What is here: the sections of a model's page, from findings to what the template shows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from prml.metrics import EvaluationTable, get_metric
from prml.report.answers import Findings, learner_scores, take
from prml.report.charts import Axis, Chart, Series, draw
from prml.report.curves import label_curve, shift_curve
from prml.report.names import clean
from prml.report.page import ScoreRow
from prml.report.teaching import HeatMap, comment, heat_map, strongest

MOST_TAGS = 30
N_TEACHERS = 8
LONGEST_TEXT = 500
MOST_FEATURES = 12


def score_rows(columns: Mapping[str, EvaluationTable], metrics: Sequence[str]) -> list[ScoreRow]:
    """One row a metric, one column a method."""
    rows = []
    for name in metrics:
        metric = get_metric(name)
        values = [table[name] for table in columns.values()]
        rows.append(ScoreRow(metric.title, metric.better, metric.summary, values))
    return rows


@dataclass(frozen=True)
class Convergence:
    """Sentences about the certificate, and charts of the way there."""

    sentences: list[str]
    charts: list[Chart]


def convergence(learner: Any) -> Convergence:
    """Tell how near the optimum the fit came, and how it got there."""
    sentences = []
    objective = getattr(learner, "objective_", None)
    bound = getattr(learner, "dual_objective_", None)
    gap = getattr(learner, "dual_gap_", None)
    if objective is not None and bound is not None and gap is not None:
        if gap < 1:
            near = f"the fit is within {100 * gap:.2g} % of the best there is"
        else:
            near = "how near the fit is to the best there is remains open"
        sentences.append(
            f"The objective is {objective:,.6g}, and no model of this kind gets below "
            f"{bound:,.6g}: {near}."
        )
    elif objective is not None:
        sentences.append(f"The objective is {objective:,.6g}.")
    if getattr(learner, "converged_", None) is not None:
        tol = getattr(learner, "tol", None)
        asked = "" if tol is None else f" (tolerance {tol:g})"
        ended = "ended by its own criterion" if learner.converged_ else "was stopped before its end"
        sentences.append(f"The fit {ended}{asked}.")
    history = getattr(learner, "history_", None) or []
    if history and "n_labels" in history[-1]:
        sentences.append(
            "Labels are solved one after the other; until it is reached, a label counts with what "
            "is known without solving it."
        )
    degenerate = getattr(learner, "degenerate_labels_", None)
    if degenerate is not None and len(degenerate):
        sentences.append(
            f"For {len(degenerate)} of {learner.n_labels_} labels the optimum cannot be told from "
            "a constant predictor."
        )
    if not sentences:
        sentences.append("This method leaves no record of its optimum.")
    return Convergence(sentences, _history_charts(history))


def _history_charts(history: list[dict[str, Any]]) -> list[Chart]:
    def column(name: str) -> list[float]:
        values = [record.get(name) for record in history]
        return [v if isinstance(v, int | float) else math.nan for v in values]

    time, charts = column("time"), []
    if any("gap" in record for record in history):
        gaps = Series("relative duality gap", time, column("gap"))
        axis = Axis("relative gap", log=True)
        charts.append(draw("Duality gap over time", [gaps], Axis("seconds", low=0.0), axis))
    if any("objective" in record for record in history):
        lines = [Series("objective", time, column("objective"))]
        if any("dual_objective" in record for record in history):
            lines.append(Series("lower bound", time, column("dual_objective")))
        x, y = Axis("seconds", low=0.0), Axis("objective")
        charts.append(draw("Objective and lower bound over time", lines, x, y))
    return [chart for chart in charts if chart is not None]


@dataclass(frozen=True)
class CutCharts:
    """The charts of cuts and probabilities, with a sentence each."""

    shift: Chart | None
    shift_note: str
    reliability: Chart | None
    reliability_note: str


def cut_charts(findings: Findings) -> CutCharts:
    """What other cuts would give, and whether probabilities can be believed."""
    cut = np.zeros(findings.n_labels) if findings.cut is None else findings.cut
    curve = shift_curve(findings.scores - cut, findings.true, findings.known)
    lines = [
        Series("micro F1", curve.shift, curve.micro_f1),
        Series("macro F1", curve.shift, curve.macro_f1),
        Series("precision", curve.shift, curve.precision),
        Series("recall", curve.shift, curve.recall),
    ]
    x = Axis("added to every cut", float(curve.shift[0]), float(curve.shift[-1]))
    shift = draw("What moving all cuts does", lines, x, Axis("", 0.0, 1.0), [(0.0, "as it is")])
    best = curve.shift[int(np.nanargmax(np.nan_to_num(curve.micro_f1, nan=-1.0)))]
    now = curve.micro_f1[len(curve.shift) // 2]
    note = (
        f"With the cuts as they are micro F1 is {now:.3f} here; on these examples it is greatest, "
        f"{np.nanmax(curve.micro_f1):.3f}, with {best:+.2g} added to every cut.".replace("-", "−")
    )
    if findings.cut is None:
        note = (
            "This model does not choose labels by cuts; the chart shows what one cut for all would "
            "give."
        )
    chart, told = _reliability_chart(findings)
    return CutCharts(shift, note, chart, told)


def _reliability_chart(findings: Findings) -> tuple[Chart | None, str]:
    curve = findings.reliability
    if curve is None:
        return None, "This model gives scores and no probabilities."
    lines = [
        Series("observed", curve.predicted, curve.observed),
        Series("perfect", [0.0, 1.0], [0.0, 1.0]),
    ]
    x, y = Axis("predicted probability", 0.0, 1.0), Axis("observed share", 0.0, 1.0)
    told = (
        f"On average a probability is {findings.calibration_error:.3f} away from the observed "
        "share (expected calibration error)."
    )
    if not hasattr(findings.final, "slope_") and findings.final is findings.learner:
        told += (
            " The model maps scores to (0, 1) without calibration; MultilabelCalibrator would "
            "calibrate them."
        )
    return draw("Probabilities and what was observed", lines, x, y), told


@dataclass(frozen=True)
class LabelRow:
    """A row of the table of labels; NaN where undefined."""

    position: int
    name: str
    present: int
    predicted: int
    precision: float
    recall: float
    f1: float
    auc: float
    cut: float


def label_rows(findings: Findings) -> list[LabelRow]:
    """One row a label, the most frequent first."""
    counts = findings.counts
    cut = np.full(findings.n_labels, np.nan) if findings.cut is None else findings.cut
    order = np.argsort(-counts.present, kind="stable")
    precision, recall, f1 = counts.precision, counts.recall, counts.f1
    return [
        LabelRow(
            int(i),
            clean(findings.label_names[i]),
            int(counts.present[i]),
            int(counts.predicted[i]),
            float(precision[i]),
            float(recall[i]),
            float(f1[i]),
            float(findings.auc[i]),
            float(cut[i]),
        )
        for i in order
    ]


def threshold_note(findings: Findings) -> str:
    if findings.cut is None:
        return "Labels are chosen by their rank or jointly; there is no threshold to show."
    return "A label is predicted where its score is above its threshold."


@dataclass(frozen=True)
class Teachers:
    """The map, and the strongest teachers and pupils of every label."""

    map: HeatMap
    names: list[str]
    teachers: list[list[list[float]]]
    pupils: list[list[list[float]]]
    is_whole: bool

    # Room for the names around the map, in its units: six and a bit for a letter, and columns'
    # names lean by 60 degrees.
    @property
    def left(self) -> int:
        return 16 + round(6.4 * max(map(len, self.names)))

    @property
    def top(self) -> int:
        return 14 + round(0.87 * 6.4 * max(map(len, self.names)))

    @property
    def right(self) -> int:
        return 8 + round(0.5 * 6.4 * max(map(len, self.names)))


def teachers(findings: Findings) -> Teachers | None:
    """Who comments on whom; None when nobody does."""
    weights = getattr(findings.learner, "privileged_coef_", None)
    if weights is None or not np.any(weights):
        return None
    shown = heat_map(weights)
    return Teachers(
        shown,
        [clean(findings.label_names[i], 28) for i in shown.labels],
        strongest(weights, N_TEACHERS),
        strongest(weights, N_TEACHERS, by_column=True),
        len(shown.labels) == findings.n_labels,
    )


def page_data(findings: Findings, taught: Teachers | None) -> dict[str, Any]:
    """What the script of the page needs."""
    curves = []
    for i in range(findings.n_labels):
        seen = slice(None) if findings.known is None else findings.known[:, i]
        points = label_curve(findings.scores[seen, i], findings.true[seen, i])
        flat = None
        if points is not None:
            flat = [
                [_short(cut) for cut, _, _ in points],
                [round(100 * precision) for _, precision, _ in points],
                [round(100 * recall) for _, _, recall in points],
            ]
        curves.append(flat)
    data: dict[str, Any] = {
        "names": [clean(name) for name in findings.label_names],
        "cuts": None if findings.cut is None else [_short(c) for c in findings.cut],
        "curves": curves,
        "teachers": None,
    }
    if taught is not None:
        data["teachers"], data["pupils"] = taught.teachers, taught.pupils
        data["map"] = {
            "labels": taught.map.labels.tolist(),
            "weights": [[_short(w) for w in row] for row in taught.map.weights],
        }
    return data


def _short(value: Any) -> float | None:
    """Three digits; JSON has no word for NaN and infinity."""
    return float(f"{float(value):.3g}") if math.isfinite(value) else None


@dataclass(frozen=True)
class ShownTag:
    """A label of an example, and what the teacher says where it is wrong."""

    name: str
    state: str
    score: float
    said: str
    reasons: list[tuple[str, float]]


@dataclass(frozen=True)
class ShownExample:
    name: str
    text: str
    tags: list[ShownTag]
    n_more: int
    is_wrong: bool
    by_lot: bool


def gallery(
    findings: Findings,
    X: Any,
    *,
    n_examples: int,
    random_state: int,
    texts: Any,
    example_names: Any,
    feature_names: Any,
) -> list[ShownExample]:
    """Examples drawn by lot, and the ones that are furthest off."""
    n = len(findings.rows)
    rng = np.random.default_rng(random_state)
    drawn = np.sort(rng.choice(n, min(n_examples, n), replace=False))
    sign = np.where(findings.true, 1.0, -1.0)
    cut = 0.0 if findings.cut is None else findings.cut
    wrong = findings.true != findings.predicted
    if findings.known is not None:
        wrong &= findings.known
    off = (np.maximum(0.0, -sign * (findings.scores - cut)) * wrong).sum(axis=1)
    off[drawn] = -1.0
    worst = np.argsort(-off, kind="stable")[: n_examples // 2]
    worst = worst[off[worst] > 0]
    chosen = [(int(i), True) for i in drawn] + [(int(i), False) for i in worst]
    if not chosen:
        return []
    where = findings.rows[[i for i, _ in chosen]]
    inner = learner_scores(findings.model, take(X, where))
    has_teacher = bool(np.any(getattr(findings.learner, "privileged_coef_", False)))
    shown = []
    for k, (i, by_lot) in enumerate(chosen):
        row = int(where[k])
        tags, n_more = _tags(findings, i, inner[k], has_teacher)
        named = example_names is not None
        shown.append(
            ShownExample(
                clean(example_names[row]) if named else f"Example {row + 1:,}",
                clean(texts[row], LONGEST_TEXT)
                if texts is not None
                else _features(X, row, feature_names),
                tags,
                n_more,
                bool(wrong[i].any()),
                by_lot,
            )
        )
    return shown


def _tags(
    findings: Findings, i: int, inner: np.ndarray, has_teacher: bool
) -> tuple[list[ShownTag], int]:
    true, predicted, scores = findings.true[i], findings.predicted[i], findings.scores[i]
    known = None if findings.known is None else findings.known[i]
    shown = np.flatnonzero(true | (predicted if known is None else predicted & known))
    n_more = max(0, len(shown) - MOST_TAGS)
    if n_more:  # of too many the mistakes are worth most
        is_right = true[shown] & predicted[shown]
        shown = shown[np.argsort(is_right, kind="stable")[:MOST_TAGS]]
    shown = shown[np.argsort(-scores[shown], kind="stable")]
    tags = []
    for label in shown.tolist():
        state = "right" if true[label] and predicted[label] else "missed"
        state = "added" if not true[label] else state
        said, reasons = "", []
        if state != "right" and has_teacher:
            told = comment(findings.learner, label, float(inner[label]), true, known)
            said = f"falls short by {told.short:.2f}; the teacher {told.verdict}"
            reasons = [(clean(findings.label_names[l]), amount) for l, amount in told.reasons]
        name = clean(findings.label_names[label])
        tags.append(ShownTag(name, state, float(scores[label]), said, reasons))
    return tags, n_more


def _features(X: Any, row: int, feature_names: Any) -> str:
    """The largest features of an example without text; nothing for dense numbers."""
    if not sp.issparse(X):
        return ""
    one = X[[row]].tocsr()
    order = np.argsort(-np.abs(one.data), kind="stable")[:MOST_FEATURES]
    told = [
        clean(feature_names[c] if feature_names is not None else f"feature {c}", 40)
        for c in one.indices[order].tolist()
    ]
    more = len(one.data) - len(order)
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")
