"""What is here: Y, its known entries and the scores as users give them, made ready for loops."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from prml.metrics.loops import Indices
from prml.sparse_check import check_sparse_indices
from prml.targets import read_targets

_ENTRIES_A_BLOCK = 1 << 21  # 16 MB of float64: small beside any scores, large beside any overhead


class KnownLabels:
    """What is known of Y: index sets for the loops, shape and label names."""

    def __init__(self, Y: Any, mask: Any = None):
        targets = read_targets(Y, owner="the metric")
        self.n_samples, self.n_labels = targets.positives.shape
        self.label_names = targets.label_names
        missing, known = targets.missing, None
        if mask is not None:
            if not sp.issparse(mask):
                mask = np.asarray(mask)
            if mask.shape != targets.positives.shape:
                raise ValueError(
                    f"mask has shape {mask.shape}; expected that of Y, {targets.positives.shape}."
                )
            if sp.issparse(mask):
                known = sp.csr_matrix(mask, copy=True).astype(bool)
                known.sum_duplicates()
                known.eliminate_zeros()
            else:
                hidden = sp.csr_matrix(~_as_bool(mask))
                missing = hidden if missing is None else (missing.astype(bool) + hidden)
        self.indices = Indices(
            *_index_arrays(targets.positives, self.n_samples),
            *_index_arrays(missing, self.n_samples),
            *_index_arrays(known, self.n_samples),
            known is not None,
        )

    def count_positive(self) -> np.ndarray:
        """Count the ones of every label, unknown entries included (an upper bound when masked)."""
        return np.bincount(self.indices.positive_indices, minlength=self.n_labels)


def _as_bool(mask: np.ndarray) -> np.ndarray:
    if mask.dtype.kind != "b" and not np.isin(mask, (0, 1)).all():
        raise ValueError("mask holds values other than 0 and 1; expected True where Y is known.")
    return mask.astype(bool)


def _index_arrays(matrix: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    if matrix is None:
        return np.zeros(n_samples + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    matrix = matrix.tocsr()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)


class ScoreBlocks:
    """Walk over scores in blocks of rows, as often as needed, whatever form they came in.

    Parameters
    ----------
    scores : array-like or sparse matrix of shape (n_samples, n_labels), or row blocks
        Row blocks are an iterable of such arrays that follow each other, or a function without
        arguments that returns one. A one-shot iterator that has to be read twice is copied to a
        temporary file on disk while it is read first.
    shape : tuple
        The shape of Y.
    name : str
        What the scores are called in error messages.
    binary : bool
        Whether every entry has to be 0 or 1.
    """

    def __init__(
        self, scores: Any, shape: tuple[int, int], name: str = "scores", binary: bool = False
    ):
        self.shape, self.name, self.binary = shape, name, binary
        self._matrix: Any = None
        self._blocks: Callable[[], Iterable] | None = None
        self._spill: Any = None
        self.one_shot = False
        if callable(scores) and not hasattr(scores, "__array__"):
            self._blocks = scores
        elif _is_matrix(scores):
            self._matrix = self._checked_matrix(scores)
        elif isinstance(scores, Iterable):
            self._blocks = lambda: scores
            self.one_shot = iter(scores) is scores
        else:
            raise ValueError(
                f"{name} is a {type(scores).__name__}; expected an array of shape {shape} or an "
                "iterable of row blocks of it."
            )

    def _checked_matrix(self, scores: Any) -> Any:
        if sp.issparse(scores):
            check_sparse_indices(scores, "scores")
            matrix = scores.tocsr()
        else:
            matrix = np.asarray(scores)
        if matrix.ndim == 1 and self.shape[1] == 1:
            matrix = matrix[:, None]
        if matrix.shape != self.shape:
            raise ValueError(
                f"{self.name} has shape {matrix.shape}; expected that of Y, {self.shape}."
            )
        return matrix

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return some rows of scores that came as a matrix."""
        rows = self._matrix[start:stop]
        return self._checked(rows.toarray() if sp.issparse(rows) else rows, start)

    @property
    def is_matrix(self) -> bool:
        return self._matrix is not None

    def walk(self, again: bool = False) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (first row, block); with `again` a later walk is possible too."""
        if self.is_matrix:
            yield from self._walk_matrix()
        elif self._spill is not None:
            yield from self._walk_spill()
        elif self.one_shot and again:
            yield from self._walk_and_spill()
        else:
            yield from self._walk_blocks()

    def _walk_matrix(self) -> Iterator[tuple[int, np.ndarray]]:
        height = max(1, _ENTRIES_A_BLOCK // max(1, self.shape[1]))
        for start in range(0, self.shape[0], height):
            yield start, self.rows(start, min(start + height, self.shape[0]))

    def _walk_blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        assert self._blocks is not None
        start, (n_samples, n_labels) = 0, self.shape
        for block in self._blocks():
            block = block.toarray() if sp.issparse(block) else np.asarray(block)
            if block.ndim == 1 and n_labels == 1:
                block = block[:, None]
            if block.ndim != 2 or block.shape[1] != n_labels:
                raise ValueError(
                    f"The block of {self.name} at row {start} has shape {block.shape}; expected "
                    f"(rows, {n_labels})."
                )
            if start + len(block) > n_samples:
                raise ValueError(
                    f"The blocks of {self.name} have more rows than Y, which has {n_samples}."
                )
            yield start, self._checked(block, start)
            start += len(block)
        if start != n_samples:
            raise ValueError(
                f"The blocks of {self.name} have {start} rows together; expected the {n_samples} "
                "rows of Y."
            )

    def _walk_and_spill(self) -> Iterator[tuple[int, np.ndarray]]:
        spill = tempfile.TemporaryFile(prefix="prml-scores-")  # noqa: SIM115  # closed with self
        heights = []
        for start, block in self._walk_blocks():
            spill.write(memoryview(block).cast("B") if block.size else b"")
            heights.append(len(block))
            yield start, block
        self._spill = spill, heights

    def _walk_spill(self) -> Iterator[tuple[int, np.ndarray]]:
        spill, heights = self._spill
        spill.seek(0)
        start = 0
        for height in heights:
            data = bytearray(spill.read(height * self.shape[1] * 8))
            yield start, np.frombuffer(data, dtype=np.float64).reshape(height, self.shape[1])
            start += height

    def _checked(self, block: np.ndarray, start: int) -> np.ndarray:
        """Bring a block into the form of the loops: C-contiguous, float64, writeable, no NaN."""
        if block.dtype.kind not in "biuf":
            raise ValueError(f"{self.name} has dtype {block.dtype}; expected numbers.")
        block = np.require(block, dtype=np.float64, requirements=["C", "W"])
        wrong = ((block != 0) & (block != 1)) if self.binary else np.isnan(block)
        if wrong.any():
            row, label = np.argwhere(wrong)[0]
            expected = (
                "0 or 1 in every entry (cut scores first, or give cut=)"
                if self.binary
                else "a number in every entry"
            )
            raise ValueError(
                f"{self.name} holds {block[row, label]} at row {start + row}, label {label}; "
                f"expected {expected}."
            )
        return block


def _is_matrix(scores: Any) -> bool:
    if sp.issparse(scores) or hasattr(scores, "__array__"):
        return True
    if isinstance(scores, list | tuple):
        return len(scores) == 0 or (not sp.issparse(scores[0]) and np.ndim(scores[0]) < 2)
    return False
