"""What is here: the compiled passes over blocks of scores; every metric is made of their results.

Conventions of every loop. `scores` (n_block, n_labels) is C-contiguous float64 without NaN, its
first row is row `start` of Y. Y and what is known of it come as index arrays of CSR matrices over
*all* rows: `positive_*` the relevant labels, `missing_*` the unknown ones, `known_*` the known ones
when `only_known` (else ignored). Inside a row `status` is 1 for a relevant, 0 for an irrelevant and
-1 for an unknown label; unknown labels are treated as if they did not exist. Results are written in
place.
"""

from typing import NamedTuple

import numpy as np

from prml.loops.jit import jit


class Indices(NamedTuple):
    """The three index sets of Y as plain arrays, in the order in which the loops take them."""

    positive_indptr: np.ndarray
    positive_indices: np.ndarray
    missing_indptr: np.ndarray
    missing_indices: np.ndarray
    known_indptr: np.ndarray
    known_indices: np.ndarray
    only_known: bool


@jit
def fill_status(status, row, Y):
    """Write the status of every label of one row; return the numbers of relevant and known ones."""
    n_known = status.shape[0]
    if Y.only_known:
        n_known = 0
        status[:] = -1
        for t in range(Y.known_indptr[row], Y.known_indptr[row + 1]):
            status[Y.known_indices[t]] = 0
            n_known += 1
    else:
        status[:] = 0
    for t in range(Y.missing_indptr[row], Y.missing_indptr[row + 1]):
        label = Y.missing_indices[t]
        if status[label] == 0:
            status[label] = -1
            n_known -= 1
    n_relevant = 0
    for t in range(Y.positive_indptr[row], Y.positive_indptr[row + 1]):
        label = Y.positive_indices[t]
        if status[label] == 0:
            status[label] = 1
            n_relevant += 1
    return n_relevant, n_known


@jit
def count_at_most(ascending, low, high, value):
    """Count the entries of the sorted `ascending[low:high]` that are <= value."""
    first = low
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - first


@jit
def count_below(ascending, low, high, value):
    """Count the entries of the sorted `ascending[low:high]` that are < value."""
    first = low
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low - first


@jit
def rank_rows(scores, start, Y, one_error, coverage, ranking_loss, average_precision):
    """Write four ranking measures of every row of the block, NaN where a row is to be dropped.

    A tie counts against the relevant label, except at the top, where one relevant label among
    those tied is enough. Work per row: n_labels times log(relevant labels) at most; a label scored
    below every relevant one costs a comparison.
    """
    n_labels = scores.shape[1]
    status = np.empty(n_labels, dtype=np.int8)
    relevant = np.empty(n_labels, dtype=np.float64)
    # irrelevant[t]: irrelevant labels whose score is >= exactly t of the sorted relevant scores
    irrelevant = np.empty(n_labels + 1, dtype=np.int64)
    for i in range(scores.shape[0]):
        row = start + i
        one_error[row] = coverage[row] = np.nan
        ranking_loss[row] = average_precision[row] = np.nan
        p, n_known = fill_status(status, row, Y)
        if p == 0:
            continue
        q = n_known - p
        t = 0
        for at in range(Y.positive_indptr[row], Y.positive_indptr[row + 1]):
            label = Y.positive_indices[at]
            if status[label] == 1:
                relevant[t] = scores[i, label]
                t += 1
        relevant[:p].sort()
        irrelevant[: p + 1] = 0
        lowest = relevant[0]
        best_irrelevant = -np.inf
        for label in range(n_labels):
            if status[label] == 0:
                score = scores[i, label]
                best_irrelevant = max(best_irrelevant, score)
                if score >= lowest:
                    irrelevant[count_at_most(relevant, 0, p, score)] += 1
        above = 0  # irrelevant labels at or above the relevant label t
        pairs = 0
        precision = 0.0
        equal_or_better = 0  # relevant labels at or above the relevant label t
        for t in range(p - 1, -1, -1):
            above += irrelevant[t + 1]
            pairs += above
            if t == p - 1 or relevant[t] != relevant[t + 1]:
                equal_or_better = p - count_below(relevant, 0, p, relevant[t])
            precision += equal_or_better / (equal_or_better + above)
        coverage[row] = (p + above - 1) / n_known
        if q > 0:
            one_error[row] = 0.0 if relevant[p - 1] >= best_irrelevant else 1.0
            ranking_loss[row] = pairs / (p * q)
            average_precision[row] = precision / p


@jit
def cut_rows(scores, start, Y, cut, by_label, by_row):
    """Count right and wrong entries when the labels with `score > cut` are predicted.

    `by_label` (3, n_labels) is added to: true positives, false positives, false negatives.
    `by_row` (4, n_samples) is written: the same three and the number of known entries.
    """
    status = np.empty(scores.shape[1], dtype=np.int8)
    for i in range(scores.shape[0]):
        row = start + i
        _, by_row[3, row] = fill_status(status, row, Y)
        for label in range(scores.shape[1]):
            predicted = scores[i, label] > cut[label]
            kind = -1
            if status[label] == 1:
                kind = 0 if predicted else 2
            elif predicted and status[label] == 0:
                kind = 1
            if kind >= 0:
                by_label[kind, label] += 1
                by_row[kind, row] += 1


@jit
def top_rows(scores, start, Y, ks, weights, discounts, hits, gains, ideal_gains, weighted, best):
    """Write what the first k labels of every row are worth, for every k in the ascending `ks`.

    Labels of equal score share their places evenly: each is worth its mean over all orders of the
    tie. `weights` (n_labels,) are the inverse propensities, `discounts` (ks[-1] + 1,) the running
    sums of 1/log2(place + 1). Written, each (n_ks, n_samples): `hits` relevant labels among the
    first k over min(k, known labels), NaN in a row with no known label; `gains` and `ideal_gains`
    the discounted sums, reached and attainable; `weighted` and `best` the same for the weights.
    """
    n_labels = scores.shape[1]
    n_ks = ks.shape[0]
    k_max = ks[n_ks - 1]
    status = np.empty(n_labels, dtype=np.int8)
    top = np.empty(k_max, dtype=np.float64)  # the best known scores so far, descending
    row_weights = np.empty(n_labels, dtype=np.float64)
    for i in range(scores.shape[0]):
        row = start + i
        p, n_known = fill_status(status, row, Y)
        for t in range(n_ks):
            hits[t, row] = 0.0 if n_known > 0 else np.nan
            gains[t, row] = ideal_gains[t, row] = weighted[t, row] = best[t, row] = 0.0
        if p == 0:
            continue
        filled = 0
        for label in range(n_labels):
            score = scores[i, label]
            if status[label] < 0 or (filled == k_max and score <= top[k_max - 1]):
                continue
            place = min(filled, k_max - 1)
            while place > 0 and top[place - 1] < score:
                top[place] = top[place - 1]
                place -= 1
            top[place] = score
            filled = min(filled + 1, k_max)
        last = top[filled - 1]
        tied_with_last = 0
        for label in range(n_labels):
            if status[label] >= 0 and scores[i, label] == last:
                tied_with_last += 1
        t = 0
        for at in range(Y.positive_indptr[row], Y.positive_indptr[row + 1]):
            label = Y.positive_indices[at]
            if status[label] != 1:
                continue
            row_weights[t] = -weights[label]
            t += 1
            score = scores[i, label]
            if score < last:
                continue
            better = 0
            while top[better] > score:
                better += 1
            if score == last:
                end = better + tied_with_last
            else:
                end = better
                while top[end] == score:
                    end += 1
            for s in range(n_ks):
                low = min(better, ks[s])
                high = min(end, ks[s])
                share = (high - low) / (end - better)
                hits[s, row] += share / min(ks[s], n_known)
                gains[s, row] += (discounts[high] - discounts[low]) / (end - better)
                weighted[s, row] += weights[label] * share
        row_weights[:p].sort()
        for s in range(n_ks):
            ideal_gains[s, row] = discounts[min(ks[s], p)]
            for t in range(min(ks[s], p)):
                best[s, row] -= row_weights[t]


@jit
def gather_relevant(scores, start, Y, offsets, filled, relevant):
    """Append the score of every relevant entry to its label's slice of `relevant`.

    Label l owns `relevant[offsets[l]:offsets[l + 1]]`, of which `filled[l]` entries are in use.
    """
    status = np.empty(scores.shape[1], dtype=np.int8)
    for i in range(scores.shape[0]):
        row = start + i
        fill_status(status, row, Y)
        for at in range(Y.positive_indptr[row], Y.positive_indptr[row + 1]):
            label = Y.positive_indices[at]
            if status[label] == 1:
                relevant[offsets[label] + filled[label]] = scores[i, label]
                filled[label] += 1


@jit
def sort_each_label(offsets, filled, relevant):
    """Sort the part in use of every label's slice, ascending."""
    for label in range(filled.shape[0]):
        relevant[offsets[label] : offsets[label] + filled[label]].sort()


@jit
def count_ordered_pairs(scores, start, Y, offsets, filled, relevant, twice_right, n_irrelevant):
    """Add to each label its pairs in right order, counted twice (a tie counts once).

    Needs the slices of `relevant` complete and sorted. Sums are integers, hence exact.
    """
    status = np.empty(scores.shape[1], dtype=np.int8)
    for i in range(scores.shape[0]):
        fill_status(status, start + i, Y)
        for label in range(scores.shape[1]):
            if status[label] != 0:
                continue
            n_irrelevant[label] += 1
            p = filled[label]
            if p == 0:
                continue
            low = offsets[label]
            score = scores[i, label]
            at_most = count_at_most(relevant, low, low + p, score)
            below = at_most
            while below > 0 and relevant[low + below - 1] == score:
                below -= 1
                if at_most - below > 8:  # a long tie: search instead of walking
                    below = count_below(relevant, low, low + at_most, score)
                    break
            twice_right[label] += 2 * (p - at_most) + (at_most - below)


@jit
def bin_rows(proba, start, Y, total, relevant, probability):
    """Add every known entry to its label's bin of equal width in [0, 1].

    `total`, `relevant` and `probability`, each (n_labels, n_bins), get the number of entries, of
    relevant ones, and the sum of the probabilities.
    """
    n_bins = total.shape[1]
    status = np.empty(proba.shape[1], dtype=np.int8)
    for i in range(proba.shape[0]):
        fill_status(status, start + i, Y)
        for label in range(proba.shape[1]):
            if status[label] >= 0:
                b = min(int(proba[i, label] * n_bins), n_bins - 1)
                total[label, b] += 1
                relevant[label, b] += status[label]
                probability[label, b] += proba[i, label]
