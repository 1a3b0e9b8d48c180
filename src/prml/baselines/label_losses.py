"""What is here: LEML's losses as functions of the factors A = XW and H, over all or some entries.

The scores of all labels are A H' with A (n_samples, k) and H (n_labels, k). A *fit* offers, for
one loss and one set of known entries: its value by label, its gradient with respect to A and H,
and the products with its second derivatives that Newton-CG asks for. `SquaredFit` never forms an
(n_samples, n_labels) array; `EntrywiseFit` holds one number for each known entry.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, xlogy

from prml.loops.jit import jit
from prml.targets import Targets


class Loss(NamedTuple):
    """A loss of a score z and a truth y in {0, 1}, with what its minimisers need.

    `dual(q, y)` is minus the conjugate at -q, the most that <q, .> can certify; see `global_gap`.
    """

    value: Callable
    slope: Callable
    curvature: Callable
    dual: Callable
    largest_curvature: float
    cut: float


def _sign(y):
    return 2.0 * y - 1.0


def _squared_hinge_slack(z, y):
    return np.maximum(0.0, 1.0 - _sign(y) * z)


def _logistic_curvature(z, y):
    p = expit(z)
    return p * (1.0 - p)


def _logistic_dual(q, y):
    p = np.clip(_sign(y) * q, 0.0, 1.0)
    return -xlogy(p, p) - xlogy(1.0 - p, 1.0 - p)


def _squared_hinge_dual(q, y):
    margin = np.maximum(_sign(y) * q, 0.0)
    return margin - margin**2 / 4


LOSSES = {
    "squared": Loss(
        value=lambda z, y: (y - z) ** 2,
        slope=lambda z, y: 2.0 * (z - y),
        curvature=lambda z, y: np.full(np.shape(z), 2.0),
        dual=lambda q, y: q * y - q**2 / 4,
        largest_curvature=2.0,
        cut=0.5,
    ),
    "logistic": Loss(
        value=lambda z, y: np.logaddexp(0.0, -_sign(y) * z),
        slope=lambda z, y: expit(z) - y,
        curvature=_logistic_curvature,
        dual=_logistic_dual,
        largest_curvature=0.25,
        cut=0.0,
    ),
    "squared_hinge": Loss(
        value=lambda z, y: _squared_hinge_slack(z, y) ** 2,
        slope=lambda z, y: -2.0 * _sign(y) * _squared_hinge_slack(z, y),
        curvature=lambda z, y: 2.0 * (_squared_hinge_slack(z, y) > 0),
        dual=_squared_hinge_dual,
        largest_curvature=2.0,
        cut=0.0,
    ),
}


class AllEntries:
    """Every entry of Y is known: an entry array is (n_samples, n_labels)."""

    def __init__(self, positives: sp.csr_matrix):
        self.y = positives.toarray().astype(np.int8)

    def scores(self, A, H):
        return A @ H.T

    def times_labels(self, entries, H):
        """Entries @ H, (n_samples, k)."""
        return entries @ H

    def times_samples(self, entries, A):
        """Entries' @ A, (n_labels, k)."""
        return entries.T @ A

    def by_label(self, entries):
        return entries.sum(axis=0)


class ObservedEntries:
    """Some entries are missing: an entry array holds the known ones only, row by row."""

    def __init__(self, positives: sp.csr_matrix, missing: sp.csr_matrix):
        known = missing.toarray() == 0
        self.shape = positives.shape
        pattern = sp.csr_matrix(known, dtype=np.float64)
        self.indices, self.indptr = pattern.indices, pattern.indptr
        self.y = positives.toarray()[known].astype(np.int8)

    def _matrix(self, entries):
        return sp.csr_matrix((entries, self.indices, self.indptr), shape=self.shape)

    def scores(self, A, H):
        out = np.empty(len(self.indices))
        sampled_product(
            np.ascontiguousarray(A), np.ascontiguousarray(H), self.indptr, self.indices, out
        )
        return out

    def times_labels(self, entries, H):
        return self._matrix(entries) @ H

    def times_samples(self, entries, A):
        return self._matrix(entries).T @ A

    def by_label(self, entries):
        return np.bincount(self.indices, weights=entries, minlength=self.shape[1])


@jit
def sampled_product(A, H, indptr, indices, out):
    """Write (A @ H.T)[j, i] at every entry (j, i) of a CSR pattern into `out`."""
    k = A.shape[1]
    for j in range(len(indptr) - 1):
        for e in range(indptr[j], indptr[j + 1]):
            i = indices[e]
            total = 0.0
            for c in range(k):
                total += A[j, c] * H[i, c]
            out[e] = total


class EntrywiseFit:
    """Any loss over the known entries; memory of a few numbers for each of them."""

    separates_components = False

    def __init__(self, loss: Loss, targets: Targets):
        self.loss = loss
        self.quadratic = loss is LOSSES["squared"]
        self.largest_curvature = loss.largest_curvature
        self.entries: AllEntries | ObservedEntries
        if targets.missing is None:
            self.entries = AllEntries(targets.positives)
        else:
            self.entries = ObservedEntries(targets.positives, targets.missing)

    def by_label(self, A, H):
        """Loss of each label, (n_labels,)."""
        z = self.entries.scores(A, H)
        return self.entries.by_label(self.loss.value(z, self.entries.y))

    def value(self, A, H):
        return float(self.by_label(A, H).sum())

    def expand_in_A(self, A, H):
        """Return the gradient with respect to A, and S -> its second derivative times S."""
        slope, curvature = self._derivatives(A, H)
        entries = self.entries
        return entries.times_labels(slope, H), lambda S: entries.times_labels(
            curvature * entries.scores(S, H), H
        )

    def expand_in_H(self, A, H):
        """Return the gradient with respect to H, and S -> its second derivative times S."""
        slope, curvature = self._derivatives(A, H)
        entries = self.entries
        return entries.times_samples(slope, A), lambda S: entries.times_samples(
            curvature * entries.scores(A, S), A
        )

    def _derivatives(self, A, H):
        z = self.entries.scores(A, H)
        return self.loss.slope(z, self.entries.y), self.loss.curvature(z, self.entries.y)

    def dual_direction(self, A, H):
        """Return v -> Q v, w -> Q'w and t -> dual value of t Q, Q being minus the slopes."""
        q, y = -self._derivatives(A, H)[0], self.entries.y
        times_labels, times_samples = self.entries.times_labels, self.entries.times_samples
        return (
            lambda v: times_labels(q, v),
            lambda w: times_samples(q, w),
            lambda t: float(self.loss.dual(t * q, y).sum()),
        )


class SquaredFit:
    """The squared loss when every entry is known: closed forms, and Y - A H' is never formed."""

    # With H'H diagonal the columns of A, hence those of W, are problems of their own.
    separates_components = True
    quadratic = True
    largest_curvature = 2.0

    def __init__(self, targets: Targets):
        self.Y = targets.positives
        self.Y_by_label = self.Y.T.tocsr()
        self.total = float(self.Y.nnz)  # |Y|^2, its entries being 0 and 1

    def value(self, A, H):
        return self.total - 2 * np.vdot(self.Y @ H, A) + np.vdot(A.T @ A, H.T @ H)

    def expand_in_A(self, A, H):
        gram = H.T @ H
        return 2 * (A @ gram - self.Y @ H), lambda S: 2 * (S @ gram)

    def expand_in_H(self, A, H):
        gram = A.T @ A
        return 2 * (H @ gram - self.Y_by_label @ A), lambda S: 2 * (S @ gram)

    def dual_direction(self, A, H):
        value, cross = self.value(A, H), np.vdot(self.Y @ H, A)
        return (
            lambda v: 2 * (self.Y @ v - A @ (H.T @ v)),
            lambda w: 2 * (self.Y_by_label @ w - H @ (A.T @ w)),
            lambda t: float(2 * t * (self.total - cross) - t**2 * value),
        )


def choose_fit(loss: str, targets: Targets) -> SquaredFit | EntrywiseFit:
    """Return the cheapest fit of a loss for these targets."""
    if loss == "squared" and targets.missing is None:
        return SquaredFit(targets)
    return EntrywiseFit(LOSSES[loss], targets)
