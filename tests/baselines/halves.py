"""What is here: the benchmark halves that the tests of the compared methods measure on."""

import numpy as np
from tests.real_data import load_real


def half_of(name, trial=0):
    """Return X, Y, X_test, Y_test of one trial of the protocol; skip where the data are absent."""
    data = load_real(name)
    n_samples = data.X.shape[0]
    mixed = np.random.default_rng(trial).permutation(n_samples)
    train, test = mixed[: n_samples // 2], mixed[n_samples // 2 :]
    return data.X[train], data.Y[train], data.X[test], data.Y[test]
