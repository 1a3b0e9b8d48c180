"""What is here: how long a candidate of PrMLCV will take, told from those that were timed."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from prml.estimators.candidates import Candidate
from prml.estimators.fold_scores import INNER_FOLDS, Scored

# Of the rows, in the seconds of a fit: from 800 to 3,200 of eurlex 1.1, from there to 9,674, which
# no longer stay in the cache, 1.25 to 1.6.
ROWS_POWER = 1.25
# Fits of a member, in fits of the plain one: with a teacher two or three on a hundred labels, six
# on bibtex (159), more than thirty on eurlex (3,993); of low rank twelve there.
TEACHER_COST = 1.0 / 30.0  # for each label
LOW_RANK_COST = 10.0


def expected_seconds(
    timed: Iterable[Scored],
    family: Candidate,
    n_samples: int,
    n_labels: int,
    n_threads: int,
    cold: bool = False,
    n_folds: int | None = None,
) -> float:
    """Seconds that the folds of one weight will take, at least; inf where nobody knows.

    Within a path the fits before help; a cold one is as dear as the dearest so far. Without
    `n_folds` all folds are meant.
    """
    known: dict[tuple, float] = {}
    for s in sorted(timed, key=lambda s: s.n_samples):
        growth = (n_samples / s.n_samples) ** ROWS_POWER
        folds = n_folds or len(s.values)
        seconds = growth * folds * float(s.seconds.mean()) / min(folds, n_threads)
        known[s.candidate.kind] = max(seconds, known.get(s.candidate.kind, 0.0) * cold)
    if family.kind in known:
        return known[family.kind]
    factor = 1.0
    if family.transfer is not None:
        factor *= INNER_FOLDS + 2  # the folds, all rows, and the second stage
    if family.theta is not None:
        factor *= max(1.0, TEACHER_COST * n_labels)
    if family.low_rank:
        factor *= LOW_RANK_COST
    plain = replace(family, transfer=None, passthrough=True, theta=None, low_rank=False)
    return factor * known.get(plain.kind, np.inf)
