"""What is here: the benchmark halves that the tests of the compared methods measure on."""

import os
from pathlib import Path

import numpy as np
import pytest

from prml.datasets import load_dataset


def half_of(name, trial=0):
    """Return X, Y, X_test, Y_test of one trial of the protocol; skip where the data are absent."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("PRML_DATA") or beside)
    if not (folder / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is neither in $PRML_DATA nor in ../shared/data")
    data = load_dataset(name, data_home=folder)
    n_samples = data.X.shape[0]
    mixed = np.random.default_rng(trial).permutation(n_samples)
    train, test = mixed[: n_samples // 2], mixed[n_samples // 2 :]
    return data.X[train], data.Y[train], data.X[test], data.Y[test]
