"""What is here: LIBSVM and XMC files, block of lines by block of lines."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from prml.datasets.libsvm import _Rows
from prml.datasets.text_input import LineReader, open_lines


class LibsvmLines:
    """A LIBSVM file, or with `has_header` an XMC file, whole or in blocks of about a megabyte."""

    def __init__(self, path: Path, n_features: int | None = None, has_header: bool = False):
        self._stack = ExitStack()
        self._reader = self._stack.enter_context(open_lines(path))
        self._n_features = n_features
        self.zero_based: bool | None = True if has_header else None
        if has_header and len(self._reader.readline().split()) != 3:
            raise self._reader.error("expected three numbers: examples, features, labels")

    def __enter__(self) -> "LibsvmLines":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def whole(self, zero_based: bool | None) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Read everything; an index 0 anywhere tells that the file counts from 0."""
        rows = _Rows(self._reader, np.dtype(np.float64))
        for first, lines in self._reader.blocks():
            rows.add(first, [line.partition(b"#")[0] for line in lines], skip_blank=True)
        if not rows.n_rows:
            raise self._reader.error("the file holds no examples")
        if zero_based is None:
            zero_based = rows.smallest_feature == 0 and rows.largest_feature != self._n_features
        self.zero_based = zero_based
        if not zero_based:
            rows.shift_features_down()
        return rows.features(self._n_features), rows.labels(None)

    def blocks(self, zero_based: bool) -> Iterator[sp.csr_matrix]:
        """Yield the features of block after block; labels are read over."""
        yield from libsvm_blocks(
            self._reader, self._n_features, zero_based, skip_blank=self.zero_based is None
        )


def libsvm_blocks(
    reader: LineReader, n_features: int | None, zero_based: bool, skip_blank: bool = True
) -> Iterator[sp.csr_matrix]:
    """Yield the features of about a megabyte of lines at a time.

    In an XMC file a blank line is an example without labels and features: `skip_blank=False`.
    """
    for first, lines in reader.blocks():
        rows = _Rows(reader, np.dtype(np.float64))
        rows.add(first, [line.partition(b"#")[0] for line in lines], skip_blank=skip_blank)
        if not rows.n_rows:
            continue
        if not zero_based:
            rows.shift_features_down()
        yield rows.features(n_features)
