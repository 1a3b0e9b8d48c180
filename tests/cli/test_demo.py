"""What is here: `prml demo` prints what the library computes and writes its page."""

import json

import numpy as np
import pytest
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from prml.cli import main
from prml.datasets.debtags import load_debtags
from prml.metrics import METRICS, SIX, evaluate


def test_scores_are_those_of_scikit_learn_one_vs_rest(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--json", "--no-report", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    printed = json.loads(captured.out)
    data = load_debtags()
    model = OneVsRestClassifier(LinearSVC(random_state=0))
    model.fit(data.X[data.train_idx], data.Y[data.train_idx])
    scores = model.decision_function(data.X[data.test_idx])
    expected = evaluate(data.Y[data.test_idx], scores)
    assert list(printed["scores"]) == list(SIX)
    for name in SIX:
        assert printed["scores"][name] == pytest.approx(expected[name], abs=1e-12)
    assert list(tmp_path.iterdir()) == []


def test_table_page_and_examples(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    for name in SIX:
        assert METRICS[name].title in out
    assert "Fitting 100/100" in err and "demo-report.html" in out
    page = (tmp_path / "demo-report.html").read_text("utf-8")
    assert page.count('<ul class="tags" aria-label="Tags of') == 10
    data = load_debtags()
    shown = [name for name in data.package_names if f"<h3>{name}</h3>" in page]
    assert len(shown) == 10
    assert not set(shown) & set(data.package_names[data.train_idx])
    assert np.unique(shown).size == 10


def test_absent_folder_is_told_before_the_work(tmp_path, capsys):
    assert main(["demo", "--report", str(tmp_path / "absent" / "page.html")]) == 2
    err = capsys.readouterr().err
    assert "no such folder" in err and err.count("\n") == 1
