"""What is here: one cell of the comparison - a dataset, a method, a trial - from data to figures.

Trial t: the examples are permuted by `numpy.random.default_rng(t)`, the first half trains and the
rest tests. Parameters come from a search inside the training half (`search.py`); test data are
looked at once, by the fitted model.
"""

import math
import time
import warnings
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import Normalizer, StandardScaler
from threadpoolctl import threadpool_limits

from prml.baselines import break_ties_by_label
from prml.bench import provenance
from prml.bench.methods import Method, Setting
from prml.bench.results_file import Record
from prml.bench.search import quick_grid, search
from prml.metrics import SIX, evaluate

# How the features are prepared, for every method alike; "none" where not listed.
SCALES = {"eurlex": "unit", "mediamill": "standard", "emotions": "standard", "flags": "standard"}
SEARCH_SHARE = 0.6  # of a cell's time limit, at most; the rest is for the last fit
N_NOTES = 3


@dataclass(frozen=True, eq=False)
class Data:
    """A dataset under its name; `scale` is "none", "unit" (rows) or "standard" (columns)."""

    name: str
    X: Any
    Y: sp.csr_matrix
    scale: str = "none"
    label_names: Any = None

    @property
    def fingerprint(self) -> str:
        """Sizes and a checksum of the labels: two files of one name are told apart by it."""
        Y = self.Y
        check = zlib.crc32(Y.indices.astype("<i4").tobytes(), zlib.crc32(Y.indptr.astype("<i8")))
        return f"{self.X.shape[0]}x{self.X.shape[1]}x{Y.shape[1]}-{check:08x}"

    @property
    def size(self) -> float:
        """Work of a pass over the training half for every label."""
        entries = self.X.nnz if sp.issparse(self.X) else self.X.size
        # coordinate descent on dense columns of one scale needs many more passes
        return 0.5 * entries * self.Y.shape[1] * (1.0 if sp.issparse(self.X) else 20.0)


class Halves(NamedTuple):
    """Training and test part of a trial, scaled by what the training part tells."""

    X_train: Any
    Y_train: sp.csr_matrix
    X_test: Any
    Y_test: sp.csr_matrix


def load_data(name: str) -> Data:
    """A dataset of `prml.datasets`, with the scaling that every method gets."""
    from prml.datasets import load_dataset

    bunch = load_dataset(name)
    scale = SCALES.get(bunch.name, "none")
    return Data(bunch.name, bunch.X, bunch.Y.tocsr(), scale, bunch.label_names)


def halves(data: Data, trial: int) -> Halves:
    """Trial t of the protocol.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from prml.bench.protocol import Data, halves
    >>> data = Data("tiny", np.arange(5.0)[:, None], sp.csr_matrix(np.eye(5)))
    >>> parts = halves(data, trial=0)
    >>> parts.X_train.ravel().tolist(), parts.X_test.ravel().tolist()
    ([2.0, 4.0], [3.0, 0.0, 1.0])
    """
    n = data.X.shape[0]
    order = np.random.default_rng(trial).permutation(n)
    train, test = order[: n // 2], order[n // 2 :]
    X_train, X_test = data.X[train], data.X[test]
    if data.scale != "none":
        scaler = (
            Normalizer()
            if data.scale == "unit"
            else StandardScaler(with_mean=not sp.issparse(data.X))
        )
        X_train = scaler.fit_transform(X_train)
        X_test = scaler.transform(X_test)
    return Halves(X_train, data.Y[train], X_test, data.Y[test])


def run_cell(
    data: Data,
    method: Method,
    trial: int,
    *,
    setup: str = "full",
    jobs: int | None = None,
    seconds: float | None = None,
) -> Record:
    """Run one cell; whatever happens becomes a record, with `error` when it failed."""
    start = time.perf_counter()
    measured = provenance.restart_peak_memory()
    record: Record = {
        "dataset": data.name,
        "method": method.name,
        "trial": trial,
        "setup": setup,
        "code": method.code,
        "seed": trial,
        "data": data.fingerprint,
        "scale": data.scale,
        "jobs": jobs,
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with threadpool_limits(jobs):  # the linear algebra of every method gets as many threads
                record |= _fit_and_score(data, method, trial, setup, jobs, seconds)
        except (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
            record["error"] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    if any(str(w.message).startswith("Interrupted") for w in caught):
        raise KeyboardInterrupt  # the fit kept its best and went on: its figures are not a result
    record["seconds"] = round(time.perf_counter() - start, 3)
    record["peak_mb"] = provenance.peak_memory() if measured else None
    notes = dict.fromkeys(f"{w.category.__name__}: {str(w.message)[:160]}" for w in caught)
    record["notes"] = list(notes)[:N_NOTES]
    record["n_notes"] = len(caught)
    record["versions"] = provenance.versions()
    record["machine"] = provenance.machine()
    record["finished"] = datetime.now(UTC).isoformat(timespec="seconds")
    return record


def _fit_and_score(data, method, trial, setup, jobs, seconds) -> Record:
    parts = halves(data, trial)
    start = time.perf_counter()
    found = search(
        method,
        parts.X_train,
        parts.Y_train,
        seed=trial,
        jobs=jobs,
        seconds=None if seconds is None else SEARCH_SHARE * seconds,
        grid=quick_grid(method) if setup == "quick" else None,
    )
    before = time.perf_counter()
    limit = None
    if seconds is not None:
        limit = max(seconds - (before - start), (1.0 - SEARCH_SHARE) * seconds)
    setting = Setting(data.Y.shape[1], trial, jobs, limit, searching=False)
    model = method.build(found.parameters, setting).fit(parts.X_train, parts.Y_train)
    fit_seconds = time.perf_counter() - before
    fitted = model[-1] if hasattr(model, "named_steps") else model
    scores = model.decision_function(parts.X_test)
    predicted = sp.csr_matrix(scores > getattr(fitted, "_cut", 0.0))
    # One rule for all, that of the published comparisons: with ties left in, a constant predictor
    # would have a one-error of 0.
    table = evaluate(parts.Y_test, break_ties_by_label(scores), predicted=predicted)
    return {
        "params": _plain(getattr(fitted, "best_params_", None) or found.parameters),
        **_blend(fitted),
        "metrics": {name: _plain(table[name]) for name in SIX},
        "fit_seconds": round(fit_seconds, 3),
        "search": {
            "tried": found.n_tried,
            "beyond": found.n_beyond,
            "of": len(quick_grid(method) if setup == "quick" else method.grid),
            "rows": found.n_rows,
            "score": found.score,
        },
        "n_train": int(parts.Y_train.shape[0]),
        "gap": _plain(getattr(fitted, "dual_gap_", None)),
        "rank": _plain(getattr(fitted, "rank_", None)),
        "stopped_by": getattr(fitted, "stopped_by_", None),
    }


def _blend(fitted: Any) -> Record:
    """The members whose scores a model adds up, with their weights; nothing for one model alone."""
    if not hasattr(fitted, "member_params_"):
        return {}
    parts = zip(fitted.member_params_, fitted.member_factors_, fitted.member_floors_, strict=True)
    members = [{"factor": a, "floor": floor, "params": params} for params, a, floor in parts]
    return {"members": _plain(members), "cv_score": _plain(fitted.blend_score_)}


def _plain(value: Any) -> Any:
    """What JSON can hold; infinities as text, NaN as null."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
