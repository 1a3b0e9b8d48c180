"""What is here: readers of the LIBSVM and the XMC text formats, both streaming.

Both hold one example a line: label numbers joined by commas, then `index:value` pairs. A line
that starts with a pair, or with a space, has no labels. XMC puts a line `n d L` first.
"""

import os
import re
from array import array
from typing import IO, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from prml.datasets.text_input import NUMBER, LineReader, open_lines, shown

# 15 digits: more cannot be an index, and would not be exact in a float on the way to one.
_INDEX = rb"\d{1,15}+"
_PAIR = _INDEX + rb":(?:" + NUMBER + rb"|[nN][aA][nN])"
# Group 1: the labels; group 2: the pairs. A label must not be the index of the first pair.
_ROW = re.compile(
    rb"("
    + _INDEX
    + rb"(?:,"
    + _INDEX
    + rb")*+(?!:))?+[ \t]*+((?:"
    + _PAIR
    + rb"(?:[ \t]++|(?=[\r\n]|$)))*+)[\r\n]*+"
)
_LARGEST = np.iinfo(np.int32).max


def load_libsvm(
    path: str | os.PathLike,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    dtype: type = np.float64,
) -> Bunch:
    """Read a multi-label file in LIBSVM format, plain or compressed.

    Parameters
    ----------
    path : path-like
        The file; gzip, bzip2 and xz are read too.
    n_features, n_labels : int, optional
        The number of columns of X and Y; by default what the largest numbers in the file ask for.
    zero_based : bool or "auto", default="auto"
        Whether the first feature has index 0. "auto" takes the file as one-based when index 0
        does not occur (or `n_features` itself does); give a bool when reading parts of one set.
        Labels are always numbered from 0.
    dtype : dtype, default=float64
        Of X.

    Returns
    -------
    Bunch
        `X` and `Y`, both CSR, and `source`, the path.

    Raises
    ------
    ValueError
        With file and line, when a line cannot be read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from prml.datasets import load_libsvm
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.svm"
    >>> _ = path.write_text("0,2 0:1.5 3:2\\n 1:1\\n")
    >>> tiny = load_libsvm(path)
    >>> tiny.X.toarray().tolist()
    [[1.5, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 0.0]]
    >>> tiny.Y.toarray().astype(int).tolist()
    [[1, 0, 1], [0, 0, 0]]
    """
    with open_lines(path) as reader:
        rows = _Rows(reader, np.dtype(dtype))
        for first, lines in reader.blocks():
            rows.add(first, [line.partition(b"#")[0] for line in lines], skip_blank=True)
        if not rows.n_rows:
            raise reader.error("the file holds no examples")
        if zero_based == "auto":
            zero_based = rows.smallest_feature == 0 and rows.largest_feature != n_features
        if not zero_based:
            rows.shift_features_down()
        X = rows.features(n_features)
        Y = rows.labels(n_labels)
    return Bunch(X=X, Y=Y, source=os.fspath(path))


def load_xmc(path: str | os.PathLike, *, dtype: type = np.float64) -> Bunch:
    """Read a file of the extreme classification repository: a line `n d L`, then n examples.

    Parameters
    ----------
    path : path-like
        The file; gzip, bzip2 and xz are read too.
    dtype : dtype, default=float64
        Of X.

    Returns
    -------
    Bunch
        `X` and `Y`, both CSR, and `source`, the path.

    Raises
    ------
    ValueError
        With file and line, when a line cannot be read or contradicts the first.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from prml.datasets import load_xmc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.txt"
    >>> _ = path.write_text("2 4 3\\n0,2 0:1.5 3:2\\n 1:1\\n")
    >>> load_xmc(path).X.toarray().tolist()
    [[1.5, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 0.0]]
    """
    with open_lines(path) as reader:
        X, Y = _read_xmc(reader, np.dtype(dtype))
    return Bunch(X=X, Y=Y, source=os.fspath(path))


def read_xmc_stream(
    stream: IO[bytes], name: str, dtype: np.dtype
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """`load_xmc` of an open binary stream; `name` stands for the file in errors."""
    return _read_xmc(LineReader(stream, name), dtype)


def _read_xmc(reader: LineReader, dtype: np.dtype) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    header = reader.readline()
    sizes = header.split()
    if len(sizes) != 3 or not all(size.isdigit() for size in sizes):
        raise reader.error(
            f"the first line is {shown(header.strip())}; expected three numbers: examples, "
            "features, labels"
        )
    if any(len(size) > 15 or int(size) > _LARGEST for size in sizes):
        raise reader.error(f"the first line has a number above {_LARGEST}")
    n_samples, n_features, n_labels = map(int, sizes)
    rows = _Rows(reader, dtype)
    for first, lines in reader.blocks():
        room = n_samples - rows.n_rows
        for extra, line in enumerate(lines[room:]):
            if line.strip():
                raise reader.error(
                    f"there are more examples than the {n_samples} of the first line",
                    first + room + extra,
                )
        rows.add(first, lines[:room], skip_blank=False)
    if rows.n_rows != n_samples:
        raise reader.error(
            f"the file ends after {rows.n_rows} examples; the first line says {n_samples}"
        )
    return rows.features(n_features), rows.labels(n_labels)


class _Rows:
    """The examples read so far, in buffers that grow in place."""

    def __init__(self, reader: LineReader, dtype: np.dtype) -> None:
        self.reader, self.dtype = reader, dtype
        self.values = array("f" if dtype == np.float32 else "d")
        self.indices, self.label_indices = array("i"), array("i")
        self.counts, self.label_counts = array("q"), array("q")
        self.smallest_feature, self.largest_feature, self.largest_label = _LARGEST, -1, -1
        self.line_of_zero = self.line_of_largest = self.line_of_label = 0

    @property
    def n_rows(self) -> int:
        return len(self.counts)

    def add(self, first: int, lines: list[bytes], *, skip_blank: bool) -> None:
        heads, tails, numbers = [], [], []
        for number, line in enumerate(lines, start=first):
            if skip_blank and not line.strip():
                continue
            found = _ROW.fullmatch(line)
            if found is None:
                raise self.reader.error(_what_is_wrong(line), number)
            heads.append(found[1] or b"")
            tails.append(found[2])
            numbers.append(number)
        counts = np.array([tail.count(b":") for tail in tails], dtype=np.int64)
        label_counts = np.array([head.count(b",") + 1 if head else 0 for head in heads], np.int64)
        tokens = b" ".join(tails).replace(b":", b" ").split()
        indices = _integers(tokens[0::2], "feature index", counts, numbers, self.reader)
        values = np.fromiter(map(float, tokens[1::2]), np.float64, len(indices))
        label_tokens = b",".join(head for head in heads if head).split(b",")
        labels = _integers(
            label_tokens if label_counts.any() else [], "label", label_counts, numbers, self.reader
        )
        _refuse_duplicates(indices, counts, "feature", numbers, self.reader)
        _refuse_duplicates(labels, label_counts, "label", numbers, self.reader)
        self._note_extremes(indices, counts, labels, label_counts, numbers)
        self.values.frombytes(values.astype(self.values.typecode).tobytes())
        self.indices.frombytes(indices.tobytes())
        self.label_indices.frombytes(labels.tobytes())
        self.counts.frombytes(counts.tobytes())
        self.label_counts.frombytes(label_counts.tobytes())

    def _note_extremes(self, indices, counts, labels, label_counts, numbers) -> None:
        if len(indices):
            if indices.min() < self.smallest_feature:
                self.smallest_feature = int(indices.min())
                self.line_of_zero = _line_of(int(indices.argmin()), counts, numbers)
            if indices.max() > self.largest_feature:
                self.largest_feature = int(indices.max())
                self.line_of_largest = _line_of(int(indices.argmax()), counts, numbers)
        if len(labels) and labels.max() > self.largest_label:
            self.largest_label = int(labels.max())
            self.line_of_label = _line_of(int(labels.argmax()), label_counts, numbers)

    def shift_features_down(self) -> None:
        """Turn one-based feature indices into zero-based ones."""
        if self.smallest_feature == 0:
            raise self.reader.error(
                "feature index 0 occurs; expected 1 or more in a one-based file", self.line_of_zero
            )
        np.frombuffer(self.indices, dtype=np.int32)[:] -= 1
        self.largest_feature = max(self.largest_feature - 1, -1)

    def features(self, n_features: int | None) -> sp.csr_matrix:
        if n_features is not None and self.largest_feature >= n_features:
            raise self.reader.error(
                f"feature {self.largest_feature} (counted from 0) is out of range; expected less "
                f"than {n_features}",
                self.line_of_largest,
            )
        values = np.frombuffer(self.values, dtype=self.values.typecode)
        width = self.largest_feature + 1 if n_features is None else n_features
        X = _csr(values, self.indices, self.counts, width)
        X.eliminate_zeros()
        return X if X.dtype == self.dtype else X.astype(self.dtype)

    def labels(self, n_labels: int | None) -> sp.csr_matrix:
        if n_labels is not None and self.largest_label >= n_labels:
            raise self.reader.error(
                f"label {self.largest_label} is out of range; expected less than {n_labels}",
                self.line_of_label,
            )
        width = self.largest_label + 1 if n_labels is None else n_labels
        ones = np.ones(len(self.label_indices))
        return _csr(ones, self.label_indices, self.label_counts, width)


def _csr(values: np.ndarray, indices: array, counts: array, width: int) -> sp.csr_matrix:
    indptr = np.concatenate([[0], np.cumsum(np.frombuffer(counts, dtype=np.int64))])
    columns = np.frombuffer(indices, dtype=np.int32)
    matrix = sp.csr_matrix((values, columns, indptr), shape=(len(counts), width))
    matrix.sort_indices()
    return matrix


def _integers(tokens, what, counts, numbers, reader) -> np.ndarray:
    wide = np.fromiter(map(int, tokens), np.float64, len(tokens))
    if len(wide) and wide.max() > _LARGEST:
        where = int(wide.argmax())
        raise reader.error(
            f"{what} {shown(tokens[where])} is too large", _line_of(where, counts, numbers)
        )
    return wide.astype(np.int32)


def _line_of(entry: int, counts: np.ndarray, numbers: list[int]) -> int:
    return numbers[int(np.searchsorted(np.cumsum(counts), entry, side="right"))]


def _refuse_duplicates(indices, counts, what, numbers, reader) -> None:
    starts = np.zeros(len(indices) + 1, dtype=bool)
    starts[np.cumsum(counts)] = True
    if (np.diff(indices) > 0)[~starts[1:-1]].all():
        return  # the usual case: increasing within every row
    rows = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((indices, rows))
    same = (np.diff(rows[order]) == 0) & (np.diff(indices[order]) == 0)
    if same.any():
        entry = int(order[:-1][same].min())
        raise reader.error(
            f"{what} {indices[entry]} occurs twice in the line", numbers[int(rows[entry])]
        )


def _what_is_wrong(line: bytes) -> str:
    """Say which word of a line that does not match is the culprit."""
    words = line.split()
    pairs = words
    if words and b":" not in words[0] and not line[:1].isspace():
        if not re.fullmatch(rb"\d{1,15}(?:,\d{1,15})*", words[0]):
            return f"found {shown(words[0])}; expected label numbers joined by commas"
        pairs = words[1:]
    for word in pairs:
        if not re.fullmatch(_PAIR, word):
            return f"found {shown(word)}; expected index:value"
    return f"cannot read {shown(line.strip())}; expected labels, then index:value pairs"
