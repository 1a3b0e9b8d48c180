"""What is here: every method from data to report - in seconds, and on real data when asked."""

import time

from tests.bench.slow_run import tiny_data
from tests.real_data import folder_of

from prml.bench import ResultsFile, choose_methods, load_data, run_cells
from prml.bench.report import write_report


def run_all(folder, datasets, n_trials):
    results = ResultsFile(folder / "paper.jsonl")
    methods = choose_methods()
    new = run_cells(results, datasets, methods, n_trials, setup="quick", jobs=1)
    assert len(new) == len(datasets) * len(methods) * n_trials
    assert [record for record in new if "error" in record] == []
    write_report(folder, results.read(), setup="quick")


def test_all_methods_on_a_handful_of_rows(tmp_path):
    run_all(tmp_path, [tiny_data("one"), tiny_data("two")], 1)


def test_all_methods_on_emotions_and_flags_in_three_minutes(tmp_path):
    names = ("emotions", "flags")
    for name in names:
        folder_of(name)  # or skip
    datasets = [load_data(name) for name in names]
    start = time.process_time()  # other work on the machine does not count
    run_all(tmp_path, datasets, 2)
    assert time.process_time() - start < 180
