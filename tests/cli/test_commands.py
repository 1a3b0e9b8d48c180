"""What is here: fit, predict, evaluate, inspect, datasets on every format, against the library."""

import csv
import io
import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score

from prml.baselines import BinaryRelevance
from prml.cli import main
from prml.datasets import dump_arff, dump_libsvm, list_datasets
from prml.metrics import evaluate
from prml.model_selection import ThresholdTuner
from prml.persistence import load_model, read_header, save_model

LABELS = ["red", "green", "blue"]
FIT = ["-e", "BinaryRelevance", "-p", "loss=logistic", "-p", "C=2", "--quiet"]


def problem(n=60, d=7, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6), 3)
    X[:, 0] = np.round(rng.normal(size=n), 3)  # the first and last columns occur
    X[:, -1] = 1.0
    Y = (X @ rng.normal(size=(d, 3)) > 0).astype(int)
    Y[0] = 1
    return X, Y


def run(capsys, *argv, code=0):
    got = main([str(word) for word in argv])
    out, err = capsys.readouterr()
    assert got == code, err
    return out, err


@pytest.fixture
def scores():
    X, Y = problem()
    return BinaryRelevance(loss="logistic", C=2).fit(X, Y).decision_function(X)


def write_csv(path, X, Y, delimiter=","):
    with path.open("w", newline="") as out:
        rows = csv.writer(out, delimiter=delimiter)
        rows.writerow([f"x{i}" for i in range(X.shape[1])] + LABELS)
        rows.writerows(np.hstack([X, Y]).tolist())


def write_npz(path, X, Y, dense=False):
    X, Y = (X, Y) if dense else (sp.csr_matrix(X), sp.csr_matrix(Y))
    if dense:
        np.savez(path, X=X, Y=Y)
        return
    parts = {f"X_{k}": getattr(X, k) for k in ("data", "indices", "indptr", "shape")}
    parts |= {f"Y_{k}": getattr(Y, k) for k in ("indices", "indptr", "shape")}
    np.savez_compressed(path, label_names=np.array(LABELS), **parts)


def write_xmc(path, X, Y):
    lines = [f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}"]
    for x, y in zip(X, Y, strict=True):
        labels = ",".join(map(str, np.flatnonzero(y)))
        lines.append(labels + " " + " ".join(f"{j}:{x[j]}" for j in np.flatnonzero(x)))
    path.write_text("\n".join(lines) + "\n")


def write_arff(path, X, Y):
    names = [f"x{i}" for i in range(X.shape[1])]
    dump_arff(path, X, Y, feature_names=names, label_names=LABELS)


FILES = {
    "a.csv": (write_csv, ["--labels", ",".join(LABELS)]),
    "counted.csv": (write_csv, ["--labels", "-3"]),
    "a.tsv": (lambda p, X, Y: write_csv(p, X, Y, "\t"), ["--labels", "-3"]),
    "a.npz": (write_npz, []),
    "dense.npz": (lambda p, X, Y: write_npz(p, X, Y, dense=True), []),
    "a.txt": (write_xmc, []),
    "a.svm": (lambda p, X, Y: dump_libsvm(p, sp.csr_matrix(X), Y), []),
    "a.svm.gz": (lambda p, X, Y: dump_libsvm(p, sp.csr_matrix(X), Y), []),
    "a.arff": (write_arff, []),
}


@pytest.mark.parametrize("name", FILES)
def test_fit_evaluate_and_predict_agree_with_the_library(name, tmp_path, capsys, scores):
    X, Y = problem()
    write, options = FILES[name]
    path, model_path = tmp_path / name, tmp_path / "m.prml"
    write(path, X, Y)
    run(capsys, "fit", path, *options, *FIT, "-o", model_path)
    model = load_model(model_path)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-9)

    out, _ = run(capsys, "evaluate", model_path, path, *options, "--json", "--quiet")
    expected = evaluate(Y, scores)
    assert json.loads(out)["scores"] == pytest.approx(expected.to_dict())

    written = tmp_path / "scores.npz"
    run(capsys, "predict", model_path, path, "--what", "scores", "-o", written, "--quiet")
    with np.load(written) as held:
        np.testing.assert_allclose(held["scores"], scores, atol=1e-9)


@pytest.fixture
def fitted(tmp_path, capsys):
    X, Y = problem()
    path, model_path = tmp_path / "data.csv", tmp_path / "m.prml"
    write_csv(path, X, Y)
    run(capsys, "fit", path, "--labels", "-3", *FIT, "-o", model_path)
    return path, model_path


def test_every_output_says_the_same(fitted, tmp_path, capsys, scores):
    path, model = fitted
    out, _ = run(capsys, "predict", model, path)
    rows = list(csv.DictReader(io.StringIO(out)))
    chosen = [{LABELS[j] for j in np.flatnonzero(row > 0)} for row in scores]
    assert [set(row["labels"].split()) for row in rows] == chosen

    out, _ = run(capsys, "predict", model, path, "--to", "jsonl")
    assert [set(json.loads(line)["labels"]) for line in out.splitlines()] == chosen

    run(capsys, "predict", model, path, "-o", tmp_path / "l.npz", "-q")
    with np.load(tmp_path / "l.npz") as held:
        ones = np.ones(len(held["Y_indices"]))
        Y = sp.csr_matrix((ones, held["Y_indices"], held["Y_indptr"]), held["Y_shape"])
        assert held["label_names"].tolist() == LABELS
    np.testing.assert_array_equal(Y.toarray(), scores > 0)

    out, _ = run(capsys, "predict", model, path, "--what", "scores")
    table = np.loadtxt(io.StringIO(out), delimiter=",", skiprows=1)
    np.testing.assert_allclose(table[:, 1:], scores, rtol=1e-5, atol=1e-6)

    out, _ = run(capsys, "predict", model, path, "--what", "scores", "--json")
    first = json.loads(out.splitlines()[0])
    assert first["row"] == 0 and list(first["scores"].values()) == pytest.approx(scores[0])

    out, _ = run(capsys, "predict", model, path, "-k", "2", "--to", "jsonl")
    for line, row in zip(out.splitlines(), scores, strict=True):
        best = np.argsort(-row)[:2]
        assert [name for name, _ in json.loads(line)["top"]] == [LABELS[j] for j in best]
    out, _ = run(capsys, "predict", model, path, "-k", "1")
    assert out.splitlines()[1].split(",")[1] == LABELS[scores[0].argmax()]

    run(capsys, "predict", model, path, "-k", "2", "-o", tmp_path / "top.npz", "-q")
    with np.load(tmp_path / "top.npz") as held:
        np.testing.assert_array_equal(held["top_labels"], np.argsort(-scores, axis=1)[:, :2])


def test_rows_without_labels_and_other_columns_are_read_by_name(fitted, tmp_path, capsys, scores):
    _, model = fitted
    X, _ = problem()
    order = [3, 1, 0, 2, 6, 5, 4]
    path = tmp_path / "shuffled.csv"
    header = ",".join(["note"] + [f"x{j}" for j in order])
    lines = [",".join(["hm", *map(str, x[order])]) for x in X]
    path.write_text("\ufeff" + "\n".join([header, *lines]) + "\n", encoding="utf-8")
    out, _ = run(capsys, "predict", model, path, "--what", "scores")
    table = np.loadtxt(io.StringIO(out), delimiter=",", skiprows=1)
    np.testing.assert_allclose(table[:, 1:], scores, rtol=1e-5, atol=1e-6)


def test_text_model_answers_text(tmp_path, capsys, monkeypatch):
    path, model = tmp_path / "tools.csv", tmp_path / "m.prml"
    lines = ['"a text editor, plain",1,0', "a sound player,0,1", "edit text,1,", "play sound,0,1"]
    path.write_text("what,text,audio\n" + "\n".join(lines * 4) + "\n")
    options = ["--labels", "text,audio", "--text-column", "what"]
    argv = ["fit", path, *options, "-e", "PrBR", "-p", "C=10", "-o", model]
    out, err = run(capsys, *argv)
    assert "PrBR fitted" in out and "dual gap" in out and "16 examples" in err
    out, _ = run(capsys, "predict", model, "--text", "an editor of text", "--text", "sound")
    assert out.splitlines() == ["row,labels", "0,text", "1,audio"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"text editor\nsound player\n")))
    out, _ = run(capsys, "predict", model, "-", "--to", "jsonl")
    assert [json.loads(line)["labels"] for line in out.splitlines()] == [["text"], ["audio"]]
    out, _ = run(capsys, "predict", model, path, "--what", "probabilities", "--json")
    assert all(0 < p < 1 for p in json.loads(out.splitlines()[0])["probabilities"].values())
    out, _ = run(capsys, "evaluate", model, path, "--json", "-q")
    assert json.loads(out)["scores"]["one_error"] == 0
    out, _ = run(capsys, "inspect", model, "--label", "text", "--json", "--top", "3")
    told = json.loads(out)
    assert "text" in told["features"] and set(told["teachers"]) <= {"audio"}


def test_standard_input_of_numbers(tmp_path, capsys, monkeypatch, scores):
    X, Y = problem()
    path, model = tmp_path / "a.svm", tmp_path / "m.prml"
    dump_libsvm(path, sp.csr_matrix(X), Y)
    run(capsys, "fit", path, *FIT, "-o", model)
    stream = io.BytesIO(path.read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    out, _ = run(capsys, "predict", model, "-", "--what", "scores")
    table = np.loadtxt(io.StringIO(out), delimiter=",", skiprows=1)
    np.testing.assert_allclose(table[:, 1:], scores, rtol=1e-5, atol=1e-6)


def test_named_datasets_scales_and_parameters(tmp_path, capsys):
    model_path = tmp_path / "m.prml"
    argv = ["fit", "debtags", *FIT, "--scale", "unit", "-o", model_path, "--json"]
    out, _ = run(capsys, *argv)
    assert json.loads(out)["model"] == str(model_path)
    model = load_model(model_path)
    assert [name for name, _ in model.steps] == ["tfidf", "scale", "model"]
    assert model[-1].C == 2 and model[-1].loss == "logistic"
    note = read_header(model_path)["metadata"]
    assert note["training"]["part"] == "train" and note["training"]["n_samples"] == 3000
    out, err = run(capsys, "evaluate", model_path, "debtags", "--metrics", "micro_f1,one_error")
    assert "1,000" in out and "debtags (test)" in err and "micro F1" in out
    out, _ = run(capsys, "evaluate", model_path, "debtags", "--by-label", "--json", "-q")
    assert len(json.loads(out)["labels"]) == 100
    out, _ = run(capsys, "inspect", model_path, "--json")
    told = json.loads(out)
    assert told["estimator"] == "BinaryRelevance" and len(told["labels"]) == 100
    assert told["steps"] == ["TfidfVectorizer", "Normalizer", "BinaryRelevance"]
    out, _ = run(capsys, "inspect", model_path)
    assert "labels: 100 (" in out and "  C: 2" in out


def test_datasets_are_listed(capsys):
    out, _ = run(capsys, "datasets")
    for name in ("debtags", *list_datasets()):
        assert name in out
    out, _ = run(capsys, "datasets", "--json")
    assert json.loads(out)["debtags"]["n_labels"] == 100
    out, _ = run(capsys, "datasets", "yeast")
    assert "2417" in out and "citation" in out
    out, _ = run(capsys, "datasets", "debtags")
    assert "Debian" in out


def test_models_saved_from_python_with_labels_that_are_no_mere_cut(tmp_path, capsys):
    X, Y = problem()
    model = ThresholdTuner(BinaryRelevance(loss="logistic"), cv=3).fit(X, Y)
    path, model_path = tmp_path / "a.npz", save_model(model, tmp_path / "m.prml")
    write_npz(path, X, Y)
    out, _ = run(capsys, "evaluate", model_path, path, "--json", "-q", "--metrics", "micro_f1")
    expected = f1_score(Y, model.predict(X), average="micro")
    assert json.loads(out)["scores"]["micro_f1"] == pytest.approx(expected)
    out, _ = run(capsys, "predict", model_path, path, "--to", "jsonl")
    told = [json.loads(line)["labels"] for line in out.splitlines()]
    assert told == [[str(j) for j in np.flatnonzero(row)] for row in model.predict(X)]


def test_parquet(tmp_path, capsys, scores):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, Y = problem()
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    frame[LABELS] = Y
    path, model = tmp_path / "a.parquet", tmp_path / "m.prml"
    frame.to_parquet(path)
    run(capsys, "fit", path, "--labels", ",".join(LABELS), *FIT, "-o", model)
    np.testing.assert_allclose(load_model(model).decision_function(X), scores, atol=1e-9)


def wrong(capsys, *argv):
    """Expect exit 2 and one sentence; return it."""
    out, err = run(capsys, *argv, code=2)
    assert out == "" or argv[0] == "predict"
    assert err.startswith("prml: ") and err.count("\n") == 1, err
    return err


def test_fit_tells_what_ended_it(tmp_path, capsys):
    X, Y = problem()
    write_npz(tmp_path / "data.npz", X, Y)
    command = [
        "fit",
        tmp_path / "data.npz",
        "-o",
        tmp_path / "m.prml",
        "-e",
        "PrML",
        "-q",
        "--json",
    ]
    told = json.loads(run(capsys, *command)[0])
    assert told["converged"] and "stopped_by" not in told
    told = json.loads(run(capsys, *command, "--time-limit", "1e-6")[0])
    assert not told["converged"] and told["stopped_by"] == "time limit"


def test_wrong_usage_is_told(fitted, tmp_path, capsys):
    path, model = fitted
    o = ["-q", "-o", tmp_path / "new.prml"]
    assert "no such file, and no dataset" in wrong(capsys, "fit", "nowhere.csv", *o)
    assert "no estimator 'Magic'" in wrong(capsys, "fit", path, "-e", "Magic", *o)
    assert "expected NAME=VALUE" in wrong(capsys, "fit", path, "-p", "C", *o)
    assert "has no parameter 'c'" in wrong(capsys, "fit", path, *FIT, "-p", "c=1", *o)
    assert "no labels to learn" in wrong(capsys, "fit", path, *FIT, *o)
    assert "has no column 'pink'" in wrong(capsys, "fit", path, "--labels", "pink", *FIT, *o)
    assert "cannot be labels" in wrong(capsys, "fit", path, "--labels", "99", *FIT, *o)
    assert "C is -1" in wrong(capsys, "fit", path, "--labels", "-3", "-e", "PrBR", "-p", "C=-1", *o)
    assert "no such folder" in wrong(capsys, "fit", path, "-o", tmp_path / "x" / "m.prml")
    assert "tells no format" in wrong(capsys, "predict", model, path, "-o", tmp_path / "a.what")
    assert "npz is written to a file" in wrong(capsys, "predict", model, path, "--to", "npz")
    assert "fitted to numbers" in wrong(capsys, "predict", model, "--text", "hello")
    assert "expected DATA" in wrong(capsys, "predict", model)
    assert "no probabilities" in wrong(capsys, "predict", model, path, "--what", "probabilities")
    assert "cannot be read as a model" in wrong(capsys, "predict", path, path)
    assert "no such file" in wrong(capsys, "inspect", tmp_path / "absent.prml")
    assert "has no label 'pink'" in wrong(capsys, "inspect", model, "--label", "pink")
    assert "without a split" in wrong(capsys, "evaluate", model, path, "--part", "test", "-q")
    assert "no dataset 'nothing'" in wrong(capsys, "datasets", "nothing")
    text = wrong(capsys, "evaluate", model, "debtags", "-q")
    assert "lacks" in text or "holds text" in text
    assert not (tmp_path / "new.prml").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        ("a,b,red\n", "no examples"),
        ("a,b,red\n1,2\n", "line 2: 2 fields; expected 3"),
        ("a,b,red\n1,x,1\n", "line 2, column 'b': found 'x'"),
        ("a,b,red\n1,,1\n", "line 2, column 'b': found ''"),
        ("a,b,red\n1,2,7\n", "line 2, column 'red': found '7'; expected 0 or 1"),
        ("a,a,red\n1,2,1\n", "'a' is there twice"),
        ("a,b,red\n1,\xff,1\n", "line 2: this is not UTF-8"),
        ('a,b,red\n1,"2,1\n', "line 2"),
        ("a,b,red\n1,nan,1\n", "expected a finite number"),
    ],
)
def test_faults_of_a_csv_are_told_with_their_place(tmp_path, capsys, content, sentence):
    path = tmp_path / "bad.csv"
    path.write_bytes(content.encode("latin-1"))
    argv = ["fit", path, "--labels", "red", *FIT, "-o", tmp_path / "m.prml"]
    err = wrong(capsys, *argv)
    assert "bad.csv" in err and sentence in err


def test_wrong_index_does_not_ask_for_all_memory(tmp_path, capsys):
    path = tmp_path / "a.svm"
    path.write_text("0 1:1\n1 2000000000:1\n0,2000000 5:1\n")
    err = wrong(capsys, "fit", path, *FIT, "-o", tmp_path / "m.prml")
    assert "GiB of coefficients" in err


def test_failed_predict_leaves_no_half_file(fitted, tmp_path, capsys):
    path, model = fitted
    bad, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    bad.write_text(path.read_text() + "broken\n")
    wrong(capsys, "predict", model, bad, "-o", out, "-q")
    assert not out.exists() and not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_warnings_are_remarks(tmp_path, capsys):
    X, Y = problem()
    Y[:, 1] = 0
    path = tmp_path / "a.csv"
    write_csv(path, X, Y)
    argv = ["fit", path, "--labels", "-3", *FIT[:-1], "-o", tmp_path / "m.prml"]
    _, err = run(capsys, *argv)
    notes = [line for line in err.splitlines() if line.startswith("note: ")]
    assert len(notes) == 1 and ".py" not in notes[0]
    _, err = run(capsys, *argv, "--quiet")
    assert err == ""
