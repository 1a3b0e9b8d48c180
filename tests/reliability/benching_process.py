"""What is here: a process that fills a results file slowly and says when it begins a cell."""

import sys

from tests.bench.slow_run import N_TRIALS, paused, tiny_data

from prml.bench.plan import run_cells
from prml.bench.results_file import ResultsFile

N_CELLS = 2 * N_TRIALS


def main(path: str, pause: float) -> None:
    def tell(progress) -> None:
        print("begun" if progress.record is None else "done", flush=True)

    results = ResultsFile(path)
    data = [tiny_data("one"), tiny_data("two")]
    run_cells(results, data, [paused(pause)], N_TRIALS, watch=tell)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
