"""What is here: `dump_arff`, the writer of ARFF files with several labels."""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from prml.datasets.arff_header import quote
from prml.datasets.text_output import Row, iterate_rows, numbers_as_text, open_output, read_pair


def dump_arff(
    path: str | os.PathLike,
    X: Any,
    Y: Any,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    relation: str = "data",
) -> None:
    """Write X and Y as ARFF: sparse rows for a sparse X, dense rows for a dense one.

    Features are numeric, labels nominal {0,1} and last; the relation's name says how many, the way
    MEKA does, so that `load_arff` reads the file back without being told. NaN is written as ?. The
    file appears complete or not at all.

    Parameters
    ----------
    path : path-like
        Ending in .gz, .bz2 or .xz, it is compressed.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    Y : array-like or sparse matrix of shape (n_samples, n_labels), of 0, 1 and NaN
    feature_names, label_names : sequence of str, optional
        By default the column names of a DataFrame, else x0, x1, ... and label0, label1, ...
    relation : str, default="data"

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from prml.datasets import dump_arff
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.arff"
    >>> dump_arff(path, [[1.5, 0]], [[1]], feature_names=["size", "main colour"])
    >>> print(path.read_text(), end="")
    @relation 'data: -C -1'
    <BLANKLINE>
    @attribute size numeric
    @attribute 'main colour' numeric
    @attribute label0 {0,1}
    <BLANKLINE>
    @data
    1.5,0,1
    """
    if feature_names is None:
        feature_names = list(getattr(X, "columns", [])) or None
    if label_names is None:
        label_names = list(getattr(Y, "columns", [])) or None
    X, targets = read_pair(X, Y, allow_missing=True)
    n_features, n_labels = X.shape[1], targets.n_labels
    features = _names(feature_names, n_features, "x", "feature_names")
    labels = _names(label_names, n_labels, "label", "label_names")
    name, times = Counter(features + labels).most_common(1)[0]
    if times > 1:
        raise ValueError(f"the name {name!r} is given {times} times; expected every name once.")
    with open_output(path) as out:
        lines = [f"@relation {quote(f'{relation}: -C -{n_labels}')}", ""]
        lines += [f"@attribute {quote(name)} numeric" for name in features]
        lines += [f"@attribute {quote(name)} {{0,1}}" for name in labels]
        lines += ["", "@data", ""]
        out.write("\n".join(lines).encode())
        as_text = _sparse_text if sp.issparse(X) else _dense_text
        for row in iterate_rows(X, targets):
            out.write(as_text(row, n_features, n_labels).encode() + b"\n")


def _names(given: Sequence[str] | None, n: int, stem: str, what: str) -> list[str]:
    if given is None:
        return [f"{stem}{j}" for j in range(n)]
    if len(given) != n:
        raise ValueError(f"{what} has {len(given)} names; expected {n}.")
    return [str(name) for name in given]


def _sparse_text(row: Row, n_features: int, n_labels: int) -> str:
    entries = [
        f"{j} {value}"
        for j, value in zip(row.columns.tolist(), _values_as_text(row.values), strict=True)
    ]
    labels = {int(j): "1" for j in row.labels} | {int(j): "?" for j in row.missing_labels}
    entries += [f"{n_features + j} {labels[j]}" for j in sorted(labels)]
    return "{" + ",".join(entries) + "}"


def _dense_text(row: Row, n_features: int, n_labels: int) -> str:
    fields = np.full(n_features + n_labels, "0", dtype=object)
    fields[row.columns] = _values_as_text(row.values)
    fields[n_features + row.labels] = "1"
    fields[n_features + row.missing_labels] = "?"
    return ",".join(fields.tolist())


def _values_as_text(values: np.ndarray) -> list[str]:
    return ["?" if text == "nan" else text for text in numbers_as_text(values)]
