"""What is here: which members of the family PrMLCV averages, judged on scores of held-out rows.

Members err in different places: the mean of two scores often ranks better than either. Members are
added one at a time, each the one that helps most (Caruana et al., ICML 2004), as long as the goal
gets better on every fold; so noise seldom adds one.

A loss that asks for -1 leaves it to chance how far below a score lies. The log-odds of a logistic
member still rank there, so beside one the scores of the others are raised to a floor.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

FoldScores = Sequence[np.ndarray]  # one array of scores a fold


class Blend(NamedTuple):
    """Members by their place in the pool, what each score is multiplied with, and the result."""

    members: list[int]
    factors: np.ndarray
    values: np.ndarray  # of the goal, one a fold


def choose_blend(
    pool: Sequence[FoldScores],
    values_of: Callable[[FoldScores], np.ndarray],
    sign: int,
    size: int,
    *,
    on_every_fold: bool = True,
) -> Blend:
    """Choose up to `size` members of a pool; the first of the pool is always in.

    Scores count in units of their own standard deviation, so that no member drowns another. A
    member may be taken again, which doubles its weight.

    Parameters
    ----------
    pool : sequence of scores of the held-out rows
    values_of : callable
        The goal on every fold.
    sign : int
        1 when the goal is to be maximised, else -1.
    size : int
    on_every_fold : bool
        Whether a member has to help on every fold; else on average.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.estimators.blending import choose_blend
    >>> truth = np.array([1.0, -1.0, 1.0, -1.0])
    >>> pool = [[truth + error] for error in ([0, 0, -1.5, 1.5], [-1.5, 1.5, 0, 0])]
    >>> choose_blend(pool, lambda folds: np.array([np.mean(folds[0] * truth > 0)]), 1, 2).members
    [0, 1]
    """
    units = np.array([1.0 / (_spread(scores) or 1.0) for scores in pool])
    total = [units[0] * fold for fold in pool[0]]
    picked, values = [0], values_of(total)
    while len(picked) < size:
        best = None
        for k, scores in enumerate(pool):
            trial = [a + units[k] * b for a, b in zip(total, scores, strict=True)]
            found = values_of(trial)
            gains = sign * (found - values)
            gains = gains[~np.isnan(gains)]  # a fold may lack what the metric needs
            helps = len(gains) > 0 and (gains.min() if on_every_fold else gains.mean()) > 0.0
            if helps and (best is None or gains.mean() > best[3]):
                best = k, trial, found, gains.mean()
        if best is None:
            break
        k, total, values, _ = best
        picked.append(k)
    members = sorted(set(picked), key=picked.index)
    factors = np.array([picked.count(k) * units[k] for k in members]) / len(picked)
    if len(members) == 1:
        factors = np.ones(1)  # the scores of a single member stay as they are
    return Blend(members, factors, values)


def choose_raised_blend(
    pool: Sequence[FoldScores],
    floors: np.ndarray,
    values_of: Callable[[FoldScores], np.ndarray],
    sign: int,
    size: int,
    *,
    on_every_fold: bool = True,
) -> tuple[Blend, np.ndarray]:
    """Choose a blend as `choose_blend` does, low scores raised to a floor where that is no worse.

    Parameters
    ----------
    floors : ndarray of shape (n_pool,)
        Below which the scores of each say nothing; -inf for those that rank all the way down. Only
        beside one of these are others raised.

    Returns
    -------
    Blend and the floors of its members.
    """
    options = (values_of, sign, size)
    plain = choose_blend(pool, *options, on_every_fold=on_every_fold)
    if np.isfinite(floors).any() and np.isneginf(floors).any():
        raised_pool = [
            scores if np.isneginf(floor) else [np.maximum(fold, floor) for fold in scores]
            for scores, floor in zip(pool, floors, strict=True)
        ]
        raised = choose_blend(raised_pool, *options, on_every_fold=on_every_fold)
        gain = sign * (known_mean(raised.values) - known_mean(plain.values))
        if np.isneginf(floors[raised.members]).any() and gain >= 0.0:
            return raised, floors[raised.members]
    return plain, np.full(len(plain.members), -np.inf)


def known_mean(values: np.ndarray) -> float:
    """Mean over the folds that have a value: one may lack what the metric needs."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _spread(scores: FoldScores) -> float:
    return float(np.std(np.concatenate([fold.ravel() for fold in scores])))
