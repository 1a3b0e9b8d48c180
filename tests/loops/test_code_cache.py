"""What is here: the cache of compiled loops: processes that save at once, sources that change."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numba.core.caching import IndexDataCacheFile
from numba.core.registry import CPUDispatcher

from prml import PrBR, PrML
from prml.loops.code_cache import NamedByContent
from prml.loops.jit import DISABLED


def two_at_once(Cache, folder):
    """Two processes save different loops; the second reads the index before the first has saved."""
    one, two = (Cache(str(folder), "loops.f-1.py311", "stamp") for _ in range(2))
    empty = two._load_index()
    two._load_index = lambda: empty
    save_data = two._save_data
    # ... and the first writes its data last
    two._save_data = lambda name, data: (save_data(name, data), one.save("float32", "code of 32"))
    two.save("float64", "code of 64")
    fresh = Cache(str(folder), "loops.f-1.py311", "stamp")
    return fresh.load("float32"), fresh.load("float64")


def test_no_process_gets_the_code_of_another(tmp_path):
    found = two_at_once(NamedByContent, tmp_path)
    assert found[0] in (None, "code of 32") and found[1] in (None, "code of 64")
    assert found != (None, None)


def test_numba_alone_mixes_them_up(tmp_path):
    """Why the class is there; when numba no longer does this, it may go."""

    class Numbered(IndexDataCacheFile):
        def save(self, key, data):
            super().save(key, data)

    one, two = (Numbered(str(tmp_path), "loops.f-1.py311", "stamp") for _ in range(2))
    empty = two._load_index()
    one.save("float32", "code of 32")
    two._load_index = lambda: dict(empty)
    two.save("float64", "code of 64")
    one._save_data(one._data_name(1), "code of 32")
    fresh = IndexDataCacheFile(str(tmp_path), "loops.f-1.py311", "stamp")
    assert fresh.load("float64") == "code of 32"


@pytest.mark.parametrize("changed", ["stamp", "version"])
def test_code_of_other_sources_is_not_loaded(tmp_path, changed):
    old = NamedByContent(str(tmp_path), "loops.f-1.py311", "stamp")
    old.save("float64", "old code")
    new = NamedByContent(str(tmp_path), "loops.f-1.py311", "stamp")
    setattr(new, "_source_stamp" if changed == "stamp" else "_version", "new")
    assert new.load("float64") is None
    new.save("float64", "new code")
    assert new.load("float64") == "new code"
    assert old.load("float64") in (None, "old code")


def test_who_waits_for_the_compiler_is_told_once(tmp_path):
    pty = pytest.importorskip("pty")
    program = (
        "import numpy as np; from prml.metrics import hamming_loss;"
        "hamming_loss(np.eye(3), np.eye(3)); hamming_loss(np.eye(3), np.eye(3) > 0)"
    )
    ours, theirs = pty.openpty()
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    told = []
    for _ in range(2):  # the second process finds the code on disk
        subprocess.run([sys.executable, "-c", program], check=True, env=env, stderr=theirs)
        os.write(theirs, b"end\n")
        text = b""
        while not text.endswith(b"end\r\n"):
            text += os.read(ours, 4096)
        told.append(text.count(b"compiling"))
    os.close(ours)
    os.close(theirs)
    assert told == [1, 0]


def test_a_loop_is_loaded_once_for_each_kind_of_arguments():
    """A loop with `*arguments` is not: numba looks for it under another type than it keeps."""
    program = """
import sys
import numpy as np
from numba.core.registry import CPUDispatcher
from prml import PrBR, PrML
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))
Y = (X @ rng.normal(size=(5, 4)) + rng.normal(size=(60, 4)) > 0).astype(int)
for Learner in (PrBR, PrML):
    Learner(theta=1.0, C=3.0, gamma2=0.1).fit(X, Y).predict(X)
    Learner(theta=np.inf, C=3.0, gamma2=0.1).fit(X, Y).predict(X)
n_loops = 0
for name, module in list(sys.modules.items()):
    if name.startswith("prml.loops"):
        for what, loop in vars(module).items():
            if isinstance(loop, CPUDispatcher):
                n_loops += 1
                n_loads = sum(loop.stats.cache_hits.values())
                assert n_loads <= len(loop.overloads), (name, what, n_loads)
assert n_loops > 10
"""
    for _ in range(2):  # the first process may have to compile
        subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize("form", [np.ascontiguousarray, sp.csr_matrix])
@pytest.mark.parametrize("Learner", [PrBR, PrML])
def test_rows_that_may_not_be_written_to_use_the_same_code(Learner, form):
    """What joblib and memory maps hand over would be compiled again, half a minute long."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    Y = (X @ rng.normal(size=(5, 4)) + rng.normal(size=(60, 4)) > 0).astype(int)
    rows = form(X)
    arrays = [rows.data, rows.indices, rows.indptr] if sp.issparse(rows) else [rows]
    first = Learner(C=3.0, gamma2=0.1, random_state=0).fit(rows, Y)
    n_versions = n_compiled()
    for array in arrays:
        array.flags.writeable = False
    second = Learner(C=3.0, gamma2=0.1, random_state=0).fit(rows, Y)
    assert n_compiled() == n_versions > 10
    np.testing.assert_array_equal(first.coef_, second.coef_)


def n_compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("prml.loops")]
    things = {id(thing): thing for module in modules for thing in vars(module).values()}
    return sum(len(t.overloads) for t in things.values() if isinstance(t, CPUDispatcher))
