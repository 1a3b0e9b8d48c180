"""What is here: workers and schedulers that die, stop, join or share nothing - real processes."""

import os
import random
import signal
import threading
import time

import numpy as np
import pytest
from tests.distributed.clusters import (
    half_of,
    local_cluster,
    pids,
    problem,
    tcp_cluster,
    wait_until,
    within,
)

from prml import PrML

pytest.importorskip("distributed")
pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning"), pytest.mark.long]

from prml.distributed import Limits, fit_dask  # noqa: E402

TOL = 1e-3


@pytest.fixture(scope="module")
def enron():
    X, Y = half_of("enron")
    return X, Y, PrML(C=0.01, tol=TOL, random_state=0).fit(X, Y)


def fit(data, client, seconds=180, callbacks=None, limits=None, **parameters):
    X, Y = data[:2]
    model = PrML(C=0.01, tol=TOL, random_state=0, callbacks=callbacks, **parameters)
    with within(seconds):
        return fit_dask(model, X, Y, client, limits=limits or Limits(give_up=10.0))


def assert_solved(model, data):
    assert model.converged_ and model.dual_gap_ <= TOL
    np.testing.assert_allclose(model.objective_, data[2].objective_, rtol=2 * TOL)


def attends() -> bool:
    """Whether a worker, on which this runs, has its training set."""
    from prml.distributed import serve

    return bool(serve._attended)


def events(model) -> str:
    return "\n".join(what for _, what in model.cluster_events_)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_worker_is_killed_at_random_moments(enron, seed):
    draw = random.Random(seed)
    with local_cluster(3) as (cluster, client):
        begun = threading.Event()

        def kill():
            begun.wait()
            for _ in range(3):
                time.sleep(draw.uniform(0.05, 3.0))
                os.kill(draw.choice(pids(cluster)), signal.SIGKILL)

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        model = fit(enron, client, callbacks=lambda record: begun.set())
        killer.join(30)
    assert_solved(model, enron)
    assert "is lost" in events(model)


@pytest.mark.parametrize("survivors", [1, 0])
def test_all_workers_but_so_many_are_killed(enron, survivors):
    with local_cluster(4) as (cluster, client):
        n_records = []

        def kill(record):
            n_records.append(1)
            if len(n_records) == 2:
                for pid in pids(cluster)[survivors:]:
                    os.kill(pid, signal.SIGKILL)

        model = fit(enron, client, callbacks=kill)
    assert_solved(model, enron)
    assert events(model).count("is lost") >= 3


def test_a_worker_that_stops_is_not_waited_for(enron):
    with local_cluster(3) as (cluster, client):
        stopped = []

        def stop(record):
            if not stopped:
                stopped.append(pids(cluster)[0])
                os.kill(stopped[0], signal.SIGSTOP)

        try:
            model = fit(enron, client, callbacks=stop, limits=Limits(least_wait=2.0, give_up=6.0))
        finally:
            os.kill(stopped[0], signal.SIGCONT)
    assert_solved(model, enron)
    assert "does not answer: its blocks go to others" in events(model)
    times = np.diff([record["time"] for record in model.history_])
    assert times.max() < 30  # four rounds and an evaluation, at most the limits of each


def test_a_worker_that_joins_gets_blocks(enron):
    with local_cluster(1) as (cluster, client):
        asked = []

        def scale(record):
            if not asked:
                asked.append(cluster.scale(2))
                wait_until(lambda: len(client.nthreads()) == 2, 60)
            elif len(asked) < 20 and not all(client.run(attends).values()):
                asked.append(None)
                time.sleep(2.0)  # until it has the training set: enron is soon done

        model = fit(enron, client, callbacks=scale, limits=Limits(least_wait=60.0))
    assert_solved(model, enron)
    assert "moves to" in events(model)
    # a move changes nothing but the last bits, which may decide at which evaluation it ends
    assert abs(model.n_iter_ - enron[2].n_iter_) <= 8


def test_separate_programs_that_share_nothing(enron, tmp_path):
    with tcp_cluster(tmp_path, 2) as (cluster, client):
        n_records = []

        def kill(record):
            n_records.append(1)
            if len(n_records) == 1:
                cluster.add_worker()
            if len(n_records) == 3:
                cluster.workers[0].kill()

        model = fit(enron, client, callbacks=kill)
        folders = [tmp_path / f"worker{k}" for k in range(2)]
        assert all(folder.exists() for folder in folders)
    assert_solved(model, enron)
    assert "is lost" in events(model)


def test_a_lost_scheduler_leaves_the_checkpoint_and_says_how_to_go_on(enron, tmp_path, monkeypatch):
    X, Y, single = enron
    path = tmp_path / "state"
    monkeypatch.setattr(PrML, "_checkpoint_every", 0.0)
    (tmp_path / "cluster").mkdir()
    with tcp_cluster(tmp_path / "cluster", 2) as (cluster, client):
        n_records = []

        def kill(record):
            n_records.append(1)
            if len(n_records) == 3:
                cluster.scheduler.kill()

        with pytest.raises(RuntimeError, match="call the same fit again with that checkpoint"):
            fit(enron, client, seconds=120, callbacks=kill, checkpoint=path)
    assert path.exists()
    model = PrML(C=0.01, tol=TOL, random_state=0, checkpoint=path).fit(X, Y)
    assert model.converged_
    assert model.history_[0]["iteration"] > 4  # it went on, it did not begin again
    np.testing.assert_allclose(model.objective_, single.objective_, rtol=2 * TOL)


def test_no_worker_at_all_ends_in_time():
    X, Y = problem(n_labels=4)
    with local_cluster(1) as (cluster, client):
        cluster.scale(0)
        wait_until(lambda: not client.nthreads())
        with within(60), pytest.raises(RuntimeError, match=r"no worker of .* was ready"):
            fit_dask(PrML(), X, Y, client, limits=Limits(no_workers=4.0))
