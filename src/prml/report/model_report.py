"""What is here: `write_model_report` - one page about a model and how it does on labelled data."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from prml.report import sections
from prml.report.answers import Findings, evaluate_all, find_out
from prml.report.names import clean
from prml.report.page import write_page

METRICS = (
    "hamming_loss",
    "one_error",
    "coverage",
    "ranking_loss",
    "average_precision",
    "macro_auc",
    "micro_f1",
    "macro_f1",
    "example_f1",
    "subset_accuracy",
)


def write_model_report(
    path: str | Path,
    model: Any,
    X: Any,
    Y: Any,
    *,
    title: str | None = None,
    data_name: str | None = None,
    baselines: Mapping[str, Any] | None = None,
    texts: Sequence[str] | None = None,
    example_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    n_examples: int = 16,
    random_state: int = 0,
) -> Path:
    """Write a page about a fitted model: scores, certificate, labels, teachers, cuts, examples.

    The page is one HTML file that needs no network. Everything that comes from data is escaped.

    Parameters
    ----------
    path : str or Path
        The file to write; it is replaced as a whole or not at all.
    model : fitted estimator of prml, or a Pipeline that ends in one
        A ThresholdTuner or MultilabelCalibrator may be around it.
    X, Y
        Labelled examples that the model was not fitted to; X as the model reads it. Y is dense or
        sparse, with NaN for unknown labels.
    title : str, optional
    data_name : str, optional
        What the examples are called on the page.
    baselines : mapping, optional
        Names of other methods, each with a fitted estimator for the same X or an array of scores
        (predicted above 0).
    texts, example_names : sequences of str, optional
        What the gallery shows of each example. Texts that the model reads are shown anyway.
    feature_names : sequence of str, optional
        Tells the features of examples without text.
    n_examples : int
        How many examples are drawn by lot for the gallery; half as many come on top that are
        furthest off.
    random_state : int
        Seed of the lot.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from prml import PrBR
    >>> from prml.report import write_model_report
    >>> X, Y = make_multilabel_classification(n_samples=80, random_state=0)
    >>> model = PrBR(C=1.0).fit(X[:40], Y[:40])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_model_report(Path(folder) / "report.html", model, X[40:], Y[40:])
    ...     page.read_text("utf-8").startswith("<!DOCTYPE html>")
    True
    """
    findings = find_out(model, X, Y, random_state)
    columns = {"this model": findings.table(METRICS)}
    for name, other in (baselines or {}).items():
        columns[clean(name)] = evaluate_all(other, X, findings.Y, METRICS)
    if texts is None and findings.reads_text:
        texts = X
    gallery = sections.gallery(
        findings,
        X,
        n_examples=n_examples,
        random_state=random_state,
        texts=texts,
        example_names=example_names,
        feature_names=feature_names,
    )
    teachers = sections.teachers(findings)
    name = type(findings.learner).__name__
    script = _part("model_report.js")
    return write_page(
        path,
        "model_report.html.j2",
        title=clean(title or f"{name}: how it does and why"),
        lead=_lead(findings, data_name),
        facts=_facts(findings),
        methods=list(columns),
        scores=sections.score_rows(columns, METRICS),
        convergence=sections.convergence(findings.learner),
        cuts=sections.cut_charts(findings),
        labels=sections.label_rows(findings),
        threshold_note=sections.threshold_note(findings),
        teachers=teachers,
        gallery=gallery,
        parameters=_parameters(findings),
        data=json_for_page(sections.page_data(findings, teachers)),
        script=_markup(script),
        script_hash=_markup(base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()),
    )


def _part(name: str) -> str:
    text = (resources.files("prml.report") / "templates" / name).read_text("utf-8")
    return "\n" + text  # as it stands between the tags, which its hash is taken of


def _markup(text: str) -> Any:
    try:
        from markupsafe import Markup  # comes with jinja2
    except ImportError as missing:
        raise ImportError(
            "The page needs jinja2; pip install 'prml[report]' brings it."
        ) from missing
    return Markup(text)


def json_for_page(value: Any) -> Any:
    """Write JSON that no HTML parser takes for anything else.

    Examples
    --------
    >>> from prml.report.model_report import json_for_page
    >>> print(json_for_page(["</script>", None, 0.5]))
    ["\\u003c/script\\u003e",null,0.5]
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return _markup(text)


def _lead(findings: Findings, data_name: str | None) -> str:
    where = f" of {clean(data_name)}" if data_name else ""
    told = f"Scored on {findings.n_samples:,} examples{where} that carry labels."
    if len(findings.rows) < findings.n_samples:
        told += (
            f" Labels, curves and examples are those of {len(findings.rows):,} of them, drawn by "
            "lot."
        )
    return told


def _facts(findings: Findings) -> dict[str, str]:
    learner = findings.learner
    facts = {
        "examples": f"{findings.n_samples:,}",
        "labels": f"{findings.n_labels:,}",
        "labels an example": f"{findings.counts.present.sum() / max(1, len(findings.rows)):.2f}",
        "predicted": f"{findings.counts.predicted.sum() / max(1, len(findings.rows)):.2f}",
    }
    n_features = getattr(learner, "n_features_in_", None)
    if n_features is not None:
        facts["features"] = f"{n_features:,}"
    rank = getattr(learner, "rank_", None)
    if rank is not None:
        facts["rank"] = f"{rank:,}"
    gap = getattr(learner, "dual_gap_", None)
    if gap is not None:
        facts["duality gap"] = f"{100 * gap:.2g} %"
    history = getattr(learner, "history_", None)
    if history and "time" in history[-1]:
        facts["seconds to fit"] = f"{history[-1]['time']:,.1f}"
    return facts


def _parameters(findings: Findings) -> list[tuple[str, str]]:
    """The parameters of the learner that a reader can act on, as text."""
    shown = []
    for name, value in findings.learner.get_params(deep=False).items():
        if name in ("callbacks", "verbose", "n_jobs", "checkpoint"):
            continue
        if isinstance(value, np.ndarray):
            value = f"array {value.shape}"
        shown.append((name, clean(str(value))))
    return shown
