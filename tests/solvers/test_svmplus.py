"""What is here: solve_label against the exact quadratic programme, LIBLINEAR and Algorithm 1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC
from tests import naive
from tests.svmplus_problems import exact_objective, objective_and_violation, random_problem

from prml.solvers.feasibility import is_feasible, lift_direction
from prml.solvers.svmplus import cold_start, relative_gap, solve_label


def solve(problem, tol=2e-4, **options):
    options.setdefault("rng", np.random.default_rng(0))
    return solve_label(problem, tol=tol, **options)


def check_certificate(problem, explicit, solution, exact):
    """The point is feasible, the values are those of the point, the gap bounds the distance."""
    value, violation = objective_and_violation(
        problem, explicit, solution.z, solution.wt, solution.wt0
    )
    rounding = 1e-7 * abs(exact)
    assert violation <= 1e-6
    assert value == pytest.approx(solution.objective, rel=1e-8)
    assert (solution.alpha >= 0).all() and (solution.alpha <= problem.upper).all()
    assert (solution.beta >= 0).all()
    _, wt = naive.primal_from_dual(
        explicit.x,
        problem.sign,
        explicit.v,
        problem.group,
        problem.group_cost,
        problem.gamma2,
        problem.omega,
        problem.centre,
        solution.alpha,
        solution.beta,
    )
    zsum = (solution.alpha * problem.sign) @ explicit.x
    dual = solution.alpha.sum() - problem.omega / 2 * zsum @ zsum - problem.centre @ zsum
    dual -= problem.gamma2 / 2 * wt @ wt
    assert dual == pytest.approx(solution.dual_objective, rel=1e-8, abs=1e-10)
    assert solution.dual_objective <= exact + rounding
    assert solution.objective >= exact - rounding
    assert solution.gap >= (solution.objective - exact - rounding) / solution.objective
    assert solution.gap >= 0.0


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    theta=st.sampled_from([np.inf, 2.0, 1.0]),
    C=st.sampled_from([1e-3, 0.03, 1.0, 20.0]),
    gamma2=st.sampled_from([0.1, 0.5, 2.0]),
    intercept=st.booleans(),
    weighted=st.booleans(),
    missing=st.sampled_from([0.0, 0.2]),
    pool=st.sampled_from([None, [1, 3]]),
)
def test_random_problems_reach_the_exact_optimum(
    seed, theta, C, gamma2, intercept, weighted, missing, pool
):
    problem, explicit = random_problem(
        seed,
        n=30,
        theta=theta,
        C=C,
        gamma2=gamma2,
        intercept=intercept,
        weighted=weighted,
        missing=missing,
        pool=pool,
    )
    lift = lift_direction(problem)
    if not is_feasible(problem, lift):
        return
    solution = solve(problem, lift=lift)
    exact = exact_objective(problem, explicit)
    check_certificate(problem, explicit, solution, exact)
    assert solution.gap <= 2e-4
    assert solution.objective == pytest.approx(exact, rel=3e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"omega": 3.0, "centred": True},
        {"omega": 0.2, "centred": True, "theta": np.inf},
        {"teacher": False, "intercept": False},
        {"form": "dense", "theta": np.inf},
        {"dtype": np.float32},
        {"bias": 0.0},
    ],
    ids=str,
)
def test_every_form_of_the_problem_reaches_the_exact_optimum(options):
    problem, explicit = random_problem(21, **options)
    solution = solve(problem, lift=lift_direction(problem))
    exact = exact_objective(problem, explicit)
    check_certificate(problem, explicit, solution, exact)
    assert solution.objective == pytest.approx(exact, rel=3e-4)


@pytest.mark.parametrize("theta", [2.0, np.inf])
def test_forms_of_X_agree(theta):
    reference = solve(random_problem(8, theta=theta)[0], tol=1e-5)
    for options in ({"form": "dense"}, {"dtype": np.float32}):
        other = solve(random_problem(8, theta=theta, **options)[0], tol=1e-5)
        assert other.objective == pytest.approx(reference.objective, rel=1e-4)
        np.testing.assert_allclose(other.z, reference.z, atol=0.02)


def test_a_gap_of_1e_6_is_reached():
    problem, explicit = random_problem(4, theta=np.inf, C=0.1)
    solution = solve(problem, tol=1e-6)
    assert solution.gap <= 1e-6
    assert solution.objective == pytest.approx(exact_objective(problem, explicit), rel=2e-6)


def test_theta_1_has_the_objective_of_liblinear():
    problem, explicit = random_problem(9, n=60, theta=1.0, C=0.7)
    ours = solve(problem)
    # theta = 1: a slack costs what the hinge loss costs, so the teacher may idle
    svc = LinearSVC(loss="hinge", C=0.7, intercept_scaling=1.0, tol=1e-8, max_iter=200_000)
    svc.fit(explicit.x[:, :-1], problem.sign)
    w = np.r_[svc.coef_[0], svc.intercept_]
    hinge = np.maximum(0.0, 1.0 - problem.sign * (explicit.x @ w)).sum()
    assert ours.objective == pytest.approx(0.5 * w @ w + 0.7 * hinge, rel=1e-3)


def test_algorithm_1_of_the_paper_has_the_same_dual_optimum():
    problem, explicit = random_problem(2, n=12, d=3, n_labels=3, theta=np.inf, C=0.3)
    rng = np.random.default_rng(0)
    n = len(problem.rows)
    order = np.concatenate([rng.permutation(2 * n) for _ in range(1500)])
    vectors = explicit.v[problem.group]
    D, wt, eta = naive.algorithm_1(
        explicit.x, problem.sign[None], [vectors], np.ones((1, 1)), problem.gamma2, 0.3, order
    )
    dual = eta[:n].sum() - 0.5 * (D**2).sum() - problem.gamma2 / 2 * wt[0] @ wt[0]
    ours = solve(problem, tol=1e-6)
    assert dual <= ours.objective + 1e-9
    assert dual == pytest.approx(ours.dual_objective, rel=1e-4)


def test_a_warm_start_is_quicker_and_any_feasible_start_will_do():
    problem, _ = random_problem(6, n=80, theta=np.inf, C=0.1)
    cold = solve(problem, tol=1e-4)
    warm = solve(problem, tol=1e-4, start=(cold.alpha, cold.beta))
    assert warm.n_steps <= cold.n_steps
    odd = solve(problem, tol=1e-4, start=(np.full(80, 0.5), np.zeros(len(problem.norm))))
    assert odd.objective == pytest.approx(cold.objective, rel=2e-4)


def test_the_start_is_not_changed_and_equal_seeds_give_equal_results():
    problem, _ = random_problem(6)
    start = cold_start(problem)
    before = [part.copy() for part in start]
    first = solve(problem, start=start)
    second = solve(problem, start=start)
    for part, kept in zip(start, before, strict=True):
        np.testing.assert_array_equal(part, kept)
    np.testing.assert_array_equal(first.z, second.z)


def test_limits_are_kept_and_the_bounds_hold_when_stopped_early():
    problem, explicit = random_problem(10, n=80, theta=np.inf, C=5.0, gamma2=0.1)
    exact = exact_objective(problem, explicit)
    for options in ({"max_iter": 3}, {"max_iter": 13}, {"should_stop": lambda: True}):
        solution = solve(problem, tol=1e-9, **options)
        assert solution.n_sweeps + solution.n_steps <= options.get("max_iter", 10)
        check_certificate(problem, explicit, solution, exact)


def test_relative_gap_is_never_negative():
    assert relative_gap(1.0, 1.0 + 1e-12) == 0.0
    assert relative_gap(2.0, 1.0) == 0.5
    assert relative_gap(0.0, -1.0) == 0.0
