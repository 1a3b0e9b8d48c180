"""What is here: the benchmark runs, its contestants solve what they say, its verdicts are right."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.bars import BARS, Bar, Figure, as_table, verdict
from benchmarks.datasets import load_split, synthetic
from benchmarks.objective import SETTINGS, Task, label_bounds, training_set
from benchmarks.solvers import one_vs_rest, paper_descent, prbr
from benchmarks.solvers.algorithm1 import Algorithm1
from benchmarks.solvers.d_step import DStep
from benchmarks.timing import forget_peak_memory, peak_memory
from tests.benchmarks.naive_algorithm1 import algorithm1

from benchmarks import __main__ as program
from benchmarks import results_file, timing
from prml import PrBR
from prml.privileged import LabelFeatures
from prml.solvers.training_set import Hyperparameters, TrainingSet
from prml.targets import read_targets


def small(n=12, d=20, n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.csr_matrix(rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7))
    Y = sp.csr_matrix((rng.random((n, n_labels)) < 0.4).astype(float))
    return X, Y, rng.normal(size=(6, n_labels))


def test_quick_run_of_every_short_row(tmp_path, capsys):
    path = tmp_path / "speed.json"
    rows = [row for row in BARS if row not in (*program.LONG, "import", "import-name")]
    words = [word for row in rows for word in ("--row", row)]
    figures = program.main([*words, "--quick", "--dataset", "synthetic", "--output", str(path)])
    assert {figure.row for figure in figures} == set(rows)
    assert all(np.isfinite(figure.value) and figure.value > 0 for figure in figures)
    for figure in figures:
        if figure.row in ("prbr", "prml-1e-2", "prml-1e-3"):
            assert figure.details["reached"], figure
    kept = json.loads(path.read_text())
    assert len(kept["figures"]) == len(figures)
    assert kept["figures"][0]["command"].startswith("python -m benchmarks --row prbr")
    assert kept["machine"]["cores"] >= 1
    assert "figures say nothing" in capsys.readouterr().out


def test_printed_algorithm_is_the_naive_one():
    X, Y, W = small()
    n, n_labels = Y.shape
    picks = np.random.default_rng(1).integers(2 * n * n_labels, size=600)
    fast = Algorithm1(X, Y, W, 0.3, 0.7)
    fast.run(picks)
    signs = 2.0 * Y.toarray().T - 1.0
    alpha, beta, D, w_tilde = algorithm1(X.toarray().T, signs, W, 0.3, 0.7, picks)
    np.testing.assert_allclose(fast.alpha, alpha, atol=1e-12)
    np.testing.assert_allclose(fast.beta, beta, atol=1e-12)
    np.testing.assert_allclose(fast.D.T, D, atol=1e-12)
    for i in range(n_labels):
        np.testing.assert_allclose(np.delete(fast.W_tilde[i], i), w_tilde[i], atol=1e-12)


def test_our_d_step_has_the_solution_of_the_printed_algorithm():
    X, Y, W = small()
    n, n_labels = Y.shape
    rng = np.random.default_rng(2)
    printed = Algorithm1(X, Y, W, 0.3, 0.7)
    for _ in range(3000):
        printed.run(rng.integers(2 * n * n_labels, size=2 * n * n_labels))
    targets = read_targets(Y)
    features = LabelFeatures(targets, None, False)
    data = TrainingSet(X, targets, features, fit_intercept=False)
    ours = DStep(data, Hyperparameters(0.3, 0.7, np.inf), W.T @ W)
    for _ in range(2000):
        ours.epoch(rng)
    # the solution of the D-step is unique: same predictors, same teachers
    np.testing.assert_allclose((ours.G @ ours.M)[:, :-1], W.T @ printed.D.T, atol=1e-9)
    for i in range(n_labels):
        u, s = ours.sums[i]
        np.testing.assert_allclose((u - s[0]) / 0.7, np.delete(printed.W_tilde[i], i), atol=1e-9)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_papers_descent_reaches_the_gap_of_the_same_problem(setting):
    split = load_split("synthetic", quick=True)
    task = Task(SETTINGS[setting], 1e-3)
    assert paper_descent.solve(split, task).reached
    assert prbr.solve(split, task).reached
    hurried = paper_descent.solve(split, Task(SETTINGS[setting], 1e-14, max_time=1e-9))
    assert not hurried.reached and 0.0 < hurried.gap <= 1.0


def test_bounds_enclose_the_optimum():
    split = load_split("synthetic", quick=True)
    numbers = SETTINGS["theta 2, C .01"]
    model = PrBR(**numbers._asdict(), tol=1e-6, keep_duals=True).fit(split.X, split.Y)
    data = training_set(split.X, split.Y)
    total = np.zeros(2)
    for i in range(data.n_labels):
        problem = data.problem(i, numbers)
        beta = np.bincount(problem.group, model.dual_slack_[i], minlength=len(problem.norm))
        total += label_bounds(problem, model.dual_coef_[i], beta, problem.centre)
    assert total[1] == pytest.approx(model.dual_objective_, rel=1e-9)
    assert total[0] >= model.dual_objective_


def test_one_vs_rest_skips_labels_of_one_class():
    split = load_split("synthetic", quick=True)
    Y = split.Y.toarray()
    Y[:, 0], Y[:, 1] = 0, 1
    split = split._replace(Y=sp.csr_matrix(Y))
    assert one_vs_rest.solve_svc(split, Task(SETTINGS["theta 2, C .01"], 0.0)).gap is None
    assert one_vs_rest.tuned_logistic(split).C in one_vs_rest.LOGISTIC_C


def test_the_split_is_trial_0_of_the_protocol():
    X, Y = synthetic(600, 60, 12)
    order = np.random.default_rng(0).permutation(600)
    split = load_split("synthetic")
    assert (X[order[:300]] != split.X).nnz == 0 and (Y[order[:300]] != split.Y).nnz == 0
    assert (split.X_test != X[order[300:]]).nnz == 0


def figure(value, **details):
    return Figure("prbr", "d", "s", value, None, "", details)


@pytest.mark.parametrize(
    "value, higher, told",
    [
        (0.9, False, "pass, then"),
        (1.0, False, "pass, then"),
        (3.0, False, "pass"),
        (3.1, False, "short"),
        (float("nan"), False, "short"),
        (0.9, True, "short"),
    ],
)
def test_verdicts(value, higher, told):
    bar = Bar("", 3.0, 1.0) if not higher else Bar("", 1.0, 3.0, "x", True)
    assert verdict(bar, figure(value)) == told
    assert verdict(bar, figure(value, reached=False)) == "short (gap not reached)"
    assert verdict(Bar(""), figure(value)) == ""


def test_table_has_a_line_a_figure():
    lines = as_table([figure(0.5), figure(5.0)]).splitlines()
    assert len(lines) == 4 and "| pass, then |" in lines[2] and "| short |" in lines[3]


def test_figures_of_another_machine_are_not_mixed(tmp_path):
    path = tmp_path / "speed.json"
    one = figure(1.0)._replace(row="memory")
    results_file.keep(path, [one], {"cores": 1}, "a")
    results_file.keep(path, [figure(2.0), figure(4.0)], {"cores": 1}, "b")
    kept = json.loads(path.read_text())["figures"]
    assert [(e["row"], e["value"], e["command"]) for e in kept] == [
        ("prbr", 4.0, "b"),
        ("memory", 1.0, "a"),
    ]
    results_file.keep(path, [figure(2.0)], {"cores": 2}, "c")
    assert [e["command"] for e in json.loads(path.read_text())["figures"]] == ["c"]


def test_the_quickest_of_the_turns_counts(monkeypatch):
    wall, cpu = [0.0], [0.0]  # clocks that only the works move: a busy machine does not matter
    monkeypatch.setattr(timing.time, "perf_counter", lambda: wall[0])
    monkeypatch.setattr(timing.time, "process_time", lambda: cpu[0])
    seconds = iter([3.0, 1.0, 2.0])
    calls = []

    def slow_work():
        wall[0] += next(seconds)
        cpu[0] += 0.5

    (slow, _), _ = timing.measure_in_turn([slow_work, lambda: calls.append("x")], repeats=3)
    assert slow == (1.0, 0.5) and len(calls) == 3


def test_peak_memory_sees_a_large_array():
    forget_peak_memory()
    before = peak_memory()
    np.ones(30_000_000).sum()
    assert 0.2 < peak_memory() - before < 0.5
