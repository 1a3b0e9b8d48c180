"""What is here: one classifier chain over sparse features, for ECC."""

import time
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from prml.baselines.linear import Machine, fit_machine, intercept_alone


class Chain(NamedTuple):
    """One fitted chain; labels go by their column in Y, not by their place in the chain.

    `coef` (n_labels, n_features), `intercept` (n_labels,) and `label_coef` (n_labels, n_labels),
    where label_coef[i, j] is the weight of label j in the machine of label i: 0 unless j comes
    before i. `complete` is False when the deadline cut the chain short, `slow` counts the machines
    that met max_iter.
    """

    coef: np.ndarray
    intercept: np.ndarray
    label_coef: np.ndarray
    n_iter: int
    slow: int
    complete: bool


def fit_chain(
    machine: Machine,
    X: sp.csr_matrix,
    positives: sp.csr_matrix,
    order: np.ndarray,
    counts: np.ndarray,
    deadline: float,
) -> Chain:
    """Fit the labels one after the other, each on x and the labels before it.

    An example drawn `counts[j]` times is one row of that weight, which is the same objective as
    `counts[j]` equal rows and a third less work for a bootstrap. Past the deadline (of
    `time.monotonic`) the labels that remain score by their frequency.
    """
    drawn = np.flatnonzero(counts)
    X, positives = X[drawn], positives[drawn]
    weight = counts[drawn].astype(np.float64)
    n_features, n_labels = X.shape[1], positives.shape[1]
    in_chain = positives[:, order]
    in_chain.sort_indices()
    growing, slots = append_empty_labels(X, in_chain)
    by_place = in_chain.tocsc()

    coef = np.zeros((n_labels, n_features))
    label_coef = np.zeros((n_labels, n_labels))
    prevalence = np.empty(n_labels)
    prevalence[order] = (weight @ in_chain) / weight.sum()
    intercept = intercept_alone(machine.loss, prevalence)
    n_iter = slow = 0
    complete = True
    for place, label in enumerate(order):
        if place and time.monotonic() > deadline:
            complete = False
            break
        rows = by_place.indices[by_place.indptr[place] : by_place.indptr[place + 1]]
        if 0 < len(rows) < len(drawn):
            present = np.zeros(len(drawn))
            present[rows] = 1
            fitted = fit_machine(machine, growing, present, weight)
            coef[label] = fitted.coef[0, :n_features]
            label_coef[label, order] = fitted.coef[0, n_features:]
            intercept[label] = fitted.intercept[0]
            n_iter = max(n_iter, fitted.n_iter)
            slow += fitted.n_iter >= machine.max_iter
        growing.data[slots[by_place.indptr[place] : by_place.indptr[place + 1]]] = 1
    return Chain(coef, intercept, label_coef, n_iter, slow, complete)


def append_empty_labels(
    X: sp.csr_matrix, labels: sp.csr_matrix
) -> tuple[sp.csr_matrix, np.ndarray]:
    """Append the columns of `labels` to X with the value 0 wherever a label is present.

    A stored 0 adds nothing to any product, so the machine of a label sees exactly the columns that
    were set to 1 before it; the structure is built once for the whole chain.

    Returns
    -------
    csr_matrix of shape (n_samples, n_features + n_labels)
    slots : ndarray of int
        Where the entries of `labels` are in the data of the result, column after column as in
        `labels.tocsc()`.
    """
    x_places = np.arange(X.nnz) + np.repeat(labels.indptr[:-1], np.diff(X.indptr))
    label_places = np.arange(labels.nnz) + np.repeat(X.indptr[1:], np.diff(labels.indptr))
    indices = np.empty(X.nnz + labels.nnz, dtype=np.int32)
    indices[x_places] = X.indices
    indices[label_places] = labels.indices + X.shape[1]
    data = np.zeros(len(indices))
    data[x_places] = X.data
    indptr = (X.indptr + labels.indptr).astype(np.int32)
    shape = (X.shape[0], X.shape[1] + labels.shape[1])
    by_column = np.argsort(labels.indices, kind="stable")
    return sp.csr_matrix((data, indices, indptr), shape=shape), label_places[by_column]


def chain_scores(X, coef, intercept, label_coef, order) -> np.ndarray:
    """Score every label, each label predicted so far entering the machines of the later ones.

    A predicted label adds its column of weights to the rows that carry it, so the cost beyond
    X @ coef.T is n_labels for each label predicted.
    """
    scores = np.asarray(X @ coef.T)
    scores += intercept
    for label in order:
        rows = np.flatnonzero(scores[:, label] > 0)
        scores[rows] += label_coef[:, label]
    return scores
