"""What is here: `python -m benchmarks`: the table of speed bars, measured.

One run measures both sides of every ratio on the same split and with the same number of threads.
The rows eurlex, mediamill, memory and logistic take tens of minutes and run only when asked for.
"""

import argparse
import sys
from pathlib import Path

from benchmarks import machine, results_file
from benchmarks.bars import BARS, Figure, as_table
from benchmarks.datasets import LARGE, SMALL
from benchmarks.rows import Measure, Options
from benchmarks.rows.epoch import measure_d_step, measure_doubling
from benchmarks.rows.large import measure_large, measure_logistic, measure_threads
from benchmarks.rows.time_to_gap import CONTESTANTS, measure_paper, measure_time_to_gap
from benchmarks.rows.use import measure_predict, measure_start

# the rows that a function measures together, and the datasets it takes unless told otherwise
MEASURES: list[tuple[Measure, tuple[str, ...], tuple[str, ...]]] = [
    (measure_time_to_gap, tuple(CONTESTANTS), SMALL),
    (measure_paper, ("paper",), ("yeast", "enron")),
    (measure_d_step, ("d-step",), ("bibtex",)),
    (measure_predict, ("predict",), SMALL),
    (measure_doubling, ("doubling",), ()),
    (measure_threads, ("threads",), ("bibtex",)),
    (measure_start, ("import", "import-name", "first-fit", "first-fit-cold"), ()),
    (measure_large, (*LARGE, "memory"), ()),
    (measure_logistic, ("logistic",), SMALL),
]
LONG = (*LARGE, "memory", "logistic")


def main(argv: list[str] | None = None) -> list[Figure]:
    """Measure what is asked for, print the table, keep the figures."""
    words = sys.argv[1:] if argv is None else argv
    asked = _parser().parse_args(words)
    rows = tuple(asked.row or [row for row in BARS if row not in LONG])
    if "memory" in rows and "eurlex" not in rows:
        rows = (*rows, "eurlex")  # the memory is that of this fit
    path = asked.output or (None if asked.quick else results_file.PATH)
    command = " ".join(["python -m benchmarks", *words])
    here = machine.describe()
    figures: list[Figure] = []
    for measure, its_rows, its_datasets in MEASURES:
        if not set(rows) & set(its_rows):
            continue
        datasets = tuple(asked.dataset or its_datasets)
        options = Options(rows, datasets, asked.quick, 1 if asked.quick else asked.repeats)
        for figure in measure(options):
            figures.append(figure)
            print(as_table([figure]).splitlines()[-1], file=sys.stderr, flush=True)
            if path is not None:
                results_file.keep(path, figures, here, command)
    print("  ".join(f"{name} {value}" for name, value in here.items()))
    print(as_table(figures))
    if asked.quick:
        print("Measured with --quick: it runs; the figures say nothing.")
    return figures


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--dataset", action="append", help="measure on this dataset (again for more)"
    )
    parser.add_argument(
        "--row", action="append", choices=list(BARS), help="measure this row (again for more)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a few rows and labels: does it run, not how fast"
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the quickest counts")
    parser.add_argument("--output", type=Path, help="where to keep the figures as JSON")
    return parser


if __name__ == "__main__":
    main()
