"""What is here: the compiled loops behind thresholds."""

import numpy as np

from prml.loops.jit import jit


@jit
def walk_down_the_scores(order, scores, relevant, n_rows, n_labels, best, best_at):
    """Lower one cut through all entries and note where each of five measures is best.

    `scores` and `relevant` are flattened (n_rows, n_labels) matrices; `order` numbers their known
    entries, best first, and after its entry t all up to t are predicted. Written, in the order
    micro F1, macro F1, example F1, Hamming loss (negated), subset accuracy: `best` (5,) values and
    `best_at` (5,), how many entries are then predicted. A position between two entries of equal
    score is no possible cut. Cost: one step an entry.
    """
    n = order.shape[0]
    row_relevant = np.zeros(n_rows, dtype=np.int64)
    row_known = np.zeros(n_rows, dtype=np.int64)
    row_right = np.zeros(n_rows, dtype=np.int64)
    row_predicted = np.zeros(n_rows, dtype=np.int64)
    label_relevant = np.zeros(n_labels, dtype=np.int64)
    label_right = np.zeros(n_labels, dtype=np.int64)
    label_predicted = np.zeros(n_labels, dtype=np.int64)
    for t in range(n):
        e = order[t]
        row_known[e // n_labels] += 1
        row_relevant[e // n_labels] += relevant[e]
        label_relevant[e % n_labels] += relevant[e]
    all_relevant = label_relevant.sum()
    # F1 of a row or label is counted from where it is defined: something relevant or predicted
    labels_counted = np.sum(label_relevant > 0)
    rows_counted = np.sum(row_relevant > 0)
    rows_known = np.sum(row_known > 0)
    rows_exact = np.sum((row_known > 0) & (row_relevant == 0))
    label_f1 = row_f1 = 0.0
    right = 0
    best[:] = -np.inf
    for t in range(-1, n):
        if t >= 0:
            e = order[t]
            r, l = e // n_labels, e % n_labels
            if label_relevant[l] + label_predicted[l] == 0:
                labels_counted += 1
            else:
                label_f1 -= 2 * label_right[l] / (label_relevant[l] + label_predicted[l])
            if row_relevant[r] + row_predicted[r] == 0:
                rows_counted += 1
            else:
                row_f1 -= 2 * row_right[r] / (row_relevant[r] + row_predicted[r])
            if row_predicted[r] == row_right[r] and row_right[r] == row_relevant[r]:
                rows_exact -= 1
            right += int(relevant[e])
            row_right[r] += relevant[e]
            label_right[l] += relevant[e]
            row_predicted[r] += 1
            label_predicted[l] += 1
            label_f1 += 2 * label_right[l] / (label_relevant[l] + label_predicted[l])
            row_f1 += 2 * row_right[r] / (row_relevant[r] + row_predicted[r])
            if row_predicted[r] == row_right[r] and row_right[r] == row_relevant[r]:
                rows_exact += 1
            if t + 1 < n and scores[order[t + 1]] == scores[e]:
                continue
        predicted = t + 1
        for m in range(5):
            if m == 0:
                value = 2 * right / max(1, predicted + all_relevant)
            elif m == 1:
                value = label_f1 / max(1, labels_counted)
            elif m == 2:
                value = row_f1 / max(1, rows_counted)
            elif m == 3:
                value = -(predicted + all_relevant - 2 * right) / max(1, n)
            else:
                value = rows_exact / max(1, rows_known)
            if value > best[m] + 1e-12:  # sums drift in the last digits: a real gain is larger
                best[m] = value
                best_at[m] = predicted


@jit
def choose_by_expected_f1(proba, n_exact, chosen):
    """Mark in every row the set of labels with the greatest expected F1.

    Labels are taken as independent given x; the best set of m labels then is the m most likely
    ones, and E[2 K/(m + K + R)], K relevant ones among them and R among the rest, follows for all
    m from two recursions (Ye, Chai, Lee and Chieu 2012): the distribution of K upwards, and
    downwards s_m(a) = E[1/(a + R)] = p_m+1 s_m+1(a + 1) + (1 - p_m+1) s_m+1(a). Only the `n_exact`
    most likely labels may be chosen; of the others the expected number enters. Cost a row:
    sort + n_exact^2. `chosen` (n_rows, n_labels) boolean is written.
    """
    n_labels = proba.shape[1]
    M = min(n_exact, n_labels)
    s = np.empty(2 * M + 2)
    upto = np.zeros((M + 1, M + 1))  # upto[m, k]: probability that k of the first m are relevant
    for i in range(proba.shape[0]):
        order = np.argsort(-proba[i])
        others = 0.0
        for t in range(M, n_labels):
            others += proba[i, order[t]]
        upto[0, 0] = 1.0
        for m in range(1, M + 1):
            p = proba[i, order[m - 1]]
            upto[m, 0] = upto[m - 1, 0] * (1 - p)
            for k in range(1, m):
                upto[m, k] = upto[m - 1, k] * (1 - p) + upto[m - 1, k - 1] * p
            upto[m, m] = upto[m - 1, m - 1] * p
        for a in range(1, 2 * M + 2):
            s[a] = 1.0 / (a + others)
        best, best_m = 0.0, 0
        none = 1.0  # an empty set is right (F1 = 1 by agreement) when nothing is relevant
        for m in range(M, 0, -1):
            value = 0.0
            for k in range(1, m + 1):
                value += 2 * k * upto[m, k] * s[m + k]
            if value >= best:
                best, best_m = value, m
            p = proba[i, order[m - 1]]
            for a in range(1, 2 * m):
                s[a] = p * s[a + 1] + (1 - p) * s[a]
            none *= 1 - p
        if none * np.exp(-others) > best:
            best_m = 0
        chosen[i, :] = False
        for t in range(best_m):
            chosen[i, order[t]] = True
