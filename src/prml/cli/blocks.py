"""What is here: the examples that `predict` reads, block by block, in constant memory."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click
import numpy as np
import scipy.sparse as sp

from prml.cli.formats import format_of
from prml.cli.tables import BLOCK_ROWS, DataOptions, read_table
from prml.datasets.text_input import LineReader


def example_blocks(
    source: str,
    options: DataOptions,
    *,
    note: dict[str, Any],
    n_features: int | None,
    label_names: list[str],
) -> Iterator[Any]:
    """Yield blocks of examples as the model reads them: lists of texts, arrays or CSR.

    `source` is a file, a named dataset or "-" for standard input: lines of text for a model of
    text, LIBSVM lines for others. ARFF, Parquet and named datasets are read whole first.
    """
    is_text = note.get("kind") == "text"
    if source == "-":
        given = options.format or ("text" if is_text else "libsvm")
        blocks = _standard_input(given, options, note, n_features)
    elif not Path(source).exists():
        blocks = _whole(source, options, label_names)
    else:
        given = format_of(Path(source), options.format)
        blocks = _file(Path(source), given, options, note, n_features, label_names)
    for block in blocks:
        if isinstance(block, list) != is_text:
            found, wanted = ("numbers", "text") if is_text else ("text", "numbers")
            raise ValueError(f"{source} holds {found} and the model was fitted to {wanted}.")
        if not is_text and n_features is not None and block.shape[1] != n_features:
            raise ValueError(
                f"{source} has {block.shape[1]} features; the model expects {n_features}."
            )
        yield block


def _file(path, given, options, note, n_features, label_names) -> Iterator[Any]:
    if given == "text":
        with path.open("rb") as stream:
            yield from _text_lines(stream, str(path))
    elif given in ("libsvm", "xmc"):
        from prml.cli.line_rows import LibsvmLines

        with LibsvmLines(path, n_features, has_header=given == "xmc") as lines:
            yield from lines.blocks(given == "xmc" or _counts_from_zero(options, note, str(path)))
    elif given == "npz":
        from prml.cli.npz_rows import NpzReader

        with NpzReader(path) as reader:
            yield from reader.blocks("X", BLOCK_ROWS)
    elif given == "csv":
        yield from _csv(path, options, note)
    else:
        yield from _whole(str(path), options, label_names)


def _csv(path: Path, options: DataOptions, note: dict[str, Any]) -> Iterator[Any]:
    from prml.cli.csv_rows import open_csv

    with open_csv(path) as reader:
        text = options.text or note.get("text_columns") or ()
        features = None if text else note.get("feature_names")
        columns = reader.choose(None, text, options.ignore, features)
        for X, _ in reader.blocks(columns, BLOCK_ROWS):
            yield X


def _whole(source: str, options: DataOptions, label_names: list[str]) -> Iterator[Any]:
    from prml.cli.evaluate import named_labels
    from prml.cli.tables import choose_part

    table = read_table(source, options, label_names=named_labels(label_names))
    choose_part(table, options.part, preferred="test")
    for start in range(0, table.n_rows, BLOCK_ROWS):
        yield table.X[start : start + BLOCK_ROWS]


def _standard_input(given, options, note, n_features) -> Iterator[Any]:
    name = "standard input"
    if given == "text":
        yield from _text_lines(sys.stdin.buffer, name)
    elif given == "libsvm":
        from prml.cli.line_rows import libsvm_blocks

        reader = LineReader(sys.stdin.buffer, name)
        yield from libsvm_blocks(reader, n_features, _counts_from_zero(options, note, name))
    elif given == "csv":
        from prml.cli.csv_rows import CsvReader

        csv_reader = CsvReader(LineReader(sys.stdin.buffer, name), name)
        text = options.text or note.get("text_columns") or ()
        features = None if text else note.get("feature_names")
        columns = csv_reader.choose(None, text, options.ignore, features)
        for X, _ in csv_reader.blocks(columns, BLOCK_ROWS):
            yield X
    else:
        raise click.UsageError(f"standard input is read as text, libsvm or csv, not as {given}")


def _counts_from_zero(options: DataOptions, note: dict[str, Any], name: str) -> bool:
    """Tell how the features are counted: no single block of a file could tell it."""
    for said in (options.zero_based, note.get("zero_based")):
        if isinstance(said, bool):
            return said
    raise click.UsageError(
        f"{name}: the model was not fitted to a LIBSVM file; --zero-based or --one-based tells how "
        "this one counts its features"
    )


def _text_lines(stream: BinaryIO, name: str) -> Iterator[list[str]]:
    """Yield blocks of lines, one example each."""
    block: list[str] = []
    for number, line in enumerate(stream, start=1):
        try:
            block.append(line.decode("utf-8").rstrip("\r\n"))
        except UnicodeDecodeError:
            raise ValueError(f"{name}, line {number}: this is not UTF-8 text.") from None
        if len(block) == BLOCK_ROWS:
            yield block
            block = []
    if block:
        yield block


def as_model_input(block: Any) -> Any:
    """Return a block in a form every estimator reads."""
    if isinstance(block, list) or sp.issparse(block):
        return block
    return np.ascontiguousarray(block, dtype=np.float64)
