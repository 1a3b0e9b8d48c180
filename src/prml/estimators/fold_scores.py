"""What is here: candidates scored on folds - scaled rows shared, weights as warm-started paths."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from prml.estimators.blending import known_mean
from prml.estimators.candidates import Candidate, make_learner
from prml.estimators.feature_scaling import FeatureScaler
from prml.metrics import evaluate
from prml.model_selection.cross_fit import scores_of
from prml.monitor import Monitor

KEPT_ENTRIES = 50_000_000  # scores of larger data are not kept: 200 MB a candidate
MOST_KEPT = 10  # candidates whose scores are kept, where they are small
INNER_FOLDS = 3  # of the first stage of a transfer while searching
LARGEST_SHARE = 0.25  # of the seconds left to a rung, for one fit: a dear one may not end it


@dataclass(frozen=True)
class Scored:
    """A candidate and its value of the goal on every fold, seconds a fold beside it."""

    candidate: Candidate
    n_samples: int
    values: np.ndarray
    seconds: np.ndarray

    @property
    def mean(self) -> float:
        return known_mean(self.values)

    @property
    def standard_error(self) -> float:
        known = self.values[~np.isnan(self.values)]
        if len(known) < 2:
            return float("nan")
        return float(known.std(ddof=1) / np.sqrt(len(known)))


class Folds:
    """Some rows of the training data, cut into folds.

    Parameters
    ----------
    X : array or CSR
    labels : what learners are fitted to: CSR of ones, or dense with NaN where unknown
    splits : sequence of (train, test)
    goal : str
        Name of a metric.
    tol : float
        Of the solvers.
    seed : int
    monitor : Monitor
        Its time limit ends the scoring.

    Attributes
    ----------
    reserve : float or None
        Seconds to leave; None: what is being scored is needed, whatever the time.
    until : float
        Seconds after the start at which a path ends where it is: others are waiting. As soon as its
        first fits show that not all of its weights have time on all folds, the last are left out;
        one that is cut by its limit is the end of its path.
    out_of_time : bool
        Whether the seconds left are down to the reserve: some of what was asked for is not scored.
    n_folds : int
        So many of the folds are scored, all unless that takes too long; the others have no value.
    n_kept : int
        Of so many candidates the scores should be kept: with `KEPT_ENTRIES` as many as fit a GB.
    scores : dict
        Scores of the held-out rows, an array a fold, for each candidate, in single precision;
        empty for data of more than `KEPT_ENTRIES` entries.
    """

    def __init__(
        self,
        X: Any,
        labels: Any,
        splits: Sequence[tuple[np.ndarray, np.ndarray]],
        goal: str,
        tol: float,
        seed: int,
        monitor: Monitor,
    ):
        self.X, self.labels = X, labels
        self.splits, self.goal, self.tol, self.seed = splits, goal, tol, seed
        self.n_samples = sum(len(test) for _, test in splits)
        self.monitor = monitor
        self.reserve: float | None = None
        self.until = math.inf
        self.out_of_time = False
        self.n_folds = len(splits)
        self.scores: dict[Candidate, list[np.ndarray]] = {}
        n_entries = max(1, self.n_samples * labels.shape[1])
        self._keeps_scores = n_entries <= KEPT_ENTRIES
        self.n_kept = min(MOST_KEPT, 5 * KEPT_ENTRIES // n_entries)
        self._n_affordable: dict[Candidate, int] = {}  # weights of a path that have time
        self._scaled: dict[tuple[str, int], tuple[Any, Any]] = {}
        self._lock = Lock()

    def score(
        self, paths: Sequence[tuple[Candidate, Sequence[float]]], n_jobs: int | None
    ) -> list[Scored]:
        """Score every family at its weights, on `n_folds` folds; the order of the paths is kept.

        Of a path that is cut short, what all folds have is scored.
        """
        self._n_affordable.clear()
        tasks = [(p, k) for p in range(len(paths)) for k in range(self.n_folds)]
        threads = effective_n_jobs(n_jobs)
        done = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(self._walk)(*paths[p], k, threads) for p, k in tasks
        )
        by_path: list[list[Any]] = [[] for _ in paths]
        for (p, _), result in zip(tasks, done, strict=True):
            by_path[p].append(result)
        scored = []
        for (family, weights), results in zip(paths, by_path, strict=True):
            n_done = min(len(values) for values, _, _ in results)
            for i, weight in enumerate(weights[:n_done]):
                values = self._padded([values[i] for values, _, _ in results])
                seconds = np.array([seconds[i] for _, seconds, _ in results])
                candidate = replace(family, weight=float(weight))
                if self._keeps_scores:
                    self.scores[candidate] = [kept[i] for _, _, kept in results]
                scored.append(Scored(candidate, self.n_samples, values, seconds))
        return scored

    def _walk(self, family: Candidate, weights: Sequence[float], fold: int, threads: int):
        """Fit one family on one fold at ascending weights, each fit from the last one's optimum."""
        train, test = self.splits[fold]
        X, X_test = self._rows(family.scaling, fold)
        values, seconds, kept = [], [], []
        learner: Any = None
        for done, weight in enumerate(weights):
            if self.reserve is not None and self.monitor.remaining <= self.reserve:
                self.out_of_time = True
                break
            n_affordable = self._n_affordable.get(family, len(weights))
            if done >= n_affordable or self.monitor.elapsed > self.until:
                break
            start = time.perf_counter()
            limit = self._limit()
            candidate = replace(family, weight=float(weight))
            if learner is None or family.transfer is not None:
                learner = make_learner(
                    candidate,
                    len(train),
                    cv=min(INNER_FOLDS, max(2, len(train))),
                    tol=self.tol,
                    warm_start=True,
                    max_time=limit,
                    random_state=self.seed,
                )
            else:
                learner.set_params(C=candidate.params()["C"], max_time=limit)
            learner.fit(X, self.labels[train])
            scores = scores_of(learner, X_test)
            values.append(self._value(scores, test))
            seconds.append(time.perf_counter() - start)
            if fold == 0:
                was_cut = limit is not None and seconds[-1] >= limit
                self._n_affordable[family] = (
                    done if was_cut else self._count_affordable(seconds, len(weights), threads)
                )
            if self._keeps_scores:
                kept.append(scores.astype(np.float32))
        return values, seconds, kept

    def _count_affordable(self, seconds: list[float], n_weights: int, threads: int) -> int:
        """How many weights of a path have time on all folds, which take as long as the first."""
        one = max(min(seconds), 1e-9)
        spent = len(seconds) * one
        left = self.until - self.monitor.elapsed
        # the first fold goes on by itself; the others wait for a thread
        n_fits = 1.0 + (self.n_folds - 1) / threads
        return int(min((spent + left) / (n_fits * one), n_weights))

    def _limit(self) -> float | None:
        """Seconds that one fit may take."""
        if self.monitor.max_time is None:
            return None
        left = self.monitor.remaining - (self.reserve or 0.0)
        share = min(0.5, LARGEST_SHARE * len(self.splits) / self.n_folds)  # one fold has more time
        return max(1.0, share * min(left, self.until - self.monitor.elapsed))

    def values_of(self, scores: Sequence[np.ndarray]) -> np.ndarray:
        """The goal on every fold, for scores of its held-out rows."""
        tests = [test for _, test in self.splits[: self.n_folds]]
        return self._padded([self._value(s, test) for s, test in zip(scores, tests, strict=True)])

    def _padded(self, values: list[float]) -> np.ndarray:
        """Values of all folds, NaN for those that are not scored."""
        return np.array(values + [np.nan] * (len(self.splits) - self.n_folds))

    def _value(self, scores: np.ndarray, rows: np.ndarray) -> float:
        return evaluate(self.labels[rows], scores, cut=0.0, metrics=[self.goal])[self.goal]

    def _rows(self, scaling: str, fold: int) -> tuple[Any, Any]:
        """Training and test rows of a fold, scaled by what the training rows say."""
        key = (scaling, fold)
        with self._lock:
            if key not in self._scaled:
                train, test = self.splits[fold]
                scaler = FeatureScaler(scaling).fit(self.X[train])
                self._scaled[key] = (
                    scaler.transform(self.X[train]),
                    scaler.transform(self.X[test]),
                )
            return self._scaled[key]
