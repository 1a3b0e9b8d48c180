"""What is here: the search inside a training half, and what it may leave out."""

from dataclasses import replace

import numpy as np
import pytest
from tests.bench.slow_run import paused, tiny_data

from prml.bench.methods import METHODS, Method, grid
from prml.bench.protocol import halves
from prml.bench.search import N_FOLDS, First, is_beyond_a_fall, search
from prml.bench.yardsticks import MultiOutputRidge
from prml.datasets import load_debtags


def test_search_picks_the_best_entry_and_sees_no_test_row():
    data = tiny_data()
    parts = halves(data, 0)
    seen = []

    class Spy(MultiOutputRidge):
        def fit(self, X, y):
            seen.append(X)
            return super().fit(X, y)

    grid = ({"alpha": 1e6}, {"alpha": 1.0}, {"alpha": 1e8})
    spy = Method("spy", "", "user", lambda p, s: Spy(**p), grid)
    found = search(spy, parts.X_train, parts.Y_train, seed=0)
    assert found.parameters == {"alpha": 1.0} and (found.n_tried, found.n_beyond) == (2, 1)
    assert len(seen) == 3 + 1
    train_rows = {tuple(row) for row in parts.X_train}
    assert all(tuple(row) in train_rows for X in seen for row in X)


def test_search_out_of_time_tries_the_first_entry_only():
    parts = halves(tiny_data(), 0)
    slow = paused(0.01)
    method = Method("s", "", "user", slow.build, ({"alpha": 1.0}, {"alpha": 2.0}))
    found = search(method, parts.X_train, parts.Y_train, seed=0, seconds=1e-9)
    assert found.n_tried == 1 and found.parameters == {"alpha": 1.0}


def test_search_takes_fewer_rows_where_labels_are_thousands(monkeypatch):
    monkeypatch.setattr("prml.bench.search.FEWEST_SEARCH_ROWS", 5)
    parts = halves(tiny_data(), 0)
    n_rows, n_labels = parts.Y_train.shape
    for entries, expected in ((n_rows * n_labels, n_rows), (12 * n_labels, 12), (1, 5)):
        monkeypatch.setattr("prml.bench.search.MAX_SEARCH_ENTRIES", entries)
        found = search(METHODS["ridge"], parts.X_train, parts.Y_train, seed=0)
        assert found.n_rows == expected


def search_with_scores(monkeypatch, scores: dict):
    """A search over C whose folds have these scores; what it found, and how many folds each had."""
    fitted = []

    def build(parameters, setting):
        fitted.append(parameters["C"])
        return METHODS["ridge"].build({"alpha": 1.0}, setting)

    def evaluate(Y, predicted, metrics):
        C = fitted[-1]
        return {metrics[0]: scores[C][fitted.count(C) - 1]}

    monkeypatch.setattr("prml.bench.search.evaluate", evaluate)
    parts = halves(tiny_data(), 0)
    method = Method("planned", "", "user", build, grid(C=scores))
    found = search(method, parts.X_train, parts.Y_train, seed=0)
    return found, {C: fitted.count(C) for C in scores}


def test_entries_far_below_the_best_have_one_fold_and_nothing_follows_beyond_them(monkeypatch):
    scores = {1.0: [0.6, 0.6, 0.6], 0.1: [0.58] * 3, 10.0: [0.56], 100.0: [], 0.01: [0.575] * 3}
    found, n_folds = search_with_scores(monkeypatch, scores)
    assert found.parameters == {"C": 1.0} and found.score == pytest.approx(0.6)
    assert (found.n_tried, found.n_beyond) == (4, 1)  # 100 lies beyond 10
    assert n_folds == {1.0: 3, 0.1: 3, 10.0: 1, 100.0: 0, 0.01: 3}


def test_an_entry_that_is_a_little_below_on_the_first_fold_may_win(monkeypatch):
    scores = {0.01: [0.569], 1.0: [0.6, 0.6, 0.6], 0.1: [0.571, 0.64, 0.63]}
    found, n_folds = search_with_scores(monkeypatch, scores)
    assert found.parameters == {"C": 0.1} and found.n_tried == 3
    assert n_folds == {0.01: 1, 1.0: 3, 0.1: 3}


@pytest.mark.parametrize("name", ["ridge", "logistic"])
def test_search_that_leaves_out_chooses_as_one_that_does_not(monkeypatch, name):
    data = load_debtags()
    X, Y = data.X[:400], data.Y[:400, :20]
    fits = []

    def build(parameters, setting):
        fits.append(parameters)
        return METHODS[name].build(parameters, setting)

    method = replace(METHODS[name], build=build)
    found, n_fits = search(method, X, Y, seed=0), len(fits)
    monkeypatch.setattr("prml.bench.search.FAR_BELOW", np.inf)
    whole = search(method, X, Y, seed=0)
    assert len(fits) - n_fits == N_FOLDS * len(method.grid) > n_fits
    assert (found.parameters, found.score) == (whole.parameters, whole.score)
    assert found.n_tried + found.n_beyond == whole.n_tried


@pytest.mark.parametrize(
    ("entry", "is_left_out"),
    [
        ({"C": 20.0, "on": True}, True),
        ({"C": 0.01, "on": True}, False),  # on the side of the better one
        ({"C": 0.5, "on": True}, False),  # between the two
        ({"C": 20.0, "on": False}, False),  # of another line
        ({"C": 1.0, "on": False}, False),  # a flag has no far side
    ],
)
def test_what_lies_beyond_a_fall(entry, is_left_out):
    tried = [First({"C": 0.1, "on": True}, 0.6), First({"C": 1.0, "on": True}, 0.5)]
    assert is_beyond_a_fall(entry, tried) is is_left_out
    better = First({"C": 0.1, "on": False}, 0.6)
    assert not is_beyond_a_fall(entry, [better, tried[1]])  # one score of a line is no fall
    assert not is_beyond_a_fall(entry, [tried[0], tried[1]._replace(score=0.58)])  # not far
