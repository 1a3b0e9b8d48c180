"""What is here: the data section of an ARFF file, read block by block.

A block of rows without quotes is split and converted as a whole. When anything in it is unusual or
wrong, the block is read again row by row, which knows quoting and says what is wrong and where.
"""

import math
import re
from array import array

import numpy as np
import scipy.sparse as sp

from prml.datasets.arff_columns import Columns
from prml.datasets.arff_header import QUOTED, decode, unquote
from prml.datasets.text_input import LineReader, shown


def _sparse_pattern(value: bytes) -> re.Pattern[bytes]:
    entry = rb"\d{1,9}+[ \t]++" + value + rb"[ \t]*+"
    return re.compile(rb"\{[ \t]*+(?:" + entry + rb"(?:,[ \t]*+" + entry + rb")*+)?+\}")


_PLAIN_SPARSE = _sparse_pattern(rb"[^\s,{}'\"\\_%]++")
_INTEGER_SPARSE = _sparse_pattern(rb"\d{1,15}+")  # 15 digits: exact in a float
_NOT_PLAIN = re.compile(rb"['\"\\_{}]")
_VALUE = re.compile(rf"\s*+(?:({QUOTED})|([^,'\"{{}}]*+))\s*+(,|$)")
_ENTRY = re.compile(rf"\s*+(\d{{1,20}}+)\s++(?:({QUOTED})|([^\s,'\"{{}}]++))\s*+(,|$)")

NumberedRow = tuple[int, bytes]


def read_rows(reader: LineReader, columns: Columns, dtype: np.dtype) -> "RowCollector":
    """Read all rows after @data."""
    collector: RowCollector | None = None
    for first, lines in reader.blocks():
        rows = [
            (number, row)
            for number, line in enumerate(lines, start=first)
            if (row := line.strip()) and row[:1] != b"%"
        ]
        if not rows:
            continue
        if collector is None:
            collector = RowCollector(columns, dtype, sparse=rows[0][1][:1] == b"{")
        for number, row in rows:
            if (row[:1] == b"{") != collector.sparse:
                kinds = ("sparse", "dense") if collector.sparse else ("dense", "sparse")
                raise reader.error(
                    f"expected a {kinds[0]} row like the first, found a {kinds[1]} one", number
                )
        if collector.sparse:
            plain = [row for _, row in rows]
            collector.add_sparse(
                *(sparse_block(plain, columns) or sparse_rows(rows, columns, reader))
            )
        else:
            block = dense_block([row for _, row in rows], columns)
            collector.add_dense(dense_rows(rows, columns, reader) if block is None else block)
    if collector is None:
        raise reader.error("the file ends without a row after @data")
    return collector


def dense_block(rows: list[bytes], columns: Columns) -> np.ndarray | None:
    """Read unquoted dense rows into codes (n_rows, n_attributes); None when a row is unusual."""
    body = b",".join(rows)
    n = columns.n
    if _NOT_PLAIN.search(body) or any(row.count(b",") != n - 1 for row in rows):
        return None
    missing = b"?" in body
    try:
        if columns.only_numbers and not missing:
            codes = np.loadtxt(rows, delimiter=",", comments=None, ndmin=2)
        elif columns.only_numbers:
            codes = np.array(_floats(body.split(b","), missing)).reshape(-1, n)
        else:
            codes = np.empty((len(rows), n))
            tokens = [token.strip() for token in body.split(b",")]
            for j, read in enumerate(columns.byte_readers):
                column = tokens[j::n]
                codes[:, j] = _floats(column, missing) if read is float else list(map(read, column))
    except (KeyError, ValueError):
        return None
    return codes if columns.legal(np.arange(n), codes) else None


def _floats(tokens: list[bytes], some_missing: bool) -> list[float]:
    if some_missing:
        tokens = [b"nan" if token.strip() == b"?" else token for token in tokens]
    return list(map(float, tokens))


def dense_rows(rows: list[NumberedRow], columns: Columns, reader: LineReader) -> np.ndarray:
    """Read dense rows one by one; the result of `dense_block`, or the error."""
    codes = np.empty((len(rows), columns.n))
    for i, (number, row) in enumerate(rows):
        values = _dense_values(decode(row), reader, number)
        if len(values) != columns.n:
            raise reader.error(
                f"the row has {len(values)} values; expected {columns.n}, one an attribute", number
            )
        for j, (text, quoted) in enumerate(values):
            codes[i, j] = columns.code(j, text, quoted, reader, number)
    return codes


def _dense_values(row: str, reader: LineReader, number: int) -> list[tuple[str, bool]]:
    values = []
    place = 0
    while True:
        found = _VALUE.match(row, place)
        if not found:
            raise reader.error(f"cannot read a value at {shown(row[place:])}", number)
        if found[1] is not None:
            values.append((unquote(found[1]), True))
        elif found[2].strip():
            values.append((found[2].strip(), False))
        else:
            raise reader.error(
                f"value {len(values) + 1} is empty; expected ? where it is missing", number
            )
        place = found.end()
        if not found[3]:
            return values


SparseBlock = tuple[np.ndarray, np.ndarray, np.ndarray]


def sparse_block(rows: list[bytes], columns: Columns) -> SparseBlock | None:
    """Read unquoted sparse rows into entries a row, attributes and codes; None when unusual."""
    inner = [row[1:-1] for row in rows]
    body = b" ".join(inner).replace(b",", b" ")
    counts = np.array([row.count(b",") + (row.strip() != b"") for row in inner])
    try:
        if columns.only_numbers and all(map(_INTEGER_SPARSE.fullmatch, rows)):
            # numpy reads integers from text several times faster than floats.
            flat = np.fromstring(body, dtype=np.int64, sep=" ") if counts.any() else np.empty(0)
            attributes, codes = flat[0::2].astype(np.int32), flat[1::2].astype(np.float64)
        elif all(map(_PLAIN_SPARSE.fullmatch, rows)):
            attributes, codes = _mixed_entries(body.split(), columns)
        else:
            return None
    except (KeyError, ValueError, IndexError):
        return None
    if len(attributes) and attributes.max() >= columns.n:
        return None
    starts = np.zeros(len(attributes) + 1, dtype=bool)
    starts[np.cumsum(counts)] = True
    increasing = (np.diff(attributes) > 0)[~starts[1:-1]].all()
    return (counts, attributes, codes) if increasing and columns.legal(attributes, codes) else None


def _mixed_entries(tokens: list[bytes], columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    indices, texts = list(map(int, tokens[0::2])), tokens[1::2]
    if columns.only_numbers:
        codes = _floats(texts, b"?" in texts)
    else:
        readers = columns.byte_readers
        codes = [
            math.nan if text == b"?" else readers[j](text)
            for j, text in zip(indices, texts, strict=True)
        ]
    return np.array(indices, dtype=np.int32), np.array(codes, dtype=np.float64)


def sparse_rows(rows: list[NumberedRow], columns: Columns, reader: LineReader) -> SparseBlock:
    """Read sparse rows one by one; the result of `sparse_block`, or the error."""
    counts, attributes, codes = [], [], []
    for number, row in rows:
        entries: dict[int, float] = {}
        for j, text, quoted in _sparse_entries(decode(row), reader, number):
            if j >= columns.n:
                raise reader.error(
                    f"index {j} is out of range; expected less than the {columns.n} attributes",
                    number,
                )
            if j in entries:
                raise reader.error(f"index {j} occurs twice in the row", number)
            entries[j] = columns.code(j, text, quoted, reader, number)
        counts.append(len(entries))
        for j in sorted(entries):
            attributes.append(j)
            codes.append(entries[j])
    return (
        np.array(counts),
        np.array(attributes, dtype=np.int32),
        np.array(codes, dtype=np.float64),
    )


def _sparse_entries(row: str, reader: LineReader, number: int) -> list[tuple[int, str, bool]]:
    if not row.endswith("}"):
        raise reader.error(f"the sparse row is not closed by }}: {shown(row[-30:])}", number)
    body = row[1:-1]
    entries: list[tuple[int, str, bool]] = []
    place = 0
    while body.strip():
        found = _ENTRY.match(body, place)
        if not found:
            raise reader.error(
                f"cannot read {shown(body[place:])}; expected index and value, separated by commas",
                number,
            )
        quoted = found[2] is not None
        entries.append((int(found[1]), unquote(found[2]) if quoted else found[3], quoted))
        place = found.end()
        if not found[4]:
            break
    return entries


class RowCollector:
    """Codes on their way into X and Y, in buffers that grow in place."""

    def __init__(self, columns: Columns, dtype: np.dtype, *, sparse: bool) -> None:
        self.columns, self.sparse, self.n_rows = columns, sparse, 0
        self.dtype = np.dtype(dtype)
        self.values = array("f" if self.dtype == np.float32 else "d")
        self.indices, self.counts = array("i"), array("q")
        self.present_rows, self.present_labels = array("q"), array("i")
        self.missing_rows, self.missing_labels = array("q"), array("i")

    def add_dense(self, codes: np.ndarray) -> None:
        self.values.frombytes(
            codes[:, self.columns.features].astype(self.values.typecode).tobytes()
        )
        rows, labels = np.nonzero(codes[:, self.columns.labels])
        self._add_labels(rows, labels, codes[rows, self.columns.labels[labels]])
        self.n_rows += len(codes)

    def add_sparse(self, counts: np.ndarray, attributes: np.ndarray, codes: np.ndarray) -> None:
        rows = np.repeat(np.arange(len(counts)), counts)
        features, labels = self.columns.feature_of[attributes], self.columns.label_of[attributes]
        kept = (features >= 0) & (codes != 0)
        self.values.frombytes(codes[kept].astype(self.values.typecode).tobytes())
        self.indices.frombytes(features[kept].astype(np.int32).tobytes())
        self.counts.frombytes(np.bincount(rows[kept], minlength=len(counts)).astype("q").tobytes())
        kept = (labels >= 0) & (codes != 0)
        self._add_labels(rows[kept], labels[kept], codes[kept])
        self.n_rows += len(counts)

    def _add_labels(self, rows: np.ndarray, labels: np.ndarray, codes: np.ndarray) -> None:
        """Note the labels with code 1, and the missing ones; `rows` count within the block."""
        rows = (rows + self.n_rows).astype("q")
        labels = labels.astype(np.int32)
        missing = np.isnan(codes)
        self.present_rows.frombytes(rows[~missing].tobytes())
        self.present_labels.frombytes(labels[~missing].tobytes())
        self.missing_rows.frombytes(rows[missing].tobytes())
        self.missing_labels.frombytes(labels[missing].tobytes())

    def features(self) -> np.ndarray | sp.csr_matrix:
        values = np.frombuffer(self.values, dtype=self.values.typecode)
        shape = (self.n_rows, len(self.columns.features))
        if self.sparse:
            indptr = np.concatenate([[0], np.cumsum(np.frombuffer(self.counts, dtype=np.int64))])
            indices = np.frombuffer(self.indices, dtype=np.int32)
            return sp.csr_matrix((values, indices, indptr), shape=shape).astype(
                self.dtype, copy=False
            )
        return values.reshape(shape).astype(self.dtype, copy=False)

    def labels(self) -> np.ndarray | sp.csr_matrix:
        """Y as CSR; as an ndarray with NaN when a label is missing somewhere."""
        shape = (self.n_rows, len(self.columns.labels))
        rows, labels = (
            np.frombuffer(self.present_rows, "q"),
            np.frombuffer(self.present_labels, "i"),
        )
        lost = np.frombuffer(self.missing_rows, "q"), np.frombuffer(self.missing_labels, "i")
        Y = sp.csr_matrix((np.ones(len(rows)), (rows, labels)), shape=shape)
        if self.columns.inverted.any():
            Y = _invert_columns(Y, self.columns.inverted)
        if not len(lost[0]):
            return Y
        dense = Y.toarray()
        dense[lost] = np.nan
        return dense


def _invert_columns(Y: sp.csr_matrix, inverted: np.ndarray) -> sp.csr_matrix:
    """Swap 0 and 1 in the marked columns."""
    by_column = Y.tocsc()
    everyone = np.arange(Y.shape[0])
    pieces = []
    for j, swap in enumerate(inverted):
        held = by_column.indices[by_column.indptr[j] : by_column.indptr[j + 1]]
        pieces.append(np.setdiff1d(everyone, held) if swap else np.sort(held))
    indptr = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])])
    indices = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
    swapped = sp.csc_matrix((np.ones(len(indices)), indices, indptr), shape=Y.shape).tocsr()
    swapped.sort_indices()
    return swapped
