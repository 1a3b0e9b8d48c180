"""What is here: the commands of the studies, on a handful of rows."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from tests.bench.slow_run import tiny_data

import prml.bench
import prml.datasets
from prml.bench import ResultsFile, studies
from prml.cli.bench import bench_command
from prml.datasets import load_debtags


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(prml.bench, "load_data", tiny_data)


def run(*arguments):
    return CliRunner().invoke(bench_command, list(map(str, arguments)), catch_exceptions=False)


def test_privileged_dimension(tmp_path):
    path = tmp_path / "privileged.jsonl"
    common = ("privileged", "-d", "tiny", "-k", 0, "-k", 2, "--trials", 2, "--results", path)
    assert "8 new cells" in run(*common, "-C", 0.1).output  # two K, LEML and LEML-fair
    assert "0 new cells" in run(*common, "-C", 0.1).output
    assert "4 new cells" in run(*common, "--theta", 2, "--unit-rows").output
    lines, levels = studies.privileged_rows(ResultsFile(path).read())
    assert list(lines) == ["PrML, C=0.1", "PrML, theta=2, C=0.001, unit rows"]
    assert all(sorted(by_k) == [0, 2] for by_k in lines.values())
    assert set(levels) == {"LEML", "LEML-fair"}
    assert all(row.n_trials == 2 for by_k in lines.values() for row in by_k.values())
    # another teacher, another predictor
    assert len({row.mean for row in lines["PrML, C=0.1"].values()}) == 2
    wrong = CliRunner().invoke(bench_command, ["privileged", "-C", "-3", "--results", str(path)])
    assert wrong.exit_code == 2 and "-3" in wrong.output
    refused = CliRunner().invoke(bench_command, ["privileged", "-m", "BR"])
    assert refused.exit_code == 2 and "--method has no meaning" in refused.output


def test_convergence(tmp_path):
    path = tmp_path / "convergence.json"
    done = run("convergence", "-d", "tiny", "--seconds", 5, "--out", path)
    assert "tiny, convex: gap" in done.output
    (curves,) = studies.read_convergence(path).values()
    assert [curve.name for curve in curves] == ["convex", "convex, paper's start", "alternating"]
    assert all(len(curve.seconds) == len(curve.gaps) > 0 for curve in curves)
    assert max(curve.gaps[-1] for curve in curves[:2]) <= 1e-4  # one optimum from both starts
    assert {"code", "machine", "panels"} == set(json.loads(path.read_text()))


def test_gallery(tmp_path, monkeypatch):
    few = load_debtags()
    few.train_idx, few.test_idx = few.train_idx[:150], few.test_idx[:150]
    frequent = np.argsort(-np.asarray(few.Y.sum(axis=0)).ravel())[:10]
    few.Y, few.label_names = few.Y[:, frequent], few.label_names[frequent]
    monkeypatch.setattr(prml.datasets, "load_debtags", lambda: few)
    path = tmp_path / "gallery.html"
    run("gallery", "--no-corel5k", "--out", path)
    page = path.read_text()
    assert "Debian packages" in page and "corel5k" not in page
    assert page.count("✓") > 18  # 23; scores by lot have 14
