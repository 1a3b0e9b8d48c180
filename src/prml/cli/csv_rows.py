"""What is here: comma-separated files, row by row: text or numbers, and columns of labels."""

import csv
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from prml.cli.columns import Columns, choose_columns
from prml.datasets.text_input import open_lines, shown

_TRUTH = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "false": 0.0, "true": 1.0}
_MISSING = {"", "nan", "?", "na"}


class CsvReader:
    """The header and the rows of a CSV file (tabs in a .tsv), with the line of every fault."""

    def __init__(self, reader: Any, name: str):
        delimiter = "\t" if ".tsv" in Path(name).suffixes else ","
        self.name = name
        self._rows = csv.reader(_decoded(reader), delimiter=delimiter, strict=True)
        try:
            self.names = [column.strip() for column in next(self._rows)]
        except StopIteration:
            raise ValueError(f"{name} is empty; expected a line of column names.") from None
        except csv.Error as error:
            raise ValueError(f"{name}, line 1: {error}.") from None
        self.position = {column: i for i, column in enumerate(self.names)}
        if len(self.position) < len(self.names):
            twice = next(c for c in self.names if self.names.count(c) > 1)
            raise ValueError(f"{name}, line 1: the column {shown(twice)} is there twice.")

    def choose(
        self,
        labels: int | str | Sequence[str] | None,
        text: Sequence[str],
        ignore: Sequence[str],
        features: Sequence[str] | None = None,
    ) -> Columns:
        """Divide the columns of the file."""
        return choose_columns(
            self.name, self.names, labels=labels, text=text, ignore=ignore, features=features
        )

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and the fields of every row."""
        while True:
            try:
                row = next(self._rows)
            except StopIteration:
                return
            except csv.Error as error:
                raise ValueError(f"{self.name}, line {self._rows.line_num}: {error}.") from None
            if not row:
                continue
            if len(row) != len(self.names):
                raise ValueError(
                    f"{self.name}, line {self._rows.line_num}: {len(row)} fields; expected "
                    f"{len(self.names)}, as many as column names."
                )
            yield self._rows.line_num, row

    def blocks(self, columns: Columns, size: int) -> Iterator[tuple[Any, np.ndarray | None]]:
        """Yield (X, Y) of at most `size` rows: X texts or an array, Y an array or None."""
        where = [self.position[column] for column in columns.features]
        text = [self.position[column] for column in columns.text]
        labels = [self.position[column] for column in columns.labels]
        X: list[Any] = []
        Y: list[list[float]] = []
        for line, row in self.rows():
            if text:
                X.append(" ".join(row[i] for i in text))
            else:
                X.append([self._number(row[i], line, i) for i in where])
            Y.append([self._truth(row[i], line, i) for i in labels])
            if len(X) == size:
                yield self._arrays(X, Y, columns)
                X, Y = [], []
        if X:
            yield self._arrays(X, Y, columns)

    def _arrays(self, X: list, Y: list, columns: Columns) -> tuple[Any, np.ndarray | None]:
        features = X if columns.text else np.array(X, dtype=np.float64).reshape(len(X), -1)
        return features, np.array(Y) if columns.labels else None

    def _number(self, field: str, line: int, column: int) -> float:
        try:
            value = float(field)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(
                f"{self.name}, line {line}, column {shown(self.names[column])}: found "
                f"{shown(field)}; expected a finite number (--text-column names columns of text, "
                "--ignore columns to leave out)."
            )
        return value

    def _truth(self, field: str, line: int, column: int) -> float:
        word = field.strip().lower()
        if word in _TRUTH:
            return _TRUTH[word]
        if word in _MISSING:
            return math.nan
        raise ValueError(
            f"{self.name}, line {line}, column {shown(self.names[column])}: found {shown(field)}; "
            "expected 0 or 1 for a label, or nothing where it is unknown."
        )


def _decoded(reader: Any) -> Iterator[str]:
    while line := reader.readline():
        try:
            yield line.decode("utf-8-sig" if reader.line == 1 else "utf-8")
        except UnicodeDecodeError:
            raise reader.error("this is not UTF-8 text") from None


@contextmanager
def open_csv(path: Path) -> Iterator[CsvReader]:
    """Open a CSV file, plain or compressed."""
    with open_lines(path) as reader:
        yield CsvReader(reader, str(path))
