"""What is here: means, ranks, claims, tables, figures and pages from records made by hand."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import studentized_range
from tests.bench.slow_run import tiny_data

from prml.bench import figures, studies
from prml.bench.claims import average_ranks, compare, count_claims, places
from prml.bench.gallery import annotate
from prml.bench.methods import METHODS
from prml.bench.paper_figures import PAPER_DATASETS, PAPER_METHODS, PAPER_TABLE
from prml.bench.report import write_gallery, write_report
from prml.bench.results_file import ResultsFile
from prml.bench.summary import latest, markdown_table, paper_table, summarise
from prml.cli.bench import bench_command
from prml.metrics import METRICS, SIX


def record(dataset, method, trial, value, code="aaa", setup="full", **others):
    metrics = {name: value if METRICS[name].better == "lower" else 1 - value for name in SIX}
    return {
        "dataset": dataset, "method": method, "trial": trial, "setup": setup, "code": code,
        "metrics": metrics, "seconds": 0.5 + value, "peak_mb": 100.0, "machine": "a machine",
        "versions": {"prml": "0.1", "python": "3"}, "finished": "2026-01-01T00:00:00",
        "search": {"tried": 1, "of": 1},
    } | others  # fmt: skip


@pytest.fixture
def records():
    values = {"BR": 0.5, "BR-fair": 0.3, "LEML": 0.4, "PrBR": 0.35, "PrML": 0.2, "ridge": 0.25}
    return [
        record(dataset, method, trial, value + 0.01 * trial)
        for dataset in ("enron", "yeast", "flags")
        for method, value in values.items()
        for trial in range(3)
    ]


def test_the_papers_table_is_complete_and_matches_its_own_claims():
    assert len(PAPER_TABLE) == len(PAPER_DATASETS) * len(PAPER_METHODS) == 42
    means = {key: row.mean for key, row in PAPER_TABLE.items()}
    first, _, total = places(means, "PrML", PAPER_METHODS)
    assert total == 36
    assert round(100 * first / total, 1) == 52.8  # "PrML ranks first in 52.8% cases"
    won, tied, lost = compare(means, "PrML", "PrBR")
    assert (won, tied, lost) == (34, 2, 0)  # "wins 34 cases against PrBR and plays a tie twice"


def test_means_and_deviations(records):
    row = next(r for r in summarise(records) if (r.dataset, r.method) == ("enron", "BR"))
    assert row.n_trials == 3
    assert row.mean[0] == pytest.approx(0.51) and row.std[0] == pytest.approx(0.01)
    assert row.mean[5] == pytest.approx(0.49)


def test_the_newest_version_of_a_cell_counts_and_mixtures_are_marked(records):
    records.append(record("enron", "BR", 0, 0.9, code="bbb"))
    assert len(latest(records)) == len(records) - 1
    row = next(r for r in summarise(records) if (r.dataset, r.method) == ("enron", "BR"))
    assert row.is_mixed and row.codes == ("aaa", "bbb")
    assert "| BR † |" in markdown_table(summarise(records))
    entry = next(e for e in paper_table([row]))
    assert entry["code"] == ["aaa", "bbb"]


def test_quick_cells_and_failures_do_not_count(records):
    records.append(record("enron", "BR", 7, 0.0, setup="quick"))
    records.append(record("enron", "BR", 8, 0.0, error="ValueError: x"))
    row = next(r for r in summarise(records) if (r.dataset, r.method) == ("enron", "BR"))
    assert row.n_trials == 3 and row.n_failures == 1
    assert "3, 1 failed" in markdown_table(summarise(records))


def test_fits_and_searches_cut_by_their_limit_are_told(records):
    assert "ended by their time limit" not in markdown_table(summarise(records))
    records.append(record("enron", "BR", 1, 0.9, stopped_by="time limit"))
    records.append(record("yeast", "PrML", 1, 0.9, stopped_by="time limit"))
    records.append(record("enron", "BR", 2, 0.9, search={"tried": 2, "beyond": 1, "of": 4}))
    text = markdown_table(summarise(records))
    assert "Fits ended by their time limit, with the trials: enron BR (1), yeast PrML (1)." in text
    assert "Searches ended by their time limit, with the trials: enron BR (1)." in text


def test_markdown_has_the_papers_figure_beside_and_the_best_in_bold(records):
    text = markdown_table(summarise(records))
    assert "| *PrML, paper* | .050 ± .001 | .288 ± .005 |" in text
    line = next(line for line in text.splitlines() if line.startswith("| PrML |"))
    assert line.count("**") == 12
    flags = text[text.index("### flags") :]
    assert "paper" not in flags


def test_ranks_and_critical_difference(records):
    ranks = average_ranks(summarise(records))
    assert ranks.methods == ("PrML", "ridge", "BR-fair", "PrBR", "LEML", "BR")
    assert ranks.ranks == (1, 2, 3, 4, 5, 6)
    q = studentized_range.ppf(0.95, 6, math.inf) / math.sqrt(2)
    assert q == pytest.approx(2.850, abs=1e-3)  # Nemenyi's table, six methods
    assert ranks.critical_difference == pytest.approx(q * math.sqrt(6 * 7 / (6 * 3)))
    assert average_ranks(summarise([r for r in records if r["dataset"] == "enron"])) is None
    few = [{**r, "dataset": "few"} for r in records if r["method"] in ("BR", "LEML", "ridge")]
    assert average_ranks(summarise(records + few)) == ranks  # a thin dataset costs no method


def test_claims_count_cells(records):
    claims = {claim.sentence: claim for claim in count_claims(summarise(records))}
    helped = dict(claims["Privileged labels help binary relevance"].ours)
    assert helped["PrBR against BR"] == "better in 18, equal in 0, worse in 0"
    assert helped["PrBR against BR-fair"] == "better in 0, equal in 0, worse in 18"
    assert claims["PrML is first or second"].printed == "first in 19, first or second in 36 of 36"


def test_report_is_one_page_that_needs_nothing_else(records, tmp_path):
    results = ResultsFile(tmp_path / "privileged.jsonl")
    for k in (0, 3):
        for trial in range(2):
            results.append(record("flags", f"PrML, K={k}", trial, 0.3 - 0.01 * k))
    results.append(record("flags", "LEML", 0, 0.28))
    curves = {"flags": [figures.Curve("convex", [0.1, 1.0], [0.5, 1e-3])]}
    studies.write_convergence(tmp_path / "convergence.json", curves)
    paths = write_report(tmp_path, records)
    names = {path.name for path in paths}
    assert {"report.html", "table.md", "paper_table.json", "ranks.png", "time.png"} <= names
    assert {"privileged.png", "convergence.png"} <= names
    page = (tmp_path / "report.html").read_text()
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)
    assert "<script" not in page and page.count("<img") == 4
    assert all(f'alt="{title}' in page for title in ("Average ranks", "Convergence"))
    table = json.loads((tmp_path / "paper_table.json").read_text())
    assert all(len(e["mean"]) == len(e["std"]) == 6 for e in table)
    assert {"dataset", "method", "mean", "std", "n_trials"} <= set(table[0])


def test_no_cells_is_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="no finished cells of a full run"):
        write_report(tmp_path, [])


def test_gallery_escapes_and_marks(tmp_path):
    Y = np.array([[1, 0, 1], [0, 0, 0]])
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    made = annotate("T", Y, scores, ["<b>", "y", "z"], ["one", "two"], k=2)
    assert [example.name for example in made.examples] == ["one"]  # labelled examples only
    assert made.precision == 0.5
    write_gallery(tmp_path / "g.html", [made])
    page = (tmp_path / "g.html").read_text()
    assert "✓ &lt;b&gt;" in page and "× y" in page and "<b>" not in page


def test_colours_differ_in_lightness_or_shape():
    def lightness(colour):
        r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        return 0.299 * r + 0.587 * g + 0.114 * b

    for name, (colour, marker) in figures.LOOKS.items():
        for other, (colour2, marker2) in figures.LOOKS.items():
            if name != other:
                assert marker != marker2 or abs(lightness(colour) - lightness(colour2)) > 30


def test_all_figures_of_every_method_are_drawn():
    rows = summarise([record(d, m, 0, 0.3) for d in ("enron", "yeast") for m in METHODS])
    assert figures.as_png(figures.draw_time_and_accuracy(rows))[:4] == b"\x89PNG"
    assert figures.as_png(figures.draw_ranks(average_ranks(rows)))[:4] == b"\x89PNG"


@pytest.mark.parametrize("theta", [math.inf, 2.0])
def test_privileged_methods_use_the_nearest_labels(theta):
    methods = studies.privileged_methods((0, 2, 99), 4, theta=theta)
    assert [m.name.rpartition("=")[2] for m in methods[:-2]] == ["0", "2", "3"]
    assert {m.name for m in methods[-2:]} == {"LEML", "LEML-fair"}


def test_a_finished_cell_of_one_study_is_not_taken_for_one_of_another():
    settings = ({}, {"C": 0.01}, {"gamma2": 0.1}, {"theta": 2.0}, {"loss": "logistic"},
                {"unit_rows": True})  # fmt: skip
    names = [studies.privileged_methods((0,), 4, **s)[0].name for s in settings]
    assert len(set(names)) == len(settings)
    lines, _ = studies.privileged_rows([record("flags", name, 0, 0.3) for name in names])
    assert list(lines) == sorted(name.removesuffix(", K=0") for name in names)


def run(*arguments):
    return CliRunner().invoke(bench_command, list(map(str, arguments)), catch_exceptions=False)


def test_command_runs_resumes_and_reports(tmp_path):
    path = tmp_path / "r.jsonl"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = (X @ rng.normal(size=(3, 3)) > 0).astype(int)
    lines = ["a,b,c,y1,y2,y3"]
    lines += [",".join(map(str, [*x.round(4), *y])) for x, y in zip(X, Y, strict=True)]
    (tmp_path / "mine.csv").write_text("\n".join(lines) + "\n")
    common = ("--data", tmp_path / "mine.csv", "--labels", "-3", "--results", path, "--quick")
    few = ("-m", "ridge", "-m", "BR", "--trials", "2")
    first = run("run", *common, *few)
    assert first.exit_code == 0 and "4 new cells, 0 of 4 still to do" in first.output
    second = run("run", *common, *few)
    assert "0 new cells, 0 of 4 still to do" in second.output
    assert "ridge" in second.output
    report = run("report", "--results", path, "--quick", "--out", tmp_path / "out")
    assert report.exit_code == 0 and (tmp_path / "out" / "report.html").is_file()


def test_command_refuses_in_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="there is no method 'XYZ'"):
        run("paper", "-d", "flags", "-m", "XYZ", "--results", tmp_path / "r")
    missing = run("report", "--results", tmp_path / "none.jsonl")
    assert missing.exit_code == 2 and "no such results file" in missing.output


def test_failed_cells_are_a_failure(tmp_path, monkeypatch):
    class Unlucky:
        def fit(self, X, y):
            raise ValueError("no such luck")

    monkeypatch.setattr("prml.bench.load_data", tiny_data)
    monkeypatch.setitem(METHODS, "BR", replace(METHODS["BR"], build=lambda *_: Unlucky()))
    common = ("paper", "-d", "tiny", "-m", "BR", "-m", "ridge", "--trials", "2", "--quick")
    for _ in range(2):  # a second run, with nothing to do, says so too
        done = run(*common, "--results", tmp_path / "r.jsonl")
        assert done.exit_code == 1
        assert "failed: tiny BR: ValueError: no such luck" in done.output
        assert "2 of 4 cells failed" in done.output


def test_methods_are_listed():
    listed = run("methods")
    assert "PrBR-stopped" in listed.output and "not an optimum" in listed.output
