"""What is here: finding the examples that share one privileged label vector."""

import numpy as np

from prml.loops.jit import jit


@jit
def _empty_table(n):
    """Slots for n numbers, a power of two and never more than half full; -1: free."""
    size = 4
    while size < 2 * n:
        size *= 2
    return np.full(size, -1, np.int64)


@jit
def group_equal_rows(indptr, indices, values, rows, local, keys):
    """Number the distinct vectors among CSR rows restricted to the columns with local >= 0.

    keys holds one random number below 2^40 a column; rows are hashed by the sum of value * key and
    compared entry by entry on a hit, so that the result is exact. Columns are sorted within rows.
    Returns the group of each row and, for each group, the row that stands for it.
    """
    n = len(rows)
    table = _empty_table(n)
    size = len(table)
    group = np.empty(n, np.int32)
    first = np.empty(n, np.int64)
    n_groups = 0
    for k in range(n):
        row = rows[k]
        key = 0
        for e in range(indptr[row], indptr[row + 1]):
            if local[indices[e]] >= 0:
                key += keys[indices[e]] * np.int64(values[e])
        slot = key & (size - 1)
        while True:
            g = table[slot]
            if g < 0:
                table[slot] = n_groups
                group[k] = n_groups
                first[n_groups] = row
                n_groups += 1
                break
            # the entries of both rows inside the pool, side by side
            a, b = indptr[row], indptr[first[g]]
            a_end, b_end = indptr[row + 1], indptr[first[g] + 1]
            equal = True
            while True:
                while a < a_end and local[indices[a]] < 0:
                    a += 1
                while b < b_end and local[indices[b]] < 0:
                    b += 1
                if a == a_end or b == b_end:
                    equal = a == a_end and b == b_end
                    break
                if indices[a] != indices[b] or values[a] != values[b]:
                    equal = False
                    break
                a += 1
                b += 1
            if equal:
                group[k] = g
                break
            slot = (slot + 1) & (size - 1)
    return group, first[:n_groups].copy()


@jit
def restrict_rows(indptr, indices, values, rows, local):
    """The CSR rows `rows`, columns renumbered by local, those with local < 0 left out."""
    new_indptr = np.zeros(len(rows) + 1, np.int64)
    for k in range(len(rows)):
        kept = 0
        for e in range(indptr[rows[k]], indptr[rows[k] + 1]):
            if local[indices[e]] >= 0:
                kept += 1
        new_indptr[k + 1] = new_indptr[k] + kept
    new_indices = np.empty(new_indptr[-1], np.int32)
    new_values = np.empty(new_indptr[-1], np.float64)
    k = 0
    for row in rows:
        for e in range(indptr[row], indptr[row + 1]):
            if local[indices[e]] >= 0:
                new_indices[k] = local[indices[e]]
                new_values[k] = values[e]
                k += 1
    return new_indptr, new_indices, new_values


@jit
def groups_with_one_less(indptr, indices, values, keys):
    """For every entry of distinct CSR rows the row that equals its own without it, -1 if none.

    keys as in `group_equal_rows`. With it a label's own column is taken out of all groups without
    comparing them again.
    """
    n_groups = len(indptr) - 1
    table = _empty_table(n_groups)
    size = len(table)
    hashes = np.zeros(n_groups, np.int64)
    for g in range(n_groups):
        for e in range(indptr[g], indptr[g + 1]):
            hashes[g] += keys[indices[e]] * np.int64(values[e])
        slot = hashes[g] & (size - 1)
        while table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[slot] = g
    twin = np.full(len(indices), -1, np.int32)
    for g in range(n_groups):
        length = indptr[g + 1] - indptr[g] - 1
        for without in range(indptr[g], indptr[g + 1]):
            slot = (hashes[g] - keys[indices[without]] * np.int64(values[without])) & (size - 1)
            while table[slot] >= 0:
                h = table[slot]
                equal = indptr[h + 1] - indptr[h] == length
                a = indptr[g]
                for b in range(indptr[h], indptr[h + 1]):
                    if not equal:
                        break
                    if a == without:
                        a += 1
                    equal = indices[a] == indices[b] and values[a] == values[b]
                    a += 1
                if equal:
                    twin[without] = h
                    break
                slot = (slot + 1) & (size - 1)
    return twin


@jit
def drop_column(group, indptr, indices, values, twin, entries, column):
    """Groups of rows and their CSR vectors without one column, equal ones merged.

    entries lists the entries of that column, twin is what `groups_with_one_less` says of them.
    Groups are numbered as `group_equal_rows` would: by the first row that is in them.
    """
    n_groups = len(indptr) - 1
    to = np.arange(n_groups)
    for e in entries:
        if twin[e] >= 0:
            to[np.searchsorted(indptr, e, side="right") - 1] = twin[e]
    number = np.full(n_groups, -1, np.int32)
    stands = np.empty(n_groups, np.int64)
    new_group = np.empty(len(group), np.int32)
    n_new = 0
    for k in range(len(group)):
        g = to[group[k]]
        if number[g] < 0:
            number[g] = n_new
            stands[n_new] = g
            n_new += 1
        new_group[k] = number[g]
    new_indptr = np.zeros(n_new + 1, np.int64)
    new_indices = np.empty(len(indices), np.int32)
    new_values = np.empty(len(indices), np.float64)
    k = 0
    for g in range(n_new):
        for e in range(indptr[stands[g]], indptr[stands[g] + 1]):
            if indices[e] != column:
                new_indices[k] = indices[e] - (indices[e] > column)
                new_values[k] = values[e]
                k += 1
        new_indptr[g + 1] = k
    return new_group, new_indptr, new_indices[:k], new_values[:k]
