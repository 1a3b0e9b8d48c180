"""What is here: how the training set gets to the workers.

Examples cannot be shared out (the teacher of a label ties them together), so every worker has all
of X; it is sent once to each, from worker to worker, or never passes the client at all: a file that
the workers can read, a function that they call, or a Dask collection whose chunks they fetch.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from prml.solvers.training_set import TrainingSet

READERS: dict[str, Callable[[str], Any]] = {".npz": sp.load_npz, ".npy": np.load}
SECONDS_TO_SEND = 3600.0


class Recipe(NamedTuple):
    """How a worker makes the training set: an unfitted estimator reads X, which the worker gets."""

    estimator: Any
    X: Any  # a path, a function, or None where chunks come with the recipe
    Y: Any
    sample_weight: Any

    def build(self, chunks: list[Any]) -> TrainingSet:
        X = stack(chunks) if self.X is None else read_matrix(self.X)
        return self.estimator._read_problem(X, self.Y, self.sample_weight)[0]


def training_set_of(source: Any) -> TrainingSet:
    """What a worker makes of what it was sent: a training set, or a recipe and chunks of X."""
    if isinstance(source, TrainingSet):
        return source
    recipe, chunks = source
    return recipe.build(chunks)


def read_matrix(X: Any) -> Any:
    """X of a path (.npz of SciPy, .npy of NumPy) or of a function without arguments."""
    if callable(X):
        return X()
    reader = READERS.get(Path(X).suffix)
    if reader is None:
        raise ValueError(f"X is {str(X)!r}; expected a file that ends in {' or '.join(READERS)}.")
    if not Path(X).exists():
        raise ValueError(f"X is {str(X)!r}, and a worker has no such file.")
    return reader(str(X))


def stack(chunks: list[Any]) -> Any:
    """Chunks of rows, dense or sparse or frames, as one matrix."""
    chunks = [chunk if sp.issparse(chunk) else np.asarray(chunk) for chunk in chunks]
    if any(map(sp.issparse, chunks)):
        return sp.vstack([sp.csr_matrix(chunk) for chunk in chunks], format="csr")
    return np.concatenate(chunks)


class Held:
    """A training set in the memory of the client: scattered to one worker, fetched by the rest."""

    def __init__(self, training_set: TrainingSet):
        self.training_set = training_set
        self._future: Any = None

    async def sent_by(self, client: Any) -> Any:
        if self._future is None:
            try:
                send = client.scatter(self.training_set, hash=False, direct=True)
                self._future = await asyncio.wait_for(send, SECONDS_TO_SEND)
            except OSError:  # the workers cannot be reached from here: by way of the scheduler
                send = client.scatter(self.training_set, hash=False, direct=False)
                self._future = await asyncio.wait_for(send, SECONDS_TO_SEND)
        return self._future

    def renew(self) -> None:
        """Send it again: the workers that had it are gone."""
        self._future = None

    def release(self) -> None:
        self._future = None


class Remote:
    """A recipe; chunks of a Dask collection stay on the workers that computed them."""

    def __init__(self, recipe: Recipe, chunks: list[Any]):
        self.recipe, self.chunks = recipe, chunks
        self._futures: Any = None

    async def sent_by(self, client: Any) -> Any:
        if self._futures is None:
            self._futures = client.compute(self.chunks) if self.chunks else []
        return [self.recipe, self._futures]

    def renew(self) -> None:
        self._futures = None

    def release(self) -> None:
        self._futures = None


class Elsewhere(NamedTuple):
    """An X that the client does not hold: its shape is enough for the centre."""

    source: Remote
    hollow: sp.csr_matrix  # of the shape of X, without an entry
    feature_names: np.ndarray | None


def is_elsewhere(X: Any) -> bool:
    """Whether X is a path, a function or a Dask collection."""
    return isinstance(X, str | Path) or callable(X) or _is_collection(X)


def read_elsewhere(estimator: Any, X: Any, Y: Any, sample_weight: Any, n_features: int | None):
    """Prepare an X that only the workers will hold."""
    if estimator.kernel != "linear":
        raise ValueError(
            "X is not in the memory of the client and kernel is not 'linear'; landmarks are drawn "
            "from X, expected an array or a sparse matrix."
        )
    if estimator.n_components is not None:
        raise ValueError(
            "X is not in the memory of the client and n_components is set; the bound on the rank "
            "is enforced there, expected n_components=None or an array."
        )
    names: np.ndarray | None = None
    chunks: list[Any] = []
    if _is_collection(X):
        names, chunks, n_features = _chunks(X)
    elif n_features is None:
        raise ValueError("n_features is not given; expected it with an X that is loaded elsewhere.")
    helper = clone(estimator).set_params(callbacks=None, checkpoint=None, warm_start=False)
    recipe = Recipe(helper, None if chunks else X, Y, sample_weight)
    n_samples = Y.shape[0] if hasattr(Y, "shape") else len(Y)
    return Elsewhere(Remote(recipe, chunks), sp.csr_matrix((n_samples, n_features)), names)


def gather_labels(Y: Any, client: Any) -> Any:
    """Y in the memory of the client: a Dask array as a sparse matrix, a Dask frame as a frame."""
    if not _is_collection(Y):
        return Y
    if hasattr(Y, "columns"):
        return client.compute(Y).result()
    from dask import delayed

    chunks = Y.rechunk({1: -1}).to_delayed().ravel()
    return stack(client.gather(client.compute([delayed(_as_sparse)(chunk) for chunk in chunks])))


def _as_sparse(chunk: Any) -> Any:
    if sp.issparse(chunk) or not np.isnan(np.asarray(chunk, dtype=np.float64)).any():
        return sp.csr_matrix(chunk)
    return chunk  # unknown labels: only a dense Y can tell


def _is_collection(X: Any) -> bool:
    return hasattr(X, "__dask_graph__")


def _chunks(X: Any) -> tuple[np.ndarray | None, list[Any], int]:
    if hasattr(X, "columns"):
        return np.asarray(X.columns, dtype=object), list(X.to_delayed()), len(X.columns)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; expected (n_samples, n_features).")
    return None, list(X.rechunk({1: -1}).to_delayed().ravel()), int(X.shape[1])
