"""What is here: labels that no example has, of which one is solved in the place of all."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimators import oracles
from tests.estimators.oracles import make_case
from tests.solvers.test_certificate import training_set_of

from prml import PrBR, PrML
from prml.loops import svmplus as loops
from prml.solvers import lowrank
from prml.solvers.absent_labels import counted, stand_in
from prml.solvers.svmplus import solve_label

ABSENT = [1, 2, 5]


def with_absent(case, absent=ABSENT):
    Y = case.Y.copy()
    Y[:, absent] = 0.0
    return case._replace(Y=Y)


def fitted(estimator, case, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return estimator(random_state=0, **oracles.parameters(case), **more).fit(case.X, case.Y)


def counting_labels(monkeypatch):
    """The labels whose problems are made."""
    made = []
    problem = lowrank.TrainingSet.problem
    monkeypatch.setattr(
        lowrank.TrainingSet,
        "problem",
        lambda self, i, *a, **k: (made.append(i), problem(self, i, *a, **k))[1],
    )
    return made


CASES = {
    "finite": {"theta": 2.0},
    "infinite": {"theta": np.inf, "C": 0.3},
    "no constant": {"theta": 2.0, "fit_intercept": False},
    "no privileged constant": {"theta": 2.0, "privileged_intercept": False},
    "no teacher": {"theta": 2.0, "teacher": False},
}


def exact_prbr(case):
    return sum(oracles.exact_label(case, i) for i in range(7))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("estimator", [PrBR, PrML])
def test_the_optimum_is_that_of_all_labels(estimator, name, monkeypatch):
    case = with_absent(make_case(3, n=40, d=5, n_labels=7, **CASES[name]))
    made = counting_labels(monkeypatch)
    model = fitted(estimator, case)
    assert 1 in made
    assert not {2, 5} & set(made)
    if estimator is PrBR:
        exact, (value, violation) = exact_prbr(case), oracles.prbr_value(case, model)
    else:
        exact, (value, violation) = (
            oracles.exact_prml(case, 1.0),
            oracles.prml_value(case, 1.0, model),
        )
    assert violation <= 1e-8
    assert value == pytest.approx(model.objective_, rel=1e-8)
    assert model.dual_objective_ * (1 - 1e-8) <= exact <= value * (1 + 1e-8)
    assert value <= exact * (1 + 1.1e-3)
    assert (model.coef_[ABSENT] == model.coef_[1]).all()


def test_the_multipliers_of_prbr_bound_each_label_by_itself():
    case = with_absent(make_case(4, n=40, d=5, n_labels=7, theta=2.0))
    model = fitted(PrBR, case, warm_start=True)
    training_set, numbers = training_set_of(case)
    total = 0.0
    for i, (alpha, beta) in enumerate(model._multipliers):
        problem = training_set.problem(i, numbers)
        assert ((alpha >= 0) & (alpha <= problem.upper)).all()
        zsum, sigma = np.zeros(6), np.empty(len(beta))
        loops.add_rows(problem, problem.sign * alpha, zsum)
        loops.group_sums(problem, alpha, beta, sigma)
        total += loops.dual_value(problem, alpha, zsum, sigma)
    assert total == pytest.approx(model.dual_objective_, rel=1e-8)


@pytest.mark.parametrize("estimator", [PrBR, PrML])
def test_a_warm_start_begins_at_the_optimum(estimator):
    case = with_absent(make_case(4, n=40, d=5, n_labels=7, theta=2.0))
    parameters = oracles.parameters(case)
    model = estimator(random_state=0, warm_start=True, **parameters).fit(case.X, case.Y)
    first = model.n_iter_
    model.fit(case.X, case.Y)
    assert np.max(model.n_iter_) <= np.max(first)
    assert model.dual_gap_ <= 1e-3


def test_multipliers_are_shared_out_and_joined_again():
    case = with_absent(make_case(4, n=12, d=3, n_labels=7))
    one = stand_in(training_set_of(case)[0])
    borne = list(np.random.default_rng(0).random((5, 12)))
    shared = one.shared_out(borne)
    np.testing.assert_allclose(shared[5], borne[1] / 3)  # label 1 stands for 1, 2 and 5
    np.testing.assert_allclose(np.sum(shared, axis=0), np.sum(borne, axis=0))
    np.testing.assert_allclose(one.joined(shared), borne)
    assert len({id(part) for part in shared}) == 7  # a solver writes into them


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_a_teacher_moves_to_another_label_with_all_its_slacks(data):
    n_labels = data.draw(st.integers(2, 8))
    absent = sorted(data.draw(st.sets(st.integers(0, n_labels - 1), min_size=2, max_size=n_labels)))
    case = with_absent(make_case(1, n=12, d=3, n_labels=n_labels), absent)
    training_set, _ = training_set_of(case)
    one = stand_in(training_set)
    others = absent[1:]
    assert one.members.tolist() == [i for i in range(n_labels) if i not in others]
    assert (one.members[one.source[absent]] == absent[0]).all()
    assert one.counts.sum() == n_labels
    wt = np.random.default_rng(0).normal(size=n_labels - 1)
    here = training_set.features.of_label(absent[0])
    for other in others:
        there = training_set.features.of_label(other)
        moved = one.teacher(wt, other)
        slack = here.vectors() @ wt
        np.testing.assert_allclose((there.vectors() @ moved)[there.group], slack[here.group])


@pytest.mark.parametrize("theta", [2.0, np.inf])
@pytest.mark.parametrize("count", [1, 2, 50])
def test_a_counted_problem_has_so_many_times_the_optimum(theta, count):
    training_set, numbers = training_set_of(make_case(2, n=40, d=5, n_labels=4, theta=theta))
    problem = training_set.problem(0, numbers)
    rng = np.random.default_rng(0)
    once = solve_label(problem, tol=1e-6, rng=rng)
    many = solve_label(counted(problem, count), tol=1e-6, rng=rng)
    assert many.objective == pytest.approx(count * once.objective, rel=1e-5)
    np.testing.assert_allclose(many.z / np.sqrt(count), once.z, atol=1e-3)
    m = np.empty(len(problem.rows))
    loops.margins(counted(problem, count), many.z, m)
    expected = np.empty(len(problem.rows))
    loops.margins(problem, once.z, expected)
    np.testing.assert_allclose(m, expected, atol=1e-3)


@pytest.mark.parametrize(
    ("change", "an_entry"),
    [({"class_weight": "balanced"}, 0.0), ({"privileged": 2}, 0.0), ({}, np.nan)],
)
def test_labels_of_their_own_kind_stand_for_themselves(change, an_entry, monkeypatch):
    case = with_absent(make_case(3, n=40, d=5, n_labels=7, theta=2.0))
    case.Y[0, 2] = an_entry
    made = counting_labels(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        PrBR(random_state=0, **(oracles.parameters(case) | change)).fit(case.X, case.Y)
    assert set(made) == set(range(7))
