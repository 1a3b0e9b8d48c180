"""What is here: thresholds against trying everything, and on enron against the plain cut."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator
from tests.model_selection import naive_choices as naive
from tests.model_selection.halves import halves_of

from prml.datasets import load_debtags
from prml.metrics import evaluate, get_metric, macro_f1, micro_f1, scorer
from prml.model_selection import (
    MultilabelStratifiedKFold,
    ThresholdTuner,
    cross_fitted_scores,
    multilabel_train_test_split,
)
from prml.model_selection.cut_loops import choose_by_expected_f1, walk_down_the_scores
from prml.model_selection.cuts import best_global_cut, best_label_cuts, cut_after, mark_top_k

GLOBAL_GOALS = ["micro_f1", "macro_f1", "example_f1", "hamming_loss", "subset_accuracy"]


def small_problem(seed, n_samples=12, n_labels=4, missing=0.0):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.standard_normal((n_samples, n_labels)), 1)  # with ties
    Y = (scores + rng.standard_normal(scores.shape) > 0.7).astype(float)
    Y[0] = 0
    Y[:, 0] = 0
    known = rng.random(Y.shape) >= missing
    return scores, Y, known


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("metric", GLOBAL_GOALS)
def test_global_cut_is_the_best_of_all(metric, missing):
    sign = get_metric(metric).sign
    for seed in range(4):
        scores, Y, known = small_problem(seed, missing=missing)
        cut = best_global_cut(scores, Y.astype(np.int8), known if missing else None, metric)
        hidden = np.where(known, Y, np.nan)
        reached = sign * evaluate(hidden, scores, cut=cut, metrics=[metric])[metric]
        assert reached == pytest.approx(
            naive.naive_global_value(scores, hidden, metric, sign), abs=1e-12
        )


def test_the_walk_knows_the_value_at_its_best():
    for seed in range(4):
        scores, Y, _ = small_problem(seed)
        scores[:3, 0] = 9.0  # the label without positives comes first
        Y[3:] *= np.random.default_rng(seed).integers(0, 2, (9, 1))  # rows without a label too
        best, best_at = np.empty(5), np.empty(5, dtype=np.int64)
        order = np.argsort(-scores, axis=None)
        walk_down_the_scores(
            order, scores.ravel(), Y.ravel().astype(np.int8), *Y.shape, best, best_at
        )
        for metric, value in zip(GLOBAL_GOALS, best, strict=True):
            sign = get_metric(metric).sign
            expected = naive.naive_global_value(scores, Y, metric, sign)
            assert value == pytest.approx(expected, abs=1e-12), metric


@pytest.mark.parametrize("metric", ["macro_f1", "micro_f1", "hamming_loss"])
def test_label_cuts_are_the_best_of_all_combinations(metric):
    sign = get_metric(metric).sign
    for seed in range(8):
        scores, Y, _ = small_problem(seed, n_samples=9, n_labels=2)
        Y[1] = 1  # every label occurs
        every = np.ones(2, dtype=bool)
        cuts = best_label_cuts(scores, Y.astype(np.int8), None, metric, every, 0.0)
        reached = sign * evaluate(Y, scores, cut=cuts, metrics=[metric])[metric]
        assert reached == pytest.approx(naive.naive_label_value(scores, Y, metric, sign), abs=1e-12)


def test_no_label_can_raise_micro_f1_any_further():
    """Enough for the global optimum: at the best F1 the labels are separate problems."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((120, 6))
    Y = (scores + 2 * rng.standard_normal(scores.shape) > np.linspace(-1, 4, 6)).astype(np.int8)
    cuts = best_label_cuts(scores, Y, None, "micro_f1", np.ones(6, dtype=bool), 0.0)
    reached = micro_f1(Y, scores, cut=cuts)
    for label in range(6):
        for cut in naive.possible_cuts(scores[:, label]):
            other = cuts.copy()
            other[label] = cut
            assert micro_f1(Y, scores, cut=other) <= reached + 1e-12


def test_micro_f1_counts_labels_that_share_the_cut():
    scores, Y, _ = small_problem(5, n_samples=6, n_labels=3)
    own = np.array([False, True, True])
    cuts = best_label_cuts(scores, Y.astype(np.int8), None, "micro_f1", own, -0.5)
    assert cuts[0] == -0.5
    others = [
        micro_f1(Y, scores, cut=np.array([-0.5, a, b]))
        for a in naive.possible_cuts(scores[:, 1])
        for b in naive.possible_cuts(scores[:, 2])
    ]
    assert micro_f1(Y, scores, cut=cuts) == pytest.approx(max(others), abs=1e-12)


def test_cut_after_separates_even_neighbouring_numbers():
    first = np.nextafter(1.0, 2)
    second = np.nextafter(first, 2)
    for descending in (
        [3.0, 1.0],
        [first, 1.0],
        [second, first],
        [1e308, -1e308],
        [1.7e308, 1e308],
    ):
        descending = np.array(descending)
        for n_predicted in range(3):
            assert (descending > cut_after(descending, n_predicted)).sum() == n_predicted
    assert cut_after(np.array([]), 0) == 0.0


def test_expected_f1_is_the_best_of_all_sets():
    rng = np.random.default_rng(0)
    proba = rng.beta(0.4, 0.8, size=(10, 5))
    proba[0] = 1e-9
    chosen = np.empty(proba.shape, dtype=bool)
    choose_by_expected_f1(proba, 128, chosen)
    assert not chosen[0].any()
    for p, c in zip(proba, chosen, strict=True):
        assert naive.expected_f1(p, c) == pytest.approx(naive.best_expected_f1(p), abs=1e-12)
    # labels beyond the exact ones enter through their number: nearly as good
    choose_by_expected_f1(proba, 3, chosen)
    for p, c in zip(proba, chosen, strict=True):
        assert naive.expected_f1(p, c) > naive.best_expected_f1(p) - 0.05


def test_top_k_marks_the_first_of_a_tie():
    marked = mark_top_k(np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 1.0]]), 2)
    assert marked.tolist() == [[True, True, False], [False, True, True]]


@pytest.fixture(scope="module")
def halves():
    X, Y = make_multilabel_classification(
        n_samples=600, n_features=30, n_classes=8, n_labels=2, random_state=0
    )
    return multilabel_train_test_split(X, Y, test_size=0.5, random_state=0)


@pytest.mark.parametrize(
    ("strategy", "metric"),
    [
        ("per_label", "macro_f1"),
        ("per_label", "micro_f1"),
        ("global", "micro_f1"),
        ("global", "macro_f1"),
        ("top_k", "micro_f1"),
        ("f_measure", "example_f1"),
    ],
)
def test_every_strategy_beats_the_plain_cut(halves, strategy, metric):
    X, X_test, Y, Y_test = halves
    tuner = ThresholdTuner(RidgeClassifier(), strategy=strategy, metric=metric).fit(X, Y)
    plain = evaluate(Y_test, RidgeClassifier().fit(X, Y).decision_function(X_test), metrics=metric)
    tuned = evaluate(Y_test, tuner.predict(X_test), cut=0.5, metrics=metric)
    assert tuned[metric] > plain[metric]
    assert tuner.best_score_ > tuner.plain_score_
    assert tuner.predict(X_test).shape == Y_test.shape


def test_what_is_learnt_comes_from_cross_fitted_scores(halves):
    X, _, Y, _ = halves
    tuner = ThresholdTuner(RidgeClassifier(), strategy="global", cv=4).fit(X, Y)
    scores = cross_fitted_scores(RidgeClassifier(), X, Y, cv=4)
    assert tuner.cut_[0] == best_global_cut(scores, Y.astype(np.int8), None, "micro_f1")
    assert tuner.best_score_ == pytest.approx(micro_f1(Y, scores, cut=tuner.cut_))
    assert tuner.plain_score_ == pytest.approx(micro_f1(Y, scores, cut=0.0))
    for train, test in MultilabelStratifiedKFold(4).split(X, Y):
        model = RidgeClassifier().fit(X[train], Y[train])
        np.testing.assert_allclose(scores[test], model.decision_function(X[test]))


def test_rare_labels_share_the_cut_and_frequent_ones_lean_on_it(halves):
    X, _, Y, _ = halves
    Y = Y.copy()
    Y[:, 0] = 0
    Y[:5, 0] = 1
    tuner = ThresholdTuner(RidgeClassifier(), min_positives=20).fit(X, Y)
    scores = cross_fitted_scores(RidgeClassifier(), X, Y)
    shared = best_global_cut(scores, Y.astype(np.int8), None, "macro_f1")
    assert not tuner.own_cut_[0] and tuner.own_cut_[1:].all()
    assert tuner.cut_[0] == shared
    free = ThresholdTuner(RidgeClassifier(), min_positives=0).fit(X, Y)
    n = Y.sum(axis=0)
    expected = (n * free.cut_ + 20 * shared) / (n + 20)
    np.testing.assert_allclose(tuner.cut_[1:], expected[1:])
    assert free.own_cut_.all()


def test_forms_of_input_and_estimators(halves):
    X, X_test, Y, _ = halves
    expected = ThresholdTuner(OneVsRestClassifier(LinearSVC(random_state=0))).fit(X, Y)
    sparse = ThresholdTuner(OneVsRestClassifier(LinearSVC(random_state=0)))
    sparse.fit(sp.csr_matrix(X), sp.csr_matrix(Y))
    # one cut is found in both: LIBLINEAR rounds dense and sparse rows differently
    np.testing.assert_allclose(sparse.cut_, expected.cut_, atol=0.05)
    forest = ThresholdTuner(RandomForestClassifier(20, random_state=0), cv=3).fit(X, Y)
    assert forest.predict(X_test).shape == (len(X_test), 8)
    assert forest.cut_.min() > 0 and forest.cut_.max() < 1
    text = np.array(["red apple", "green apple", "red car", "green car"] * 10)
    labels = np.array([[1, 1], [0, 1], [1, 0], [0, 0]] * 10)
    model = ThresholdTuner(make_pipeline(CountVectorizer(), RidgeClassifier()))
    assert (model.fit(text, labels).predict(text) == labels).all()
    assert model.predict_top_k(text[:1], k=1).shape == (1, 1)


def test_prefit_and_groups(halves):
    X, X_test, Y, Y_test = halves
    fitted = RidgeClassifier().fit(X, Y)
    tuner = ThresholdTuner(fitted, strategy="global", cv="prefit").fit(X_test, Y_test)
    assert tuner.estimator_ is fitted
    scores = fitted.decision_function(X_test)
    assert tuner.cut_[0] == best_global_cut(scores, Y_test.astype(np.int8), None, "micro_f1")
    groups = np.arange(len(X)) // 10
    grouped = ThresholdTuner(RidgeClassifier(), strategy="global").fit(X, Y, groups=groups)
    scores = cross_fitted_scores(RidgeClassifier(), X, Y, groups=groups)
    assert grouped.cut_[0] == best_global_cut(scores, Y.astype(np.int8), None, "micro_f1")


def test_inside_a_search(halves):
    X, _, Y, _ = halves
    search = GridSearchCV(
        ThresholdTuner(RidgeClassifier(), cv=3),
        {"estimator__alpha": [1.0, 1e5], "strategy": ["per_label", "top_k"]},
        cv=MultilabelStratifiedKFold(2),
        scoring=scorer("macro_f1"),
    ).fit(X, Y)
    assert search.best_params_["estimator__alpha"] == 1.0
    assert clone(search.best_estimator_).get_params()["cv"] == 3


def test_a_refit_forgets_the_first(halves):
    X, X_test, Y, _ = halves
    tuner = ThresholdTuner(RidgeClassifier(), strategy="top_k", k=3).fit(X, Y)
    assert (tuner.predict(X_test).sum(axis=1) == 3).all()
    tuner.set_params(strategy="global").fit(X, Y)
    assert not hasattr(tuner, "k_")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "best"}, "strategy is 'best'; expected one of per_label"),
        ({"metric": "example_f1"}, "with strategy 'per_label' expected one of macro_f1"),
        ({"strategy": "top_k", "k": 99}, "k is 99; expected a whole number from 1 to the 8"),
        ({"cv": ShuffleSplit(2)}, "cv tests row .* times; expected folds that test every row"),
        ({"estimator": CountVectorizer()}, "neither decision_function nor predict_proba|no attr"),
    ],
)
def test_bad_settings_are_one_clear_sentence(halves, settings, message):
    X, _, Y, _ = halves
    with pytest.raises((ValueError, AttributeError), match=message):
        ThresholdTuner(RidgeClassifier()).set_params(**settings).fit(X, Y)


@pytest.mark.parametrize(
    "tuner",
    [
        ThresholdTuner(RidgeClassifier(), cv=2),
        ThresholdTuner(LinearSVC(), strategy="global", cv=2),
        ThresholdTuner(RidgeClassifier(), strategy="top_k", cv=2),
        ThresholdTuner(LinearSVC(), strategy="f_measure", cv=2),
    ],
    ids=lambda tuner: tuner.strategy,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(tuner):
    check_estimator(tuner)


@pytest.mark.filterwarnings("ignore:Label not")
@pytest.mark.parametrize("name", ["enron", "debtags"])
def test_macro_f1_is_higher_than_at_cut_0(name):
    if name == "debtags":
        data = load_debtags()
        X, Y = data.X[data.train_idx], data.Y[data.train_idx]
        X_test, Y_test = data.X[data.test_idx], data.Y[data.test_idx]
    else:
        X, X_test, Y, Y_test = halves_of(name)
    model = OneVsRestClassifier(LinearSVC(C=0.1, tol=1e-2, random_state=0))
    tuner = ThresholdTuner(model, cv=3).fit(X, Y)
    plain = macro_f1(Y_test, tuner.decision_function(X_test), cut=0.0)
    assert macro_f1(Y_test, tuner.predict(X_test)) > plain + 0.01
