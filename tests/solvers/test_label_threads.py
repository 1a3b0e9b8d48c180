"""What is here: labels shared out over threads - order, errors, interrupts, what BLAS may use."""

import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from prml import PrML
from prml.solvers.blas_threads import blas_threads
from prml.solvers.label_threads import LabelThreads


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("labels", [range(0), range(1), range(2), [5, 3, 4, 1, 9, 7]])
def test_results_come_in_the_order_of_the_labels(n_jobs, labels):
    threads = LabelThreads(n_jobs)
    for _ in range(3):
        assert threads.each(lambda i: i * i, labels) == [i * i for i in labels]


def test_labels_run_at_the_same_time_and_the_caller_takes_part():
    both = threading.Barrier(2, timeout=30)
    names = LabelThreads(2).each(
        lambda i: (both.wait(), threading.current_thread().name)[1], range(2)
    )
    assert len(set(names)) == 2
    assert threading.current_thread().name in names


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("in_caller", [True, False])
def test_what_is_raised_in_one_thread_ends_all_and_is_raised(error, in_caller):
    caller, threads, done = threading.current_thread(), LabelThreads(2), []

    def work(i: int) -> None:
        if (threading.current_thread() is caller) == in_caller:
            raise error("label")
        time.sleep(0.01)
        done.append(i)

    with pytest.raises(error):
        threads.each(work, range(10_000))
    assert len(done) < 9_000
    n_done = len(done)
    time.sleep(0.05)
    assert len(done) == n_done  # nobody goes on behind the caller's back
    assert threads.each(lambda i: i, range(4)) == [0, 1, 2, 3]


def blas_threads_now() -> set[int]:
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_blas_has_one_thread_while_labels_have_several():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads_now()
        assert LabelThreads(2).each(lambda i: blas_threads_now(), range(3)) == [{1}] * 3
        assert blas_threads_now() == before


def test_limits_that_overlap_leave_nothing_behind():
    with threadpool_limits(2, user_api="blas"):
        before, first, second = blas_threads_now(), blas_threads(at_most=1), blas_threads(at_most=1)
        assert before == {2}
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads_now() == {1}
        second.__exit__(None, None, None)
        assert blas_threads_now() == before


def test_fits_in_threads_leave_blas_as_it_was():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 5)), (rng.random((60, 4)) < 0.4).astype(int)
    with threadpool_limits(2, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda k: PrML(C=0.1, n_jobs=1 + k % 2).fit(X, Y), range(8)))
        assert blas_threads_now() == {2}


def test_threads_end_with_their_owner():
    before = threading.active_count()
    threads = LabelThreads(3)
    threads.each(lambda i: i, range(9))
    del threads
    for _ in range(100):
        if threading.active_count() == before:
            return
        time.sleep(0.05)
    raise AssertionError("threads are left behind")
