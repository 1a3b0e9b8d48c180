"""What is here: the order in which PrMLCV tries its candidates - screen, halve, climb.

1. Features: the cheapest loss on every scaling and kernel width, on few rows.
2. Members: every loss, a teacher, its transfer, a low rank, on the best features, on few rows.
3. Halving: the best families on more rows, their weights bracketed again.
4. Widening: on more rows, what few rows say blends well with the best; where those are not yet all
   rows, also a second loss, of which few rows say little.
5. Climbing: from the best candidate to the best of its neighbours, while that is better.
6. Finishing, where more rows were not yet all of them: on all rows, what blends well.

Weights are paths: a family starts where families like it are usually best and goes on in the
direction in which its score rises. What goes on to another stage does so at the smallest weight
that is as good as the best within a standard error: few rows favour large weights by chance.
"""

import warnings
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from joblib import effective_n_jobs

from prml.estimators.blending import choose_raised_blend, known_mean
from prml.estimators.candidates import (
    LARGEST_WEIGHT,
    SMALLEST_WEIGHT,
    STEP,
    Candidate,
    Space,
    describe,
)
from prml.estimators.expected_time import expected_seconds
from prml.estimators.fold_scores import Folds, Scored
from prml.monitor import Monitor

FIRST_WEIGHTS = (0.1, 0.1 * STEP, 1.0, STEP)
KEPT_SCALINGS = 2
KEPT_FAMILIES = 2
MAX_CLIMBS = 2
MAX_BLENDED = 5  # in the blends that say who is worth more tries
AT_ONCE = 4  # families scored between two looks at the clock; one where that may take long
LONG_SHARE = 0.05  # of the time limit: that is long
LAST_FIT = 0.67  # of all folds of all rows: it has more of them, and a smaller tol
HASTE = 0.4  # of the time left: where one weight of all finalists takes more, the others can wait
SHARES = (0.25, 0.5)  # of the time limit, after which more rows, then all rows, have to decide


class StopSearch(Exception):
    """A callback asks to stop."""


class OutOfTime(Exception):
    """The seconds left are those that the last fit needs."""


@dataclass
class Search:
    """One search: what was scored so far, and how to score more.

    Parameters
    ----------
    space : Space
    monitor : Monitor
        Told of every candidate; ends the search.
    sign : int
        1 when the goal is to be maximised, else -1.
    n_jobs : int or None
    widen : bool
        Whether members are to be blended.
    """

    space: Space
    monitor: Monitor
    sign: int
    n_jobs: int | None
    widen: bool = True
    scored: list[Scored] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    _known: set[tuple[int, Candidate]] = field(default_factory=set)
    _share: float = np.inf  # of the time limit that the rung at hand may use up
    _finals: set[Candidate] = field(default_factory=set)  # families of what may be blended
    _n_all: int = 0  # rows of the last rung
    _share_of_all: float = 1.0  # of the time limit that is left to it
    _fewest: float = 1.0  # of its folds, the share that has to be scored

    def run(self, rungs: Sequence[Folds]) -> None:
        """Search until nothing is left to try, or until the monitor stops it.

        The last of up to three rungs has all rows, those before it have fewer.
        """
        few, more, every = rungs[0], rungs[min(1, len(rungs) - 1)], rungs[-1]
        self._n_all = every.n_samples
        self._share_of_all = 1.0 - SHARES[1 if more is not every else 0]
        self._fewest = 1.0 / every.n_folds if more is not every else 1.0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of single fits; the table tells how they did
                # a fit keeps its best on Ctrl-C and warns of it; the search has to end there
                warnings.filterwarnings("error", message="Interrupted")
                self._share = SHARES[0] if few is not every else np.inf
                self._screen_features(few)
                self._screen_members(few)
                self._share = SHARES[1] if more is not every else np.inf
                self._halve(more)
                if self.widen and more is not every:  # all rows would make it dear
                    self._try_another_loss(few, more)
                if more is not few:
                    self._bracket_best(more)
                if self.widen:
                    self._widen(few, more)
                self._climb(more)
                self._share = np.inf
                if more is not every:
                    self._finish(more, every)
        except StopSearch:
            pass
        except OutOfTime:
            self.monitor.stopped_by = "time limit"
        except (KeyboardInterrupt, RuntimeWarning):
            if not self.scored:
                raise KeyboardInterrupt from None
            self.monitor.interrupted()

    def best(self, n_samples: int | None = None) -> Scored:
        """The best candidate, of those scored on the most rows."""
        if n_samples is None:
            n_samples = max(s.n_samples for s in self.scored)
        return max((s for s in self.scored if s.n_samples == n_samples), key=self._merit)

    def seconds(self) -> dict[Candidate, float]:
        """How long a fold of each candidate took, on the most rows it was scored on."""
        by_rows = sorted(self.scored, key=lambda s: s.n_samples)
        return {s.candidate: float(s.seconds.max()) for s in by_rows}

    def _merit(self, scored: Scored) -> float:
        mean = scored.mean
        return -np.inf if np.isnan(mean) else self.sign * mean

    def _ranking(self, n_samples: int) -> list[Scored]:
        """The best candidate of every family scored on so many rows, best first."""
        best: dict[Candidate, Scored] = {}
        for s in self.scored:
            if s.n_samples != n_samples:
                continue
            family = s.candidate.family
            if family not in best or self._merit(s) > self._merit(best[family]):
                best[family] = s
        return sorted(best.values(), key=self._merit, reverse=True)

    def _screen_features(self, folds: Folds) -> None:
        linear = self.space.first_families()
        self._bracket("features", folds, [(f, FIRST_WEIGHTS) for f in linear])
        kept = [s.candidate.scaling for s in self._ranking(folds.n_samples)[:KEPT_SCALINGS]]
        kernels = [f for scaling in kept for f in self.space.kernel_families(scaling)]
        self._bracket("features", folds, [(f, (1.0, STEP)) for f in kernels])

    def _screen_members(self, folds: Folds) -> None:
        ranking = self._ranking(folds.n_samples)
        # the best linear features and the best kernel: the two that can surprise each other
        leaders = [
            next(s for s in ranking if (s.candidate.gamma is None) == is_linear)
            for is_linear in {s.candidate.gamma is None: None for s in ranking}
        ]
        paths = []
        for place, at in enumerate(leaders):
            for family in self.space.members(*at.candidate.features):
                # the runner-up only has to show what the smooth losses make of it
                if place > 0 and (family.theta or family.low_rank or family.loss == "hinge"):
                    continue
                paths.append((family, _around(self._modest(at) * family.usual_weight)))
        # where time is short, a second stage on the same loss may not keep out the other losses;
        # nor may the hinge, the slowest where labels are many
        paths.sort(key=lambda path: (path[0].loss == "hinge", not path[0].is_plain))
        self._bracket("members", folds, paths)

    def _halve(self, folds: Folds) -> None:
        if folds.n_samples == max(s.n_samples for s in self.scored):
            return  # all rows were few enough for the screening
        ranking = self._ranking(max(s.n_samples for s in self.scored))
        starts = [(s.candidate.family, (self._modest(s),)) for s in ranking[:KEPT_FAMILIES]]
        self._score("halving", folds, starts)

    def _bracket_best(self, folds: Folds) -> None:
        winner = self.best(folds.n_samples).candidate
        self._bracket("halving", folds, [(winner.family, _around(winner.weight))])

    def _try_another_loss(self, few: Folds, folds: Folds) -> None:
        """Few rows say little of how two losses compare on many: a second gets its chance.

        The logistic one if it is not the winner: it errs least like the other three.
        """
        ranking, winner = self._ranking(few.n_samples), self.best(folds.n_samples).candidate
        others = [s.candidate for s in ranking if s.candidate.loss != winner.loss]
        others.sort(key=lambda c: c.loss != "logistic")
        for other in [c for c in others if c.is_plain][:1]:
            path = (other.weight, other.weight * STEP)  # more rows mostly want larger weights
            self._bracket("widening", folds, [(other.family, path)])

    def _climb(self, folds: Folds) -> None:
        on_few_rows = any(s.n_samples < folds.n_samples for s in self.scored)
        for _ in range(1 if on_few_rows else MAX_CLIMBS):  # many rows make a climb dear
            before = self.best(folds.n_samples)
            near = self.space.neighbours(before.candidate)
            self._score("climbing", folds, [(c.family, (c.weight,)) for c in near])
            if self.best(folds.n_samples) is before:
                return

    def _widen(self, few: Folds, every: Folds) -> None:
        """Try on all rows what few rows blend with the best, one family after the other."""
        if few is every or not every.scores:
            return
        seen = {s.candidate.family for s in self.scored if s.n_samples == every.n_samples}
        for member in self._blended(few)[0]:
            if member.candidate.family not in seen:
                weight = self._modest(member)
                self._bracket(
                    "widening", every, [(member.candidate.family, (weight / STEP, weight))]
                )
        for member in self._blended(every)[0]:
            around = _around(member.candidate.weight)
            self._bracket("widening", every, [(member.candidate.family, around)])

    def _finish(self, more: Folds, every: Folds) -> None:
        """Try on all rows what blends well on fewer; more rows mostly want larger weights."""
        finalists = self._finalists(more, every) if self.widen else [self.best()]
        if np.isfinite(self._limit):  # what is quick goes first: a slow one may find no time
            finalists.sort(key=lambda s: self._cost(every.n_samples, s.candidate.family, cold=True))
        starts = [(s.candidate.family, s.candidate.weight) for s in finalists]
        self._finals = {family for family, _ in starts}
        seconds = sum(self._seconds_on_all(s, every.n_folds / len(s.values)) for s in finalists)
        steps = (1.0, STEP) if seconds <= HASTE * self._left else (1.0,)
        self._score("finishing", every, [(f, [w * step for step in steps]) for f, w in starts])
        for family, weight in starts:
            self._bracket("finishing", every, [(family, (weight, weight * STEP))])

    def _finalists(self, more: Folds, every: Folds) -> list[Scored]:
        """What blends well on fewer rows and has time on all of them, or the best alone.

        Where there is no time for the whole blend, one fold of all rows has to do; then those that
        help least go, and at last the first, if it is too slow to have even a logistic member
        beside it: two that are better together are blended without it. A logistic one is always
        tried: of labels that are not near the top it alone says much, fewer rows know little of it,
        and the goal may not look there.
        """
        n_folds, best = every.n_folds, self.best(more.n_samples)

        def in_time(members: list[Scored]) -> bool:
            share = every.n_folds / n_folds
            return sum(self._seconds_on_all(s, share) for s in members) <= self._left

        blend, merit = self._blended(more)
        if not in_time(self._with_logistic(blend, more)):
            every.n_folds = 1
        barred: set[Candidate] = set()
        while blend[0].candidate not in barred:
            for n in range(len(blend), 0, -1):
                finalists = self._with_logistic(blend[:n], more)
                if in_time(finalists):
                    return [best] if merit < self._merit(best) and in_time([best]) else finalists
            barred.add(blend[0].candidate)
            blend, merit = self._blended(more, barred)
        return [best]

    def _with_logistic(self, finalists: list[Scored], more: Folds) -> list[Scored]:
        """Add the best logistic member where there is none, and there may be time."""
        if any(s.candidate.loss == "logistic" for s in finalists):
            return finalists
        ranking = [s for s in self._ranking(more.n_samples) if s.candidate.loss == "logistic"]
        return [*finalists, *ranking[:1]]

    def _blended(
        self, folds: Folds, barred: Container[Candidate] = ()
    ) -> tuple[list[Scored], float]:
        """A blend of what was scored on these folds, and how good it is; the best of all is in.

        A member has to help on average only: the blend says who is worth a try, not who is in.
        """
        pool = [s for s in self.pool(folds) if s.candidate not in barred]
        if not pool:  # the scores of large data are not kept
            best = self.best(folds.n_samples)
            return [best], self._merit(best)
        best_family = self.best().candidate.family
        pool.sort(key=lambda s: s.candidate.family != best_family)  # a blend begins with the first
        scores = [folds.scores[s.candidate] for s in pool]
        floors = np.array([s.candidate.floor for s in pool])
        goal = (folds.values_of, self.sign)
        blend, _ = choose_raised_blend(scores, floors, *goal, MAX_BLENDED, on_every_fold=False)
        return [pool[k] for k in blend.members], self.sign * known_mean(blend.values)

    def pool(self, folds: Folds) -> list[Scored]:
        """What a blend may choose from, best first: of every kind, then of every family, the best.

        Kinds go first lest the neighbours of the best, which err where it errs, fill the pool.
        """
        ranking = [s for s in self._ranking(folds.n_samples) if s.candidate in folds.scores]
        kinds: dict[tuple, Scored] = {}
        for s in ranking:
            kinds.setdefault(s.candidate.kind, s)
        firsts = {s.candidate for s in kinds.values()}
        ranking.sort(key=lambda s: s.candidate not in firsts)
        return sorted(ranking[: folds.n_kept], key=self._merit, reverse=True)

    def _modest(self, leader: Scored) -> float:
        """The smallest weight with which a family is within a standard error of its best."""
        near = leader.standard_error if np.isfinite(leader.standard_error) else 0.0
        return min(
            s.candidate.weight
            for s in self.scored
            if s.n_samples == leader.n_samples
            and s.candidate.family == leader.candidate.family
            and self._merit(s) >= self._merit(leader) - near
        )

    def _bracket(self, stage: str, folds: Folds, paths) -> None:
        """Score paths; those whose best weight is at an end go on beyond it, the better half."""
        ends = {family: [min(weights), max(weights)] for family, weights in paths}
        while paths:
            self._score(stage, folds, paths)
            ranked = [s for s in self._ranking(folds.n_samples) if s.candidate.family in ends]
            paths = []
            for leader in ranked[: (len(ranked) + 1) // 2]:
                family, weight = leader.candidate.family, leader.candidate.weight
                end = ends[family]
                if np.isclose(weight, end[0]) and weight > SMALLEST_WEIGHT:
                    end[0] = weight / STEP
                    paths.append((family, (end[0],)))
                elif np.isclose(weight, end[1]) and weight < LARGEST_WEIGHT:
                    end[1] = weight * STEP
                    paths.append((family, (end[1],)))

    def _score(self, stage: str, folds: Folds, paths) -> None:
        """Score what is new of the paths, a few families at a time so that time can run out."""
        fresh = []
        for family, weights in paths:
            asked = sorted(_rounded(w) for w in weights)
            new = [w for w in asked if self._is_new(folds, replace(family, weight=w))]
            if new:
                fresh.append((family, new))
        while fresh and not (self._used > self._share and self._ranking(folds.n_samples)):
            batch = self._next_batch(folds, fresh)
            if not batch:
                return
            for family, weights in batch:
                self._known.update((folds.n_samples, replace(family, weight=w)) for w in weights)
            if self.scored:
                folds.reserve = self._last_fits(folds)
            folds.until = self._until if self._ranking(folds.n_samples) else np.inf
            results = folds.score(batch, self.n_jobs)
            self.scored.extend(results)
            self.stages.extend([stage] * len(results))
            wanted = {s.candidate for s in self.pool(folds)}
            folds.scores = {c: s for c, s in folds.scores.items() if c in wanted}
            if results:
                self._report(stage, folds, results)
            if folds.out_of_time:
                raise OutOfTime

    def _last_fits(self, folds: Folds) -> float:
        """Seconds to keep for what may be fitted in the end: the best, or all finalists."""
        finals: dict[Candidate, float] = {}
        for s in self.scored:
            if s.n_samples == folds.n_samples and s.candidate.family in self._finals:
                finals[s.candidate.family] = float(s.seconds.max())
        # the last fit has the rows that a fold leaves out, and a smaller tol
        return 2.0 * (sum(finals.values()) or float(self.best().seconds.max()))

    def _next_batch(self, folds: Folds, fresh: list) -> list:
        """Take the next few families; under a time limit drop those that it has no time for.

        A family that takes long, or nobody knows how long, is alone: what it took decides on those
        that build on it.
        """
        batch: list = []
        if self.monitor.max_time is None:
            batch, fresh[:AT_ONCE] = fresh[:AT_ONCE], []
            return batch
        end = min(self._until, self.monitor.max_time - (folds.reserve or 0.0))
        left = end - self.monitor.elapsed
        while fresh and len(batch) < AT_ONCE:
            family, weights = fresh[0]
            seconds = len(weights) * self._cost(folds.n_samples, family, n_folds=folds.n_folds)
            too_dear = (np.isfinite(seconds) and seconds > left) or self._too_dear_on_all(family)
            if too_dear and self._ranking(folds.n_samples):
                del fresh[0]
                continue
            is_long = seconds > LONG_SHARE * self.monitor.max_time
            if is_long and batch:
                break
            batch.append(fresh.pop(0))
            left -= seconds
            if is_long:
                break
        return batch

    def _too_dear_on_all(self, family: Candidate) -> bool:
        """Whether fewer rows need not try a family: the time of all rows has no room for it.

        There it is fitted on all folds, or on one where that has to do, and once more on all rows.
        """
        if self._share > 1.0:
            return False  # what is scored are all rows
        seconds = (self._fewest + LAST_FIT) * self._cost(self._n_all, family, cold=True)
        return bool(np.isfinite(seconds) and seconds > self._share_of_all * self._limit)

    def _seconds_on_all(self, scored: Scored, share: float = 1.0) -> float:
        """What a share of the folds of all rows, and the last fit, will take of one weight."""
        seconds = self._cost(self._n_all, scored.candidate.family, cold=True)
        return (share + LAST_FIT) * seconds

    def _cost(
        self, n_samples: int, family: Candidate, cold: bool = False, n_folds: int | None = None
    ) -> float:
        """Seconds that the folds of one weight will take; see `expected_seconds`."""
        threads = effective_n_jobs(self.n_jobs)
        return expected_seconds(
            self.scored, family, n_samples, self.space.n_labels, threads, cold, n_folds
        )

    @property
    def _limit(self) -> float:
        return self.monitor.max_time or np.inf

    @property
    def _left(self) -> float:
        return self._limit - self.monitor.elapsed

    @property
    def _until(self) -> float:
        """Seconds after the start at which the rung at hand has had its share."""
        return min(self._share, 1.0) * self._limit

    @property
    def _used(self) -> float:
        """The part of the time limit that is over."""
        return self.monitor.elapsed / self._limit

    def _is_new(self, folds: Folds, candidate: Candidate) -> bool:
        return (folds.n_samples, candidate) not in self._known

    def _report(self, stage: str, folds: Folds, results: list[Scored]) -> None:
        best = self.best()
        leader = max(results, key=self._merit)
        wish = self.monitor.record(
            iteration=len(self.scored),
            stage=stage,
            n_samples=folds.n_samples,
            score=leader.mean,
            best_score=best.mean,
            best=describe(best.candidate),
        )
        if wish:
            raise StopSearch


def _rounded(weight: float) -> float:
    """A weight that is the same whichever way it was reached."""
    return float(f"{weight:.8g}")


def _around(weight: float) -> tuple[float, float, float]:
    weight = min(max(weight, SMALLEST_WEIGHT * STEP), LARGEST_WEIGHT / STEP)
    return (weight / STEP, weight, weight * STEP)
