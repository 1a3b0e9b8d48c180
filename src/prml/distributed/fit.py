"""What is here: `fit_dask`, the fit of an estimator on the workers of a Dask cluster."""

from typing import Any

from prml.distributed.centre import Centre, CentreCheckpoint, deal_labels
from prml.distributed.crew import ClusterLost, Crew, Limits
from prml.distributed.part import Settings
from prml.distributed.sources import Held, gather_labels, is_elsewhere, read_elsewhere
from prml.monitor import Monitor
from prml.solvers.checkpoint import Checkpoint
from prml.solvers.coupling import LowRankSolution
from prml.solvers.lowrank import run_rounds
from prml.solvers.training_set import Hyperparameters, TrainingSet

BLOCKS_A_THREAD = 4  # so that there is something to give to workers that join
LEAST_BLOCKS = 8


def fit_dask(
    estimator: Any,
    X: Any,
    Y: Any,
    client: Any = None,
    *,
    sample_weight: Any = None,
    n_features: int | None = None,
    n_blocks: int | None = None,
    limits: Limits | None = None,
) -> Any:
    """Fit an estimator on the workers of a Dask cluster.

    PrML with loss="hinge" and algorithm="convex" keeps its labels in blocks on the workers and goes
    through the same rounds as on one machine, to the same certified gap; see the page on scale-out
    for what travels. PrBR with loss="hinge" solves groups of labels as tasks. Every other
    estimator is fitted here with joblib's Dask backend, which takes what it runs in parallel
    without a backend of its own (folds of a search, for example).

    A worker that dies costs its blocks some rounds; workers that join are used from the next round.
    When the scheduler is lost, a RuntimeError says so, and `checkpoint` of the estimator, when set,
    keeps the file from which the same call, or a fit on one machine, goes on.

    Parameters
    ----------
    estimator : estimator
        It is fitted in place.
    X : array, sparse matrix, Dask array or Dask DataFrame, path, or function
        A path (.npz, .npy) is read, and a function without arguments called, by every worker.
    Y : array, sparse matrix, DataFrame, Dask array or Dask DataFrame
        Labels are gathered, as a sparse matrix when they are a Dask array.
    client : distributed.Client or str, optional
        A client or the address of a scheduler; the current client by default.
    sample_weight : array of shape (n_samples,), optional
    n_features : int, optional
        Columns of X, needed when it is a path or a function.
    n_blocks : int, optional
        Blocks of labels; four for every thread of the workers by default.
    limits : Limits, optional
        How long to wait for what.

    Returns
    -------
    estimator
        The estimator, fitted. A PrML has two attributes more: `traffic_`, the bytes of every round
        as a list of dicts, and `cluster_events_`, a list of (round, what happened to a worker).

    Examples
    --------
    >>> import numpy as np
    >>> from prml import PrML
    >>> from prml.distributed import fit_dask
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> Y = (X @ rng.normal(size=(5, 2)) @ rng.normal(size=(2, 4)) > 0).astype(int)
    >>> with Client("tcp://scheduler:8786") as client:  # doctest: +SKIP
    ...     model = fit_dask(PrML(C=1.0), X, Y, client)
    """
    from prml.estimators import PrBR, PrML

    with connected(client) as client:
        if isinstance(estimator, PrBR):
            from prml.distributed.labelwise import fit_labels

            return fit_labels(estimator, X, Y, client, sample_weight, n_features)
        if not isinstance(estimator, PrML):
            from prml.distributed.labelwise import fit_with_joblib

            return fit_with_joblib(estimator, X, Y, client, sample_weight)
        if estimator.loss != "hinge" or estimator.algorithm != "convex":
            raise ValueError(
                f"PrML: loss is {estimator.loss!r} and algorithm is {estimator.algorithm!r}; over "
                "workers expected loss='hinge' and algorithm='convex'."
            )
        return _fit_prml(
            estimator, X, Y, client, sample_weight, n_features, n_blocks, limits or Limits()
        )


def connected(client: Any) -> Any:
    """A client that a `with` closes only when it was made here, of an address."""
    from contextlib import nullcontext

    try:
        from distributed import Client, get_client
    except ImportError:
        raise ImportError(
            "Dask is not installed; `pip install prml[distributed]` brings it."
        ) from None
    if isinstance(client, str):
        try:
            return Client(client, set_as_default=False, timeout="20s")
        except (OSError, TimeoutError) as error:
            raise ValueError(f"no Dask scheduler answers at {client} ({error}).") from None
    if client is None:
        try:
            client = get_client()
        except ValueError:
            raise ValueError(
                "client is None and there is no current Dask client; expected a "
                "distributed.Client or the address of a scheduler."
            ) from None
    if client.asynchronous:
        raise ValueError("client is asynchronous; expected a distributed.Client that is not.")
    return nullcontext(client)


def _fit_prml(estimator, X, Y, client, sample_weight, n_features, n_blocks, limits) -> Any:
    Y = gather_labels(Y, client)
    elsewhere = None
    if is_elsewhere(X):
        elsewhere = read_elsewhere(estimator, X, Y, sample_weight, n_features)
        X = elsewhere.hollow

    def solve(training_set: TrainingSet, numbers: Hyperparameters, gamma1: float, **rest: Any):
        source = Held(training_set) if elsewhere is None else elsewhere.source
        keep = estimator.keep_duals or estimator.warm_start
        return solve_on_workers(
            client,
            source,
            training_set,
            numbers,
            gamma1,
            n_blocks=n_blocks,
            limits=limits,
            keep_multipliers=keep,
            verbose=int(estimator.verbose) > 1,
            notes=crew_notes,
            **rest,
        )

    crew_notes: dict[str, list] = {}
    estimator._solve_convex = solve
    try:
        estimator.fit(X, Y, sample_weight)
    except ClusterLost as error:
        raise RuntimeError(_how_to_resume(error, estimator.checkpoint)) from None
    finally:
        del estimator._solve_convex
    vars(estimator).update(crew_notes)
    if elsewhere is not None and elsewhere.feature_names is not None:
        estimator.feature_names_in_ = elsewhere.feature_names
    return estimator


def solve_on_workers(
    client: Any,
    source: Any,
    training_set: TrainingSet,
    numbers: Hyperparameters,
    gamma1: float,
    *,
    tol: float,
    max_iter: int,
    seed: int,
    monitor: Monitor,
    n_jobs: int | None = None,
    starts: list | None = None,
    checkpoint: Checkpoint | None = None,
    n_blocks: int | None = None,
    limits: Limits = Limits(),  # noqa: B008  # immutable
    keep_multipliers: bool = False,
    verbose: bool = False,
    notes: dict[str, list] | None = None,
) -> LowRankSolution:
    """`prml.solvers.lowrank.solve_low_rank` with the labels on the workers of a client.

    `n_jobs` says nothing here: a worker uses its threads.
    """
    if n_blocks is None:
        n_blocks = max(LEAST_BLOCKS, BLOCKS_A_THREAD * _n_threads(client))
    blocks = deal_labels(training_set, n_blocks)
    crew = Crew(client, source, Settings(numbers, gamma1, seed), blocks, limits, starts)
    centre = Centre(
        crew,
        blocks,
        training_set,
        gamma1,
        keep_multipliers=keep_multipliers or checkpoint is not None,
        verbose=verbose,
    )
    with crew:
        if checkpoint is not None:
            checkpoint = CentreCheckpoint(checkpoint, _fingerprint(centre, source))
        solution = run_rounds(
            centre, tol=tol, max_iter=max_iter, monitor=monitor, checkpoint=checkpoint
        )
        if keep_multipliers:
            solution = centre.with_multipliers(solution)
    if notes is not None:
        notes["traffic_"] = [entry._asdict() for entry in crew.traffic.rounds]
        notes["cluster_events_"] = crew.events
    return solution


def _n_threads(client: Any) -> int:
    try:
        return sum(client.nthreads().values())
    except OSError as error:
        raise ClusterLost(f"the scheduler does not answer ({error})") from None


def _fingerprint(centre: Centre, source: Any) -> str | None:
    """Of the data that the workers have, when the client has not."""
    return None if isinstance(source, Held) else centre.fingerprint()


def _how_to_resume(error: ClusterLost, checkpoint: Any) -> str:
    sentence = f"The fit ended: {error}; "
    if checkpoint is None:
        return sentence + "nothing was kept, because checkpoint is None."
    return (
        f"{sentence}what it had reached is in {checkpoint}: call the same fit again with that "
        "checkpoint, on a cluster or on one machine, to go on from there."
    )
