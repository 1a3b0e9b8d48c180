"""What is here: the page about a model - its figures against slow twins, its safety, its size."""

import base64
import hashlib
import json
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import precision_recall_fscore_support
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.report.large_model import HOSTILE, large_model
from tests.report.naive_figures import at_cut, shifted_scores, slack
from tests.report.test_page import Checker, contrast

from prml import PrBR
from prml.baselines import LEML, BinaryRelevance
from prml.metrics import evaluate
from prml.model_selection import MultilabelCalibrator, ThresholdTuner
from prml.report import answers, sections, write_model_report
from prml.report.answers import find_out
from prml.report.charts import Axis, Series, draw, nice_ticks
from prml.report.curves import label_curve, shift_curve
from prml.report.names import clean
from prml.report.teaching import comment, heat_map, strongest

pytestmark = pytest.mark.filterwarnings("ignore:For .* labels:UserWarning")

X, Y = make_multilabel_classification(n_samples=160, n_features=10, n_classes=6, random_state=1)
X = X / 10.0
TRAIN, TEST = slice(0, 80), slice(80, None)


@pytest.fixture(scope="module")
def model():
    return PrBR(C=1.0, random_state=0).fit(X[TRAIN], Y[TRAIN])


def page_of(tmp_path, model, X=X[TEST], Y=Y[TEST], **settings):
    page = write_model_report(tmp_path / "report.html", model, X, Y, **settings)
    assert list(tmp_path.iterdir()) == [page]
    text = page.read_text("utf-8")
    checker = Checker()
    checker.feed(text)
    assert checker.open == [] and checker.outside == [] and checker.refs <= checker.ids
    assert checker.tags.count("h1") == 1 and checker.tags.count("script") == 2
    assert "url(" not in text and "@import" not in text
    return text


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])


def test_page_is_well_formed_and_only_its_own_script_may_run(tmp_path, model):
    text = page_of(tmp_path, model)
    script = re.search(r"<script>(.*?)</script>", text, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text and "default-src 'none'" in text
    for part in ("Scores", "Convergence", "Labels", "Teachers", "Cuts and probabilities"):
        assert f">{part}</h2>" in text
    assert "no model of this kind gets below" in text and "excuses" in text


def test_scores_and_baselines_are_those_of_evaluate(tmp_path, model):
    other = BinaryRelevance(random_state=0).fit(X[TRAIN], Y[TRAIN])
    text = page_of(tmp_path, model, baselines={"<b>LIBLINEAR</b>": other, "zeros": 0.0 * Y[TEST]})
    assert "&lt;b&gt;LIBLINEAR&lt;/b&gt;" in text
    for method in (model, other):
        table = evaluate(Y[TEST], method.decision_function(X[TEST]), metrics=["ranking_loss"])
        assert f">{table['ranking_loss']:.3f}</td>" in text


def test_label_table_agrees_with_scikit_learn(model):
    found = find_out(model, X[TEST], Y[TEST], 0)
    rows = sections.label_rows(found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures = precision_recall_fscore_support(
            Y[TEST], model.predict(X[TEST]), zero_division=np.nan
        )
    precision, recall, f1, support = figures
    assert [row.present for row in rows] == sorted(support, reverse=True)
    for row in rows:
        i = row.position
        assert row.present == support[i] and row.cut == 0.0
        np.testing.assert_allclose([row.precision, row.recall], [precision[i], recall[i]])
        np.testing.assert_allclose(row.f1, f1[i])


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(1, 9), n_labels=st.integers(1, 4), seed=st.integers(0, 999), unknown=st.booleans()
)
def test_shift_curve_against_its_twin(n, n_labels, seed, unknown):
    rng = np.random.default_rng(seed)
    margins = rng.normal(size=(n, n_labels)).round(1)
    true = rng.random((n, n_labels)) < 0.4
    known = rng.random((n, n_labels)) < 0.8 if unknown else None
    if known is not None:
        true &= known
    curve = shift_curve(margins, true, known)
    assert curve.shift[len(curve.shift) // 2] == 0.0
    for k in range(0, len(curve.shift), 10):
        slow = shifted_scores(margins, true, known, curve.shift[k])
        np.testing.assert_allclose([values[k] for values in curve[1:]], slow)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(2, 60), seed=st.integers(0, 999), digits=st.integers(0, 3))
def test_label_curve_against_its_twin(n, seed, digits):
    rng = np.random.default_rng(seed)
    scores, true = rng.normal(size=n).round(digits), rng.random(n) < 0.3
    points = label_curve(scores, true)
    if not true.any():
        assert points is None
    for cut, precision, recall in points or []:
        np.testing.assert_allclose((precision, recall), at_cut(scores, true, cut))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 999), unknown=st.booleans())
def test_comment_against_its_twin(seed, unknown):
    rng = np.random.default_rng(seed)
    model, _, _ = large_model(n_labels=8, n_features=3, n_samples=2, seed=seed)
    label, true = int(rng.integers(8)), rng.random(8) < 0.5
    known = rng.random(8) < 0.7 if unknown else None
    if known is not None:
        known[label] = True
        true &= known
    said = comment(model, label, 0.3, true, known)
    weights = model.privileged_coef_[label].astype(float)
    expected = slack(weights, model.privileged_intercept_[label], label, true, known)
    assert said.excused == pytest.approx(expected, abs=1e-6)
    assert said.short == pytest.approx(0.7 if true[label] else 1.3)
    # what a present label adds is the difference to the same example without it
    for other, amount in said.reasons:
        assert true[other] and other != label
        assert amount == pytest.approx(2 * weights[other])


def test_slack_of_training_examples_is_what_the_solver_used(model):
    """At the optimum no training example has a teacher with a negative slack."""
    for row in range(20):
        true = Y[row] > 0
        view = np.where(true, 1.0, -1.0)
        slacks = model.privileged_coef_ @ view + model.privileged_intercept_
        assert slacks.min() > -1e-6


def test_heat_map_draws_every_weight_where_it_belongs():
    weights = np.random.default_rng(0).normal(size=(5, 5))
    np.fill_diagonal(weights, 0.0)
    shown = heat_map(weights)
    cells = {}
    for level, path in shown.paths:
        for column, row in re.findall(r"M(\d+) (\d+)h1v1h-1z", path):
            cells[int(row), int(column)] = level
    for (row, column), level in cells.items():
        assert np.sign(weights[row, column]) == np.sign(level)
    drawn = np.zeros_like(weights)
    for where, level in cells.items():
        drawn[where] = level
    rounded = np.ceil(np.minimum(np.abs(weights) / shown.largest, 1) * 5 - 0.5) * np.sign(weights)
    assert (drawn == rounded).all()
    assert len(heat_map(np.ones((61, 61))).labels) == 60 and heat_map(np.zeros((3, 3))).paths == []


def test_strongest_teachers_are_those_of_the_estimator(model):
    found = strongest(model.privileged_coef_, 3)
    pupils = strongest(model.privileged_coef_, 3, by_column=True)
    for label, pairs in enumerate(found):
        expected = model.teachers(label, n=3)
        assert [(who, weight) for who, weight in pairs] == [
            (who, float(f"{weight:.3g}")) for who, weight in expected[: len(pairs)]
        ]
        assert pupils[label] == strongest(model.privileged_coef_.T, 3)[label]


def test_names_keep_nothing_invisible():
    assert clean("a\x00b\u202ec\ud800") == "a\\x00b\\u202ec\\ud800"
    assert clean("日本 <b>") == "日本 <b>" and len(clean("x" * 999)) == 120


@pytest.mark.parametrize("n_labels", [8, 70])
def test_hostile_names_are_escaped(tmp_path, n_labels):
    model, X, Y = large_model(n_labels=n_labels, n_samples=40)
    model.label_names_[-1] = "\ud800\u202e"
    text = page_of(tmp_path, model, X, Y, title="<script>", example_names=["<img src=x>"] * 40)
    assert data_of(text)["names"][: len(HOSTILE)] == list(HOSTILE)
    for raw in ("<script>alert", "</script><b>", "<img"):
        assert raw not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text and "{{ 7 * 7 }}" in text


def test_page_of_3993_labels_is_below_5_megabytes(tmp_path):
    model, X, Y = large_model()
    text = page_of(tmp_path, model, X, Y)
    assert len(text.encode()) < 5e6
    assert text.count("<tr data-i=") == 3993 and len(data_of(text)["teachers"]) == 3993


WRAPPED = {
    "cuts": lambda: ThresholdTuner(PrBR(), cv=2, min_positives=5),
    "top k": lambda: ThresholdTuner(PrBR(), strategy="top_k", cv=2),
    "expected F1": lambda: ThresholdTuner(PrBR(), strategy="f_measure", cv=2),
    "sigmoids": lambda: MultilabelCalibrator(PrBR(), cv=2),
    "pipeline": lambda: make_pipeline(StandardScaler(), ThresholdTuner(PrBR(), cv=2)),
    "inner pipeline": lambda: ThresholdTuner(make_pipeline(StandardScaler(), PrBR()), cv=2),
    "BinaryRelevance": lambda: BinaryRelevance(random_state=0, max_iter=20_000),
    "LEML": lambda: LEML(n_components=2, random_state=0, tol=0.2),
    "no teacher": lambda: PrBR(privileged=None),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_every_kind_of_model_has_a_page(tmp_path, name):
    model = WRAPPED[name]().fit(X[TRAIN], Y[TRAIN])
    text = page_of(tmp_path, model)
    predicted = np.asarray(model.predict(X[TEST]))
    by_position = dict(
        re.findall(
            r'<tr data-i="(\d+)">.*?<td class="number">\d+</td><td class="number">(\d+)', text
        )
    )
    assert [int(by_position[str(i)]) for i in range(6)] == predicted.sum(axis=0).tolist()
    score = evaluate(Y[TEST], predicted.astype(float), cut=0.5, metrics=["micro_f1"])["micro_f1"]
    assert f">{score:.3f}</td>" in text
    assert ("no teacher" in text) == (name in ("BinaryRelevance", "LEML", "no teacher"))


@pytest.mark.parametrize("classes", [2, 3])
def test_one_dimensional_y(tmp_path, classes):
    y = np.array(["<a>", "b", "c"])[:classes][Y[:, :3].argmax(axis=1) % classes]
    for make in (PrBR, lambda: ThresholdTuner(PrBR(), cv=2)):
        model = make().fit(X[TRAIN], y[TRAIN])
        page_of(tmp_path, model, Y=y[TEST])


def test_unknown_labels_are_left_out(tmp_path, model):
    partial = Y[TEST].astype(float)
    partial[::3, 1] = np.nan
    page_of(tmp_path, model, Y=partial)
    found = find_out(model, X[TEST], partial, 0)
    kept = ~np.isnan(partial[:, 1])
    assert found.counts.present[1] == partial[kept, 1].sum()
    assert found.counts.predicted[1] == model.predict(X[TEST])[kept, 1].sum()


def test_of_many_rows_some_are_drawn(tmp_path, model, monkeypatch):
    whole = find_out(model, X[TEST], Y[TEST], 0).table(["ranking_loss"])
    monkeypatch.setattr(answers, "MOST_ENTRIES", 6 * 30)
    monkeypatch.setattr(answers, "BLOCK_ROWS", 7)
    found = find_out(model, X[TEST], sp.csr_matrix(Y[TEST]), 0)
    assert len(found.rows) == 30
    np.testing.assert_allclose(found.scores, model.decision_function(X[TEST][found.rows]))
    assert (found.predicted == model.predict(X[TEST][found.rows])).all()
    assert found.table(["ranking_loss"])["ranking_loss"] == whole["ranking_loss"]
    assert "drawn by lot" in page_of(tmp_path, model)


def test_model_that_says_nothing(tmp_path):
    """All scores alike, no teacher that speaks, a gap that is wide open."""
    model, X, Y = large_model(n_labels=5, n_samples=30)
    model.coef_[:], model.intercept_[:], model.privileged_coef_[:] = 0.0, -1.0, 0.0
    model.dual_gap_ = 1e7
    text = page_of(tmp_path, model, X, Y)
    assert "remains open" in text and "This model has no teacher" in text
    assert 'class="comments"' not in text and data_of(text)["curves"] == [None] * 5


def test_of_too_many_labels_the_mistakes_are_shown(tmp_path):
    model, X, Y = large_model(n_labels=400, n_samples=20)
    model.intercept_ += 3.0  # half of the labels are predicted, few are true
    found = find_out(model, X, Y, 0)
    for example in sections.gallery(
        found, X, n_examples=20, random_state=0, texts=None, example_names=None, feature_names=None
    ):
        assert len(example.tags) == sections.MOST_TAGS and example.n_more > 0
        assert all(tag.state != "right" for tag in example.tags)
        scores = [tag.score for tag in example.tags]
        assert scores == sorted(scores, reverse=True)


def test_wrong_sizes_are_told(tmp_path, model):
    with pytest.raises(ValueError, match="Y has 5 labels and the model 6"):
        page_of(tmp_path, model, Y=Y[TEST][:, :5])
    with pytest.raises(ValueError, match="X has 79 examples and Y 80"):
        page_of(tmp_path, model, X=X[TEST][:-1])
    assert not list(tmp_path.iterdir())


def test_charts():
    assert nice_ticks(-0.7, 1.3, 4).tolist() == [-0.5, 0.0, 0.5, 1.0]
    chart = draw(
        "t", [Series("s", [0, 1, np.nan], [1.0, 2.0, 3.0])], Axis("x"), Axis("y"), [(9, "")]
    )
    assert chart.lines[0][1] == f"58.0,{chart.bottom:.1f} 626.0,{chart.top:.1f}"
    assert chart.marks == []  # outside
    assert draw("t", [Series("s", [0.0], [1.0])], Axis("x"), Axis("y")) is None
    assert draw("t", [Series("s", [0, 1], [0, 0])], Axis("x"), Axis("y", log=True)) is None
    long = draw("t", [Series("s", np.arange(9999), np.arange(9999))], Axis("x"), Axis("y"))
    assert len(long.lines[0][1].split()) <= 240


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_contrast_of_lines_and_bars_is_at_least_three_to_one(scheme):
    from tests.report.test_page import TEMPLATES

    def colours(name):
        css = (TEMPLATES / name).read_text()
        return dict(re.findall(r"--([\w-]+): (#\w{6})", css.split(":root")[1 + scheme]))

    page, own = colours("page.css"), colours("model_report.css")
    for name, colour in own.items():
        if name != "empty":
            for ground in (page["ground"], page["surface"], own["empty"]):
                assert contrast(colour, ground) >= 3, (name, ground)
    assert contrast(page["surface"], page["accent"]) >= 4.5  # a pressed button
    assert contrast(page["accent"], own["empty"]) >= 4.5  # the name in the picked row
