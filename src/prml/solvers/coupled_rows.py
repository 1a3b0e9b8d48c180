"""What is here: the rows of G M while the rows of M change one after the other."""

import numpy as np

BLOCK = 16  # rows found by one product; more of them cost more corrections


class CoupledRows:
    """z_i = G[i] @ M for the label whose turn it is, M as the labels before it have left it.

    One row of G against all of M reads M once a label. A product for a block of labels reads it
    once a block; the rows of the block are then corrected by what changes.

    Parameters
    ----------
    G : ndarray of shape (n_labels, n_labels)
        Symmetric.
    M : ndarray of shape (n_labels, n_features)
        Owned from here on: `change` writes into it.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.solvers.coupled_rows import CoupledRows
    >>> rows = CoupledRows(np.array([[2.0, 1.0], [1.0, 3.0]]), np.eye(2))
    >>> rows.row(0).tolist()
    [2.0, 1.0]
    >>> rows.change(0, np.array([5.0, 0.0]))
    >>> rows.row(1).tolist()
    [5.0, 3.0]
    """

    def __init__(self, G: np.ndarray, M: np.ndarray):
        self.G, self.M = G, M
        self._first = self._end = 0
        self._rows = M[:0]

    def row(self, i: int) -> np.ndarray:
        """G[i] @ M, the caller's to change."""
        if not self._first <= i < self._end:
            self._first, self._end = i, min(i + BLOCK, len(self.M))
            self._rows = self.G[i : self._end] @ self.M
        return self._rows[i - self._first].copy()

    def change(self, i: int, row: np.ndarray) -> None:
        """Set row i of M."""
        if self._first <= i < self._end:
            column = self.G[self._first : self._end, i]
            self._rows += np.outer(column, row - self.M[i])
        else:
            self._end = self._first
        self.M[i] = row
