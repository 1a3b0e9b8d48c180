"""What is here: many threads and processes at once, forks, nested parallelism; equal answers."""

import json
import multiprocessing
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from tests.reliability.test_numbers import problem

from prml import PrBR, PrML, load_model, save_model
from prml.baselines import LEML, BinaryRelevance
from prml.bench.results_file import ResultsFile, key_of
from prml.datasets.store import Parts, read_npz, write_npz

ROOT = Path(__file__).parents[2]
MODELS = {
    "PrBR": PrBR(C=0.3, random_state=0),
    "PrBR squared": PrBR(loss="squared"),
    "PrML": PrML(C=0.3, random_state=0, max_iter=30),
    "LEML": LEML(n_components=2, random_state=0),
}


@pytest.fixture(scope="module")
def fitted():
    X, Y = problem(n=60, d=6, n_labels=5)
    return {name: clone(model).fit(X, Y).decision_function(X) for name, model in MODELS.items()}


@pytest.mark.filterwarnings("ignore")
def test_fits_in_eight_threads(fitted):
    X, Y = problem(n=60, d=6, n_labels=5)

    def fit(name):
        return name, clone(MODELS[name]).fit(X, Y).decision_function(X)

    with ThreadPoolExecutor(8) as pool:
        for name, scores in pool.map(fit, list(MODELS) * 6):
            assert np.array_equal(scores, fitted[name]), name


@pytest.mark.filterwarnings("ignore")
def test_sixteen_threads_predict_with_one_model(tmp_path):
    X, Y = problem(n=400, d=30, n_labels=12)
    kernel = PrBR(kernel="rbf", n_landmarks=40, random_state=0, max_iter=20)
    for model in (PrML(C=0.3, max_iter=20, random_state=0), kernel, BinaryRelevance()):
        model.fit(X, Y)
        mapped = load_model(save_model(model, tmp_path / "model.prml"), mmap_mode="r")
        expected = model.decision_function(X)
        pieces = np.array_split(np.arange(400), 80)
        with ThreadPoolExecutor(16) as pool:
            for shared in (model, mapped):
                found = list(pool.map(lambda rows, m=shared: m.decision_function(X[rows]), pieces))
                # a product of fewer rows may be summed in another order
                assert np.allclose(np.vstack(found), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore")
def test_fork_after_fit(fitted):
    X, Y = problem(n=60, d=6, n_labels=5)
    model = PrML(C=0.3, random_state=0, max_iter=30, n_jobs=2).fit(X, Y)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()

    def child():
        again = clone(model).set_params(n_jobs=None).fit(X, Y)
        answers.put((model.decision_function(X), again.decision_function(X)))

    process = context.Process(target=child)
    process.start()
    predicted, refitted = answers.get(timeout=60)
    process.join(timeout=60)
    assert process.exitcode == 0
    assert np.array_equal(predicted, fitted["PrML"]) and np.array_equal(refitted, fitted["PrML"])


@pytest.mark.filterwarnings("ignore")
def test_nested_joblib(fitted):
    X, Y = problem(n=60, d=6, n_labels=5)

    def fit(name):
        model = clone(MODELS[name])
        return model.set_params(n_jobs=2).fit(X, Y).decision_function(X)

    names = [*MODELS, *MODELS]
    for name, scores in zip(
        names, Parallel(n_jobs=2, prefer="threads")(delayed(fit)(n) for n in names), strict=True
    ):
        assert np.allclose(scores, fitted[name], rtol=1e-9, atol=1e-9), name


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_fits_with_threads_in_the_processes_of_a_search():
    X, Y = problem(n=60, d=6, n_labels=5)
    search = GridSearchCV(PrBR(n_jobs=2), {"C": [0.1, 1.0]}, cv=2, n_jobs=2)
    assert search.fit(X, Y).best_params_["C"] in (0.1, 1.0)


FRESH = """
import sys
import numpy as np
from prml.metrics import one_error, ranking_loss
from prml.datasets.store import Parts, read_npz
from prml.bench.results_file import ResultsFile
folder, number = sys.argv[1], int(sys.argv[2])
Y = np.array([[1, 0, 1], [0, 1, 0]])
assert one_error(Y, Y + 0.5) == ranking_loss(Y, Y + 0.5) == 0.0
results = ResultsFile(folder + "/results.jsonl")
for trial in range(20):
    record = {"dataset": "d", "method": f"m{number}", "trial": trial, "setup": "full"}
    results.append(record)
    assert read_npz(folder + "/data.npz").X.shape == (60, 6)
print("done")
"""


@pytest.mark.long
def test_processes_share_an_empty_cache_a_dataset_and_a_results_file(tmp_path):
    """Four processes compile the same loops into one folder; meanwhile the dataset is rewritten."""
    import scipy.sparse as sp

    X, Y = problem(n=60, d=6, n_labels=5)
    parts = Parts(sp.csr_matrix(X), sp.csr_matrix(Y.astype(float)))
    write_npz(tmp_path / "data.npz", parts)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", FRESH, str(tmp_path), str(number)],
            cwd=ROOT,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    while any(process.poll() is None for process in processes):
        write_npz(tmp_path / "data.npz", parts)
        time.sleep(0.02)
    for process in processes:
        out, err = process.communicate()
        assert process.returncode == 0 and out == "done\n", err[-2000:]
    keys = [key_of(record) for record in ResultsFile(tmp_path / "results.jsonl").read()]
    assert len(keys) == len(set(keys)) == 80
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len(lines) == 80 and all(json.loads(line) for line in lines)
    assert (read_npz(tmp_path / "data.npz").X != parts.X).nnz == 0
    assert not list(tmp_path.glob(".data.npz.*.part"))
