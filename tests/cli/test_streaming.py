"""What is here: predict on a million rows - memory that does not grow, speed near a product."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp

from prml.baselines import BinaryRelevance
from prml.persistence import save_model

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc"),
]
# VmHWM and not ru_maxrss, which a process inherits from the one that started it.
MEASURE = """
import json, re, sys, time
from prml.cli import main
start = time.perf_counter()
code = main(sys.argv[1:])
seconds = time.perf_counter() - start
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
print(json.dumps({"code": code, "seconds": seconds, "peak": peak}))
"""


def measured(*argv):
    command = [sys.executable, "-c", MEASURE, *map(str, argv)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["code"] == 0, done.stderr
    return told


def random_rows(n, d, per_row, seed):
    rng = np.random.default_rng(seed)
    indices = np.sort(rng.integers(d, size=(n, per_row), dtype=np.int32), axis=1).ravel()
    indptr = np.arange(0, n * per_row + 1, per_row)
    return sp.csr_matrix((rng.random(n * per_row), indices, indptr), shape=(n, d))


@pytest.fixture(scope="module")
def million(tmp_path_factory):
    """A model of 50 labels and 5,000 features, a million rows as npz, and a few of them."""
    folder = tmp_path_factory.mktemp("million")
    X = random_rows(400, 5000, 40, 1)
    Y = np.random.default_rng(2).integers(2, size=(400, 50))
    model = BinaryRelevance(loss="logistic", max_iter=5).fit(X, Y)
    save_model(
        model, folder / "m.prml", metadata={"input": {"kind": "numbers", "zero_based": True}}
    )
    X = random_rows(1_000_000, 5000, 40, 3)
    for name, rows in (("all.npz", X), ("few.npz", X[:5000])):
        parts = {f"X_{k}": getattr(rows, k) for k in ("data", "indices", "indptr", "shape")}
        np.savez(folder / name, **parts)
    start = time.perf_counter()
    X @ model.coef_.T
    return folder, time.perf_counter() - start


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_memory_and_speed_of_a_million_rows(million):
    folder, product_seconds = million
    options = ["--what", "labels", "-q"]
    few = measured(
        "predict", folder / "m.prml", folder / "few.npz", *options, "-o", folder / "f.npz"
    )
    whole = measured(
        "predict", folder / "m.prml", folder / "all.npz", *options, "-o", folder / "a.npz"
    )
    grown = whole["peak"] - few["peak"]
    seconds = whole["seconds"] - few["seconds"]
    print(
        f"\n{whole['peak'] / 2**20:.0f} MB in all, {grown / 2**20:.0f} MB more than for 5,000 rows"
    )
    print(f"{seconds:.1f} s; X @ coef_.T alone {product_seconds:.1f} s")
    assert grown < 500 * 2**20
    assert seconds < 2 * product_seconds
    with np.load(folder / "a.npz") as held:
        assert held["Y_shape"].tolist() == [1_000_000, 50]
