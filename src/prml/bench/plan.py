"""What is here: which cells a run has to do, in which order, and the loop that does them."""

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from prml.bench.methods import Method
from prml.bench.protocol import Data, run_cell
from prml.bench.results_file import (
    Key,
    Record,
    ResultsFile,
    fit_was_cut,
    key_of,
    search_was_cut,
)
from prml.bench.search import N_FOLDS, quick_grid

# Seconds of LIBLINEAR's hinge for each unit of `Data.size`: bibtex half in 3 s.
SECONDS_PER_SIZE = 7.5e-8
OVERHEAD = 0.05


class Cell(NamedTuple):
    """One cell to do and how long it is expected to take."""

    data: Data
    method: Method
    trial: int
    seconds: float


class Progress(NamedTuple):
    """What a run tells its caller before and after each cell."""

    n_done: int
    n_cells: int
    cell: Cell
    seconds_left: float
    record: Record | None  # None before the cell is run


def first_guess(data: Data, method: Method, setup: str) -> float:
    """Seconds of a cell before anything like it has been run."""
    n_entries = len(quick_grid(method) if setup == "quick" else method.grid)
    n_fits = 1.0 + (N_FOLDS - 1) * (n_entries if n_entries > 1 else 0)
    return OVERHEAD + SECONDS_PER_SIZE * data.size * method.effort * n_fits


def expected_seconds(
    data: Data, method: Method, setup: str, records: Sequence[Record], sizes: dict[str, float]
) -> float:
    """The mean of this cell's other trials; else the guess, corrected by the other datasets."""
    same = [
        r["seconds"]
        for r in records
        if (r["dataset"], r["method"], r["setup"]) == (data.name, method.name, setup)
    ]
    if same:
        return sum(same) / len(same)
    guess = first_guess(data, method, setup)
    ratios = [
        math.log(r["seconds"] / (OVERHEAD + sizes[r["dataset"]]))
        for r in records
        if r["method"] == method.name and r["setup"] == setup and r["dataset"] in sizes
        and r["seconds"] > 0
    ]  # fmt: skip
    if not ratios:
        return guess
    return (OVERHEAD + sizes[data.name]) * math.exp(sum(ratios) / len(ratios))


def finished(
    records: Sequence[Record],
    methods: Sequence[Method],
    redo: bool = False,
    redo_cut: bool = False,
) -> set[Key]:
    """The cells that need no run; see `cells_to_do` for what counts."""
    now = {method.name: method.code for method in methods}
    return {
        key_of(r)
        for r in records
        if (r.get("code") == now.get(r["method"]) or not (redo or r.get("error")))
        and not (redo_cut and (search_was_cut(r) or fit_was_cut(r)))
    }


def cells_to_do(
    datasets: Sequence[Data],
    methods: Sequence[Method],
    n_trials: int,
    records: Sequence[Record],
    *,
    setup: str = "full",
    redo: bool = False,
    redo_cut: bool = False,
) -> list[Cell]:
    """The cells without a record, cheapest first; a later trial counts as dearer.

    Sorting by (trial + 1) times the expected seconds gives every pair of dataset and method its
    first trials before the cheap ones have all of theirs. With `redo`, records of another version
    of the code do not count, with `redo_cut` those of a search or fit that its time limit ended; a
    failure counts for the version that failed only.
    """
    done = finished(records, methods, redo, redo_cut)
    sizes = {data.name: SECONDS_PER_SIZE * data.size for data in datasets}
    cells = []
    for data in datasets:
        for method in methods:
            seconds = expected_seconds(data, method, setup, records, sizes)
            for trial in range(n_trials):
                if Key(data.name, method.name, trial, setup) not in done:
                    cells.append(Cell(data, method, trial, seconds))
    return sorted(cells, key=lambda cell: (cell.trial + 1) * cell.seconds)


def check_same_data(
    results: ResultsFile, records: Sequence[Record], datasets: Sequence[Data]
) -> None:
    """Refuse to put results of other data of the same name into one file."""
    prints = {data.name: (data.fingerprint, data.scale) for data in datasets}
    for record in records:
        found = record.get("data"), record.get("scale")
        if record["dataset"] in prints and found != prints[record["dataset"]]:
            raise ValueError(
                f"{results.path} holds results of other data named {record['dataset']!r}, or "
                "scaled differently; expected the same data, or another results file."
            )


def run_cells(
    results: ResultsFile,
    datasets: Sequence[Data],
    methods: Sequence[Method],
    n_trials: int,
    *,
    setup: str = "full",
    redo: bool = False,
    redo_cut: bool = False,
    jobs: int | None = None,
    budget: float | None = None,
    cell_limit: float | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> list[Record]:
    """Run what is missing and append each record as it is made; return the new records.

    Parameters
    ----------
    results : ResultsFile
    datasets, methods : sequences of Data and Method
    n_trials : int
    setup : {"full", "quick"}
    redo : bool
        Run cells again whose record is of another version of the code.
    redo_cut : bool
        Run cells again, once, whose search or fit was ended by its time limit.
    jobs : int, optional
        Threads of each fit.
    budget : float, optional
        Seconds; no cell is begun that is expected to end later.
    cell_limit : float, optional
        Seconds for one cell: its search is cut, and its fit where the estimator has `max_time`.
    watch : callable
        Called with a `Progress` before and after each cell.

    Examples
    --------
    >>> import tempfile
    >>> import scipy.sparse as sp
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from prml.bench import METHODS, Data, ResultsFile, run_cells
    >>> X, Y = make_multilabel_classification(n_samples=60, random_state=0)
    >>> data = Data("toy", X, sp.csr_matrix(Y, dtype=float))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = ResultsFile(folder + "/results.jsonl")
    ...     new = run_cells(results, [data], [METHODS["BR"]], 2, setup="quick")
    ...     results.close()
    >>> [record["trial"] for record in new]
    [0, 1]
    """
    start = time.perf_counter()
    left = (lambda: math.inf) if budget is None else lambda: budget - (time.perf_counter() - start)
    records = results.read()
    check_same_data(results, records, datasets)
    new: list[Record] = []
    passed: set[Key] = set()
    while True:
        todo = cells_to_do(
            datasets, methods, n_trials, records, setup=setup, redo=redo, redo_cut=redo_cut
        )
        todo = [
            cell
            for cell in todo
            if _key(cell, setup) not in passed
            and min(cell.seconds, cell_limit or math.inf) <= left()
        ]
        if not todo or left() <= 0:
            return new
        cell = todo[0]
        key = _key(cell, setup)
        total, remaining = len(new) + len(todo), min(sum(c.seconds for c in todo), left())
        with results.claim(key) as is_ours:
            records = results.read()  # another run may have finished it meanwhile
            passed.add(key)  # once a run, even if it is cut again
            if not is_ours or key in finished(records, methods, redo, redo_cut):
                continue
            watch(Progress(len(new), total, cell, remaining, None))
            record = run_cell(
                cell.data, cell.method, cell.trial, setup=setup, jobs=jobs, seconds=cell_limit
            )
            results.append(record)
        records.append(record)
        new.append(record)
        remaining = max(0.0, remaining - record["seconds"])
        watch(Progress(len(new), total, cell, remaining, record))


def _key(cell: Cell, setup: str) -> Key:
    return Key(cell.data.name, cell.method.name, cell.trial, setup)
