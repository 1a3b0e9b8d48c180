"""What is here: Parquet files, through pandas where it is installed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from prml.cli.columns import Columns, choose_columns
from prml.datasets.text_input import reason_of


def read_parquet(
    path: Path,
    labels: int | str | Sequence[str] | None,
    text: Sequence[str],
    ignore: Sequence[str],
    features: Sequence[str] | None = None,
) -> tuple[Any, np.ndarray | None, Columns]:
    """Return X (texts or an array), Y and the columns they come from."""
    try:
        import pandas as pd

        frame = pd.read_parquet(path)
    except ImportError:
        raise click.UsageError(
            f"{path}: Parquet files need pandas and pyarrow; pip install 'prml[parquet]' brings "
            "them, or use CSV"
        ) from None
    except Exception as error:  # pyarrow's errors are its own
        raise ValueError(f"{path} is not a readable Parquet file ({reason_of(error)}).") from None
    frame.columns = [str(name) for name in frame.columns]
    columns = choose_columns(
        str(path), list(frame.columns), labels=labels, text=text, ignore=ignore, features=features
    )
    if columns.text:
        X: Any = frame[columns.text].astype(str).agg(" ".join, axis=1).tolist()
    else:
        X = _numbers(frame, columns.features, path)
        if not np.isfinite(X).all():
            row, column = np.argwhere(~np.isfinite(X))[0]
            raise ValueError(
                f"{path}, row {row}, column {columns.features[column]!r}: the value is missing or "
                "infinite; expected a finite number."
            )
    return X, _numbers(frame, columns.labels, path) if columns.labels else None, columns


def _numbers(frame: Any, names: list[str], path: Path) -> np.ndarray:
    for name in names:
        if frame[name].dtype.kind not in "biuf":
            raise ValueError(
                f"{path}, column {name!r} is {frame[name].dtype}; expected numbers "
                "(--text-column names columns of text, --ignore columns to leave out)."
            )
    return frame[names].to_numpy(dtype=np.float64)
