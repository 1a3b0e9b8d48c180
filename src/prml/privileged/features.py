"""What is here: the label vectors of the examples as features of a label's teacher.

The teacher of label i sees, for example j, the vector v_j with +1 for each other label that is
present, -1 for each absent one and 0 for an unknown one. It is never stored: v_j = -1 + correction,
and the correction (2 where present, 1 where unknown) is as sparse as Y.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from prml.loops.grouping import (
    drop_column,
    group_equal_rows,
    groups_with_one_less,
    restrict_rows,
)
from prml.privileged.pools import Pools
from prml.targets import Targets


class Teacher(NamedTuple):
    """What one label's teacher sees, equal vectors merged into groups.

    Attributes
    ----------
    labels : ndarray of shape (n_teachers,)
        The labels that comment.
    group : ndarray of shape (n,)
        The group of each example.
    indptr, indices, values : ndarrays
        The correction of each group in CSR form, columns numbered as in `labels`.
    norm : ndarray of shape (n_groups,)
        |v_g|^2, the privileged intercept counted.
    bias : float
        1 with the privileged intercept, else 0.
    """

    labels: np.ndarray
    group: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    norm: np.ndarray
    bias: float

    def vectors(self) -> np.ndarray:
        """The distinct vectors v_g in full, (n_groups, n_teachers); for small problems."""
        shape = (len(self.norm), len(self.labels))
        return sp.csr_matrix((self.values, self.indices, self.indptr), shape=shape).toarray() - 1.0


class LabelFeatures:
    """The privileged label features of a training set.

    Parameters
    ----------
    targets : Targets
    pools : list of ndarray or None
        The labels that comment on each label; None: all others.
    intercept : bool
        Whether the teacher has a constant feature.
    enabled : bool
        False: no teacher at all, every slack is 0.

    Examples
    --------
    >>> from prml.privileged import LabelFeatures
    >>> from prml.targets import read_targets
    >>> features = LabelFeatures(read_targets([[1, 0, 1], [0, 1, 1], [1, 0, 1]]))
    >>> teacher = features.of_label(0)
    >>> teacher.vectors().tolist(), teacher.group.tolist()
    ([[-1.0, 1.0], [1.0, 1.0]], [0, 1, 0])
    """

    def __init__(
        self,
        targets: Targets,
        pools: Pools = None,
        intercept: bool = True,
        enabled: bool = True,
    ):
        correction = 2.0 * targets.positives
        if targets.missing is not None:
            correction = (correction + targets.missing).tocsr()
        correction.sort_indices()
        self._correction = correction
        self._has_missing = targets.missing is not None
        self.n_samples, self.n_labels = correction.shape
        self.pools = pools
        self.bias = float(intercept and enabled)
        self.enabled = enabled
        # Fixed keys: the groups do not depend on anything the user sets.
        self._keys = np.random.default_rng(0).integers(1, 2**40, size=self.n_labels)

    @cached_property
    def _whole(self) -> "_WholeVectors | None":
        """What `of_label` starts from where every label comments and none is unknown.

        Found when first asked for: the smooth losses never ask.
        """
        comments_on_all = self.enabled and self.pools is None and not self._has_missing
        return _WholeVectors(self._correction, self._keys) if comments_on_all else None

    @property
    def correction(self) -> sp.csr_matrix:
        """2 where a label is present, 1 where it is unknown: v = -1 + correction."""
        return self._correction

    def labels_of(self, i: int) -> np.ndarray:
        """The labels that comment on label i."""
        if not self.enabled:
            return np.empty(0, dtype=np.intp)
        if self.pools is None:
            return np.flatnonzero(np.arange(self.n_labels) != i)
        return self.pools[i]

    def of_label(self, i: int, rows: np.ndarray | None = None) -> Teacher:
        """What the teacher of label i sees of the examples `rows`, ascending (all)."""
        if rows is None:
            rows = np.arange(self.n_samples)
        labels = self.labels_of(i)
        if self._whole is not None and len(rows) == self.n_samples:
            group, indptr, indices, values = self._whole.without(i)
            norm = np.full(len(indptr) - 1, len(labels) + self.bias)
            return Teacher(labels, group, indptr, indices, values, norm, self.bias)
        local = np.full(self.n_labels, -1, dtype=np.int32)
        local[labels] = np.arange(len(labels))
        c = self._correction
        group, first = group_equal_rows(c.indptr, c.indices, c.data, rows, local, self._keys)
        indptr, indices, values = restrict_rows(c.indptr, c.indices, c.data, first, local)
        norm = np.full(len(first), len(labels) + self.bias)
        if self._has_missing:
            unknown = np.repeat(np.arange(len(first)), np.diff(indptr))[values == 1.0]
            norm -= np.bincount(unknown, minlength=len(first))
        return Teacher(labels, group, indptr, indices, values, norm, self.bias)


class _WholeVectors:
    """The distinct label vectors, found once: each label's own are these without its column."""

    def __init__(self, correction: sp.csr_matrix, keys: np.ndarray):
        n_labels = correction.shape[1]
        c, everyone = correction, np.arange(n_labels, dtype=np.int32)
        rows = np.arange(correction.shape[0])
        self._group, first = group_equal_rows(c.indptr, c.indices, c.data, rows, everyone, keys)
        vectors = restrict_rows(c.indptr, c.indices, c.data, first, everyone)
        self._indptr, self._indices, self._values = vectors
        self._twin = groups_with_one_less(*vectors, keys)
        self._by_column = np.argsort(self._indices, kind="stable")
        self._column = np.searchsorted(self._indices[self._by_column], np.arange(n_labels + 1))

    def without(self, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Group of each row, and indptr, indices, values of the groups, column i taken out."""
        entries = self._by_column[self._column[i] : self._column[i + 1]]
        vectors = (self._indptr, self._indices, self._values)
        return drop_column(self._group, *vectors, self._twin, entries, i)
