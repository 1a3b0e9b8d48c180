"""What is here: average ranks with their critical difference, and the paper's claims, counted."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata, studentized_range

from prml.bench.paper_figures import PAPER_METHODS, PAPER_TABLE
from prml.bench.summary import Row
from prml.metrics import METRICS, SIX

Means = Mapping[tuple[str, str], Sequence[float]]  # (dataset, method): the six metrics


class Ranks(NamedTuple):
    """Average ranks (1 is best) and the difference below which two are not told apart."""

    methods: tuple[str, ...]
    ranks: tuple[float, ...]
    datasets: tuple[str, ...]
    critical_difference: float


def average_ranks(rows: Sequence[Row], level: float = 0.05) -> Ranks | None:
    """Rank the methods on each dataset, averaged over the metrics, then over the datasets.

    Every method must have a figure on every dataset: those with the fewest methods are left out
    where that leaves more figures to compare. The critical difference is Nemenyi's, with the
    datasets as the independent observations. None with fewer than two datasets or three methods.

    Examples
    --------
    >>> from prml.bench.claims import average_ranks
    >>> from prml.bench.summary import Row
    >>> rows = [Row(d, m, (v,) * 4 + (1 - v,) * 2, (0.0,) * 6, 1, 1.0, None, ("c",), 0)
    ...         for d in "xyz" for m, v in [("a", 0.1), ("b", 0.2), ("c", 0.3)]]
    >>> average_ranks(rows).ranks
    (1.0, 2.0, 3.0)
    """
    rows = [row for row in rows if row.n_trials and not np.isnan(row.mean).any()]
    have: dict[str, dict[str, Row]] = {}
    for row in rows:
        have.setdefault(row.dataset, {})[row.method] = row
    by_size = sorted(have, key=lambda name: -len(have[name]))
    choices = [by_size[:n] for n in range(2, len(by_size) + 1)]
    if not choices:
        return None
    datasets = max(choices, key=lambda names: len(names) * len(_shared(have, names)))
    shared = _shared(have, datasets)
    if len(shared) < 3:
        return None
    methods = [row.method for row in rows if row.dataset == datasets[0] and row.method in shared]
    signs = np.array([-METRICS[name].sign for name in SIX])
    by_dataset = []
    for name in datasets:
        values = np.array([have[name][method].mean for method in methods]) * signs
        by_dataset.append(rankdata(values.round(6), axis=0).mean(axis=1))
    ranks = np.mean(by_dataset, axis=0)
    order = np.argsort(ranks, kind="stable")
    k, n = len(methods), len(datasets)
    quantile = studentized_range.ppf(1.0 - level, k, math.inf) / math.sqrt(2.0)
    difference = float(quantile * math.sqrt(k * (k + 1) / (6.0 * n)))
    return Ranks(
        tuple(methods[i] for i in order),
        tuple(float(ranks[i]) for i in order),
        tuple(datasets),
        difference,
    )


def _shared(have: Mapping[str, Mapping[str, Row]], datasets: Sequence[str]) -> set[str]:
    """The methods that have a figure on every one of these datasets."""
    return set.intersection(*(set(have[name]) for name in datasets))


class Count(NamedTuple):
    """How often one method was better than, equal to or worse than another, over all cells."""

    better: int
    equal: int
    worse: int

    @property
    def n_cells(self) -> int:
        return sum(self)


def compare(means: Means, one: str, other: str) -> Count:
    """Count the cells (dataset and metric) in which `one` beats `other`, at three digits."""
    counts = [0, 0, 0]
    for (dataset, method), values in means.items():
        if method != one or (dataset, other) not in means:
            continue
        against = means[dataset, other]
        for name, a, b in zip(SIX, values, against, strict=True):
            if math.isnan(a) or math.isnan(b):
                continue
            difference = METRICS[name].sign * (round(a, 3) - round(b, 3))
            counts[0 if difference > 0 else 1 if difference == 0 else 2] += 1
    return Count(*counts)


def places(means: Means, method: str, among: Sequence[str]) -> tuple[int, int, int]:
    """Number of cells in which it is first, first or second, and of all cells."""
    first = second = total = 0
    for (dataset, name), values in means.items():
        rivals = [means[dataset, other] for other in among if (dataset, other) in means]
        if name != method or len(rivals) < 2:
            continue
        for m, metric in enumerate(SIX):
            sign = METRICS[metric].sign
            mine = sign * round(values[m], 3)
            n_better = sum(sign * round(rival[m], 3) > mine for rival in rivals)
            first += n_better == 0
            second += n_better <= 1
            total += 1
    return first, second, total


class Claim(NamedTuple):
    """A claim of the paper with its own count and ours, in words."""

    sentence: str
    printed: str
    ours: tuple[tuple[str, str], ...]  # (comparison, count)


_COMPARISONS = (
    ("Privileged labels help binary relevance", "PrBR", "BR",
     (("PrBR", "BR"), ("PrBR", "BR-fair"), ("PrBR-stopped", "BR-fair"), ("PrBR-theta", "BR-fair"))),
    ("Privileged labels help low rank", "PrML", "LEML",
     (("PrML", "LEML"), ("PrML", "LEML-fair"), ("PrML-stopped", "LEML-fair"),
      ("PrML-theta", "LEML-fair"), ("PrML-best", "LEML-fair"))),
    ("Low rank helps privileged labels", "PrML", "PrBR",
     (("PrML", "PrBR"), ("PrML-stopped", "PrBR-stopped"), ("PrML-theta", "PrBR-theta"))),
    ("Not claimed: the family beats what a user would pick", "", "",
     (("PrML", "logistic"), ("PrML", "ridge"), ("PrBR-theta", "logistic"), ("PrBR-theta", "ridge"),
      ("PrML-best", "logistic"), ("PrML-best", "ridge"))),
    ("Not claimed: better than the order of label frequencies", "", "",
     (("BR", "frequency"), ("LEML", "frequency"), ("PrBR", "frequency"), ("PrML", "frequency"),
      ("PrML-theta", "frequency"), ("PrML-best", "frequency"))),
)  # fmt: skip


def count_claims(rows: Sequence[Row]) -> list[Claim]:
    """The paper's claims, each with the count in its printed table and the counts in ours."""
    ours = {(row.dataset, row.method): row.mean for row in rows if row.n_trials}
    printed = {key: row.mean for key, row in PAPER_TABLE.items()}
    claims = []
    for sentence, one, other, pairs in _COMPARISONS:
        counts = [(f"{a} against {b}", compare(ours, a, b)) for a, b in pairs]
        shown = tuple((title, _words(count)) for title, count in counts if count.n_cells)
        if shown:
            claims.append(
                Claim(sentence, _words(compare(printed, one, other)) if one else "-", shown)
            )
    fair = ("BR-fair", "ECC-fair", "RAkEL-fair", "LEML-fair", "ML2-fair")
    placings = []
    for method, rivals, title in (
        ("PrML", PAPER_METHODS, "PrML among the paper's set"),
        ("PrML", (*fair, "PrBR", "PrML"), "PrML among the fair baselines"),
        ("PrML-theta", (*fair, "PrBR-theta", "PrML-theta"), "PrML-theta among the fair baselines"),
        ("PrML-best", (*fair, "logistic", "ridge", "PrML-best"), "PrML-best among all fair ones"),
    ):
        first, second, total = places(ours, method, rivals)
        if total:
            placings.append((title, f"first in {first}, first or second in {second} of {total}"))
    if placings:
        first, second, total = places(printed, "PrML", PAPER_METHODS)
        printed_words = f"first in {first}, first or second in {second} of {total}"
        claims.append(Claim("PrML is first or second", printed_words, tuple(placings)))
    return claims


def _words(count: Count) -> str:
    return f"better in {count.better}, equal in {count.equal}, worse in {count.worse}"
