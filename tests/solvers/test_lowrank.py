"""What is here: the splitting that solves PrML, at the level of its rounds."""

import warnings

import numpy as np
import pytest
from tests.estimators import oracles
from tests.estimators.oracles import make_case
from tests.solvers.test_certificate import training_set_of

from prml import PrML
from prml.monitor import Monitor
from prml.solvers import lowrank, spectral
from prml.solvers.feasibility import InfeasibleError

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
