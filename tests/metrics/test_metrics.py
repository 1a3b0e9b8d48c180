"""What is here: the metrics against their plain definitions and against scikit-learn."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metrics import naive_metrics as naive

import prml.metrics as pm
from prml.metrics import METRICS, SIX, evaluate
from prml.metrics import inputs as metric_inputs

SCORE_METRICS = ["one_error", "coverage", "ranking_loss", "average_precision", "macro_auc"]
LABEL_METRICS = ["hamming_loss", "subset_accuracy", "micro_f1", "macro_f1", "example_f1"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Cut arrays into blocks of a few rows, so that every test crosses block borders."""
    monkeypatch.setattr(metric_inputs, "_ENTRIES_A_BLOCK", 15)


def make_problem(seed, n_samples=40, n_labels=5, missing=0.0, ties=True):
    """Make random labels and scores with ties, empty rows, full rows and one-class labels."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n_samples, n_labels)) < rng.random(n_labels)).astype(float)
    Y[0] = 0
    Y[1] = 1
    if seed % 3 == 0:
        Y[:, 0] = 0
    if seed % 3 == 1:
        Y[:, -1] = 1
    scores = rng.standard_normal((n_samples, n_labels))
    if ties:
        scores = np.round(scores)
    Y[rng.random(Y.shape) < missing] = np.nan
    if missing:
        Y[2] = np.nan
    return Y, scores


def same(a, b):
    return np.isclose(a, b, rtol=0, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_equal_to_the_plain_definition(seed, missing):
    Y, scores = make_problem(seed, missing=missing)
    predicted = (scores > 0).astype(float)
    for name in SCORE_METRICS:
        assert same(getattr(pm, name)(Y, scores), getattr(naive, name)(Y, scores)), name
    for name in LABEL_METRICS:
        expected = getattr(naive, name)(Y, predicted)
        assert same(getattr(pm, name)(Y, predicted), expected), name
        assert same(getattr(pm, name)(Y, scores, cut=0.0), expected), name
    np.testing.assert_allclose(pm.label_auc(Y, scores), naive.label_auc(Y, scores), atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_top_k_equal_to_the_mean_over_all_orders_of_ties(k, missing):
    for seed in range(3):
        Y, scores = make_problem(seed, n_samples=25, missing=missing)
        assert same(pm.precision_at_k(Y, scores, k), naive.precision_at_k(Y, scores, k))
        assert same(pm.ndcg_at_k(Y, scores, k), naive.ndcg_at_k(Y, scores, k))
        p = np.random.default_rng(seed).uniform(0.1, 1, Y.shape[1])
        assert same(
            pm.propensity_scored_precision_at_k(Y, scores, k, propensity=p),
            naive.psp_at_k(Y, scores, k, p),
        )


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_small_problem_equals_the_plain_definition(data):
    n, L = data.draw(st.integers(1, 5)), data.draw(st.integers(2, 5))
    entry = st.sampled_from([0.0, 1.0, float("nan")])
    score = st.sampled_from([-np.inf, -1.0, 0.0, 1e-300, 0.5, 2.0, np.inf])
    Y = np.array(data.draw(st.lists(entry, min_size=n * L, max_size=n * L))).reshape(n, L)
    scores = np.array(data.draw(st.lists(score, min_size=n * L, max_size=n * L))).reshape(n, L)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # undefined is NaN, silently
        table = evaluate(Y, scores, metrics="all")
    predicted = (scores > 0).astype(float)
    for name in SCORE_METRICS:
        assert same(table[name], getattr(naive, name)(Y, scores)), name
    for name in LABEL_METRICS:
        assert same(table[name], getattr(naive, name)(Y, predicted)), name
    assert same(table["precision@1"], naive.precision_at_k(Y, scores, 1))
    assert same(table["ndcg@1"], naive.ndcg_at_k(Y, scores, 1))


@pytest.mark.parametrize("ties", [True, False])
def test_equal_to_scikit_learn_where_definitions_coincide(ties):
    Y, scores = make_problem(2, n_samples=200, n_labels=12, ties=ties)
    predicted = scores > 0.5
    kept = (Y.sum(axis=1) > 0) & (Y.sum(axis=1) < Y.shape[1])
    labelled = Y.sum(axis=1) > 0
    two_classes = (Y.sum(axis=0) > 0) & (Y.sum(axis=0) < len(Y))
    expected = {
        "hamming_loss": sk.hamming_loss(Y, predicted),
        "coverage": (sk.coverage_error(Y[labelled], scores[labelled]) - 1) / Y.shape[1],
        "ranking_loss": sk.label_ranking_loss(Y[kept], scores[kept]),
        "average_precision": sk.label_ranking_average_precision_score(Y[kept], scores[kept]),
        "macro_auc": sk.roc_auc_score(Y[:, two_classes], scores[:, two_classes]),
        "subset_accuracy": sk.accuracy_score(Y, predicted),
        "micro_f1": sk.f1_score(Y, predicted, average="micro"),
        "macro_f1": sk.f1_score(Y, predicted, average="macro", zero_division=np.nan),
        "example_f1": sk.f1_score(Y, predicted, average="samples", zero_division=np.nan),
        "ndcg@3": sk.ndcg_score(Y[labelled], scores[labelled], k=3),
        "ndcg@5": sk.ndcg_score(Y[labelled], scores[labelled], k=5),
    }
    table = evaluate(Y, scores, cut=0.5, metrics=list(expected))
    for name, value in expected.items():
        assert same(table[name], value), name


def blocks_of(scores):
    return [scores[:7], scores[7:7], scores[7:20], scores[20:]]


def test_form_of_the_input_does_not_matter():
    Y, scores = make_problem(4)
    expected = evaluate(Y, scores, metrics="all").to_dict()
    forms = {
        "sparse Y": (sp.csr_matrix(Y), scores),
        "csc Y": (sp.csc_array(Y), scores),
        "list": (Y.astype(int).tolist(), scores.tolist()),
        "fortran": (Y, np.asfortranarray(scores)),
        "float32": (Y, scores.astype(np.float32)),
        "list of blocks": (Y, blocks_of(scores)),
        "one-shot iterator": (Y, iter(blocks_of(scores))),
        "generator": (sp.csr_matrix(Y), (block for block in blocks_of(scores))),
        "function": (Y, lambda: iter(blocks_of(scores))),
    }
    read_only = scores.copy()
    read_only.flags.writeable = False
    forms["read only"] = (Y, read_only)
    for name, (labels, form) in forms.items():
        assert evaluate(labels, form, metrics="all").to_dict() == pytest.approx(
            expected, abs=1e-15
        ), name


def test_mask_equals_nan():
    Y, scores = make_problem(5, missing=0.4)
    known = ~np.isnan(Y)
    expected = evaluate(Y, scores, metrics="all").to_dict()
    filled = np.where(known, Y, np.random.default_rng(0).integers(0, 2, Y.shape))
    half = np.where(known | (np.arange(Y.shape[1]) > 2), filled, np.nan)
    for labels, mask in [
        (filled, known),
        (filled, known.astype(int)),
        (filled, sp.csr_matrix(known)),
        (sp.csr_matrix(filled), sp.csc_matrix(known)),
        (half, known),
        (half, sp.csr_matrix(known)),
    ]:
        table = evaluate(labels, scores, metrics="all", mask=mask)
        for name in SIX:
            assert same(table[name], expected[name]), name
        assert same(table["precision@3"], expected["precision@3"])


def test_predicted_replaces_the_cut():
    Y, scores = make_problem(7)
    predicted = np.random.default_rng(0).integers(0, 2, Y.shape)
    table = evaluate(Y, scores, metrics="all", predicted=sp.csr_matrix(predicted))
    assert same(table["micro_f1"], naive.micro_f1(Y, predicted))
    assert same(table["ranking_loss"], naive.ranking_loss(Y, scores))
    from_blocks = evaluate(Y, blocks_of(scores), metrics="all", predicted=predicted)
    assert from_blocks.to_dict() == table.to_dict()
    assert same(pm.macro_f1(Y, sp.csr_matrix(predicted)), naive.macro_f1(Y, predicted))


def test_a_cut_for_each_label():
    Y, scores = make_problem(8)
    cut = np.linspace(-1, 1, Y.shape[1])
    predicted = (scores > cut).astype(float)
    assert same(pm.micro_f1(Y, scores, cut=cut), naive.micro_f1(Y, predicted))


def test_undefined_is_nan_and_counts_tell():
    Y = np.array([[0, 0, 1], [0, 1, 1]])
    table = evaluate(Y, np.zeros((2, 3)))
    assert table.counts["macro_auc"] == 1
    assert table["macro_auc"] == 0.5
    np.testing.assert_array_equal(table.by_label["auc"], [np.nan, 0.5, np.nan])
    assert pm.macro_auc(Y, np.zeros((2, 3)), return_count=True) == (0.5, 1)
    nothing = evaluate(np.zeros((2, 3)), -np.ones((2, 3)), metrics="all")
    assert nothing["hamming_loss"] == 0 and nothing["precision@1"] == 0
    for name in ["one_error", "coverage", "macro_auc", "micro_f1", "ndcg@3", "psp@1"]:
        assert np.isnan(nothing[name]), name
        assert nothing.counts[name] in (0, 6)
    assert "undefined" in str(nothing)
    empty = evaluate(np.zeros((0, 3)), np.zeros((0, 3)), metrics="all")
    assert all(np.isnan(value) for value in empty.values())


def test_one_dimensional_y():
    y = np.array(["no", "yes", "yes", "no"])
    score = np.array([0.1, 0.4, 0.35, 0.8])
    assert same(pm.macro_auc(y, score), sk.roc_auc_score(y == "yes", score))
    table = evaluate(np.array([0, 1, 2, 1]), np.eye(3)[[0, 1, 1, 2]], metrics="all")
    assert table["precision@1"] == 0.5


def test_table_prints_in_80_columns_and_converts():
    Y, scores = make_problem(9, missing=0.1)
    table = evaluate(Y, scores, metrics="all")
    assert max(len(line) for line in str(table).splitlines()) <= 80
    assert len(str(table).splitlines()) == len(table) + 1
    frame = table.to_frame()
    assert frame.loc["one_error", "value"] == table["one_error"]
    assert frame.loc["one_error", "better"] == "lower"
    assert dict(table) == table.to_dict()
    assert "one_error=" in repr(table)


def test_registry_is_complete_and_true():
    better = {"hamming_loss", "one_error", "coverage", "ranking_loss"}
    assert {m.name for m in METRICS.values() if m.better == "lower"} == better
    assert {m.name for m in METRICS.values() if m.needs == "labels"} == set(LABEL_METRICS)
    Y, _ = make_problem(2, n_labels=8)
    perfect, worst = 2 * Y - 1, 1 - 2 * Y
    good, bad = evaluate(Y, perfect, metrics="all"), evaluate(Y, worst, metrics="all")
    for name in good:
        sign = pm.get_metric(name).sign
        assert sign * good[name] > sign * bad[name], name


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda Y, F: evaluate(Y, F[:, 1:]), r"shape \(40, 4\); expected that of Y, \(40, 5\)"),
        (lambda Y, F: evaluate(Y, [F[:10]]), "10 rows together; expected the 40"),
        (lambda Y, F: evaluate(Y, [F, F]), "more rows than Y"),
        (lambda Y, F: evaluate(Y, [F[:, :2]]), r"block of scores at row 0 has shape \(40, 2\)"),
        (lambda Y, F: evaluate(Y, np.where(F > 1, np.nan, F)), "holds nan at row"),
        (lambda Y, F: evaluate(Y, F.astype(str)), "expected numbers"),
        (lambda Y, F: evaluate(Y, 3.0), "expected an array"),
        (lambda Y, F: evaluate(Y, F, cut=[0, 1]), "cut has shape"),
        (lambda Y, F: evaluate(Y, F, metrics=["auc"]), "no metric 'auc'"),
        (lambda Y, F: evaluate(Y, F, metrics=["precision@0"]), "no metric 'precision@0'"),
        (lambda Y, F: evaluate(Y, F, metrics=["precision@6"]), "k is 6; expected between 1 and"),
        (lambda Y, F: evaluate(Y, F, metrics=[]), "metrics is empty"),
        (lambda Y, F: evaluate(Y, F, mask=Y[:, 1:]), "mask has shape"),
        (lambda Y, F: evaluate(Y, F, mask=Y + 1), "mask holds values other"),
        (lambda Y, F: evaluate(Y, F, predicted=F), "predicted holds .* expected 0 or 1"),
        (lambda Y, F: pm.hamming_loss(Y, F), "predicted holds .* expected 0 or 1"),
        (lambda Y, F: evaluate(Y, F, metrics="psp@1", propensity=[0.5]), "propensity has shape"),
        (lambda Y, F: evaluate(Y + 1, F), "expected 0 or 1"),
    ],
)
def test_bad_input_is_one_clear_sentence(call, message):
    Y, scores = make_problem(2)
    with pytest.raises(ValueError, match=message):
        call(Y, scores)


def test_propensities_grow_with_frequency():
    Y = sp.random(1000, 20, density=0.1, format="csr", random_state=0)
    Y.data[:] = 1
    p = pm.propensities(Y)
    counts = np.asarray(Y.sum(axis=0)).ravel()
    assert ((p > 0) & (p <= 1)).all()
    assert (np.diff(p[np.argsort(counts)]) >= 0).all()
    expected = 1 / (1 + (np.log(1000) - 1) * 2.5**0.55 * np.exp(-0.55 * np.log(counts + 1.5)))
    np.testing.assert_allclose(p, expected, rtol=1e-13)
