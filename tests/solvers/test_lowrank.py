"""What is here: the splitting that solves PrML, at the level of its rounds."""

import warnings

import numpy as np
import pytest
from tests import naive
from tests.estimators import oracles
from tests.estimators.oracles import make_case
from tests.solvers.test_certificate import training_set_of

from prml import PrML
from prml.loops import svmplus as loops
from prml.monitor import Monitor
from prml.solvers import coupling, lowrank, spectral
from prml.solvers.feasibility import InfeasibleError
from prml.solvers.label_state import CORRECTIONS

OPTIONS = {"tol": 1e-3, "max_iter": 2000, "seed": 0}


def solve(case, gamma1=1.0, monitor=None, **more):
    training_set, numbers = training_set_of(case)
    monitor = Monitor() if monitor is None else monitor
    return lowrank.solve_low_rank(training_set, numbers, gamma1, monitor=monitor, **OPTIONS | more)


def test_predictors_are_of_exactly_low_rank():
    case = make_case(1, n=60, d=8, n_labels=6, rank=2, flips=0.05)
    factors = solve(case, 200.0).factors
    assert 1 <= factors.rank < 6
    assert np.allclose(factors.left.T @ factors.left, np.eye(factors.rank), atol=1e-9)
    assert np.linalg.matrix_rank(factors.product()) == factors.rank


@pytest.mark.parametrize("theta", [np.inf, 2.0])
def test_the_path_of_large_matrices_gives_the_same_optimum(monkeypatch, theta):
    case = make_case(2, n=60, d=12, n_labels=10, theta=theta, C=0.3, rank=3, flips=0.05)
    small = solve(case, 2.0)
    monkeypatch.setattr(spectral, "FULL_SIZE", 2)
    large = solve(case, 2.0)
    assert large.objective == pytest.approx(small.objective, rel=1e-3)
    assert large.dual_objective <= small.objective * (1 + 1e-9)
    assert small.dual_objective <= large.objective * (1 + 1e-9)


def test_problems_made_anew_give_the_same_rounds(monkeypatch):
    case = make_case(3)
    kept = solve(case)
    monkeypatch.setattr(lowrank._Problems, "MAX_BYTES", 0)
    anew = solve(case)
    assert np.array_equal(kept.factors.product(), anew.factors.product())
    assert kept.objective == anew.objective


def test_infeasible_labels_are_found_before_the_first_round():
    case = make_case(n_labels=6, n=20, theta=np.inf, privileged_intercept=False)
    with pytest.raises(InfeasibleError) as caught:
        solve(case)
    expected = [i for i in range(6) if np.isinf(oracles.exact_label(case, i))]
    assert caught.value.labels == expected


def test_hard_examples_get_their_margin():
    # no privileged intercept, theta inf, but separable: Z alone must give some margins of 1
    case = make_case(41, n=8, d=8, n_labels=3, theta=np.inf, privileged_intercept=False, flips=0.1)
    exact = oracles.exact_prml(case, 0.5)
    assert np.isfinite(exact)
    solution = solve(case, 0.5)
    assert solution.objective == pytest.approx(exact, rel=1e-3)
    # Z is enlarged to them; to wait until rounds meet them to rounding took 100
    assert solution.n_iter <= 50


@pytest.mark.parametrize("max_iter", [1, 2, 3, 5, 6])
def test_the_last_round_counts(max_iter):
    case = make_case(1, n=60, d=5, n_labels=6)
    monitor = Monitor()
    solution = solve(case, monitor=monitor, tol=1e-12, max_iter=max_iter)
    assert solution.n_iter == max_iter
    assert monitor.history[-1]["iteration"] == max_iter
    assert np.isfinite(solution.objective)


def test_before_the_first_round_the_zero_predictor_is_kept():
    case = make_case(1)
    monitor = Monitor(max_time=1e-9)
    solution = solve(case, monitor=monitor)
    assert monitor.stopped_by == "time limit"
    assert solution.factors.rank == 0
    assert solution.objective == pytest.approx(4 * min(2.0 * 50, 50 + 0.5))
    assert solution.dual_objective <= solution.objective


@pytest.mark.parametrize("theta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("C", [0.01, 0.1])
def test_the_zero_predictor_has_the_value_it_claims(theta, C):
    # C * n and the sum of n times C differ in the last digit: neither may decide which is cheaper
    for n in (21, 37, 43, 49):
        case = make_case(n, n=n, theta=theta, C=C, gamma2=0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = PrML(gamma1=1e6, **oracles.parameters(case)).fit(case.X, case.Y)
        value, violation = oracles.prml_value(case, 1e6, model)
        assert violation <= 1e-6
        assert model.objective_ == pytest.approx(value, rel=1e-9)


def after_rounds(case, n_rounds=6, gamma1=1.0):
    training_set, numbers = training_set_of(case)
    rounds = lowrank.Splitting(training_set, numbers, gamma1, seed=0, n_jobs=1)
    for _ in range(n_rounds):
        rounds.step()
    return rounds


@pytest.mark.parametrize("theta", [2.0, np.inf])
@pytest.mark.parametrize("size", [1e-6, 1e-2, 10.0])
def test_multipliers_are_shed_as_the_naive_twin_does_it(theta, size):
    case = make_case(5, n=60, d=6, n_labels=5, theta=theta)
    rounds = after_rounds(case)
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.normal(size=(case.features().shape[1], 2)))[0].T
    projected = case.features() @ directions.T
    for i, label in enumerate(rounds.labels):
        problem, before = rounds._problems[i], label.m_row.copy()
        excess = size * rng.normal(size=2)
        x = case.features()[problem.rows]
        given = (projected, excess, label.alpha, label.beta, CORRECTIONS)
        alpha, beta, m_row = naive.shed(x, problem.sign, problem.upper, problem.group, *given)
        teacher, cost = label.teacher(problem), label.dual_parts()[1]
        label.shed(problem, projected, excess)
        np.testing.assert_allclose(label.alpha, alpha, atol=1e-12)
        np.testing.assert_allclose(label.beta, beta, atol=1e-12)
        np.testing.assert_allclose(label.m_row, m_row, atol=1e-9)
        assert (label.alpha >= 0).all() and (label.alpha <= problem.upper).all()
        assert (label.beta >= 0).all()
        assert excess @ directions @ (label.m_row - before) < 0.0
        # the teacher that belongs to the multipliers is the one that is kept
        u, s, z = np.empty_like(label.u), np.empty(3), np.empty_like(before)
        plain = problem._replace(omega=1.0, centre=np.zeros_like(before))
        loops.dual_state(plain, label.alpha, label.beta, z, u, s)
        np.testing.assert_allclose(u, label.u, atol=1e-9)
        np.testing.assert_allclose(s[:2], label.s[:2], atol=1e-9)
        np.testing.assert_allclose(label.teacher(problem)[0], teacher[0])
        assert label.dual_parts()[1] == cost


def test_all_of_the_excess_goes_where_no_multiplier_meets_its_bound():
    case = make_case(5, n=60, d=6, n_labels=5)
    rounds = after_rounds(case)
    problem, label = rounds._problems[0], rounds.labels[0]
    label.alpha = 0.5 * problem.upper
    label.beta = np.ones_like(label.beta)
    projected, excess = case.features()[:, :2], np.array([1e-3, -2e-3])
    before = label.m_row.copy()
    label.shed(problem, projected, excess)
    np.testing.assert_allclose((label.m_row - before)[:2], -excess, rtol=1e-6)


def test_relief_raises_the_lower_bound(monkeypatch):
    monkeypatch.setattr(coupling, "RELIEF_PAYS", 0.0)
    case = make_case(7, n=200, d=10, n_labels=8, theta=2.0, C=0.1)
    rounds = after_rounds(case, 8)
    before, t = rounds.lower_bound()
    assert t < 0.99  # else there is nothing to relieve
    rounds.relieve()
    after, better = rounds.lower_bound()
    exact = oracles.exact_prml(case, 1.0)
    assert 1.0 >= better > t
    assert before < after <= exact * (1 + 1e-9)


@pytest.mark.parametrize(
    ("scaled_off", "may_rise", "direction"),
    [(0.9, True, -1), (0.9, False, -1), (0.4, True, 0), (0.01, True, 1), (0.01, False, 0)],
)
def test_rho_follows_what_the_gap_is_made_of(scaled_off, may_rise, direction):
    rounds = after_rounds(make_case(3, n=40, n_labels=6), 3)
    before, rounds.scaled_off = rounds.rho, scaled_off
    rounds.balance(1.0, may_rise=may_rise)
    assert np.sign(rounds.rho - before) == direction


def test_what_scaling_costs_is_what_the_lower_bound_loses():
    rounds = after_rounds(make_case(7, n=200, d=10, n_labels=8, theta=2.0, C=0.1), 8)
    bound, t = rounds.lower_bound()
    gains, costs = rounds.sum_of_dual_parts()
    assert t < 0.99
    assert bound + rounds.scaled_off == pytest.approx(gains - costs)


@pytest.mark.parametrize("start", [1e-2, 1e3])
def test_a_wrong_rho_is_put_right(start):
    """Left alone, the first takes 1,164 rounds and the second is not done after 2,000."""
    case = make_case(9, n=80, d=8, n_labels=6, theta=2.0, C=1.0)
    training_set, numbers = training_set_of(case)
    rounds = lowrank.Splitting(training_set, numbers, 1.0, seed=0, n_jobs=1)
    rounds.rho = start
    solution = lowrank.run_rounds(rounds, tol=1e-3, max_iter=2000, monitor=Monitor())
    assert solution.n_iter < 800
    assert solution.objective == pytest.approx(oracles.exact_prml(case, 1.0), rel=1.1e-3)


@pytest.mark.parametrize("theta", [2.0, np.inf])
def test_the_optimum_is_the_same_with_relief(monkeypatch, theta):
    case = make_case(9, n=80, d=8, n_labels=6, theta=theta, C=1.0)
    monkeypatch.setattr(coupling, "RELIEF_PAYS", 0.0)
    monkeypatch.setattr(coupling, "RELIEF_SHARE", 0.0)
    passes = []
    shed = lowrank.Splitting.shed
    monkeypatch.setattr(
        lowrank.Splitting, "shed", lambda self, excess: (passes.append(1), shed(self, excess))
    )
    solution = solve(case)
    assert passes
    exact = oracles.exact_prml(case, 1.0)
    assert solution.objective == pytest.approx(exact, rel=1.1e-3)
    assert solution.dual_objective <= exact * (1 + 1e-9)


@pytest.mark.parametrize("budget", [0.0, 1e-3, 0.3, np.inf])
def test_the_worst_teachers_are_improved_until_the_rest_is_near_enough(budget):
    case = make_case(3, n=40, n_labels=6)
    rounds = after_rounds(case, 3)
    rounds.enough = budget
    fits = rounds.repair(1.0)
    distance = lowrank.distances_of(fits)
    cutoff = rounds.near_enough(distance)
    left = distance[distance <= cutoff].sum() if budget else 0.0
    assert left <= budget
    assert budget == np.inf or left + distance[distance > cutoff].min(initial=np.inf) > budget
    repaired = sum(fit.objective for fit in fits)
    best = sum(rounds._fit_teacher(i, 1.0).objective for i in range(6))
    total = rounds.judge(1.0, fits, cutoff)[0]
    assert best * (1 - 1e-9) <= total <= min(repaired, best + left) * (1 + 1e-9)
