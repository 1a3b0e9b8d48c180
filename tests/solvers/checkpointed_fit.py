"""What is here: a process that fits with a checkpoint, slowly, and may be killed at any moment."""

import sys
import time

import numpy as np

from prml import PrML
from prml.solvers import checkpoint


def problem(n=60, d=8, n_labels=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, 2)) @ rng.normal(size=(2, n_labels))
    Y = (scores + rng.normal(size=scores.shape) > 0.5).astype(int)
    return X, Y


def estimator(path=None, **settings):
    model = PrML(**{"C": 0.5, "tol": 1e-5, "random_state": 0, "checkpoint": path, **settings})
    model._checkpoint_every = 0.0  # not a parameter: these fits take milliseconds
    return model


def tell_slowly(record):
    print(record["iteration"], flush=True)
    time.sleep(0.05)


if __name__ == "__main__":
    checkpoint.LARGEST_SHARE = np.inf
    estimator(sys.argv[1], callbacks=tell_slowly).fit(*problem())
    print("done", flush=True)
