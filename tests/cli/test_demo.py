"""What is here: `prml demo` prints what the library computes and writes its page."""

import json
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO

import numpy as np
import pytest
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from prml import PrBR
from prml.cli import main
from prml.datasets.debtags import load_debtags
from prml.metrics import METRICS, SIX, evaluate


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What the demo tells programs; nothing else is written anywhere."""
    folder, out, err = tmp_path_factory.mktemp("demo"), StringIO(), StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        assert main(["demo", "--json", "--no-report", "--quiet"]) == 0
    assert err.getvalue() == "" and list(folder.iterdir()) == []
    return json.loads(out.getvalue())["methods"]


def test_scores_are_those_of_the_library_and_of_scikit_learn(demo):
    data = load_debtags()
    models = {
        "PrBR": PrBR(loss="squared_hinge"),
        "LIBLINEAR": OneVsRestClassifier(LinearSVC(random_state=0)),
    }
    assert list(demo) == list(models)
    for method, model in models.items():
        model.fit(data.X[data.train_idx], data.Y[data.train_idx])
        scores = model.decision_function(data.X[data.test_idx])
        expected = evaluate(data.Y[data.test_idx], scores)
        found = demo[method]["scores"]
        assert list(found) == list(SIX)
        for name in SIX:
            assert found[name] == pytest.approx(expected[name], abs=1e-4)


def test_the_first_model_is_at_least_as_good_as_the_common_choice(demo):
    for name in SIX:
        ours, theirs = (METRICS[name].sign * demo[m]["scores"][name] for m in demo)
        assert ours >= theirs - 5e-4, name


def test_table_page_and_examples(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    for name in SIX:
        assert METRICS[name].title in out
    assert "Fitting PrBR" in err and "Fitting LIBLINEAR" in err
    assert "Who teaches sound::player: use::playing" in out and "demo-report.html" in out
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
