"""What is here: RAkEL against scikit-learn on encoded classes, with the votes counted by hand."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.baselines import naive_ensembles as naive

from prml.baselines import BinaryRelevance, RAkEL
from prml.baselines import rakel as module
from prml.baselines.rakel import draw_labelsets

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at max_iter:Warning")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("k, disjoint", [(1, False), (2, False), (3, False), (2, True), (9, False)])
def test_votes_equal_those_counted_by_hand(loss, k, disjoint):
    X, Y = naive.correlated_labels()
    model = RAkEL(
        k=k, disjoint=disjoint, loss=loss, C=0.5, scores="hard", random_state=0, **naive.TIGHT
    ).fit(sp.csr_matrix(X), sp.csr_matrix(Y))
    labelsets = [labels[labels >= 0] for labels in model.labelsets_]
    votes = naive.rakel_votes(X, Y, X, labelsets, loss, C=0.5)
    np.testing.assert_allclose(model.decision_function(X), votes, atol=1e-12)
    np.testing.assert_array_equal(model.predict(sp.csr_matrix(X)), votes > 0.5)


def test_decision_values_by_hand():
    X, Y = naive.correlated_labels()
    model = RAkEL(loss="squared_hinge", C=0.5, random_state=0, **naive.TIGHT).fit(X, Y)
    total, asked = np.zeros(Y.shape), np.zeros(Y.shape[1])
    for labels in model.labelsets_:
        classes = ["".join(map(str, row)) for row in Y[:, labels]]
        learner = naive.machine("squared_hinge", 0.5).fit(X, classes)
        values = learner.decision_function(X)
        for place, label in enumerate(labels):
            has = np.array([text[place] == "1" for text in learner.classes_])
            total[:, label] += (values[:, has].max(axis=1) - values[:, ~has].max(axis=1)) / 2
            asked[label] += 1
    np.testing.assert_allclose(model.decision_function(X), total / asked, atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), total > 0)


def test_logistic_combinations_are_one_vs_rest():
    X, Y = naive.correlated_labels()
    settings = {"loss": "logistic", "C": 0.5, "tol": 1e-8}
    model = RAkEL(k=2, disjoint=True, random_state=0, **settings).fit(X, Y)
    labels = model.labelsets_[0]
    codes = Y[:, labels] @ [1, 2]
    single = BinaryRelevance(**settings).fit(X, (codes[:, None] == np.arange(4)).astype(int))
    np.testing.assert_allclose(model.coef_[:4], single.coef_, atol=1e-6)


@pytest.mark.parametrize("scores", ["decision", "hard"])
def test_sets_of_one_label_are_binary_relevance(scores):
    X, Y = naive.correlated_labels()
    one = RAkEL(k=1, scores=scores, random_state=0).fit(X, Y)
    single = BinaryRelevance(scores=scores, random_state=0).fit(X, Y)
    np.testing.assert_allclose(one.decision_function(X), single.decision_function(X), atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 6), st.booleans())
def test_labelsets_are_distinct_and_cover_every_label(seed, n_labels, k, disjoint):
    sets = draw_labelsets(np.random.default_rng(seed), n_labels, k, None, disjoint)
    k = min(k, n_labels)
    assert sets.shape[1] == k
    assert set(sets[sets >= 0].tolist()) == set(range(n_labels))
    assert len({tuple(row) for row in sets.tolist()}) == len(sets)
    if disjoint:
        assert (sets >= 0).sum() == n_labels
    else:
        assert len(sets) == min(2 * n_labels, math.comb(n_labels, k))
        assert all(len(set(row)) == k and min(row) >= 0 for row in sets.tolist())


@pytest.mark.parametrize("n_models", [2, 11])
def test_impossible_number_of_models(n_models):
    X, Y = naive.correlated_labels(n_samples=20)
    with pytest.raises(ValueError, match=f"n_models is {n_models}; 5 labels in sets of 2 need"):
        RAkEL(k=2, n_models=n_models).fit(X, Y)


@pytest.mark.parametrize("k", [0, 63])
def test_impossible_k(k):
    X, Y = naive.correlated_labels(n_samples=20)
    with pytest.raises(ValueError, match=f"k is {k}; expected between 1 and 62"):
        RAkEL(k=k).fit(X, Y)


@pytest.mark.parametrize("scores", ["decision", "hard"])
def test_blocks_of_models_do_not_change_the_scores(scores, monkeypatch):
    X, Y = naive.correlated_labels()
    model = RAkEL(scores=scores, random_state=0).fit(X, Y)
    whole = model.decision_function(X)
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 1)
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-12)
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 17 * len(X))
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-12)


def test_labels_no_model_has_looked_at_score_by_frequency():
    X, Y = naive.correlated_labels()
    model = RAkEL(k=2, random_state=0, callbacks=lambda record: True).fit(X, Y)
    assert len(model.labelsets_) == 1 and model.stopped_by_ == "callback"
    unseen = np.setdiff1d(np.arange(5), model.labelsets_[0])
    expected = np.broadcast_to(2 * Y.mean(axis=0)[unseen] - 1, (len(X), 3))
    np.testing.assert_allclose(model.decision_function(X)[:, unseen], expected)
    model.set_params(scores="hard")
    np.testing.assert_array_equal(model.predict(X)[:, unseen], expected > 0)
