"""What is here: a data file or a named dataset, read whole, for `fit` and `evaluate`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import click
import numpy as np
import scipy.sparse as sp

from prml.cli.formats import FORMATS, format_of, label_choice

BLOCK_ROWS = 4096


@dataclass
class Table:
    """Examples with their labels.

    `X` is a list of texts, an array or CSR; `Y` CSR, an array with NaN for unknown labels, or None;
    `parts` has the rows of "train" and "test" where the source has a split; `zero_based` tells how
    a LIBSVM file counts its features.
    """

    X: Any
    Y: Any
    label_names: list[str] | None = None
    feature_names: list[str] | None = None
    text_columns: list[str] = field(default_factory=list)
    parts: dict[str, np.ndarray] = field(default_factory=dict)
    vectorizer: Any = None
    zero_based: bool | None = None

    @property
    def is_text(self) -> bool:
        return isinstance(self.X, list)

    @property
    def n_rows(self) -> int:
        return len(self.X) if self.is_text else self.X.shape[0]

    def only(self, rows: np.ndarray) -> None:
        """Keep some rows."""
        self.X = [self.X[i] for i in rows] if self.is_text else self.X[rows]
        self.Y = None if self.Y is None else self.Y[rows]
        self.parts = {}


@dataclass(frozen=True)
class DataOptions:
    """What the command line says of a data file."""

    format: str | None = None
    labels: str | None = None
    text: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    part: str | None = None
    zero_based: bool | None = None


def with_data_options(command: Callable) -> Callable:
    """Add the options that say how to read DATA; the command is given `options`."""

    @click.option(
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        help="Format of DATA; its name or first line tells it when left out.",
    )
    @click.option(
        "--labels",
        help="The labels: a number (-n: the last n columns), names joined by commas, or a Mulan "
        ".xml file.",
    )
    @click.option("--text-column", "text", multiple=True, help="A column of text; may be repeated.")
    @click.option("--ignore", multiple=True, help="A column to leave out; may be repeated.")
    @click.option(
        "--part",
        type=click.Choice(["all", "train", "test"]),
        help="The part of a dataset that comes with a split.",
    )
    @click.option(
        "--zero-based/--one-based",
        default=None,
        help="How a LIBSVM file counts its features; found out by itself when left out.",
    )
    @wraps(command)
    def wrapped(*args, format_, labels, text, ignore, part, zero_based, **others):
        options = DataOptions(format_, labels, text, ignore, part, zero_based)
        return command(*args, options=options, **others)

    return wrapped


def read_table(
    source: str,
    options: DataOptions,
    *,
    n_features: int | None = None,
    label_names: Sequence[str] | None = None,
) -> Table:
    """Read a file, or a dataset by its name, whole.

    Parameters
    ----------
    source : str
        A path, "debtags", or a name that `prml datasets` lists.
    options : DataOptions
    n_features : int, optional
        Columns of X that a model expects (LIBSVM).
    label_names : sequence of str, optional
        The labels of a model, for files in which only names tell what a label is.
    """
    if not Path(source).exists():
        table = _named(source)
        if table is None:
            raise click.UsageError(
                f"{source}: there is no such file, and no dataset of that name (`prml datasets` "
                "lists them)"
            )
    else:
        path = Path(source)
        reader = _READERS.get(format_of(path, options.format))
        if reader is None:
            raise click.UsageError(f"{path}: a {options.format} file has no labels")
        table = reader(path, options, n_features, label_names)
    if table.n_rows == 0:
        raise ValueError(f"{source} holds no examples.")
    return table


def choose_part(table: Table, part: str | None, preferred: str) -> str:
    """Keep the wanted part of a table with a split; return its name."""
    if not table.parts:
        if part not in (None, "all"):
            raise click.UsageError(f"--part is {part!r} and the data come without a split")
        return "all"
    chosen = part or preferred
    if chosen != "all":
        table.only(table.parts[chosen])
    return chosen


def _named(name: str) -> Table | None:
    from prml.datasets import list_datasets, load_dataset, load_debtags

    if name.lower() == "debtags":
        data = load_debtags()
        return Table(
            X=list(data.text),
            Y=data.Y,
            label_names=data.label_names.tolist(),
            parts={"train": data.train_idx, "test": data.test_idx},
            text_columns=["text"],
        )
    if name.lower() not in list_datasets():
        return None
    data = load_dataset(name)
    has_split = data.train_idx is not None
    return Table(
        X=data.X,
        Y=data.Y,
        label_names=[str(label) for label in data.label_names],
        feature_names=[str(feature) for feature in data.feature_names],
        parts={"train": data.train_idx, "test": data.test_idx} if has_split else {},
    )


def _arff(path: Path, options: DataOptions, n_features, label_names) -> Table:
    from prml.datasets import load_arff

    labels = label_choice(options.labels)
    if labels is None and label_names is not None:
        labels = list(label_names)
    data = load_arff(path, labels, ignore=options.ignore)
    return Table(data.X, data.Y, data.label_names.tolist(), data.feature_names.tolist())


def _libsvm(path: Path, options: DataOptions, n_features, label_names) -> Table:
    from prml.cli.line_rows import LibsvmLines

    with LibsvmLines(path, n_features) as lines:
        X, Y = lines.whole(options.zero_based)
        return Table(X, Y, zero_based=lines.zero_based)


def _xmc(path: Path, options: DataOptions, n_features, label_names) -> Table:
    from prml.datasets import load_xmc

    data = load_xmc(path)
    return Table(data.X, data.Y, zero_based=True)


def _npz(path: Path, options: DataOptions, n_features, label_names) -> Table:
    from prml.cli.npz_rows import NpzReader

    with NpzReader(path) as reader:
        X = _stack(list(reader.blocks("X", BLOCK_ROWS)), path)
        has_labels = reader.has("Y_indptr") or reader.has("Y")
        Y = _stack(list(reader.blocks("Y", BLOCK_ROWS)), path) if has_labels else None
        names = {
            key: [str(name) for name in reader.array(key).ravel()] if reader.has(key) else None
            for key in ("label_names", "feature_names")
        }
        rows = {part: reader.array(f"{part}_idx") for part in ("train", "test") if
                reader.has(f"{part}_idx")}  # fmt: skip
    for part, index in rows.items():
        if (
            index.dtype.kind not in "iu"
            or index.ndim != 1
            or (len(index) and not 0 <= index.min() <= index.max() < X.shape[0])
        ):
            raise ValueError(f"{path}: {part}_idx does not hold row numbers below {X.shape[0]}.")
    return Table(X, Y, names["label_names"], names["feature_names"], parts=rows)


def _stack(blocks: list[Any], path: Path) -> Any:
    if not blocks:
        raise ValueError(f"{path} holds no examples.")
    return sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.vstack(blocks)


def _csv(path: Path, options: DataOptions, n_features, label_names) -> Table:
    from prml.cli.csv_rows import open_csv

    labels = label_choice(options.labels)
    if labels is None and label_names is not None:
        labels = list(label_names)
    with open_csv(path) as reader:
        columns = reader.choose(labels, options.text, options.ignore)
        blocks = list(reader.blocks(columns, BLOCK_ROWS))
    if not blocks:
        raise ValueError(f"{path} holds no examples.")
    X: Any = [text for block, _ in blocks for text in block]
    if not columns.text:
        X = np.vstack([block for block, _ in blocks])
    Y = np.vstack([Y for _, Y in blocks if Y is not None]) if columns.labels else None
    return Table(X, Y, columns.labels, columns.features or None, columns.text)


def _parquet(path: Path, options: DataOptions, n_features, label_names) -> Table:
    from prml.cli.parquet_rows import read_parquet

    labels = label_choice(options.labels)
    if labels is None and label_names is not None:
        labels = list(label_names)
    X, Y, columns = read_parquet(path, labels, options.text, options.ignore)
    return Table(X, Y, columns.labels, columns.features or None, columns.text)


_READERS: dict[str, Callable[..., Table]] = {
    "arff": _arff,
    "csv": _csv,
    "libsvm": _libsvm,
    "npz": _npz,
    "parquet": _parquet,
    "xmc": _xmc,
}
