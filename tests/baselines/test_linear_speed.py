"""What is here: BR, ECC and RAkEL timed against a plain loop over LinearSVC in the same run."""

import time

import numpy as np
import pytest
from sklearn.svm import LinearSVC
from tests.baselines.halves import half_of

from prml.baselines import ECC, BinaryRelevance, RAkEL

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]
CASES = [
    ("yeast", "hinge"),
    ("yeast", "squared_hinge"),
    ("enron", "hinge"),
    ("enron", "squared_hinge"),
    ("corel5k", "hinge"),
    ("corel5k", "squared_hinge"),
    ("bibtex", "hinge"),
]


def cpu_seconds(work):
    """Time of this thread alone: other work on the machine does not count."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def plain_loop(X, Y, loss):
    dense = Y.toarray()
    for y in dense.T:
        if 0 < y.sum() < len(y):
            LinearSVC(loss=loss, dual=True if loss == "hinge" else "auto", random_state=0).fit(X, y)


@pytest.mark.parametrize("name, loss", CASES)
def test_against_a_plain_loop(name, loss):
    X, Y, _, _ = half_of(name)
    loops, ours = [], []
    for _ in range(3):
        loops.append(cpu_seconds(lambda: plain_loop(X, Y, loss)))
        ours.append(cpu_seconds(lambda: BinaryRelevance(loss=loss, random_state=0).fit(X, Y)))
    chains = cpu_seconds(lambda: ECC(n_chains=10, loss=loss, random_state=0).fit(X, Y))
    single, many = min(ours) / min(loops), chains / (10 * np.median(loops))
    print(f"{name} {loss}: BR {single:.2f} loops, ECC(10) {many:.2f} of ten loops")
    assert single <= 1.1
    assert many <= 1.3


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rakel_on_bibtex_within_two_minutes(loss):
    X, Y, _, _ = half_of("bibtex")
    model = RAkEL(loss=loss, random_state=0)
    # Processor time of one thread: two threads on a free machine need no longer than that.
    seconds = cpu_seconds(lambda: model.fit(X, Y))
    print(f"RAkEL, {loss}: {seconds:.0f} s for {len(model.labelsets_)} models")
    assert len(model.labelsets_) == 2 * Y.shape[1] and seconds < 120
