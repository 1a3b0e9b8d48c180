"""What is here: the halves that the solvers are timed on."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import Normalizer, StandardScaler

from prml.datasets import load_dataset

SMALL = ("yeast", "enron", "bibtex", "corel5k")
LARGE = ("eurlex", "mediamill")
# eurlex is raw tf-idf with values up to 45781, mediamill has columns of very different spread.
SCALERS = {"eurlex": Normalizer, "mediamill": StandardScaler}
QUICK_ROWS, QUICK_LABELS = 200, 8


class Split(NamedTuple):
    """One half to train on, the other to predict."""

    name: str
    X: np.ndarray | sp.csr_matrix
    Y: sp.csr_matrix
    X_test: np.ndarray | sp.csr_matrix


def load_split(name: str, *, trial: int = 0, quick: bool = False) -> Split:
    """Half number `trial` of a dataset, as the accuracy protocol draws it; `synthetic` is made.

    `quick` keeps a few rows and labels of it: a test of the benchmark, not of the speed.
    """
    if name == "synthetic":
        X, Y = synthetic(600, 60, 12)
    else:
        data = load_dataset(name)
        X, Y = data.X, data.Y
    order = np.random.default_rng(trial).permutation(X.shape[0])
    half = X.shape[0] // 2
    train, test = order[:half], order[half:]
    if quick:
        train, test, Y = train[:QUICK_ROWS], test[:QUICK_ROWS], Y[:, :QUICK_LABELS]
    X_train, X_test = X[train], X[test]
    if name in SCALERS:
        scaler = SCALERS[name]().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    return Split(name, X_train, sp.csr_matrix(Y[train]), X_test)


def synthetic(
    n: int, d: int, n_labels: int, *, density: float = 0.05, cardinality: float = 3.0
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Sparse rows and labels of low rank; an example has `cardinality` labels on average."""
    rng = np.random.default_rng(0)
    X = sp.random(n, d, density, format="csr", random_state=rng)
    scores = X @ rng.normal(size=(d, 10)) @ rng.normal(size=(10, n_labels))
    scores += rng.normal(size=scores.shape) * scores.std()
    cut = np.quantile(scores, 1.0 - min(cardinality / n_labels, 0.5), axis=0)
    return X, sp.csr_matrix((scores > cut).astype(np.float64))
