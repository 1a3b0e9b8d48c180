"""What is here: generated training sets in every form that a user may hand over.

A case is X and Y as given to `fit`, beside what they mean: dense arrays, or the reason why they
must be refused. Sizes are tiny, so that thousands of cases take minutes.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from hypothesis import strategies as st

try:
    import polars as pl
except ImportError:  # an extra of the tests
    pl = None

RARELY = st.sampled_from([False] * 19 + [True])
ODD_NAMES = ["", " ", "a,b", "=cmd()", "<script>", "naïve ☃", "x\ny", "'", "nan", "0"]
ORDINARY = 1e6  # within a factor of this every answer must be right; beyond, right or refused


class Case(NamedTuple):
    """Input of a fit. `plain_X` and `plain_Y` are its meaning; `fault` why it must be refused."""

    X: Any
    Y: Any
    plain_X: np.ndarray
    plain_Y: np.ndarray
    fault: str | None
    scale: float
    told: str

    @property
    def is_ordinary(self) -> bool:
        return 1.0 / ORDINARY <= self.scale <= ORDINARY

    @property
    def has_missing(self) -> bool:
        return bool(np.isnan(self.plain_Y).any())


def _unsorted(X: np.ndarray) -> sp.csr_matrix:
    rows = sp.csr_matrix(X)
    for i in range(rows.shape[0]):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        rows.indices[part] = rows.indices[part][::-1].copy()
        rows.data[part] = rows.data[part][::-1].copy()
    rows.has_sorted_indices = False
    return rows


def _doubled(X: np.ndarray) -> sp.csr_matrix:
    """Every entry twice, at half its value."""
    rows = sp.csr_matrix(X)
    return sp.csr_matrix(
        (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), rows.indptr * 2), rows.shape
    )


def _explicit_zeros(X: np.ndarray) -> sp.csr_matrix:
    n, d = X.shape
    return sp.csr_matrix((X.ravel(), np.tile(np.arange(d), n), np.arange(n + 1) * d), X.shape)


def _wide_indices(X: np.ndarray) -> sp.csr_matrix:
    rows = sp.csr_matrix(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def _strided(X: np.ndarray) -> np.ndarray:
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), 7, dtype=X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def _memory_map(X: np.ndarray) -> np.ndarray:
    if X.size == 0 or X.dtype.hasobject:
        return X
    with tempfile.TemporaryDirectory() as folder:  # unlinked while mapped: the map lives on
        path = Path(folder) / "X"
        X.tofile(path)
        return np.memmap(path, X.dtype, "r", shape=X.shape)


def _frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=_names(X.shape[1]))


def _polars(X: np.ndarray) -> Any:
    if pl is None or X.dtype.kind not in "biuf" or X.dtype.itemsize == 2 or X.shape[1] == 0:
        return _frame(X)
    X = np.ascontiguousarray(X, dtype=X.dtype.newbyteorder("="))
    return pl.DataFrame(X, schema=_names(X.shape[1]))


def _damaged(given: Any, X: np.ndarray, rng: np.random.Generator) -> tuple[Any, str, str]:
    """What scikit-learn's checks do not find: a masked entry, an index out of range."""
    if sp.issparse(given) and given.format in ("csr", "csc") and given.nnz:
        given.indices[rng.integers(given.nnz)] = max(X.shape) + 10**6
        return given, f"{given.format} with a wild index", "X has an index out of range"
    mask = np.zeros(X.shape, bool)
    mask[rng.integers(X.shape[0]), rng.integers(X.shape[1])] = True
    return np.ma.masked_array(X, mask=mask), "masked entry", "X is masked"


def _names(n: int) -> list[str]:
    return [ODD_NAMES[j] if j < len(ODD_NAMES) else f"c{j}" for j in range(n)]


def _masked(X: np.ndarray) -> np.ndarray:
    return np.ma.masked_array(X, mask=np.zeros(X.shape, bool))


DENSE: dict[str, Callable] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": _read_only,
    "memory map": _memory_map,
    "list": lambda X: X.tolist(),
    "frame": _frame,
    "polars": _polars,
    "masked": _masked,
}
SPARSE: dict[str, Callable] = {
    "csr": sp.csr_matrix,
    "csr array": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_matrix,
    "unsorted": _unsorted,
    "doubled": _doubled,
    "explicit zeros": _explicit_zeros,
    "int64 indices": _wide_indices,
}
DTYPES = [np.float64, np.float32, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8]
DTYPES += [np.bool_, object, ">f8", np.longdouble]
SCALES = [1.0] * 8 + [10.0**e for e in (-300, -150, -30, -6, -3, 3, 6, 30, 150, 300)]


@st.composite
def cases(draw) -> Case:
    """Draw a case; most are sound, so that most fits are seen to the end."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([0, 1, 2, 3, 5, 8, 12, 12, 12, 16, 16, 20, 20]))
    d = draw(st.sampled_from([0, 1, 2, 3, 3, 4, 4, 4, 5, 6, 30]))
    n_labels = draw(st.sampled_from([1, 2, 3, 3, 4, 5, 9, 25]))
    scale = draw(st.sampled_from(SCALES))
    X, kind = _features(draw, rng, n, d)
    dtype = np.dtype(draw(st.sampled_from(DTYPES[:1] * 6 + DTYPES)))
    if dtype.kind in "iub" or dtype.itemsize == 2:
        X, scale = np.clip(np.round(X * 3), 0 if dtype.kind in "ub" else -9, 9), 1.0
    if dtype == np.float32:
        scale = float(np.clip(scale, 1e-30, 1e30))
    with np.errstate(over="ignore"):
        X = (X * scale).astype(dtype)
    fault = None
    if n and d and X.dtype.kind == "f" and draw(RARELY):
        X[rng.integers(n), rng.integers(d)] = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
        fault = "X is not finite"
    plain = X.astype(np.float64)
    can_be_sparse = dtype.isnative and dtype.kind in "biuf" and dtype.name != "float16"
    layouts = {**DENSE, **SPARSE} if can_be_sparse else DENSE
    layout = draw(st.sampled_from(list(layouts)))
    if layout == "doubled" and dtype.kind not in "f":
        layout = "csr"
    given = layouts[layout](X)
    if n and d and fault is None and draw(RARELY):
        given, layout, fault = _damaged(given, X, rng)
    Y, plain_Y, y_fault, y_told = _labels(draw, rng, n, n_labels)
    if n == 0 or d == 0:
        fault = fault or "empty"
    told = f"X {X.shape} {dtype} {layout} {kind} x{scale:g}; Y {plain_Y.shape} {y_told}"
    return Case(given, Y, plain, plain_Y, fault or y_fault, scale, told)


def _features(draw, rng, n: int, d: int) -> tuple[np.ndarray, str]:
    kind = draw(st.sampled_from(["normal", "normal", "counts", "sparse", "constant", "copies"]))
    X = rng.standard_normal((n, d))
    if kind == "counts":
        X = np.floor(3 * np.abs(X))
    elif kind == "sparse":
        X = np.where(rng.random((n, d)) < 0.7, 0.0, X)
        X[: n // 3] = 0.0  # rows without a feature
    elif kind == "constant" and d:
        X[:, rng.integers(d)] = 1.0
        X[:, rng.integers(d)] = 0.0
    elif kind == "copies" and n and d:
        X = X[rng.integers(n, size=n)][:, rng.integers(d, size=d)]
    return X, kind


def _labels(draw, rng, n: int, n_labels: int) -> tuple[Any, np.ndarray, str | None, str]:
    kinds = ["random", "random", "random", "none", "all", "copies", "complement", "one each"]
    kind = draw(st.sampled_from(kinds))
    Y = (rng.random((n, n_labels)) < 0.4).astype(np.float64)
    if kind in ("none", "all"):
        Y[:] = float(kind == "all")
    elif kind == "copies":
        Y = Y[:, rng.integers(n_labels, size=n_labels)]
    elif kind == "complement":
        Y[n // 2 : 2 * (n // 2)] = 1.0 - Y[: n // 2]
    elif kind == "one each":
        Y = np.eye(n, n_labels)
    fault = None
    wrong = draw(st.sampled_from([None] * 12 + [2.0, -1.0, 0.5, np.inf, np.nan]))
    if wrong is not None and n:
        Y[rng.integers(n), rng.integers(n_labels)] = wrong
        fault = None if np.isnan(wrong) else "Y is not 0 or 1"
        kind += f" with {wrong}"
    # a column of other values is a 1-D y of classes by scikit-learn's custom: not our case here
    if fault and n_labels == 1:
        Y, fault = np.ones_like(Y), None
    whole = not np.isnan(Y).any() and fault is None
    forms = ["float", "frame", "F", "read-only", "object", "polars", "masked"]
    if whole:
        forms += ["int", "int8", "bool", "list", "csr", "csc", "coo", "unsorted", "int64 indices"]
    form = draw(st.sampled_from(forms))
    given: Any = Y
    if form in ("int", "int8", "bool", "object"):
        given = Y.astype(form)
    elif form in DENSE:
        given = DENSE[form](Y)
    elif form in SPARSE:
        given = SPARSE[form](Y)
    return given, Y, fault, f"{kind} {form}"
