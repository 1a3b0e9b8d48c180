"""What is here: full and read-only disks, caches that vanish; what was saved stays as it is."""

import errno
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.reliability.disks import fill, make_read_only, small_disk
from tests.reliability.test_numbers import problem

from prml import PrML, load_model, save_model
from prml.baselines import BinaryRelevance
from prml.bench.results_file import ResultsFile
from prml.cli.group import run as run_command
from prml.datasets import load_dataset
from prml.loops.code_cache import ForgivingCache

RECORD = {"dataset": "flags", "method": "BR", "trial": 0, "setup": "full", "code": "x"}

# A metric compiles in a second or two; its cache goes to the folder in NUMBA_CACHE_DIR.
COMPILING = """
import os, shutil, sys
import numpy as np
from prml.metrics import one_error, ranking_loss
Y = np.array([[1, 0, 1], [0, 1, 0]])
print(one_error(Y, Y + 0.5))
if sys.argv[1] == "remove":
    shutil.rmtree(os.environ["NUMBA_CACHE_DIR"])
print(ranking_loss(Y, Y + 0.5))
"""


@pytest.fixture
def model():
    X, Y = problem(n=40, d=300, n_labels=20)
    return BinaryRelevance().fit(X, Y)


def test_save_on_a_full_disk_keeps_the_old_model(model, tmp_path):
    X, Y = problem()
    with small_disk(tmp_path / "disk") as disk:
        small = BinaryRelevance().fit(X, Y)
        path = save_model(small, disk / "model.prml")
        ballast = fill(disk)
        with pytest.raises(OSError, match="space") as caught:
            save_model(model, path)
        assert caught.value.errno == errno.ENOSPC
        assert np.array_equal(load_model(path).decision_function(X), small.decision_function(X))
        assert sorted(p.name for p in disk.iterdir()) == ["ballast", "model.prml"]
        ballast.unlink()
        save_model(small, path)


def test_command_on_a_full_disk_is_one_sentence(tmp_path, capsys):
    rng = np.random.default_rng(0)
    data = tmp_path / "data.npz"
    np.savez(data, X=rng.standard_normal((30, 400)), Y=(rng.random((30, 50)) < 0.3).astype(int))
    with small_disk(tmp_path / "disk", "64k") as disk:
        argv = ["fit", str(data), "-e", "BinaryRelevance", "-o", str(disk / "model.prml"), "-q"]
        assert run_command(argv) == 1
        told = capsys.readouterr().err
        assert told.count("\n") == 1 and "files are as they were before" in told
        assert list(disk.iterdir()) == []


def test_a_checkpoint_on_a_full_disk_costs_no_fit(tmp_path):
    X, Y = problem()
    plain = PrML(C=0.5, tol=1e-2, random_state=0).fit(X, Y)
    with small_disk(tmp_path / "disk", "16k") as disk:
        fill(disk)
        model = PrML(C=0.5, tol=1e-2, random_state=0, checkpoint=str(disk / "fit.checkpoint"))
        model._checkpoint_every = 0.0
        with pytest.warns(RuntimeWarning, match="was not written .* the fit goes on"):
            model.fit(X, Y)
        assert np.array_equal(model.coef_, plain.coef_)
        assert [p.name for p in disk.iterdir()] == ["ballast"]


def test_results_on_a_full_disk_keep_what_they_have(tmp_path):
    with small_disk(tmp_path / "disk", "64k") as disk:
        results = ResultsFile(disk / "results.jsonl")
        results.append(RECORD)
        ballast = fill(disk)
        with pytest.raises(OSError, match="space"):
            for trial in range(1, 1000):
                results.append({**RECORD, "trial": trial, "note": "x" * 500})
        kept = ResultsFile(results.path).read()
        assert [r["trial"] for r in kept] == list(range(len(kept)))
        ballast.unlink()
        results.append({**RECORD, "trial": 5000})  # a torn line is closed
        again = ResultsFile(results.path).read()
        assert [r["trial"] for r in again] == [*range(len(kept)), 5000]
        results.close()


def test_read_only_folder(model, tmp_path, capsys):
    with small_disk(tmp_path / "disk", "1m") as disk:
        path = save_model(model, disk / "model.prml")
        make_read_only(disk)
        assert load_model(path).n_labels_ == 20
        with pytest.raises(OSError, match=r"[Rr]ead-only"):
            save_model(model, path)
        argv = ["fit", "flags", "-e", "BinaryRelevance", "-o", str(disk / "new.prml"), "-q"]
        try:
            load_dataset("flags")
        except OSError as error:
            pytest.skip(f"flags is not at hand ({error})")
        assert run_command(argv) == 1
        assert "read-only file system; files are as they were before" in capsys.readouterr().err


def test_fetched_data_that_cannot_be_kept_are_returned(monkeypatch, tmp_path):
    from prml.datasets import fetch, load
    from prml.datasets.store import read_npz

    try:
        flags = load_dataset("flags")
    except OSError as error:
        pytest.skip(f"flags is not at hand ({error})")
    parts = read_npz(load.Path(flags.source))
    monkeypatch.setattr(fetch, "fetch", lambda *_, **__: parts)
    monkeypatch.setattr(load, "shared_folder", lambda: None)
    monkeypatch.setattr(load, "user_cache", lambda: tmp_path / "none")
    monkeypatch.delenv("PRML_DATA", raising=False)
    (tmp_path / "home").write_text("a file where a folder should be")
    with pytest.warns(RuntimeWarning, match="was not written .* fetched again"):
        again = load_dataset("flags", data_home=tmp_path / "home")
    assert again.X.shape == flags.X.shape


@pytest.mark.long
@pytest.mark.parametrize("trouble", ["full", "remove", "read-only"])
def test_compiled_loops_do_without_their_cache(trouble, tmp_path):
    def compile_in(folder):
        return subprocess.run(
            [sys.executable, "-c", COMPILING, trouble],
            env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
            capture_output=True,
            text=True,
            timeout=300,
        )

    if trouble == "remove":
        done = compile_in(tmp_path / "cache")
    else:
        with small_disk(tmp_path / "disk", "16k") as disk:
            fill(disk) if trouble == "full" else make_read_only(disk)
            done = compile_in(disk)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["0.0", "0.0"]


@pytest.mark.long
def test_a_spoiled_cache_is_compiled_anew(tmp_path):
    cache = tmp_path / "cache"
    for spoil in (None, b"", b"\x80\x04garbage"):
        if spoil is not None:
            for file in cache.rglob("*.nb?"):
                file.write_bytes(spoil)
        done = subprocess.run(
            [sys.executable, "-c", COMPILING, "keep"],
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-2000:]


def test_a_cache_that_fails_is_done_without():
    class Failing:
        def load_overload(self, *_):
            raise EOFError("ran out of input")

        def save_overload(self, *_):
            raise OSError(errno.ENOSPC, "No space left on device")

        def flush(self):
            return "flushed"

    cache = ForgivingCache(Failing())
    assert cache.load_overload("signature", "target") is None
    assert cache.save_overload("signature", "code") is None
    assert cache.flush() == "flushed"
