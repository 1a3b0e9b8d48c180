"""What is here: which slacks can be raised without the privileged intercept, and what cannot be."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimators import oracles
from tests.estimators.oracles import make_case

from prml.privileged import LabelFeatures
from prml.solvers.feasibility import is_feasible, lift_direction, teacher_vectors
from prml.solvers.given_margins import fit_teacher, repair_teacher
from prml.solvers.svmplus import cold_start
from prml.solvers.training_set import Hyperparameters, TrainingSet
from prml.targets import read_targets


def problem_of(case, i, sparse=False):
    targets = read_targets(case.Y)
    features = LabelFeatures(targets, None, case.privileged_intercept, case.teacher)
    X = sp.csr_matrix(case.X) if sparse else case.X
    numbers = Hyperparameters(case.C, case.gamma2, case.theta)
    return TrainingSet(X, targets, features, case.fit_intercept).problem(i, numbers)


@given(seed=st.integers(0, 10_000), n=st.integers(1, 40), n_labels=st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_the_direction_raises_all_that_can_rise(seed, n, n_labels):
    case = make_case(seed, n=n, n_labels=n_labels, privileged_intercept=False)
    problem = problem_of(case, 0)
    lift = lift_direction(problem)
    V = teacher_vectors(problem)
    assert np.allclose(V @ lift.wt, lift.xi, atol=1e-9)
    assert ((lift.xi == 0.0) | (lift.xi > 0.4)).all()
    assert lift.wt0 == 0.0
    # a vector and its complement force each other to 0
    for g in range(len(V)):
        if (-V[g] == V).all(axis=1).any():
            assert lift.xi[g] == 0.0
    # forced slacks vanish for every wt that is orthogonal to the forced directions
    if lift.forced is not None:
        wt = np.random.default_rng(seed).normal(size=V.shape[1])
        wt -= lift.forced @ (lift.forced.T @ wt)
        assert np.allclose(V[lift.xi == 0.0] @ wt, 0.0, atol=1e-9)


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 25),
    n_labels=st.integers(1, 5),
    fit_intercept=st.booleans(),
    sparse=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_feasibility_is_that_of_the_explicit_problem(seed, n, n_labels, fit_intercept, sparse):
    case = make_case(
        seed,
        n=n,
        n_labels=n_labels,
        theta=np.inf,
        privileged_intercept=False,
        fit_intercept=fit_intercept,
    )
    problem = problem_of(case, 0, sparse)
    found = is_feasible(problem, lift_direction(problem))
    exact = oracles.exact_label(case, 0)
    if not np.isnan(exact):
        assert found == np.isfinite(exact)


@pytest.mark.parametrize("numbers", [{"theta": 2.0}, {"privileged_intercept": True}])
def test_a_finite_theta_or_the_intercept_is_always_feasible(numbers):
    case = make_case(**{"theta": np.inf, "privileged_intercept": False} | numbers, n_labels=6, n=20)
    for i in range(6):
        problem = problem_of(case, i)
        assert is_feasible(problem, lift_direction(problem))


def given_predictors(case):
    """Label, problem, a random predictor and its margins, for four labels."""
    rng = np.random.default_rng(0)
    for i in range(4):
        problem = problem_of(case, i)
        z = rng.normal(size=5)
        yield i, problem, z, problem.sign * (case.features() @ z)


def check_teacher(fit, case, i, z):
    """It excuses what it must, and its objective is that of the definition."""
    wt = np.r_[np.insert(fit.wt, i, 0.0), fit.wt0]
    value, violation = oracles.label_value(case, i, z, wt)
    assert violation <= 1e-8
    assert fit.objective == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_teacher_of_given_margins_is_feasible_and_nearly_the_best(intercept):
    case = make_case(3, n=40, privileged_intercept=intercept)
    for i, problem, z, m in given_predictors(case):
        start = np.zeros(problem.n_teachers), 0.0, *cold_start(problem)
        fit = fit_teacher(problem, m, *start, n_steps=20)
        check_teacher(fit, case, i, z)
        assert fit.objective <= exact_teacher(case, i, m) * (1 + 3e-3)


@pytest.mark.parametrize("theta", [2.0, np.inf])
def test_a_repaired_teacher_is_feasible_and_as_near_as_it_claims(theta):
    case = make_case(3, n=40, theta=theta)
    for i, problem, z, m in given_predictors(case):
        start = np.linspace(-1.0, 1.0, problem.n_teachers), 0.3, *cold_start(problem)
        repaired = repair_teacher(problem, z, *start)
        check_teacher(repaired, case, i, z)
        best = fit_teacher(problem, m, *start, n_steps=20)
        above = repaired.objective - best.objective
        assert above > 1e-3 * best.objective  # else the next line would say nothing
        assert repaired.distance >= above
        same = repair_teacher(problem, z, best.wt, best.wt0, *start[2:])
        assert same.objective == pytest.approx(best.objective, rel=1e-9)


def exact_teacher(case, i, m):
    """The optimum over the teacher alone, by a general solver: margins in place of features."""
    _, _, cost, v = case.label(i)
    n, width = len(m), v.shape[1]
    P = sp.diags(np.r_[np.full(width, case.gamma2), np.zeros(n)]).tocsc()
    q = np.r_[cost @ v, case.theta * cost]
    A = sp.bmat([[-sp.csc_matrix(v), None], [-sp.csc_matrix(v), -sp.eye(n)], [None, -sp.eye(n)]])
    b = np.r_[np.zeros(n), m - 1.0, np.zeros(n)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    cones = [clarabel.NonnegativeConeT(len(b))]
    return clarabel.DefaultSolver(P, q, A.tocsc(), b, cones, options).solve().obj_val
