"""What is here: fits, predictions and one death on a cluster of two processes."""

import os
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV
from tests.distributed.clusters import local_cluster, pids, problem, wait_until, within

from prml import PrBR, PrML, load_model, save_model
from prml.baselines import ECC, RAkEL
from prml.cli import main
from prml.metrics import evaluate

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

da = pytest.importorskip("dask.array")

from prml.distributed import Limits, evaluate_dask, fit_dask, predict_dask  # noqa: E402
from prml.distributed.crew import Crew  # noqa: E402

# A worker that a busy machine delays must not count as late where iterates are compared.
UNHURRIED = Limits(least_wait=60.0)


@pytest.fixture(scope="module")
def two_workers():
    with local_cluster(2) as (cluster, client):
        yield cluster, client


@pytest.fixture(scope="module")
def one_machine():
    X, Y = problem()
    return X, Y, PrML(C=0.5, tol=1e-3, random_state=0, keep_duals=True).fit(X, Y)


def assert_same(model, other):
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-8)
    np.testing.assert_allclose(model.privileged_coef_, other.privileged_coef_, atol=1e-8)
    assert model.n_iter_ == other.n_iter_
    np.testing.assert_allclose(model.objective_, other.objective_, rtol=1e-9)


def test_the_fit_is_that_of_one_machine(two_workers, one_machine, capsys, tmp_path):
    (_, client), (X, Y, single) = two_workers, one_machine
    with within(60):
        model = fit_dask(
            PrML(C=0.5, tol=1e-3, random_state=0, keep_duals=True, verbose=2),
            X, Y, client, limits=UNHURRIED,
        )  # fmt: skip
    assert_same(model, single)
    np.testing.assert_allclose(model.dual_coef_, single.dual_coef_, atol=1e-9)
    np.testing.assert_allclose(model.dual_slack_, single.dual_slack_, atol=1e-9)
    assert [entry["round"] for entry in model.traffic_] == list(range(1, model.n_iter_ + 1))
    assert "bytes down" in capsys.readouterr().out
    assert not hasattr(model, "_solve_convex") or "_solve_convex" not in vars(model)
    save_model(model, tmp_path / "model.prml")
    np.testing.assert_array_equal(load_model(tmp_path / "model.prml").coef_, model.coef_)


def test_nothing_stays_on_the_workers(two_workers):
    _, client = two_workers

    def left():
        from prml.distributed import serve

        return len(serve._attended)

    wait_until(lambda: not any(client.run(left).values()), 10)


@pytest.mark.parametrize("form", ["array", "frame", "function"])
def test_x_that_only_the_workers_hold(two_workers, form):
    _, client = two_workers
    X, Y = problem()
    X, rest = X.toarray(), {}  # dense rows sum in another order than sparse ones
    single = PrML(C=0.5, tol=1e-2, random_state=0).fit(X, Y)
    if form == "array":
        data = da.from_array(X, chunks=(50, 8)), da.from_array(Y, chunks=(50, -1))
    elif form == "frame":
        pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
        names = [f"x{k}" for k in range(X.shape[1])]
        labels = [f"y{i}" for i in range(Y.shape[1])]
        frames = pd.DataFrame(X, columns=names), pd.DataFrame(Y, columns=labels)
        data = tuple(dd.from_pandas(frame, npartitions=3) for frame in frames)
    else:
        data, rest = ((lambda: X), Y), {"n_features": X.shape[1]}
    with within(60):
        estimator = PrML(C=0.5, tol=1e-2, random_state=0)
        model = fit_dask(estimator, *data, client, limits=UNHURRIED, **rest)
    assert_same(model, single)
    assert model.n_features_in_ == X.shape[1]
    if form == "frame":
        assert model.feature_names_in_.tolist() == names
        assert model.label_names_.tolist() == labels
        assert model.predict(frames[0]).shape == Y.shape


def test_messages_by_way_of_the_scheduler(two_workers, one_machine, monkeypatch):
    (_, client), (X, Y, single) = two_workers, one_machine
    monkeypatch.setattr(Crew, "direct", False)
    with within(60):
        model = PrML(C=0.5, tol=1e-3, random_state=0)
        assert_same(fit_dask(model, X, Y, client, limits=UNHURRIED), single)


def test_prediction_and_evaluation_of_collections(two_workers, one_machine):
    (_, client), (X, Y, model) = two_workers, one_machine
    there = da.from_array(X.toarray(), chunks=(70, 8)), da.from_array(Y, chunks=(70, -1))
    with within(60), client.as_current():
        for method in ("predict", "decision_function", "predict_proba"):
            found = predict_dask(model, there[0], method)
            assert found.shape == Y.shape
            np.testing.assert_allclose(found.compute(), getattr(model, method)(X), atol=1e-12)
        table = evaluate_dask(model, *there, metrics="all")
        by_rows = evaluate_dask(model, there[0], sp.csr_matrix(Y))
    expected = evaluate(Y, model.decision_function(X), metrics="all")
    assert set(table) == set(expected)
    for name in expected:
        np.testing.assert_allclose(table[name], expected[name], rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(by_rows["macro_auc"], expected["macro_auc"], rtol=1e-12)
    np.testing.assert_allclose(table.by_label["auc"], expected.by_label["auc"], rtol=1e-12)


def test_unknown_labels_count_the_same_in_chunks(one_machine):
    X, Y, model = one_machine
    Y = np.where(np.random.default_rng(0).random(Y.shape) < 0.2, np.nan, Y)
    there = da.from_array(X.toarray(), chunks=(70, -1)), da.from_array(Y, chunks=(70, -1))
    table, expected = evaluate_dask(model, *there), evaluate(Y, model.decision_function(X))
    for name in expected:
        np.testing.assert_allclose(table[name], expected[name], rtol=1e-12, err_msg=name)


def test_prbr_solves_the_same_labels(two_workers):
    _, client = two_workers
    X, Y = problem(n_labels=5)
    single = PrBR(C=0.5, random_state=0).fit(X, Y)
    with within(60):
        model = fit_dask(PrBR(C=0.5, random_state=0), X, Y, client)
    np.testing.assert_allclose(model.coef_, single.coef_, atol=1e-12)
    assert model.objective_ == pytest.approx(single.objective_)


@pytest.mark.parametrize(
    "estimator",
    [
        PrML(tol=1e-2, random_state=0),
        PrBR(tol=1e-2, random_state=0),
        PrBR(loss="squared_hinge", tol=1e-2),
        ECC(n_chains=2, random_state=0, n_jobs=1),
        RAkEL(random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_folds_of_a_search_run_on_the_workers(two_workers, estimator):
    """And what an estimator runs in threads stays in the worker's: it cannot be sent on."""
    _, client = two_workers
    X, Y = problem(n_labels=4)
    search, alone = [GridSearchCV(estimator, {"C": [0.01, 0.5]}, cv=2) for _ in range(2)]
    with within(60):
        fit_dask(search, X, Y, client)
    alone.fit(X, Y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize("Baseline", [ECC, RAkEL])
def test_chains_and_label_sets_are_tasks_of_the_workers(two_workers, Baseline):
    _, client = two_workers
    X, Y = problem(n_labels=4)

    def last_events():
        return client.run(lambda dask_worker: str(list(dask_worker.state.log)[-1:]))

    before = last_events()
    with within(60):
        model = fit_dask(Baseline(random_state=0, n_jobs=2), X, Y, client)
    assert last_events() != before  # something was run there
    alone = Baseline(random_state=0, n_jobs=1).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))


def test_workers_that_are_threads_of_this_process(one_machine):
    X, Y, single = one_machine
    with (
        distributed.Client(
            processes=False, n_workers=2, threads_per_worker=2, dashboard_address=":0"
        ) as client,
        within(60),
    ):
        model = PrML(C=0.5, tol=1e-3, random_state=0)
        assert_same(fit_dask(model, X, Y, client, limits=UNHURRIED), single)


@pytest.mark.parametrize(
    ("parameters", "X", "sentence"),
    [
        ({"loss": "squared"}, None, "loss is 'squared'"),
        ({"algorithm": "alternating"}, None, "algorithm is 'alternating'"),
        ({"kernel": "rbf"}, "x.npy", "kernel is not 'linear'"),
        ({}, "x.csv", "ends in .npz or .npy"),
        ({}, "nowhere.npy", "no such file"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(two_workers, parameters, X, sentence):
    _, client = two_workers
    data, Y = problem(n_labels=4)
    with within(60), pytest.raises(ValueError, match=sentence):
        fit_dask(PrML(**parameters), data if X is None else X, Y, client, n_features=20)


def test_the_command_line_fits_on_a_scheduler(two_workers, tmp_path):
    cluster, _ = two_workers
    X, Y = problem(n_labels=4)
    data, model = tmp_path / "data.npz", tmp_path / "model.prml"
    np.savez(data, X=X.toarray(), Y=Y)
    words = ["fit", data, "-o", model, "-p", "C=0.5", "-p", "tol=0.01", "--quiet", "--scheduler"]
    with within(60):
        assert main([str(word) for word in [*words, cluster.scheduler_address]]) == 0
    assert load_model(model).traffic_


@pytest.mark.long
def test_an_address_without_a_scheduler_is_said_in_a_sentence(tmp_path, capsys):
    X, Y = problem(n_labels=4)
    np.savez(tmp_path / "data.npz", X=X.toarray(), Y=Y)
    words = ["fit", tmp_path / "data.npz", "-o", tmp_path / "m.prml", "--scheduler"]
    with within(60):
        assert main([str(word) for word in [*words, "tcp://127.0.0.1:9"]]) == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err


def test_no_client_and_no_scheduler_are_said_in_a_sentence():
    X, Y = problem(n_labels=4)
    with pytest.raises(ValueError, match="no current Dask client"):
        fit_dask(PrML(), X, Y)


def test_a_worker_that_is_killed_costs_rounds_only(two_workers, one_machine):
    """The last one here: the cluster is not the same afterwards."""
    (cluster, client), (X, Y, single) = two_workers, one_machine
    records = []

    def kill(record):
        records.append(record)
        if len(records) == 1:
            os.kill(pids(cluster)[0], signal.SIGKILL)

    with within(90):
        model = fit_dask(PrML(C=0.5, tol=1e-3, random_state=0, callbacks=kill), X, Y, client)
    assert model.dual_gap_ <= 1e-3
    np.testing.assert_allclose(model.objective_, single.objective_, rtol=2e-3)
    assert any("is lost" in what for _, what in model.cluster_events_)
