"""What is here: a run that can be killed in its middle: quick cells, each with a pause."""

import sys
import time

import numpy as np
import scipy.sparse as sp

from prml.bench.methods import METHODS, Method, Setting
from prml.bench.plan import run_cells
from prml.bench.protocol import Data
from prml.bench.results_file import ResultsFile

N_TRIALS = 8


def tiny_data(name: str = "tiny") -> Data:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = X @ rng.normal(size=(3, 4)) > 0.3
    return Data(name, X, sp.csr_matrix(Y.astype(float)))


def paused(pause: float) -> Method:
    def build(parameters: dict, setting: Setting):
        time.sleep(pause)
        return METHODS["ridge"].build(parameters, setting)

    return Method("paused ridge", "ridge with a pause", "user", build, ({"alpha": 1.0},))


def main(path: str, pause: float) -> None:
    results = ResultsFile(path)
    run_cells(results, [tiny_data("one"), tiny_data("two")], [paused(pause)], N_TRIALS)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
