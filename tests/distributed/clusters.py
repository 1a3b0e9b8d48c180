"""What is here: clusters of real processes for the tests, time-outs, and problems to solve."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def problem(n=160, d=20, n_labels=9, seed=0):
    """A small sparse problem whose labels are of low rank."""
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, 0.4, format="csr", random_state=rng)
    scores = X @ rng.normal(size=(d, 3)) @ rng.normal(size=(3, n_labels))
    scores = scores + 0.3 * rng.normal(size=scores.shape)
    return X, (scores > np.quantile(scores, 0.7, axis=0)).astype(int)


def half_of(name: str, *, max_rows: int | None = None, max_labels: int | None = None):
    """A half of a dataset, or so many rows and frequent labels of it; skips where it is absent."""
    from prml.datasets import load_dataset

    try:
        data = load_dataset(name)
    except (FileNotFoundError, OSError) as error:
        pytest.skip(f"{name} is not here: {error}")
    order = np.random.default_rng(0).permutation(data.X.shape[0])[: data.X.shape[0] // 2]
    X, Y = data.X[order[:max_rows]], sp.csr_matrix(data.Y)[order[:max_rows]]
    if max_labels is not None:
        counts = np.asarray(Y.sum(axis=0)).ravel()
        Y = Y[:, np.sort(np.argsort(-counts, kind="stable")[:max_labels])]
    return X, Y


class TooLong(Exception):
    """A test hangs."""


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fail when the block takes longer: nothing may hang."""

    def ring(signum, frame):
        raise TooLong(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def local_cluster(n_workers: int):
    """Workers in processes of their own, each with a nanny that starts it again when it dies."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield cluster, client


def pids(cluster) -> list[int]:
    """The processes of the workers that are alive."""
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid is not None]


class TcpCluster:
    """A scheduler and workers as separate programs that share nothing but TCP.

    Every process has a working, temporary and home directory of its own.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.workers: list[subprocess.Popen] = []
        self.scheduler = self._start(
            "scheduler", "dask_scheduler", "--host", "127.0.0.1", "--port", str(port)
        )

    def add_worker(self) -> subprocess.Popen:
        name = f"worker{len(self.workers)}"
        words = [self.address, "--nthreads", "1", "--no-nanny", "--name", name]
        process = self._start(name, "dask_worker", *words)
        self.workers.append(process)
        return process

    def _start(self, name: str, program: str, *words: str) -> subprocess.Popen:
        home = self.folder / name
        home.mkdir()
        where = {"HOME": str(home), "TMPDIR": str(home), "DASK_TEMPORARY_DIRECTORY": str(home)}
        with open(home / "log", "w") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{program}", *words, "--no-dashboard"],
                cwd=home, env=os.environ | ENVIRONMENT | where, stdout=log, stderr=log,
            )  # fmt: skip

    def stop(self) -> None:
        for process in [*self.workers, self.scheduler]:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(timeout=20)


@contextlib.contextmanager
def tcp_cluster(folder: Path, n_workers: int):
    distributed = pytest.importorskip("distributed")
    cluster = TcpCluster(folder)
    try:
        for _ in range(n_workers):
            cluster.add_worker()
        client = distributed.Client(cluster.address, timeout="60s", set_as_default=False)
        client.wait_for_workers(n_workers, timeout=60)
        yield cluster, client
        with contextlib.suppress(Exception):
            client.close(timeout=5)
    finally:
        cluster.stop()


def wait_until(condition, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TooLong("the condition did not come true")
        time.sleep(0.05)
