"""What is here: `prml report` as a user calls it."""

import json
import warnings

import numpy as np
import pytest

from prml import PrBR, save_model
from prml.cli import main
from prml.datasets import load_debtags


@pytest.fixture(scope="module")
def text_model(tmp_path_factory):
    from sklearn.pipeline import Pipeline

    data = load_debtags()
    rows = data.train_idx[:500]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = PrBR(C=0.1, tol=0.1, random_state=0).fit(data.X[rows], data.Y[rows])
    learner.label_names_ = learner.classes_ = data.label_names
    model = Pipeline([("tfidf", data.vectorizer), ("model", learner)])
    note = {"kind": "text", "text_columns": ["text"]}
    return save_model(model, tmp_path_factory.mktemp("m") / "model.prml", metadata={"input": note})


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """A model of numbers, and files with its training and its test data."""
    folder = tmp_path_factory.mktemp("n")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    Y = (X @ rng.normal(size=(4, 5)) > 0.5).astype(float)
    for name, rows in (("train", slice(0, 60)), ("test", slice(60, None))):
        np.savez(folder / f"{name}.npz", X=X[rows], Y=Y[rows])
    model = PrBR(C=1.0, random_state=0).fit(X[:60], Y[:60])
    save_model(model, folder / "model.prml", metadata={"input": {"kind": "numbers"}})
    return folder


def test_page_of_debtags(text_model, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert main(["report", str(text_model), "debtags", "-o", str(out), "--title", "<T>"]) == 0
    assert "1000 examples, 100 labels" in capsys.readouterr().out
    text = out.read_text("utf-8")
    assert "&lt;T&gt;" in text and "debtags (test)" in text and "role::program" in text
    assert "one-vs-rest LIBLINEAR" not in text


def test_baseline_of_other_files(numbers, tmp_path, capsys):
    out = tmp_path / "page.html"
    model, test, train = (str(numbers / n) for n in ("model.prml", "test.npz", "train.npz"))
    arguments = ["report", model, test, "-o", str(out), "--baseline", "--json"]
    assert main([*arguments, "--train", train]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"page": str(out), "bytes": out.stat().st_size, "n_samples": 60}
    assert '<th scope="col" class="number">one-vs-rest LIBLINEAR</th>' in out.read_text("utf-8")


def test_mistakes_are_one_sentence(text_model, numbers, tmp_path, capsys):
    out = ["-o", str(tmp_path / "page.html")]
    model, test = str(numbers / "model.prml"), str(numbers / "test.npz")
    for arguments in (
        [model, test, "--baseline", *out],  # no split, and no training data
        [model, test, "--train", test, *out],
        [model, "debtags", *out],
        [str(text_model), test, *out],
        [model, "no such file", *out],
        [model, test, "-o", str(tmp_path / "no" / "page.html")],
    ):
        assert main(["report", *arguments]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and "Traceback" not in error
    assert list(tmp_path.iterdir()) == []
