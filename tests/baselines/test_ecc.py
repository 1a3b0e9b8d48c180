"""What is here: ECC against hand-built chains of scikit-learn with the same orders and samples."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from tests.baselines import naive_ensembles as naive

from prml.baselines import ECC, BinaryRelevance
from prml.baselines.chain import append_empty_labels, chain_scores
from prml.baselines.ecc import draw_chains

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at max_iter:Warning")
SEED = 4


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("sampling", ["bootstrap", "subsample", "all"])
def test_equals_hand_built_chains(loss, sampling):
    X, Y = naive.correlated_labels()
    orders, counts = draw_chains(np.random.default_rng(SEED), 4, *Y.shape, sampling)
    values, votes = naive.ecc(X, Y, X, orders, counts, loss, C=0.5)

    model = ECC(
        n_chains=4, sampling=sampling, C=0.5, loss=loss, random_state=SEED, **naive.TIGHT
    ).fit(sp.csr_matrix(X), sp.csr_matrix(Y))
    np.testing.assert_array_equal(model.orders_, orders)
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), values > 0)
    model.set_params(scores="hard")
    np.testing.assert_array_equal(model.decision_function(sp.csr_matrix(X)), votes)
    np.testing.assert_array_equal(model.predict(X), votes > 0.5)


def test_samples_are_what_they_are_called():
    rng = np.random.default_rng(0)
    orders, counts = draw_chains(rng, 5, 100, 7, "bootstrap")
    assert (np.sort(orders, axis=1) == np.arange(7)).all() and len(np.unique(orders, axis=0)) > 1
    assert (counts.sum(axis=1) == 100).all() and 50 < (counts > 0).sum(axis=1).mean() < 75
    _, counts = draw_chains(rng, 5, 100, 7, "subsample")
    assert (counts.sum(axis=1) == 67).all() and counts.max() == 1
    _, counts = draw_chains(rng, 5, 100, 7, "all")
    assert (counts == 1).all()


def test_a_chain_of_one_label_is_binary_relevance():
    X, Y = naive.correlated_labels()
    settings = {"loss": "squared_hinge", "random_state": 0, **naive.TIGHT}
    chain = ECC(n_chains=1, sampling="all", **settings).fit(X, Y[:, :1])
    single = BinaryRelevance(**settings).fit(X, Y[:, :1])
    np.testing.assert_allclose(chain.decision_function(X), single.decision_function(X), atol=1e-9)


def test_weights_only_on_labels_that_come_before():
    X, Y = naive.correlated_labels()
    model = ECC(n_chains=3, random_state=0).fit(X, Y)
    for order, label_coef in zip(model.orders_, model.label_coef_, strict=True):
        in_chain = label_coef[np.ix_(order, order)]
        assert (np.triu(in_chain) == 0).all()
        assert np.abs(np.tril(in_chain, -1)).sum() > 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 7), st.integers(1, 4), st.integers(1, 5))
def test_appended_labels_fill_in_column_by_column(seed, n, d, n_labels):
    rng = np.random.default_rng(seed)
    X = sp.csr_matrix(rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5))
    Y = sp.csr_matrix((rng.random((n, n_labels)) < 0.4).astype(float))
    growing, slots = append_empty_labels(X, Y)
    growing.check_format()
    columns = Y.tocsc()
    for place in range(n_labels + 1):
        seen = Y.toarray() * (np.arange(n_labels) < place)
        np.testing.assert_array_equal(growing.toarray(), np.hstack([X.toarray(), seen]))
        if place < n_labels:
            growing.data[slots[columns.indptr[place] : columns.indptr[place + 1]]] = 1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_chain_scores_step_by_step(seed, n_labels):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(5, 3))
    order = rng.permutation(n_labels)
    coef, intercept = rng.normal(size=(n_labels, 3)), rng.normal(size=n_labels)
    label_coef = np.zeros((n_labels, n_labels))
    label_coef[np.ix_(order, order)] = np.tril(rng.normal(size=(n_labels, n_labels)), -1)
    expected = np.zeros((5, n_labels))
    for j in range(5):
        present = np.zeros(n_labels)
        for i in order:
            expected[j, i] = X[j] @ coef[i] + intercept[i] + present @ label_coef[i]
            present[i] = expected[j, i] > 0
    ours = chain_scores(X, coef, intercept, label_coef, order)
    np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_half_a_chain_counts_only_when_there_is_no_whole_one(monkeypatch):
    X, Y = naive.correlated_labels()
    clock = itertools.chain([0.0] * 4, itertools.repeat(1e9))  # one call to set the deadline
    for module in ("chain", "ecc"):
        fake = SimpleNamespace(monotonic=lambda: next(clock))
        monkeypatch.setattr(f"prml.baselines.{module}.time", fake)
    with pytest.warns(ConvergenceWarning, match="0 of 3 chains"):
        model = ECC(n_chains=3, max_time=60, loss="squared_hinge", random_state=0).fit(X, Y)
    reached = model.orders_[0][:4]
    assert len(model.orders_) == 1 and not model.converged_
    assert (np.abs(model.coef_[0]).sum(axis=1) > 0).nonzero()[0].tolist() == sorted(reached)


def test_bad_parameters():
    X, Y = naive.correlated_labels(n_samples=20)
    with pytest.raises(ValueError, match="n_chains is 0"):
        ECC(n_chains=0).fit(X, Y)
    with pytest.raises(ValueError, match="sampling is 'half'; expected one of bootstrap"):
        ECC(sampling="half").fit(X, Y)


def test_weighted_rows_are_repeated_rows():
    # The premise of merging the copies of a bootstrap.
    X, Y = naive.correlated_labels()
    counts = np.random.default_rng(0).integers(1, 4, size=len(X))
    one = LinearSVC(loss="hinge", random_state=0, **naive.TIGHT)
    weighted = one.fit(X, Y[:, 0], sample_weight=counts).coef_.copy()
    rows = np.repeat(np.arange(len(X)), counts)
    np.testing.assert_allclose(weighted, one.fit(X[rows], Y[rows, 0]).coef_, atol=1e-6)
