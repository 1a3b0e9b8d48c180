"""What is here: a model comes back from its file as it was, and writing is all or nothing."""

import importlib
import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_multilabel_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from tests.persistence.attacks import rewrite

from prml.baselines import BinaryRelevance
from prml.persistence import ModelFileError, load_model, read_header, save_model
from prml.persistence.classes import HOMES
from prml.persistence.tree import Decoder, Encoder

X, Y = make_multilabel_classification(n_samples=60, n_features=12, n_classes=5, random_state=0)
X = X / np.abs(X).max()


def ours(name, **params):
    """Make an estimator of ours, or skip where it is not there."""
    try:
        return getattr(importlib.import_module(HOMES[name]), name)(**params)
    except (ImportError, AttributeError):
        pytest.skip(f"{name} is not in this version")


ESTIMATORS = {
    "BinaryRelevance": {"loss": "logistic"},
    "ECC": {"n_chains": 3, "loss": "logistic", "random_state": 0},
    "RAkEL": {"loss": "squared_hinge", "random_state": 0},
    "LEML": {"n_components": 2, "random_state": 0},
    "ML2": {},
    "PrBR": {"C": 0.1},
    "PrML": {"C": 0.1},
    "ThresholdTuner": {"estimator": BinaryRelevance(loss="logistic"), "cv": 3},
    "MultilabelCalibrator": {"estimator": BinaryRelevance(loss="logistic"), "cv": 3},
}


@pytest.fixture
def saved(tmp_path):
    """A fitted model and its file."""
    model = BinaryRelevance(loss="logistic").fit(X, Y)
    return model, save_model(model, tmp_path / "model.prml", metadata={"trained on": "noise"})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("mmap_mode", [None, "r", "c"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_comes_back_equal(tmp_path, name, mmap_mode):
    model = ours(name, **ESTIMATORS[name]).fit(X, Y)
    again = load_model(save_model(model, tmp_path / "m.prml"), mmap_mode=mmap_mode)
    assert type(again) is type(model)
    for data in (X, sp.csr_matrix(X)):
        np.testing.assert_array_equal(again.decision_function(data), model.decision_function(data))
        np.testing.assert_array_equal(again.predict(data), model.predict(data))
        if hasattr(model, "predict_proba"):
            np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))
    assert again.label_names_.tolist() == model.label_names_.tolist()
    assert vars(again).keys() == vars(model).keys()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nested_estimators_come_back(tmp_path):
    model = ours("TeacherTransfer", estimator=BinaryRelevance(loss="logistic"), cv=3).fit(X, Y)
    again = load_model(save_model(model, tmp_path / "m.prml"))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_text_pipeline_comes_back(tmp_path):
    text = ["a text editor", "a sound editor", "sound für alle", "text 文書 viewer"] * 3
    tags = np.array([[1, 0], [0, 1], [0, 1], [1, 0]] * 3)
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2)), MaxAbsScaler(), BinaryRelevance(loss="logistic")
    ).fit(text, tags)
    again = load_model(save_model(model, tmp_path / "m.prml"))
    np.testing.assert_array_equal(again.decision_function(text), model.decision_function(text))
    new = ["an editor nobody has seen"]
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))


def test_names_frames_and_one_dimensional_targets(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    labels = pd.DataFrame(Y, columns=list("abcde"))
    model = BinaryRelevance(loss="logistic").fit(frame, labels)
    again = load_model(save_model(model, tmp_path / "m.prml"))
    assert again.label_names_.tolist() == list("abcde")
    assert again.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_array_equal(again.decision_function(frame), model.decision_function(frame))
    for y in (Y[:, 0], np.array(["no", "yes"])[Y[:, 0]], Y[:, 0] + 2 * Y[:, 1]):
        model = BinaryRelevance(loss="logistic").fit(X, y)
        again = load_model(save_model(model, tmp_path / "m.prml"))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_equal_models_make_equal_files_and_metadata_is_kept(saved, tmp_path):
    model, path = saved
    again = save_model(load_model(path), tmp_path / "b.prml", metadata={"trained on": "noise"})
    assert again.read_bytes() == path.read_bytes()
    header = read_header(path)
    assert header["estimator"] == "BinaryRelevance" and header["format"] == 1
    assert header["metadata"] == {"trained on": "noise"}
    assert header["bytes"] == path.stat().st_size
    assert {tuple(part["shape"]) for part in header["parts"]} >= {model.coef_.shape}


def test_arrays_lie_aligned_and_can_be_mapped(saved):
    _, path = saved
    mapped = load_model(path, mmap_mode="r", verify=False)
    assert isinstance(mapped.coef_, np.memmap) and mapped.coef_.flags.aligned
    assert mapped.coef_.offset % 64 == 0
    with pytest.raises(ValueError, match="read-only"):
        mapped.coef_[0, 0] = 1
    with pytest.raises(ValueError, match="mmap_mode is 'w'"):
        load_model(path, mmap_mode="w")
    content = bytearray(path.read_bytes())
    content[mapped.coef_.offset] ^= 1
    path.write_bytes(content)
    load_model(path, mmap_mode="r", verify=False)
    for mode in (None, "r"):
        with pytest.raises(ModelFileError, match="SHA-256"):
            load_model(path, mmap_mode=mode)


def values():
    yield from (None, True, 0, -(10**30), 1.5, 0.1, "text", "\ud800", [], (), {}, [1, [2, "x"]])
    yield from (float("inf"), {"a": 1, 2: (None, 3.5)}, {(1, "b"): [0.25]}, np.float64)
    yield from (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.eye(3)), np.array(3.0))
    yield from (np.empty((0, 4)), np.array([True, False]), np.arange(3, dtype=">i4"))
    yield from (np.array(["a", "bcd"]), np.array([["a"], ["b"]]), np.array([None, "x", 1], object))
    yield from (np.float32([1, 2]), sp.csr_matrix(np.eye(3)), sp.csc_array(np.eye(2)))


@pytest.mark.parametrize("value", list(values()), ids=repr)
def test_every_kind_of_value_comes_back(value):
    encoder = Encoder()
    text = json.dumps(encoder.encode(value, "value"), allow_nan=False)
    again = Decoder(lambda number: encoder.arrays[number]).decode(json.loads(text))
    assert type(again) is type(value)
    if sp.issparse(value):
        assert (again != value).nnz == 0 and again.dtype == value.dtype
    elif isinstance(value, np.ndarray):
        np.testing.assert_array_equal(again, value)
        assert again.dtype == value.dtype and again.shape == value.shape
        assert again.flags.f_contiguous == value.flags.f_contiguous
    else:
        assert again == value


def test_nan_and_numpy_numbers_become_plain():
    encoder = Encoder()
    node = encoder.encode([np.float32(0.5), np.int64(3), np.bool_(True), float("nan")], "value")
    assert node[:3] == [0.5, 3, True] and type(node[1]) is int
    assert np.isnan(Decoder(encoder.arrays.__getitem__).decode(node)[3])


def test_what_no_file_can_hold_is_named(tmp_path):
    path = tmp_path / "m.prml"
    model = BinaryRelevance(loss="logistic").fit(X, Y)
    model.extra_ = {"inside": lambda: None}
    with pytest.raises(ModelFileError, match=r"BinaryRelevance\.extra_.*function"):
        save_model(model, path)
    model.extra_ = np.array(["2020-01-01"], dtype="datetime64[D]")
    with pytest.raises(ModelFileError, match=r"BinaryRelevance\.extra_ .*datetime64"):
        save_model(model, path)
    model.extra_ = []
    model.extra_.append(model.extra_)
    with pytest.raises(ModelFileError, match="nested deeper"):
        save_model(model, path)
    with pytest.raises(ModelFileError, match=r"builtins\.dict cannot be saved"):
        save_model({}, path)

    class BinaryRelevanceOfMine(BinaryRelevance):
        pass

    with pytest.raises(ModelFileError, match="OfMine cannot be saved"):
        save_model(BinaryRelevanceOfMine(), path)
    with pytest.raises(
        ModelFileError, match=r"TfidfVectorizer.*tokenizer.* is a builtins\.function|function"
    ):
        save_model(make_pipeline(TfidfVectorizer(tokenizer=lambda t: [t]), model), path)
    assert list(tmp_path.iterdir()) == []


def test_callbacks_and_generators_stay_behind(tmp_path):
    model = BinaryRelevance(
        loss="logistic", callbacks=[lambda record: None], random_state=np.random.RandomState(0)
    ).fit(X, Y)
    with pytest.warns(UserWarning, match="RandomState, which serves the fit alone"):
        save_model(model, tmp_path / "m.prml")
    again = load_model(tmp_path / "m.prml")
    assert again.callbacks is None and again.random_state is None
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_newer_format_is_refused_with_a_sentence(saved):
    _, path = saved
    rewrite(path, lambda header: header | {"format": 2})
    with pytest.raises(ModelFileError, match=r"format 2 .* reads up to 1; a newer prml is needed"):
        load_model(path)


def test_absent_file_is_an_absent_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "absent.prml")


def test_failed_save_leaves_the_old_file(saved):
    model, path = saved
    before = path.read_bytes()
    model.extra_ = np.zeros(3, dtype=complex)
    with pytest.raises(ModelFileError, match="complex"):
        save_model(model, path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_save_killed_in_the_middle_leaves_the_old_file(saved):
    """The writer is stopped by SIGKILL between two arrays; the old model is still there, whole."""
    model, path = saved
    script = f"""
import os, signal, sys
import numpy as np
from prml.persistence import archive, load_model, save_model
model = load_model({str(path)!r})
model.coef_ = np.zeros_like(model.coef_)
written = []
whole = archive._little_endian
def stop_at_the_third(array):
    written.append(array)
    if len(written) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(array)
archive._little_endian = stop_at_the_third
save_model(model, {str(path)!r})
"""
    if os.name != "posix":
        pytest.skip("SIGKILL is a POSIX signal")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    np.testing.assert_array_equal(load_model(path).coef_, model.coef_)


def test_file_written_in_one_thread_is_read_in_others(saved):
    model, path = saved
    results = []

    def read():
        results.append(load_model(path).decision_function(X))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for scores in results:
        np.testing.assert_array_equal(scores, model.decision_function(X))


def test_scaler_inside_a_pipeline(tmp_path):
    model = make_pipeline(StandardScaler(), BinaryRelevance(loss="logistic")).fit(X, Y)
    again = load_model(save_model(model, tmp_path / "m.prml"))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
