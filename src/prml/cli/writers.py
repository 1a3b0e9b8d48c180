"""What is here: predictions written row by row - CSV, JSON lines or npz - in constant memory."""

import csv
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import click
import numpy as np

from prml.datasets.atomic_file import replacing

KINDS = ("labels", "scores", "probabilities", "top")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "|")
FORMATS = ("csv", "jsonl", "npz")


class Writer(Protocol):
    """Takes blocks of predictions: 0/1 labels, values, or the best labels with their values."""

    def write(self, block: np.ndarray, best: np.ndarray | None = None) -> None: ...


def harmless(name: str) -> str:
    """Return a name that no spreadsheet takes for a formula: =, +, -, @ get a quote before them.

    Examples
    --------
    >>> from prml.cli.writers import harmless
    >>> harmless("=cmd()"), harmless("use::editing"), harmless("-1")
    ("'=cmd()", 'use::editing', '-1')
    """
    if not name.lstrip(" ").startswith(FORMULA_STARTS):
        return name
    try:
        float(name)
    except ValueError:
        return "'" + name
    return name


class CsvWriter:
    """A line an example: its labels joined by blanks, or a value a label; `top`: a line a label."""

    def __init__(self, out: IO[str], kind: str, names: list[str]):
        self._rows = csv.writer(out, lineterminator="\n")
        self._kind, self._next = kind, 0
        self._names = names = [harmless(name) for name in names]
        if kind == "labels":
            self._rows.writerow(["row", "labels"])
        elif kind == "top":
            self._rows.writerow(["row", "label", "score"])
        else:
            self._rows.writerow(["row", *names])

    def write(self, block: np.ndarray, best: np.ndarray | None = None) -> None:
        for i, values in enumerate(block):
            row = self._next + i
            if self._kind == "labels":
                chosen = [self._names[label] for label in np.flatnonzero(values)]
                self._rows.writerow([row, " ".join(chosen)])
            elif best is not None:
                for label in best[i].tolist():
                    self._rows.writerow([row, self._names[label], f"{values[label]:.6g}"])
            else:
                self._rows.writerow([row, *(f"{value:.6g}" for value in values.tolist())])
        self._next += len(block)


class JsonWriter:
    """A JSON object a line: `row` and `labels` (a list), `top`, or values by label name."""

    def __init__(self, out: IO[str], kind: str, names: list[str]):
        self._out, self._kind, self._names, self._next = out, kind, names, 0

    def write(self, block: np.ndarray, best: np.ndarray | None = None) -> None:
        lines = []
        for i, values in enumerate(block):
            told: dict[str, Any] = {"row": self._next + i}
            if self._kind == "labels":
                told["labels"] = [self._names[label] for label in np.flatnonzero(values)]
            elif best is not None:
                told["top"] = [[self._names[j], float(values[j])] for j in best[i].tolist()]
            else:
                told[self._kind] = dict(zip(self._names, values.tolist(), strict=True))
            lines.append(json.dumps(told, ensure_ascii=False))
        self._next += len(block)
        self._out.write("".join(line + "\n" for line in lines))


class NpzWriter:
    """Arrays in one npz: `labels` as Y_indices, Y_indptr, Y_shape; others as a dense matrix.

    Blocks go to a file without a name first, as the number of rows is known only at the end.
    """

    def __init__(self, kind: str, names: list[str], folder: Path):
        self._kind, self._names = kind, names
        self._spill = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - lives until finish()
        self._counts: list[np.ndarray] = []
        self._n_rows = 0

    def write(self, block: np.ndarray, best: np.ndarray | None = None) -> None:
        self._n_rows += len(block)
        if self._kind == "labels":
            rows, labels = np.nonzero(block)
            self._counts.append(np.bincount(rows, minlength=len(block)))
            self._spill.write(labels.astype(np.int32).tobytes())
        elif best is not None:
            values = np.take_along_axis(block, best, axis=1)
            self._spill.write(np.stack([best.astype(np.float64), values], axis=1).tobytes())
        else:
            self._spill.write(np.ascontiguousarray(block, dtype=np.float64).tobytes())

    def finish(self, out: IO[bytes], k: int) -> None:
        """Write the archive from what was spilled."""
        self._spill.flush()
        arrays: dict[str, np.ndarray] = {"label_names": np.array(self._names)}
        if self._kind == "labels":
            counts = np.concatenate([[0], *self._counts]).astype(np.int64)
            arrays["Y_indices"] = self._spilled(np.int32, (int(counts.sum()),))
            arrays["Y_indptr"] = np.cumsum(counts)
            arrays["Y_shape"] = np.array([self._n_rows, len(self._names)])
        elif self._kind == "top":
            pairs = self._spilled(np.float64, (self._n_rows, 2, k))
            arrays["top_labels"] = pairs[:, 0].astype(np.int32)
            arrays["top_scores"] = pairs[:, 1]
        else:
            arrays[self._kind] = self._spilled(np.float64, (self._n_rows, len(self._names)))
        np.savez(out, **arrays)  # type: ignore[arg-type]

    def _spilled(self, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
        if 0 in shape:
            return np.empty(shape, dtype)
        return np.memmap(self._spill, dtype, "r", shape=shape)


@contextmanager
def open_writer(
    path: Path | None, given: str | None, kind: str, names: list[str], k: int
) -> Iterator[Writer]:
    """Open where predictions go: a file that appears when it is whole, or standard output."""
    chosen = given or _format_by_name(path)
    if chosen == "npz":
        if path is None:
            raise click.UsageError("npz is written to a file; -o names it")
        writer = NpzWriter(kind, names, path.absolute().parent)
        with replacing(path) as out:
            yield writer
            writer.finish(out, k)
        return
    make = CsvWriter if chosen == "csv" else JsonWriter
    if path is None:
        yield make(sys.stdout, kind, names)
        return
    with replacing(path) as out, os.fdopen(os.dup(out.fileno()), "w", encoding="utf-8") as text:
        yield make(text, kind, names)


def _format_by_name(path: Path | None) -> str:
    if path is None:
        return "csv"
    found = {".csv": "csv", ".jsonl": "jsonl", ".json": "jsonl", ".npz": "npz"}.get(path.suffix)
    if found is None:
        raise click.UsageError(f"{path}: the ending tells no format; --to takes csv, jsonl or npz")
    return found
