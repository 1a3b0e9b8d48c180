"""What is here: the order of PrMLCV's search, on folds whose scores are made up."""

from dataclasses import replace

import numpy as np
import pytest

from prml.estimators.candidates import STEP, Candidate, Space
from prml.estimators.fold_scores import Folds, Scored
from prml.estimators.member_search import Search
from prml.monitor import Monitor

SPACE = Space(("squared", "logistic"), ("unit",), (), False, False, False, 10, 90)
TRUTH = np.random.default_rng(0).normal(size=(3, 400))


class MadeUpFolds:
    """Folds of three; the goal is the correlation with the truth, `score_of` makes the scores."""

    def __init__(self, n_samples, score_of, seconds_of=lambda candidate: 0.0):
        self.n_samples, self.score_of, self.seconds_of = n_samples, score_of, seconds_of
        self.batches = []
        self.scores, self.reserve, self.out_of_time, self.n_kept, self.n_folds = (
            {},
            None,
            False,
            6,
            3,
        )

    def score(self, paths, n_jobs):
        found = []
        self.batches.append([family for family, _ in paths])
        for family, weights in paths:
            for weight in weights:
                candidate = replace(family, weight=float(weight))
                self.scores[candidate] = list(self.score_of(candidate))
                values = self.values_of(self.scores[candidate])
                seconds = self.seconds_of(candidate)
                found.append(Scored(candidate, self.n_samples, values, np.full(3, seconds)))
        return found

    def values_of(self, scores):
        pairs = zip(scores, TRUTH, strict=True)
        return np.array([np.corrcoef(mine, truth)[0, 1] for mine, truth in pairs])


def noisy(candidate, best_weight=1.0):
    """Scores whose noise grows with the distance to the best weight; each loss has its own."""
    seed = {"squared": 1, "logistic": 2}[candidate.loss]
    size = 0.7 + 0.3 * abs(np.log(candidate.weight / best_weight)) + 0.05 * seed
    return TRUTH + size * np.random.default_rng(seed).normal(size=TRUTH.shape)


def search(**options):
    return Search(SPACE, Monitor(), sign=1, n_jobs=1, **options)


def test_what_blends_on_few_rows_is_bracketed_on_all_rows():
    few, every = MadeUpFolds(40, noisy), MadeUpFolds(400, lambda c: noisy(c, best_weight=0.1))
    run = search()
    run.scored = few.score([(Candidate(), (1.0,)), (Candidate(loss="logistic"), (1.0,))], 1)
    run.scored += every.score([(Candidate(), (0.1,))], 1)
    run._widen(few, every)
    assert {s.candidate.loss for s in run._blended(every)[0]} == {"squared", "logistic"}
    tried = {s.candidate.weight for s in run.scored if s.candidate.loss == "logistic"}
    assert min(tried) < 0.1 < max(tried)  # beyond the best weight on both sides


def test_a_search_without_blends_does_not_widen():
    few, every = MadeUpFolds(40, noisy), MadeUpFolds(400, noisy)
    alone, blending = search(widen=False), search()
    alone.run([few, every])
    blending.run([few, every])
    assert "widening" not in alone.stages
    assert "widening" in blending.stages
    assert blending.stages.index("widening") < blending.stages.index("climbing")


def test_a_family_goes_on_at_the_smallest_weight_within_a_standard_error():
    run = search()
    values = {0.1: (0.3, 0.4, 0.5), 1.0: (0.4, 0.5, 0.57), 10.0: (0.4, 0.5, 0.6), 100.0: (0, 0, 0)}
    for weight, found in values.items():
        run.scored.append(Scored(Candidate(weight=weight), 40, np.array(found), np.ones(3)))
    leader = run.best(40)
    assert (leader.candidate.weight, run._modest(leader)) == (10.0, 1.0)
    alone = Scored(Candidate(loss="logistic", weight=STEP), 40, np.array([0.5]), np.ones(1))
    run.scored.append(alone)
    assert run._modest(alone) == STEP  # one fold has no standard error


def test_neighbours_of_the_best_do_not_fill_the_pool():
    folds, run = MadeUpFolds(40, noisy), search()
    neighbours = [Candidate(transfer=2.0**k, gamma=1.0) for k in range(12)]
    other = Candidate(loss="logistic", weight=5.0)  # worse than all of them
    run.scored = folds.score([(c.family, (c.weight,)) for c in [*neighbours, other]], 1)
    pool = run.pool(folds)
    assert len(pool) == 6
    assert pool[0] is run.best(40)
    assert other in [s.candidate for s in pool]


def test_screening_leaves_time_for_all_rows():
    few, every = MadeUpFolds(40, noisy), MadeUpFolds(400, noisy)
    run = search()
    run.monitor.max_time = 100.0
    run.monitor._start -= 50.0  # half of the time is over
    run.run([few, every])
    assert run.stages.count("members") == 0
    assert {"features", "halving"} <= set(run.stages)


def test_out_of_time_keeps_what_was_scored():
    class Ending(MadeUpFolds):
        def score(self, paths, n_jobs):
            self.out_of_time = len(run.scored) > 3
            return super().score(paths[:1], n_jobs)

    run = search()
    folds = Ending(400, noisy)
    run.run([folds])
    assert len(run.scored) > 3
    assert run.monitor.stopped_by == "time limit"
    assert run.best(400) in run.pool(folds)


def test_between_few_rows_and_all_rows_are_more_rows():
    few, more = MadeUpFolds(40, noisy), MadeUpFolds(100, lambda c: noisy(c, best_weight=3.0))
    every = MadeUpFolds(400, lambda c: noisy(c, best_weight=10.0))
    run = search()
    run.run([few, more, every])
    rows = {stage: {s.n_samples for s, t in zip(run.scored, run.stages, strict=True) if t == stage}
            for stage in set(run.stages)}  # fmt: skip
    assert rows["members"] == {40}
    assert rows["halving"] == rows["widening"] == rows["climbing"] == {100}
    assert rows["finishing"] == {400}
    assert 5.0 < run.best().candidate.weight < 20.0  # found beyond the best weight of more rows
    assert len(run.pool(every)) > 1

    run = search(widen=False)
    run.run([few, more, every])
    assert len({s.candidate.loss for s in run.scored if s.n_samples == 400}) == 1


def test_a_weight_reached_two_ways_is_tried_once():
    folds, run = MadeUpFolds(40, noisy), search()
    up_and_down = 0.1 * STEP / STEP / STEP * STEP
    assert up_and_down != 0.1
    run._score("members", folds, [(Candidate(), (0.1,))])
    run._score("members", folds, [(Candidate(), (up_and_down,))])
    assert len(run.scored) == 1


def test_a_screening_that_took_too_long_leaves_a_try_to_every_rung():
    rungs = [MadeUpFolds(n, noisy) for n in (40, 100, 400)]
    run = search()
    run.monitor.max_time = 100.0
    run.monitor._start -= 70.0  # past the shares of both rungs below all rows
    run.run(rungs)
    assert {s.n_samples for s in run.scored} == {40, 100, 400}


def limited(seconds):
    run = search()
    run.monitor.max_time = seconds
    return run


TEACHER, TRANSFER = Candidate(loss="logistic", theta=2.0), Candidate(loss="logistic", transfer=1.0)


def test_what_there_is_no_time_for_is_not_begun():
    folds = MadeUpFolds(40, noisy, lambda c: 10.0 if c.loss == "logistic" else 0.1)
    run = limited(100.0)
    paths = [(Candidate(), (1.0,)), (Candidate(loss="logistic"), (1.0,))]
    run._score("members", folds, [*paths, (TEACHER, (1.0,)), (TRANSFER, (1.0,))])
    # three folds of 10 s, of at least 30 s with a teacher, of 50 s with two stages
    assert [family for batch in folds.batches for family in batch] == [p[0] for p in paths] + [
        TEACHER
    ]
    assert {s.candidate.family for s in run.scored} == {p[0] for p in paths} | {TEACHER}
    again = MadeUpFolds(40, noisy)
    search()._score("members", again, [(TEACHER, (1.0,)), (TRANSFER, (1.0,))])
    assert again.batches == [[TEACHER, TRANSFER]]  # no limit, no haste


def test_a_family_of_unknown_cost_is_alone():
    folds, run = MadeUpFolds(40, noisy), limited(100.0)
    quick = [(Candidate(), (1.0,)), (Candidate(scaling="idf"), (1.0,))]
    run._score("members", folds, [*quick, (Candidate(loss="logistic"), (1.0,)), (TRANSFER, (1.0,))])
    assert [len(batch) for batch in folds.batches] == [1, 1, 1, 1]
    run._score("members", folds, [(family, (3.0,)) for batch in folds.batches for family in batch])
    assert len(folds.batches[-1]) == 4


def test_more_rows_are_expected_to_take_longer():
    run = limited(100.0)
    run.scored = MadeUpFolds(40, noisy, lambda c: 1.0).score([(Candidate(), (1.0,))], 1)
    assert run._cost(40, Candidate()) == 3.0
    assert run._cost(640, Candidate()) == 96.0
    assert run._cost(640, TRANSFER) == np.inf


def test_few_rows_do_not_try_what_all_rows_have_no_time_for():
    """Logistic takes 3 s on few rows, 53 on all of them, its transfer five times that."""

    def seconds_of(candidate):
        return 1.0 if candidate.loss == "logistic" else 0.001

    space = replace(SPACE, transfer=True)
    tried = {}
    for limit in (400.0, 800.0):
        run = Search(space, Monitor(max_time=limit), sign=1, n_jobs=1)
        few = MadeUpFolds(40, noisy, seconds_of)
        run.run([few, MadeUpFolds(400, noisy, seconds_of)])
        families = {family for batch in few.batches for family in batch}
        tried[limit] = {f.transfer is not None for f in families if f.loss == "logistic"}
    assert tried == {400.0: {False}, 800.0: {False, True}}


def test_where_one_fold_of_all_rows_will_do_few_rows_try_more():
    """As above, with a rung between: a third of 53 s and 36 s for the last fit, times five."""
    run = Search(replace(SPACE, transfer=True), Monitor(max_time=600.0), sign=1, n_jobs=1)
    few, more, every = (MadeUpFolds(n, noisy) for n in (40, 100, 400))
    run.run([few, more, every])
    run.scored = few.score([(Candidate(loss="logistic"), (1.0,))], 1)
    run.scored = [replace(s, seconds=np.ones(3)) for s in run.scored]
    run._share = 0.25
    assert not run._too_dear_on_all(TRANSFER)
    run._fewest = 1.0
    assert run._too_dear_on_all(TRANSFER)


def test_a_cold_fit_is_as_dear_as_the_dearest_of_its_kind():
    run = limited(100.0)
    folds = MadeUpFolds(40, noisy, lambda c: 1.0 / c.weight)
    run.scored = folds.score([(Candidate(), (1.0, 2.0, 4.0))], 1)
    assert run._cost(40, Candidate()) == 0.75
    assert run._cost(40, Candidate(), cold=True) == 3.0


def test_teachers_cost_more_the_more_labels_there_are():
    for n_labels, factor in ((10, 1.0), (90, 3.0), (3000, 100.0)):
        run = Search(replace(SPACE, n_labels=n_labels), Monitor(), sign=1, n_jobs=1)
        run.scored = MadeUpFolds(40, noisy, lambda c: 1.0).score([(Candidate(), (1.0,))], 1)
        assert run._cost(40, Candidate(theta=2.0)) == pytest.approx(3.0 * factor)
        assert run._cost(40, Candidate(low_rank=True)) == pytest.approx(30.0)


def test_another_loss_gets_its_chance_on_more_rows():
    def alike(candidate):  # few rows: the other loss errs where the first one does, and more
        size = 1.0 if candidate.loss == "squared" else 2.0
        return TRUTH + size * np.random.default_rng(1).normal(size=TRUTH.shape)

    def late(candidate):  # more rows: it is better, at a large weight
        return noisy(candidate, best_weight=1.0 if candidate.loss == "squared" else 100.0)

    few, run = MadeUpFolds(40, alike), search()
    run.run([few, MadeUpFolds(100, late), MadeUpFolds(400, late)])
    assert run.best(40).candidate.loss == "squared"
    weights = [s.candidate.weight for s in run.scored if s.candidate.loss == "logistic"]
    assert max(weights) > 100.0


def test_a_fit_leaves_time_to_the_others_of_its_rung():
    monitor = Monitor()
    monitor.max_time = 1000.0
    folds = Folds(np.ones((6, 1)), np.eye(6), [(np.arange(4), np.arange(2))], "x", 1.0, 0, monitor)
    assert 240 < folds._limit() <= 250
    folds.until = 100.0
    assert 20 < folds._limit() <= 25


def test_the_other_loss_is_the_logistic_one():
    names = ("squared", "squared_hinge", "logistic")
    for winner, other in (("squared", "logistic"), ("logistic", "squared")):
        run, more = search(), MadeUpFolds(100, lambda c: TRUTH)
        run.scored = [Scored(Candidate(loss=name), 40, np.ones(3), np.ones(3)) for name in names]
        run.scored.append(Scored(Candidate(loss=winner), 100, np.ones(3), np.ones(3)))
        run._try_another_loss(MadeUpFolds(40, lambda c: TRUTH), more)
        assert {family.loss for batch in more.batches for family in batch} == {other}


def test_finalists_are_tried_at_a_larger_weight_at_once_where_there_is_time():
    """As one path: the second fit goes on from the first."""
    for seconds, expected in ((1.0, 2), (30.0, 1)):
        run, more = limited(200.0), MadeUpFolds(400, noisy, lambda c, s=seconds: s)
        run.scored, run._n_all = more.score([(Candidate(), (1.0,))], 1), 401
        every = MadeUpFolds(401, noisy, lambda c: 0.0)
        walked = []
        every.score = lambda paths, n_jobs, walked=walked: walked.extend(paths) or []
        run._finish(more, every)
        assert len(walked[0][1]) == expected


def finalists(limit, size_of, seconds_of):
    """The losses that are tried on all rows within a limit, and on how many folds."""

    def scores(candidate):
        noise = np.random.default_rng(len(candidate.loss)).normal(size=TRUTH.shape)
        return TRUTH + size_of(candidate.loss) * noise

    paths = [(Candidate(loss=loss), (1.0,)) for loss in ("squared", "squared_hinge", "logistic")]
    run, more, every = (
        limited(limit),
        MadeUpFolds(400, scores, seconds_of),
        MadeUpFolds(800, scores),
    )
    run.scored, run._n_all = more.score(paths, 1), 800
    assert run.best().candidate.loss == "squared_hinge"
    return {s.candidate.loss for s in run._finalists(more, every)}, every.n_folds


def test_a_slow_finalist_does_not_keep_out_two_that_are_better_together():
    def size(loss):
        return 0.8 if loss == "squared_hinge" else 1.0

    def seconds(candidate):
        return 20.0 if candidate.loss == "squared_hinge" else 1.0

    every_loss = {"squared", "squared_hinge", "logistic"}
    # on all rows 157 s for three folds, two thirds of that for the last fits; or one fold
    assert finalists(270.0, size, seconds) == (every_loss, 3)
    assert finalists(200.0, size, seconds) == (every_loss, 1)
    assert finalists(100.0, size, seconds) == ({"squared", "logistic"}, 1)


def test_the_logistic_finalist_stays_however_slow_it_is():
    def size(loss):
        return 0.8 if loss == "squared_hinge" else 1.0

    def seconds(candidate):
        return 20.0 if candidate.loss == "logistic" else 5.0

    assert finalists(190.0, size, seconds) == ({"squared_hinge", "logistic"}, 1)


def test_of_a_blend_that_takes_too_long_those_that_help_least_go():
    """The best of all stays although another is quicker."""
    sizes = {"squared": 1.5, "squared_hinge": 0.8, "logistic": 1.0}
    seconds = {"squared": 1.0, "squared_hinge": 5.0, "logistic": 10.0}
    found = finalists(108.0, sizes.get, lambda c: seconds[c.loss])
    assert found == ({"squared_hinge", "logistic"}, 1)


def test_where_the_best_alone_is_better_than_the_rest_together_it_is_the_finalist():
    def size(loss):
        return 0.1 if loss == "squared_hinge" else 1.0

    assert finalists(1e-6, size, lambda c: 1.0)[0] == {"squared_hinge"}


def test_without_scores_to_blend_the_best_is_the_finalist():
    run, more, every = (
        limited(1e-6),
        MadeUpFolds(400, noisy, lambda c: 1.0),
        MadeUpFolds(800, noisy),
    )
    paths = [(Candidate(loss=loss), (1.0,)) for loss in ("squared", "logistic")]
    run.scored, run._n_all = more.score(paths, 1), 800
    more.scores.clear()
    assert run._finalists(more, every) == [run.best()]


def test_folds_that_are_not_scored_have_no_value():
    X, Y = np.random.default_rng(0).normal(size=(30, 3)), np.eye(3)[np.arange(30) % 3]
    splits = [(np.arange(k, 30), np.arange(k)) for k in (6, 9, 12)]
    folds = Folds(X, Y, splits, "average_precision", 1e-2, 0, Monitor())
    whole = folds.score([(Candidate(), (1.0,))], 1)[0]
    folds.n_folds = 1
    first = folds.score([(Candidate(), (1.0,))], 1)[0]
    assert first.mean == first.values[0] == whole.values[0]
    assert np.isnan(first.values[1:]).all() and np.isnan(first.standard_error)
    np.testing.assert_array_equal(folds.values_of(folds.scores[first.candidate]), first.values)


def test_plain_members_are_screened_before_those_that_build_on_them():
    few = MadeUpFolds(40, noisy)
    run = Search(replace(SPACE, transfer=True), Monitor(), sign=1, n_jobs=1)
    run.run([few, MadeUpFolds(400, noisy)])
    order = list(dict.fromkeys(family for batch in few.batches for family in batch))
    logistic = order.index(replace(order[0], loss="logistic"))
    assert logistic < min(k for k, family in enumerate(order) if family.transfer is not None)
