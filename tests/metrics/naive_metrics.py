"""What is here: every metric as a plain loop over its definition, on dense arrays with NaN in Y."""

import itertools

import numpy as np


def known_rows(Y, scores):
    """Yield (relevant, irrelevant) score lists of every row, unknown labels left out."""
    for y, f in zip(Y, scores, strict=True):
        yield (
            [s for s, t in zip(f, y, strict=True) if t == 1],
            [s for s, t in zip(f, y, strict=True) if t == 0],
        )


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def one_error(Y, scores):
    return mean(float(max(P) < max(N)) for P, N in known_rows(Y, scores) if P and N)


def coverage(Y, scores):
    return mean(
        (max(sum(t >= s for t in P + N) for s in P) - 1) / len(P + N)
        for P, N in known_rows(Y, scores)
        if P
    )


def ranking_loss(Y, scores):
    return mean(
        mean(float(t >= s) for s in P for t in N) for P, N in known_rows(Y, scores) if P and N
    )


def average_precision(Y, scores):
    return mean(
        mean(sum(t >= s for t in P) / sum(t >= s for t in P + N) for s in P)
        for P, N in known_rows(Y, scores)
        if P and N
    )


def label_auc(Y, scores):
    areas = []
    for P, N in known_rows(Y.T, scores.T):
        areas.append(mean(float(s > t) + 0.5 * float(s == t) for s in P for t in N))
    return np.array(areas)


def macro_auc(Y, scores):
    return mean(a for a in label_auc(Y, scores) if not np.isnan(a))


def hamming_loss(Y, predicted):
    return mean(
        float(y != p) for y, p in zip(Y.ravel(), predicted.ravel(), strict=True) if not np.isnan(y)
    )


def subset_accuracy(Y, predicted):
    return mean(
        float(all(np.isnan(t) or t == q for t, q in zip(y, p, strict=True)))
        for y, p in zip(Y, predicted, strict=True)
        if not np.isnan(y).all()
    )


def f1(y, p):
    known = ~np.isnan(y)
    both, either = (y[known] * p[known]).sum(), y[known].sum() + p[known].sum()
    return 2 * both / either if either else float("nan")


def micro_f1(Y, predicted):
    return f1(Y.ravel(), predicted.ravel())


def macro_f1(Y, predicted):
    values = [f1(y, p) for y, p in zip(Y.T, predicted.T, strict=True)]
    return mean(v for v in values if not np.isnan(v))


def example_f1(Y, predicted):
    values = [f1(y, p) for y, p in zip(Y, predicted, strict=True)]
    return mean(v for v in values if not np.isnan(v))


def all_orders(y, f):
    """Every order of the known labels that sorts their scores, by brute force (few labels only)."""
    labels = [l for l in range(len(y)) if not np.isnan(y[l])]
    return [
        order
        for order in itertools.permutations(labels)
        if all(f[a] >= f[b] for a, b in itertools.pairwise(order))
    ]


def precision_at_k(Y, scores, k):
    return mean(
        mean(mean(y[l] for l in order[:k]) for order in all_orders(y, f))
        for y, f in zip(Y, scores, strict=True)
        if not np.isnan(y).all()
    )


def ndcg_at_k(Y, scores, k):
    def gain(values):
        return sum(v / np.log2(place + 2) for place, v in enumerate(values[:k]))

    return mean(
        mean(gain([y[l] for l in order]) for order in all_orders(y, f))
        / gain(sorted(y[~np.isnan(y)], reverse=True))
        for y, f in zip(Y, scores, strict=True)
        if (y == 1).any()
    )


def psp_at_k(Y, scores, k, propensity):
    reached = attainable = 0.0
    for y, f in zip(Y, scores, strict=True):
        worth = [(y[l] == 1) / propensity[l] for l in range(len(y))]
        orders = all_orders(y, f)
        reached += mean(sum(worth[l] for l in order[:k]) for order in orders)
        attainable += sum(sorted(worth, reverse=True)[:k])
    return reached / attainable if attainable else float("nan")
