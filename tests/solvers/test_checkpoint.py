"""What is here: fits that are stopped, killed and resumed; checkpoint files that are refused."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from tests.persistence.attacks import DAMAGE
from tests.solvers.checkpointed_fit import estimator, problem

from prml import PrBR, PrML, load_model
from prml.cli import main
from prml.loops.jit import DISABLED
from prml.persistence import archive
from prml.solvers import checkpoint as checkpoints

CHECKOUT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    DISABLED, reason="a hundred fits take minutes uncompiled, and checkpoints are plain Python"
)


@pytest.fixture(autouse=True)
def write_at_every_evaluation(monkeypatch):
    monkeypatch.setattr(checkpoints, "LARGEST_SHARE", np.inf)


class Stop:
    """A callback that ends the fit after so many evaluations."""

    def __init__(self, after):
        self.left = after

    def __call__(self, record):
        self.left -= 1
        return self.left <= 0


class Crash(Exception):
    pass


def crash_after(n):
    stop = Stop(n)

    def callback(record):
        if stop(record):
            raise Crash

    return callback


def interrupted(path, after=4, data=None, **settings):
    with pytest.raises(Crash):
        estimator(path, callbacks=crash_after(after), **settings).fit(*(data or problem()))
    assert path.is_file()


def assert_same(resumed, whole):
    for name in ("coef_", "intercept_", "privileged_coef_", "dual_coef_", "dual_slack_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
    assert resumed.objective_ == whole.objective_
    assert resumed.dual_objective_ == whole.dual_objective_
    assert resumed.n_iter_ == whole.n_iter_


@pytest.mark.parametrize(
    "settings",
    [{}, {"theta": np.inf, "C": 2.0}, {"privileged": 2, "class_weight": "balanced"}],
    ids=["theta 2", "theta inf", "pools and weights"],
)
@pytest.mark.parametrize("after", [2, 6])
def test_a_resumed_fit_is_the_uninterrupted_one_bit_for_bit(tmp_path, settings, after):
    path, settings = tmp_path / "state", {"keep_duals": True, **settings}
    whole = estimator(**settings).fit(*problem())
    assert whole.n_iter_ > 5 * after
    interrupted(path, after, **settings)
    resumed = estimator(path, **settings).fit(*problem())
    assert_same(resumed, whole)
    assert resumed.history_[0]["iteration"] > 5 * (after - 1)  # it did go on, not start over
    assert list(tmp_path.iterdir()) == []


def test_missing_labels_sparse_rows_and_a_single_label(tmp_path):
    X, Y = problem()
    Y = Y.astype(float)
    Y[::7, 1] = np.nan
    for i, data in enumerate([(sp.csr_matrix(X), Y), (X.astype(np.float32), Y[:, 0])]):
        path = tmp_path / f"state{i}"
        whole = estimator(keep_duals=True).fit(*data)
        interrupted(path, 2, data=data, keep_duals=True)
        assert_same(estimator(path, keep_duals=True).fit(*data), whole)


def test_kill_9_at_three_random_moments(tmp_path):
    path = tmp_path / "state"
    seed = int.from_bytes(os.urandom(4), "little")
    rng = np.random.default_rng(seed)
    reached = [0]
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.solvers.checkpointed_fit", str(path)],
            cwd=CHECKOUT,
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:
            for _ in range(int(rng.integers(2, 5))):
                line = process.stdout.readline()
            time.sleep(float(rng.uniform(0.0, 0.1)))
            process.kill()
        assert line.strip().isdigit(), f"the fit ended before it was killed; seed {seed}"
        reached.append(int(line))
        assert path.is_file(), seed
    assert reached == sorted(set(reached)), f"a fit started over; seed {seed}"
    whole = estimator(keep_duals=True).fit(*problem())
    resumed = estimator(path, keep_duals=True).fit(*problem())
    assert_same(resumed, whole)
    assert not path.exists()


def test_a_fit_that_ran_out_of_rounds_goes_on_with_more(tmp_path):
    path = tmp_path / "state"
    whole = estimator().fit(*problem())
    with pytest.warns(UserWarning, match="gap"):
        short = estimator(path, max_iter=20).fit(*problem())
    assert path.is_file() and not short.converged_
    longer = estimator(path).fit(*problem())
    assert longer.converged_ and not path.exists()
    assert longer.objective_ == pytest.approx(whole.objective_, rel=1e-5)
    judged = [[entry["iteration"] for entry in fit.history_] for fit in (longer, whole)]
    assert judged[0] == [iteration for iteration in judged[1] if iteration > 20]
    assert longer.n_iter_ == whole.n_iter_


@pytest.mark.filterwarnings("ignore:PrML stopped")
def test_a_fit_that_stops_before_its_first_write_is_written(tmp_path):
    model = estimator(tmp_path / "state", max_iter=10)
    model._checkpoint_every = 3600.0
    model.fit(*problem())
    assert (tmp_path / "state").is_file()


def test_callback_and_time_limit_keep_the_file_and_a_tighter_tol_may_go_on(tmp_path):
    path = tmp_path / "state"
    estimator(path, callbacks=Stop(2)).fit(*problem())
    assert path.is_file()
    estimator(path, max_time=1e-9).fit(*problem())
    assert path.is_file()
    assert estimator(path, tol=1e-6, n_jobs=2).fit(*problem()).dual_gap_ <= 1e-6
    assert not path.exists()


def test_an_interrupt_in_the_middle_of_a_round_leaves_the_last_whole_state(tmp_path, monkeypatch):
    from prml.solvers.lowrank import Splitting

    path, step = tmp_path / "state", Splitting.each_label
    whole = estimator(keep_duals=True).fit(*problem())

    def broken(self, work):
        if self.round == 12:
            for i in range(2):
                work(i)
            raise KeyboardInterrupt
        return step(self, work)

    monkeypatch.setattr(Splitting, "each_label", broken)
    with pytest.warns(RuntimeWarning, match="Interrupted"):
        estimator(path).fit(*problem())
    monkeypatch.undo()
    assert_same(estimator(path, keep_duals=True).fit(*problem()), whole)


def test_one_file_serves_fit_after_fit(tmp_path):
    for C in (0.1, 0.5):
        estimator(tmp_path / "state", C=C).fit(*problem())


def test_writes_are_rare(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(checkpoints, "LARGEST_SHARE", 0.05)
    monkeypatch.setattr(checkpoints, "write_archive", lambda *a: written.append(time.sleep(0.02)))
    model = estimator(tmp_path / "state")
    model._checkpoint_every = 3600.0
    model.fit(*problem())
    assert not written
    # at most a twentieth of the time: after a write of 0.02 s none for 0.4 s
    model._checkpoint_every = 0.0
    model.set_params(callbacks=lambda record: time.sleep(0.01)).fit(*problem())
    seconds = model.history_[-1]["time"]
    assert 1 <= len(written) <= 1 + seconds / 0.4


def other_data():
    X, Y = problem()
    X[3, 2] = np.nextafter(X[3, 2], 9.0)
    return X, Y


def other_labels():
    X, Y = problem()
    Y[5, 1] ^= 1
    return X, Y


@pytest.mark.parametrize(
    "data, settings, told",
    [
        (other_data(), {}, "other data"),
        (other_labels(), {}, "other data"),
        (None, {"fit_intercept": False}, "other data"),
        (None, {"privileged": 2}, "other data"),
        (None, {"privileged": None}, "other data"),
        (None, {"privileged_intercept": False}, "other data"),
        (None, {"class_weight": "balanced"}, "other data"),
        (None, {"C": 0.25}, "C = 0.5, and this one has 0.25"),
        (None, {"theta": np.inf}, "theta = 2.0, and this one has inf"),
        (None, {"gamma1": 3.0}, "gamma1 = 1.0"),
        (None, {"gamma2": 3}, "gamma2 = 1.0"),
    ],
)
def test_a_file_of_another_fit_is_refused(tmp_path, data, settings, told):
    path = tmp_path / "state"
    interrupted(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=told) as refusal:
        estimator(path, **settings).fit(*(data or problem()))
    assert "delete the file to start over" in str(refusal.value)
    assert str(path) in str(refusal.value) and "\n" not in str(refusal.value)
    assert path.read_bytes() == before


def test_sample_weights_are_part_of_the_data(tmp_path):
    path = tmp_path / "state"
    interrupted(path)
    with pytest.raises(ValueError, match="other data"):
        estimator(path).fit(*problem(), sample_weight=np.full(60, 2.0))


@pytest.mark.parametrize("spoil", DAMAGE)
def test_a_damaged_file_is_refused_or_was_not_damaged(tmp_path, spoil):
    path = tmp_path / "state"
    interrupted(path)
    whole, data = estimator(keep_duals=True).fit(*problem()), path.read_bytes()
    refused = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        path.write_bytes(spoil(bytearray(data), rng))
        try:
            resumed = estimator(path, keep_duals=True).fit(*problem())
        except ValueError as refusal:
            assert "delete the file to start over" in str(refusal)
            refused += 1
        else:  # bytes that no reader looks at
            assert_same(resumed, whole)
    assert refused


def rewrite(path, change):
    """Write the same arrays under a changed header, all checksums right."""
    with archive.ArchiveReader(path) as reader:
        header = reader.header
        arrays = [reader.array(i) for i in range(len(header.pop("parts")))]
    change(header, arrays)
    archive.write_archive(path, header, arrays)


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda header, arrays: header.update(checkpoint=4), "format 4"),
        (lambda header, arrays: header.update(format=99), "newer prml"),
        (lambda header, arrays: header.pop("checkpoint"), "no checkpoint"),
        (lambda header, arrays: header.pop("state"), "state"),
        (lambda header, arrays: arrays.__setitem__(0, arrays[0][:-1]), "sizes"),
        (lambda header, arrays: arrays[4].fill(10**6), "sizes"),
    ],
    ids=["newer checkpoint", "newer archive", "another archive", "no state", "short", "positions"],
)
def test_whole_files_that_say_something_else(tmp_path, change, told):
    path = tmp_path / "state"
    interrupted(path)
    rewrite(path, change)
    with pytest.raises(ValueError, match=told) as refusal:
        estimator(path).fit(*problem())
    assert "delete the file to start over" in str(refusal.value)


def test_a_checkpoint_is_no_model_and_a_foreign_file_no_checkpoint(tmp_path):
    path = tmp_path / "state"
    interrupted(path)
    with pytest.raises(ValueError, match="cannot be read as a model"):
        load_model(path)
    path.write_text("my thesis")
    with pytest.raises(ValueError, match="delete the file"):
        estimator(path).fit(*problem())
    assert path.read_text() == "my thesis"


def test_drafts_of_killed_processes_are_removed_and_young_ones_left(tmp_path):
    path = tmp_path / "state[1]"
    old, young = tmp_path / ".state[1].7-ab.part", tmp_path / ".state[1].8-cd.part"
    other = tmp_path / ".state1.7-ab.part"
    for draft in (old, young, other):
        draft.write_bytes(b"half")
    for draft in (old, other):
        os.utime(draft, (0, 0))
    estimator(path).fit(*problem())
    assert sorted(tmp_path.iterdir()) == sorted([young, other])


@pytest.mark.parametrize(
    "model, told",
    [
        (PrML(checkpoint=3), "PrML: checkpoint is 3; expected the name of a file"),
        (PrML(checkpoint=""), "expected the name of a file"),
        (PrML(checkpoint="state", algorithm="alternating"), "only algorithm='convex'"),
        (PrBR(checkpoint="state"), "PrBR: checkpoint is 'state'; expected None"),
    ],
)
def test_bad_parameters(model, told):
    with pytest.raises(ValueError, match=told):
        model.fit(*problem())


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(ValueError, match="a folder"):
        PrML(checkpoint=tmp_path).fit(*problem())


def test_the_command_line_resumes(tmp_path, capsys):
    X, Y = problem()
    np.savez(tmp_path / "data.npz", X=X, Y=Y)
    state, out = tmp_path / "state", tmp_path / "model.prml"
    words = ["fit", tmp_path / "data.npz", "-o", out, "-p", "C=0.5", "-p", "tol=1e-5"]
    words = [*map(str, words), "--checkpoint", str(state), "--quiet"]
    interrupted(state)
    assert main(words) == 0
    assert not state.exists()
    assert load_model(out).n_iter_ == estimator().fit(X, Y).n_iter_
    state.write_bytes(b"junk")
    assert main(words) == 2
    assert "delete the file to start over" in capsys.readouterr().err
