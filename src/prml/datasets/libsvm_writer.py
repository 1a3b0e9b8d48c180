"""What is here: `dump_libsvm`, the writer of the LIBSVM text format."""

import os
from typing import Any

from prml.datasets.text_output import numbers_as_text, open_output, rows_to_write


def dump_libsvm(path: str | os.PathLike, X: Any, Y: Any, *, zero_based: bool = True) -> None:
    """Write X and Y as LIBSVM text, one example a line.

    The file appears complete or not at all. `load_libsvm` reads it back exactly; an example with
    neither labels nor features is written as one explicit zero, because blank lines are skipped.

    Parameters
    ----------
    path : path-like
        Ending in .gz, .bz2 or .xz, it is compressed.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    Y : array-like or sparse matrix of shape (n_samples, n_labels), of 0 and 1
    zero_based : bool, default=True
        Whether the first feature has index 0; labels are always numbered from 0.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from prml.datasets import dump_libsvm
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.svm"
    >>> dump_libsvm(path, [[1.5, 0, 2], [0, 0, 0]], [[1, 1], [0, 0]])
    >>> print(path.read_text(), end="")
    0,1 0:1.5 2:2
     0:0
    """
    rows = rows_to_write(X, Y, allow_missing=False)
    base = 0 if zero_based else 1
    with open_output(path) as out:
        for row in rows:
            labels = ",".join(map(str, row.labels.tolist()))
            pairs = [
                f"{j + base}:{value}"
                for j, value in zip(row.columns.tolist(), numbers_as_text(row.values), strict=True)
            ]
            if not labels and not pairs:
                pairs = [f"{base}:0"]
            out.write(f"{labels} {' '.join(pairs)}".rstrip(" ").encode() + b"\n")
