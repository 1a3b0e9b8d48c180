"""What is here: the compiled loops that deal examples to folds.

An *item* is an example, or a group of examples that must stay together. Items come as a CSR matrix
of label counts (`indptr, indices, counts`) with their `sizes` (examples an item).
"""

import numpy as np

from prml.loops.jit import jit


@jit
def deal_rarest_label_first(
    indptr, indices, counts, sizes, label_indptr, label_items, wanted, wanted_size, first_fold, fold
):
    """Deal the items to folds, always those of the label with the fewest left to deal.

    Iterative stratification of Sechidis, Tsoumakas and Vlahavas (2011). An item goes to the fold
    that wants its label most, among equals to the one that wants most examples, among equals to the
    first from `first_fold[item]` on; a full fold gets nothing while another has room.
    The labels wait in a linked list for each number left, so that the rarest is found in amortised
    constant time: the whole deal costs (entries of Y) * (folds).

    Written: `fold` (n_items,), -1 on entry. `wanted` (n_labels, n_folds) and `wanted_size`
    (n_folds,) hold the share of each fold on entry and what it still lacks on exit.
    """
    n_items, n_labels, n_folds = fold.shape[0], wanted.shape[0], wanted.shape[1]
    left = np.zeros(n_labels, dtype=np.int64)
    for t in range(indices.shape[0]):
        left[indices[t]] += counts[t]
    head = np.full(left.max() + 1 if n_labels > 0 else 1, -1, dtype=np.int64)
    after = np.full(n_labels, -1, dtype=np.int64)
    before = np.full(n_labels, -1, dtype=np.int64)
    for label in range(n_labels - 1, -1, -1):
        after[label] = head[left[label]]
        if after[label] >= 0:
            before[after[label]] = label
        head[left[label]] = label
    fewest = 1
    while fewest < head.shape[0]:
        label = head[fewest]
        if label < 0:
            fewest += 1
            continue
        for at in range(label_indptr[label], label_indptr[label + 1]):
            item = label_items[at]
            if fold[item] >= 0:
                continue
            chosen = -1
            for room in range(2):
                for step in range(n_folds):
                    f = (first_fold[item] + step) % n_folds
                    if room == 0 and wanted_size[f] <= 0:
                        continue
                    if (
                        chosen < 0
                        or wanted[label, f] > wanted[label, chosen]
                        or (
                            wanted[label, f] == wanted[label, chosen]
                            and wanted_size[f] > wanted_size[chosen]
                        )
                    ):
                        chosen = f
                if chosen >= 0:
                    break
            fold[item] = chosen
            wanted_size[chosen] -= sizes[item]
            for t in range(indptr[item], indptr[item + 1]):
                other = indices[t]
                wanted[other, chosen] -= counts[t]
                # move the label to the list of its new number
                if before[other] >= 0:
                    after[before[other]] = after[other]
                else:
                    head[left[other]] = after[other]
                if after[other] >= 0:
                    before[after[other]] = before[other]
                left[other] -= counts[t]
                after[other] = head[left[other]]
                before[other] = -1
                if after[other] >= 0:
                    before[after[other]] = other
                head[left[other]] = other
                if left[other] > 0:
                    fewest = min(fewest, left[other])
    for item in range(n_items):  # the items without a label fill the folds up
        if fold[item] < 0:
            chosen = first_fold[item]
            for f in range(n_folds):
                if wanted_size[f] > wanted_size[chosen]:
                    chosen = f
            fold[item] = chosen
            wanted_size[chosen] -= sizes[item]


@jit
def exchange(indptr, indices, counts, weights, i, j, a, b, wanted, carry_out):
    """Weigh the exchange of item i in fold a for item j in fold b; with `carry_out`, make it.

    Returns by how much half the sum of ``weights * wanted**2`` falls. The label lists are sorted
    and merged, so that what both items have cancels.
    """
    gain = 0.0
    s, t = indptr[i], indptr[j]
    s_end, t_end = indptr[i + 1], indptr[j + 1]
    while s < s_end or t < t_end:
        if t == t_end or (s < s_end and indices[s] < indices[t]):
            label, leaving = indices[s], counts[s]
            s += 1
        elif s == s_end or indices[t] < indices[s]:
            label, leaving = indices[t], -counts[t]
            t += 1
        else:
            label, leaving = indices[s], counts[s] - counts[t]
            s += 1
            t += 1
        gain -= weights[label] * leaving * (leaving + wanted[label, a] - wanted[label, b])
        if carry_out:
            wanted[label, a] += leaving
            wanted[label, b] -= leaving
    return gain


@jit
def swap_while_better(
    indptr, indices, counts, sizes, weights, size_weight, candidates, wanted, wanted_size, fold
):
    """Swap pairs of items between folds where that lowers the weighted squared imbalance.

    Imbalance: the sum over labels and folds of ``weights * wanted**2`` plus that of the sizes.
    `candidates` (n_tries, 2) are the pairs tried. `wanted`, `wanted_size` and `fold` are written
    and stay in step with each other. Returns the number of swaps made.
    """
    n_swaps = 0
    for c in range(candidates.shape[0]):
        i, j = candidates[c, 0], candidates[c, 1]
        a, b = fold[i], fold[j]
        if a == b:
            continue
        leaving = sizes[i] - sizes[j]
        gain = -size_weight * leaving * (leaving + wanted_size[a] - wanted_size[b])
        gain += exchange(indptr, indices, counts, weights, i, j, a, b, wanted, False)
        if gain > 1e-12:
            exchange(indptr, indices, counts, weights, i, j, a, b, wanted, True)
            wanted_size[a] += leaving
            wanted_size[b] -= leaving
            fold[i], fold[j] = b, a
            n_swaps += 1
    return n_swaps
