"""What is here: the search inside a training half, and what it may leave out."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.bench.slow_run import paused, tiny_data

from prml.bench.methods import METHODS, Method, grid
from prml.bench.protocol import halves
from prml.bench.search import First, is_beyond_a_fall, search
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
    assert found.parameters == {"alpha": 1.0} and found.n_tried == 3
    assert len(seen) == 3 + 3 + 1  # the last is far below on its first fold
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


class Planned:
    """A model that scores as its parameters say: a share of the labels is ranked right."""

    def __init__(self, quality):
        self.quality = quality

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        truth = np.asarray(X)[:, :4] > 0
        noise = np.random.default_rng(0).normal(size=truth.shape)
        return self.quality * truth + noise


def planned(quality: dict, entries: tuple) -> tuple[Method, list]:
    """A method whose entry has the quality of its C, and the list of what was fitted."""
    fitted = []

    def build(parameters, setting):
        fitted.append(parameters)
        return Planned(quality[tuple(parameters.values())])

    return Method("planned", "", "user", build, entries), fitted


def examples(n: int = 90):
    X = np.random.default_rng(1).normal(size=(n, 4))
    return X, sp.csr_matrix((X > 0).astype(float))


def test_entries_far_below_the_best_have_one_fold_and_nothing_follows_beyond_them():
    quality = {(1.0,): 9.0, (0.1,): 8.0, (10.0,): 0.0, (100.0,): 20.0, (0.01,): 7.9}
    method, fitted = planned(quality, grid(C=[C for (C,) in quality]))
    found = search(method, *examples(), seed=0)
    assert found.parameters == {"C": 1.0} and (found.n_tried, found.n_beyond) == (4, 1)
    counts = {C: sum(p == {"C": C} for p in fitted) for (C,) in quality}
    assert counts == {1.0: 3, 0.1: 3, 10.0: 1, 100.0: 0, 0.01: 3}


def test_search_that_leaves_out_chooses_as_one_that_does_not(monkeypatch):
    """On real fits: the same entry and score with every fold of every entry."""
    data = load_debtags()
    X, Y = data.X[:600], data.Y[:600]
    for name in ("ridge", "logistic", "PrBR-theta"):
        found = search(METHODS[name], X, Y, seed=0)
        with monkeypatch.context() as patched:
            patched.setattr("prml.bench.search.FAR_BELOW", np.inf)
            whole = search(METHODS[name], X, Y, seed=0)
        assert whole.n_tried == len(METHODS[name].grid) and whole.n_beyond == 0
        assert found.n_tried + found.n_beyond == whole.n_tried
        assert (found.parameters, found.score) == (whole.parameters, whole.score)


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
    tried = [First({"C": 0.1, "on": True}, 0.6, False), First({"C": 1.0, "on": True}, 0.5, True)]
    assert is_beyond_a_fall(entry, tried) is is_left_out
    assert not is_beyond_a_fall(entry, tried[1:])  # one score is no fall
    assert not is_beyond_a_fall(entry, [first._replace(is_far_below=False) for first in tried])
