"""What is here: `prml export` as a user calls it."""

import json
import warnings

import numpy as np
import pytest

from prml import PrBR, save_model
from prml.cli import main
from prml.datasets import load_debtags

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


@pytest.fixture(scope="module")
def text_model(tmp_path_factory):
    from sklearn.pipeline import Pipeline

    data = load_debtags()
    rows = data.train_idx[:600]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrBR(C=0.1, tol=0.1).fit(data.X[rows], data.Y[rows])
    model.label_names_ = model.classes_ = data.label_names
    path = tmp_path_factory.mktemp("model") / "model.prml"
    note = {"kind": "text", "text_columns": ["text"]}
    pipeline = Pipeline([("tfidf", data.vectorizer), ("model", model)])
    return save_model(pipeline, path, metadata={"input": note})


def test_export_and_check(text_model, tmp_path, capsys):
    out = tmp_path / "model.onnx"
    assert main(["export", str(text_model), "-o", str(out), "--check", "debtags"]) == 0
    assert "1000 examples of debtags: scores differ by" in capsys.readouterr().out
    arguments = ["export", str(text_model), "-o", str(out), "--check", "debtags", "--json"]
    for more, name in ([], "text"), (["--features", "--double"], "X"):
        assert main([*arguments, *more]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["difference"] <= 1e-5 and told["input"] == name
        assert told["bytes"] == out.stat().st_size
    assert told["difference"] <= 1e-12


def test_only_some_outputs(text_model, tmp_path, capsys):
    out = tmp_path / "model.onnx"
    arguments = ["export", str(text_model), "-o", str(out), "--outputs", "labels, scores"]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"] == ["labels", "scores"]


def test_mistakes_are_one_sentence(text_model, tmp_path, capsys):
    out = str(tmp_path / "model.onnx")
    wrong = tmp_path / "no.prml"
    wrong.write_bytes(b"not a model")
    for arguments, code in (
        ([str(text_model), "-o", out, "--outputs", "colours"], 2),
        ([str(wrong), "-o", out], 2),
        ([str(tmp_path / "absent.prml"), "-o", out], 2),
        ([str(text_model), "-o", str(tmp_path / "no" / "x.onnx")], 2),
        ([str(text_model), "-o", out, "--outputs", ""], 2),
    ):
        assert main(["export", *arguments]) == code
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and "Traceback" not in error
    assert not (tmp_path / "model.onnx").exists()


def test_missing_extra_is_told(text_model, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    assert main(["export", str(text_model), "-o", str(tmp_path / "m.onnx")]) == 1
    assert "pip install 'prml[onnx]'" in capsys.readouterr().err


def test_model_of_numbers(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    model = PrBR(C=1.0).fit(X, X > 0)
    path = save_model(model, tmp_path / "m.prml", metadata={"input": {"kind": "numbers"}})
    np.savez(tmp_path / "new.npz", X=X)
    out = str(tmp_path / "m.onnx")
    arguments = ["export", str(path), "-o", out, "--check", str(tmp_path / "new.npz"), "--json"]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["n_samples"] == 40 and told["difference"] <= 1e-5
