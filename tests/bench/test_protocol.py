"""What is here: trials, searches, plans and cells against their definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Ridge
from tests.bench.slow_run import paused, tiny_data

from prml.bench.methods import METHODS, Method, choose_methods, is_available
from prml.bench.plan import cells_to_do, run_cells
from prml.bench.protocol import Data, halves, run_cell
from prml.bench.results_file import ResultsFile
from prml.bench.yardsticks import LabelFrequency, MultiOutputRidge
from prml.metrics import SIX

CHEAP = ["BR", "LEML", "PrBR-theta", "ridge"]


def test_halves_are_those_of_the_protocol():
    data = tiny_data()
    for trial in (0, 3):
        order = np.random.default_rng(trial).permutation(40)
        parts = halves(data, trial)
        assert np.array_equal(parts.X_train, data.X[order[:20]])
        assert np.array_equal(parts.X_test, data.X[order[20:]])
        assert (parts.Y_test != data.Y[order[20:]]).nnz == 0


def test_scaling_learns_from_the_training_half_alone():
    X = np.arange(20.0)[:, None] ** 2
    data = Data("d", X, sp.csr_matrix(np.ones((20, 1))), scale="standard")
    parts = halves(data, 0)
    assert abs(parts.X_train.mean()) < 1e-12
    assert abs(parts.X_test.mean()) > 1e-3


def test_last_fit_has_the_time_that_the_search_left():
    limits = []

    def build(parameters, setting):
        if not setting.searching:
            limits.append(setting.seconds)
        return MultiOutputRidge(**parameters)

    method = Method("m", "", "user", build, ({"alpha": 1.0}, {"alpha": 2.0}))
    run_cell(tiny_data(), method, 0, seconds=1000.0)
    run_cell(tiny_data(), method, 0, seconds=1e-3)  # the search took more than all of it
    run_cell(tiny_data(), method, 0)
    assert 900.0 < limits[0] < 1000.0
    assert limits[1:] == [pytest.approx(4e-4), None]


@pytest.mark.parametrize("name", CHEAP)
def test_cell_holds_all_that_a_reader_needs(name):
    record = run_cell(tiny_data(), METHODS[name], 1, setup="quick", jobs=1)
    assert "error" not in record, record.get("error")
    assert list(record["metrics"]) == list(SIX)
    assert all(0.0 <= value <= 1.0 for value in record["metrics"].values())
    assert record["code"] == METHODS[name].code and record["seconds"] > 0
    assert {"prml", "numpy", "python"} <= set(record["versions"])
    again = run_cell(tiny_data(), METHODS[name], 1, setup="quick", jobs=1)
    assert again["metrics"] == record["metrics"]


def test_a_failing_method_becomes_a_record_and_is_not_run_twice(tmp_path):
    def refuse(parameters, setting):
        raise ValueError("no such luck")

    broken = Method("broken", "", "user", refuse)
    results = ResultsFile(tmp_path / "r.jsonl")
    new = run_cells(results, [tiny_data()], [broken], 1)
    assert new[0]["error"] == "ValueError: no such luck"
    assert run_cells(results, [tiny_data()], [broken], 1) == []


def test_plan_is_cheapest_first_and_spreads_trials(tmp_path):
    small, large = tiny_data("small"), tiny_data("large")
    cheap, dear = METHODS["ridge"], METHODS["ECC"]
    records = [
        {"dataset": d, "method": m.name, "trial": 9, "setup": "full", "seconds": s, "code": "x"}
        for d, m, s in [
            ("small", cheap, 1.0), ("large", cheap, 2.5), ("small", dear, 3.5), ("large", dear, 50)
        ]
    ]  # fmt: skip
    order = [
        (cell.data.name, cell.method.name, cell.trial)
        for cell in cells_to_do([small, large], [cheap, dear], 4, records)
    ]
    assert order[:4] == [
        ("small", "ridge", 0), ("small", "ridge", 1), ("large", "ridge", 0), ("small", "ridge", 2)
    ]  # fmt: skip
    assert order[4] == ("small", "ECC", 0) and order[-1] == ("large", "ECC", 3)


def test_budget_leaves_out_what_would_end_too_late(tmp_path):
    results = ResultsFile(tmp_path / "r.jsonl")
    method = paused(0.3)
    new = run_cells(results, [tiny_data()], [method], 10, budget=1.0)
    assert 1 <= len(new) <= 4


def test_cells_of_other_code_are_kept_unless_told_otherwise(tmp_path):
    results = ResultsFile(tmp_path / "r.jsonl")
    data, method = tiny_data(), METHODS["ridge"]
    record = run_cell(data, method, 0, setup="quick")
    results.append(record | {"code": "older"})
    assert run_cells(results, [data], [method], 1, setup="quick") == []
    assert len(run_cells(results, [data], [method], 1, setup="quick", redo=True)) == 1


@pytest.mark.parametrize(
    "cut", [{"search": {"tried": 1, "of": 5}}, {"stopped_by": "time limit"}], ids=["search", "fit"]
)
def test_cells_cut_by_a_limit_are_run_again_when_told(tmp_path, cut):
    results = ResultsFile(tmp_path / "r.jsonl")
    data, method = tiny_data(), METHODS["ridge"]
    record = run_cell(data, method, 0)
    results.append(record | cut)
    assert run_cells(results, [data], [method], 1) == []
    assert len(run_cells(results, [data], [method], 1, redo_cut=True)) == 1
    assert run_cells(results, [data], [method], 1, redo_cut=True) == []  # now it is whole


def test_a_cell_that_is_cut_again_is_run_once_only(tmp_path):
    results = ResultsFile(tmp_path / "r.jsonl")
    slow = paused(0.01)
    method = Method("s", "", "user", slow.build, ({"alpha": 1.0}, {"alpha": 2.0}))
    run = {"cell_limit": 1e-9, "redo_cut": True}
    assert len(run_cells(results, [tiny_data()], [method], 1, **run)) == 1
    assert len(run_cells(results, [tiny_data()], [method], 1, **run)) == 1


def test_other_data_of_the_same_name_is_refused(tmp_path):
    results = ResultsFile(tmp_path / "r.jsonl")
    run_cells(results, [tiny_data()], [METHODS["ridge"]], 1, setup="quick")
    other = tiny_data()
    other = Data("tiny", other.X[:30], other.Y[:30])
    with pytest.raises(ValueError, match="other data named 'tiny'"):
        run_cells(results, [other], [METHODS["ridge"]], 1, setup="quick")


def test_methods_are_found_by_name_and_unknown_ones_named():
    assert all(is_available(method) for method in choose_methods())
    with pytest.raises(ValueError, match="there is no method 'nonsense'; expected one of BR, ECC"):
        choose_methods(["nonsense"])


@pytest.mark.parametrize("shape", [(30, 5), (12, 40)])
@pytest.mark.parametrize("sparse", [False, True])
def test_ridge_is_scikit_learns(shape, sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    Y = (rng.random((shape[0], 3)) < 0.4).astype(int)
    ours = MultiOutputRidge(alpha=2.0).fit(sp.csr_matrix(X) if sparse else X, Y)
    theirs = Ridge(alpha=2.0).fit(X, 2.0 * Y - 1.0)
    assert np.allclose(ours.decision_function(X), theirs.predict(X), atol=1e-9)


def test_frequency_is_the_prior_whatever_the_features():
    data = tiny_data()
    ours = LabelFrequency().fit(data.X, data.Y).decision_function(data.X + 7.0) + 0.5
    each = DummyClassifier(strategy="prior").fit(data.X, data.Y.toarray()).predict_proba(data.X)
    np.testing.assert_allclose(ours, np.column_stack([label[:, 1] for label in each]))
