"""What is here: what stratified splits promise - balance, sizes, groups, seeds, speed."""

import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from tests.model_selection.naive_splits import imbalance, naive_iterative_folds

from prml.metrics import scorer
from prml.model_selection import (
    MultilabelStratifiedKFold,
    multilabel_train_test_split,
    split_loops,
    splits,
)
from prml.model_selection.splits import deal


def make_labels(n_samples, n_labels, seed=0, rarest=0.002, commonest=0.5):
    rng = np.random.default_rng(seed)
    frequency = np.geomspace(rarest, commonest, n_labels)
    mood = rng.normal(0, 0.5, (n_samples, 1))  # makes the labels dependent
    return (rng.random((n_samples, n_labels)) < frequency * np.exp(mood)).astype(np.int8)


def folds_of(splitter, Y, groups=None):
    fold = np.full(Y.shape[0], -1)
    for k, (train, test) in enumerate(splitter.split(np.zeros((Y.shape[0], 1)), Y, groups)):
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(Y.shape[0]))
        assert (fold[test] == -1).all()
        fold[test] = k
    return fold


def test_large_sparse_labels_are_dealt_evenly_in_seconds():
    rng = np.random.default_rng(0)
    Y = sp.vstack(
        [sp.csr_matrix(make_labels(10_000, 100, seed, rarest=0.001)) for seed in range(10)]
    ).tocsr()[rng.permutation(100_000)]
    splitter = MultilabelStratifiedKFold(n_splits=5)
    folds_of(splitter, Y[:50])  # compile
    start = time.process_time()
    fold = folds_of(splitter, Y)
    assert time.process_time() - start < 10
    totals = np.asarray(Y.sum(axis=0)).ravel()
    often = totals >= 100
    assert often.sum() > 90
    for k in range(5):
        counts = np.asarray(Y[fold == k].sum(axis=0)).ravel()
        assert (fold == k).sum() == 20_000
        # one per cent of the frequency, or the one example that whole numbers make unavoidable
        allowed = np.maximum(0.01 * totals / 5, 1)
        assert (np.abs(counts - totals / 5) <= allowed)[often].all()
        assert (np.abs(counts / 20_000 - totals / 100_000) < 0.01).all()


@pytest.mark.parametrize("seed", range(4))
def test_at_least_as_even_as_the_published_algorithm(seed):
    Y = make_labels(300, 12, seed, rarest=0.02)
    ours = folds_of(MultilabelStratifiedKFold(n_splits=4), Y)
    published = naive_iterative_folds(Y, 4)
    assert imbalance(Y, ours, 4) <= imbalance(Y, published, 4) * (1 + 1e-9)
    random = np.random.default_rng(0).permutation(300) % 4
    assert imbalance(Y, ours, 4) < 0.2 * imbalance(Y, random, 4)


@settings(max_examples=40, deadline=None)
@given(
    n_samples=st.integers(2, 40),
    n_labels=st.integers(1, 6),
    n_splits=st.integers(2, 5),
    seed=st.integers(0, 99),
)
def test_any_labels_give_folds_of_equal_size(n_samples, n_labels, n_splits, seed):
    Y = make_labels(n_samples, n_labels, seed, rarest=0.05)
    if n_splits > n_samples:
        with pytest.raises(ValueError, match="expected at least n_splits"):
            folds_of(MultilabelStratifiedKFold(n_splits), Y)
        return
    sizes = np.bincount(folds_of(MultilabelStratifiedKFold(n_splits), Y), minlength=n_splits)
    assert sizes.max() - sizes.min() <= 1


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 999), groups=st.booleans())
def test_loops_keep_their_books(seed, groups):
    """What a loop says each fold still wants is what the folds lack."""
    rng = np.random.default_rng(seed)
    Y = sp.random(25, 6, density=0.4, format="csr", random_state=seed)
    Y.data = rng.integers(1, 4 if groups else 2, Y.nnz)
    Y = Y.astype(np.int64)
    Y.sort_indices()
    sizes = rng.integers(1, 5, 25) if groups else np.ones(25, dtype=np.int64)
    target = np.asarray(Y.sum(axis=0)).ravel()[:, None] * np.full(3, 1 / 3)
    target_size = np.full(3, sizes.sum() / 3)
    wanted, wanted_size, fold = target.copy(), target_size.copy(), np.full(25, -1)
    rows = Y.indptr.astype(np.int64), Y.indices.astype(np.int64), Y.data
    columns = Y.tocsc()
    labels = columns.indptr.astype(np.int64), columns.indices.astype(np.int64)
    split_loops.deal_rarest_label_first(
        *rows, sizes, *labels, wanted, wanted_size, rng.integers(3, size=25), fold
    )

    def check_books():
        for k in range(3):
            have = np.asarray(Y[fold == k].sum(axis=0)).ravel()
            np.testing.assert_allclose(wanted[:, k], target[:, k] - have, atol=1e-9)
            assert abs(wanted_size[k] - (target_size[k] - sizes[fold == k].sum())) < 1e-9

    def objective():
        return (weights[:, None] * wanted**2).sum() + 0.3 * (wanted_size**2).sum()

    check_books()
    weights = rng.random(6)
    before = objective()
    n_swaps = split_loops.swap_while_better(
        *rows, sizes, weights, 0.3, rng.integers(25, size=(60, 2)), wanted, wanted_size, fold
    )
    check_books()
    assert objective() < before if n_swaps else objective() == before
    # each swap taken one at a time lowers the objective by twice the gain it is said to bring
    i, j = 0, int(np.argmax(fold != fold[0]))
    before = (weights[:, None] * wanted**2).sum()
    gain = split_loops.exchange(*rows, weights, i, j, fold[i], fold[j], wanted, True)
    assert abs(before - (weights[:, None] * wanted**2).sum() - 2 * gain) < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_the_deal_alone_is_even_in_labels_and_exact_in_sizes(seed, monkeypatch):
    monkeypatch.setattr(splits, "_MAX_SWAP_PASSES", 0)
    Y = make_labels(303, 12, seed, rarest=0.3)
    fold = folds_of(MultilabelStratifiedKFold(n_splits=4), Y)
    assert np.ptp(np.bincount(fold)) <= 1
    random = np.random.default_rng(seed).permutation(303) % 4
    assert imbalance(Y, fold, 4) < 0.5 * imbalance(Y, random, 4)
    rarest = Y[:, np.argmin(Y.sum(axis=0))]  # dealt first, before anything else interferes
    assert np.ptp(np.bincount(fold, weights=rarest)) <= 1


def test_groups_stay_together_and_labels_stay_even():
    rng = np.random.default_rng(3)
    Y = make_labels(3000, 10, 3, rarest=0.02)
    groups = rng.integers(0, 400, 3000)
    fold = folds_of(MultilabelStratifiedKFold(5), Y, groups)
    for group in np.unique(groups):
        assert len(np.unique(fold[groups == group])) == 1
    assert np.ptp(np.bincount(fold)) <= 10
    for k in range(5):
        assert np.abs(Y[fold == k].sum(axis=0) - Y.sum(axis=0) / 5).max() <= 6
    names = np.array([f"g{g}" for g in groups])
    train, test = multilabel_train_test_split(names, Y, groups=names, random_state=0)[:2]
    assert not set(train) & set(test)


def test_seeds_and_global_state():
    Y = make_labels(120, 5, 1, rarest=0.05)
    np.random.seed(0)  # noqa: NPY002  # to see that nobody moves it
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    plain = folds_of(MultilabelStratifiedKFold(3), Y)
    assert np.array_equal(plain, folds_of(MultilabelStratifiedKFold(3), Y))
    first = folds_of(MultilabelStratifiedKFold(3, shuffle=True, random_state=1), Y)
    again = folds_of(MultilabelStratifiedKFold(3, shuffle=True, random_state=1), Y)
    other = folds_of(MultilabelStratifiedKFold(3, shuffle=True, random_state=2), Y)
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


def test_form_of_y_does_not_matter():
    Y = make_labels(90, 4, 2, rarest=0.1)
    splitter = MultilabelStratifiedKFold(3)
    expected = folds_of(splitter, Y)
    for form in (sp.csr_matrix(Y), sp.csc_array(Y), pd.DataFrame(Y), Y.astype(bool)):
        assert np.array_equal(expected, folds_of(splitter, form))
    with_missing = Y.astype(float)
    with_missing[with_missing == 0] = np.nan
    assert np.array_equal(expected, folds_of(splitter, with_missing))


def test_one_dimensional_y_is_stratified_by_class():
    y = np.repeat(["a", "b", "c"], [10, 20, 30])
    for _, test in MultilabelStratifiedKFold(5).split(y, y):
        assert np.unique(y[test], return_counts=True)[1].tolist() == [2, 4, 6]


def test_inside_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 8))
    Y = (X[:, :3] + rng.standard_normal((150, 3)) > 0.5).astype(int)
    splitter = MultilabelStratifiedKFold(3, shuffle=True, random_state=0)
    assert splitter.get_n_splits() == 3 and "n_splits=3" in repr(splitter)
    scoring = scorer("average_precision")
    values = cross_val_score(RidgeClassifier(), X, Y, cv=splitter, scoring=scoring)
    assert values.shape == (3,) and (values > 0.7).all()
    groups = np.arange(150) // 3
    search = GridSearchCV(
        RidgeClassifier(), {"alpha": [1, 1e6]}, cv=splitter, scoring=scorer("hamming_loss")
    )
    search.fit(X, Y, groups=groups)
    assert clone(search).fit(X, sp.csr_matrix(Y).toarray()).best_params_["alpha"] == 1


def test_train_test_split_sizes_and_balance():
    Y = make_labels(400, 6, 5, rarest=0.05)
    X = sp.random(400, 10, format="csr", random_state=0)
    frame = pd.DataFrame({"row": np.arange(400)})
    parts = multilabel_train_test_split(X, sp.csr_matrix(Y), frame, test_size=0.3, random_state=0)
    X_train, X_test, Y_train, Y_test, rows, test_rows = parts
    assert X_train.shape == (280, 10) and X_test.shape == (120, 10)
    assert sp.issparse(Y_train) and Y_test.shape == (120, 6)
    assert (Y[rows["row"]] == Y_train.toarray()).all()
    assert sorted([*rows["row"], *test_rows["row"]]) == list(range(400))
    assert (np.abs(Y_test.toarray().sum(axis=0) - 0.3 * Y.sum(axis=0)) <= 1).all()
    train, test = multilabel_train_test_split(Y, Y, train_size=100, test_size=50)[:2]
    assert len(train) == 100 and len(test) == 50
    assert len(multilabel_train_test_split(Y, Y)[1]) == 100
    assert len(multilabel_train_test_split(Y, Y, train_size=0.5)[1]) == 200


def test_empty_labels_are_fine():
    fold = folds_of(MultilabelStratifiedKFold(2), np.zeros((7, 3), dtype=int))
    assert sorted(np.bincount(fold)) == [3, 4]


def test_uneven_shares():
    Y = make_labels(200, 4, rarest=0.1)
    part = deal(Y, np.array([0.7, 0.2, 0.1]), None, np.random.default_rng(0), "parts")
    assert np.bincount(part).tolist() == [140, 40, 20]
    for k, share in enumerate([0.7, 0.2, 0.1]):
        assert (np.abs(Y[part == k].sum(axis=0) - share * Y.sum(axis=0)) <= 1).all()


def test_no_group_is_lost_when_the_sizes_cannot_be_met():
    groups = np.repeat([0, 1, 2], [10, 10, 1])
    Y = np.ones((21, 2), dtype=int)
    train, test = multilabel_train_test_split(groups, Y, groups=groups, test_size=2)[:2]
    assert len(train) + len(test) == 21


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda Y: folds_of(MultilabelStratifiedKFold(1), Y), "n_splits is 1; expected"),
        (lambda Y: folds_of(MultilabelStratifiedKFold(3, random_state=1), Y), "shuffle is False"),
        (lambda Y: folds_of(MultilabelStratifiedKFold(3), Y, np.zeros(10)), "10 groups|1 groups"),
        (lambda Y: folds_of(MultilabelStratifiedKFold(3), Y + 2), "expected 0 or 1"),
        (lambda Y: multilabel_train_test_split(Y, Y, test_size=1.5), "test_size is 1.5"),
        (lambda Y: multilabel_train_test_split(Y, Y, test_size=10), "test_size is 10"),
        (lambda Y: multilabel_train_test_split(Y, Y, test_size=6, train_size=0.5), "cannot be"),
        (lambda Y: multilabel_train_test_split(Y, Y, groups=[1, 2]), "groups has shape"),
    ],
)
def test_bad_input_is_one_clear_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call(make_labels(10, 3, rarest=0.3))
