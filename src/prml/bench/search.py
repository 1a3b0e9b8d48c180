"""What is here: the search inside a training half - which parameters a method gets.

Three folds, by average precision. What cannot win is left early, so that a whole grid costs about
as much as its good entries: all are tried on the first fold, but where the scores have fallen far
below the best along one parameter, they are not followed on; only those near the best are tried on
the other folds.
"""

import math
import time
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from prml.bench.methods import Method, Parameters, Setting
from prml.metrics import evaluate
from prml.model_selection import MultilabelStratifiedKFold

N_FOLDS = 3
SEARCH_METRIC = "average_precision"
MAX_SEARCH_ROWS = 5000  # "part of the training points", as the paper has it
MAX_SEARCH_ENTRIES = 2_500_000  # of Y: with thousands of labels fewer rows, but not too few
FEWEST_SEARCH_ROWS = 500
# How far below the best an entry may be on one fold and still win on three: the difference of two
# entries varies by about .01 from fold to fold where folds are small (enron).
FAR_BELOW = 0.03


class Searched(NamedTuple):
    """What the search chose, its mean score, and how it came to that.

    `n_tried` entries were judged, `n_beyond` left out as they lie beyond a fall; what is missing to
    the whole grid had no time.
    """

    parameters: Parameters
    score: float | None
    n_tried: int
    n_beyond: int
    n_rows: int


class First(NamedTuple):
    """How an entry did on the first fold."""

    parameters: Parameters
    score: float
    seconds: float = 0.0


def search(
    method: Method,
    X: Any,
    Y: sp.csr_matrix,
    *,
    seed: int,
    jobs: int | None = None,
    seconds: float | None = None,
    grid: tuple[Parameters, ...] | None = None,
) -> Searched:
    """Choose the parameters by 3-fold cross-validation on (X, Y).

    Out of time, the best of what was tried is chosen; the first entry is always tried.
    """
    grid = method.grid if grid is None else grid
    if len(grid) == 1:
        return Searched(grid[0], None, 1, 0, 0)
    end = math.inf if seconds is None else time.perf_counter() + seconds
    most = min(MAX_SEARCH_ROWS, max(MAX_SEARCH_ENTRIES // Y.shape[1], FEWEST_SEARCH_ROWS))
    if X.shape[0] > most:
        rows = np.random.default_rng([seed, 1]).permutation(X.shape[0])[:most]
        X, Y = X[rows], Y[rows]
    folds = list(MultilabelStratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(X, Y))
    tried: list[First] = []
    n_beyond = 0

    def fold_score(parameters: Parameters, fold: int) -> float:
        limit = None if seconds is None else max(end - time.perf_counter(), 1.0) / N_FOLDS
        setting = Setting(Y.shape[1], seed, jobs, limit, searching=True)
        train, test = folds[fold]
        model = method.build(parameters, setting).fit(X[train], Y[train])
        table = evaluate(Y[test], model.decision_function(X[test]), metrics=[SEARCH_METRIC])
        return table[SEARCH_METRIC]

    for parameters in grid:
        if is_beyond_a_fall(parameters, tried):
            n_beyond += 1
            continue
        now = time.perf_counter()
        if tried and now + max(first.seconds for first in tried) > end:
            continue  # a dearer entry than any so far may follow, but so may a cheaper one
        score = fold_score(parameters, 0)
        tried.append(First(parameters, score, time.perf_counter() - now))

    finalists = sorted((first for first in tried if not is_far_below(first, tried)), key=_rank)
    best, best_score, n_late = finalists[0].parameters, -math.inf, 0
    for first in finalists:
        rest = range(1, N_FOLDS)
        if best_score > -math.inf and time.perf_counter() + len(rest) * first.seconds > end:
            n_late += 1
            continue
        mean = float(np.mean([first.score, *(fold_score(first.parameters, f) for f in rest)]))
        if mean > best_score:
            best, best_score = first.parameters, mean
    score_found = best_score if math.isfinite(best_score) else None
    return Searched(best, score_found, len(tried) - n_late, n_beyond, X.shape[0])


def _rank(first: First) -> float:
    return -first.score


def is_far_below(first: First, tried: Sequence[First]) -> bool:
    return first.score < max(other.score for other in tried) - FAR_BELOW


def is_beyond_a_fall(entry: Parameters, tried: Sequence[First]) -> bool:
    """Whether scores fall towards `entry`, all but one parameter kept, and are far below already.

    Examples
    --------
    >>> from prml.bench.search import First, is_beyond_a_fall
    >>> tried = [First({"C": 0.1, "loss": "hinge"}, 0.6), First({"C": 1, "loss": "hinge"}, 0.5)]
    >>> is_beyond_a_fall({"C": 20, "loss": "hinge"}, tried)
    True
    >>> is_beyond_a_fall({"C": 0.01, "loss": "hinge"}, tried)
    False
    >>> is_beyond_a_fall({"C": 20, "loss": "squared_hinge"}, tried)
    False
    """
    for name, value in entry.items():
        if not isinstance(value, Real) or isinstance(value, bool):
            continue
        line = [first for first in tried if first.parameters | {name: value} == entry]
        for low in line:
            there = low.parameters[name]
            if is_far_below(low, tried) and any(
                high.score > low.score
                and (high.parameters[name] < there < value or value < there < high.parameters[name])
                for high in line
            ):
                return True
    return False


def quick_grid(method: Method) -> tuple[Parameters, ...]:
    """The first two entries: enough to walk every line of a search."""
    return method.grid[:2]
