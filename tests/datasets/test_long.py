"""What is here: the real package index, and measured speed and memory of the readers."""

import subprocess
import sys
import time
import tracemalloc

import arff as liac
import numpy as np
import pytest
import scipy.sparse as sp

from prml.datasets import dump_arff, list_datasets, load_arff, load_dataset
from prml.datasets import load as load_module
from prml.datasets.store import read_npz

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """One folder for the whole file, so that each archive is downloaded once."""
    return tmp_path_factory.mktemp("home")


@pytest.mark.parametrize("name", [name for name, row in list_datasets().items() if row.sources])
def test_from_the_index_with_the_shared_folder_hidden(name, home, monkeypatch, tmp_path):
    monkeypatch.delenv("PRML_DATA", raising=False)
    monkeypatch.setattr(load_module, "shared_folder", lambda: None)
    monkeypatch.setattr(load_module, "user_cache", lambda: tmp_path)
    try:
        fetched = load_dataset(name, data_home=home)  # checks n, d, L and positives by the table
    except OSError as error:
        pytest.skip(f"the package index cannot be reached: {error}")
    again = load_dataset(name, data_home=home)
    assert abs(sp.csr_matrix(fetched.X) - sp.csr_matrix(again.X)).max() == 0
    monkeypatch.undo()
    shared = load_module.shared_folder() / f"{name}.npz"
    if not shared.is_file():
        return  # no other copy to compare with
    local = read_npz(shared)
    assert fetched.X.dtype == local.X.dtype
    assert abs(sp.csr_matrix(fetched.X) - local.X).max() == 0
    assert abs(fetched.Y - local.Y).max() == 0
    np.testing.assert_array_equal(fetched.train_idx, local.train_idx)


@pytest.fixture(scope="module")
def bibtex_arff(tmp_path_factory):
    """bibtex as sparse ARFF with nominal {0,1} features, the way its authors published it."""
    try:
        held = load_dataset("bibtex")
    except OSError as error:
        pytest.skip(f"bibtex is not here: {error}")
    path = tmp_path_factory.mktemp("bibtex") / "bibtex.arff"
    dump_arff(path, held.X, held.Y, feature_names=held.feature_names, label_names=held.label_names)
    path.write_text(path.read_text().replace(" numeric\n", " {0,1}\n"))
    return path, held


def test_three_times_as_fast_as_liac_arff_on_bibtex(bibtex_arff):
    path, held = bibtex_arff
    ours, theirs = [], []
    for _ in range(3):
        start = time.perf_counter()
        read = load_arff(path)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        with path.open() as stream:
            liac.load(stream, return_type=liac.COO, encode_nominal=True)
        theirs.append(time.perf_counter() - start)
    assert abs(read.X - held.X).max() == 0 and abs(read.Y - held.Y).max() == 0
    ratio = min(theirs) / min(ours)
    print(f"liac-arff {min(theirs):.2f} s, load_arff {min(ours):.2f} s: {ratio:.1f} times faster")
    assert ratio >= 3


@pytest.mark.parametrize("sparse", [False, True])
def test_memory_is_about_the_size_of_the_result(tmp_path, sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 400)).round(4)
    X = sp.csr_matrix(X) if sparse else X
    dump_arff(tmp_path / "a.arff", X, sp.csr_matrix(rng.random((10_000, 3)) < 0.2).astype(float))
    size = X.data.nbytes + X.indices.nbytes if sparse else X.nbytes
    load_arff(tmp_path / "a.arff")  # imports and caches
    tracemalloc.start()
    load_arff(tmp_path / "a.arff")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"result {size / 1e6:.0f} MB, peak {peak / 1e6:.0f} MB")
    assert peak < 1.5 * size + 24e6  # the constant is for one block of text on its way


def test_import_is_light():
    code = "import sys, prml.datasets; sys.exit(any(m in sys.modules for m in ('pandas', 'numba')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
