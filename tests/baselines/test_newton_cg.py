"""What is here: conjugate gradients against direct solves, backtracking against its promise."""

from itertools import pairwise

import numpy as np
import pytest

from prml.baselines.newton_cg import backtrack, conjugate_gradient


def spd(rng, n):
    root = rng.normal(size=(n, n))
    return root @ root.T + 0.1 * np.eye(n)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_solves_like_a_direct_solver(axis):
    rng = np.random.default_rng(0)
    A, rhs = spd(rng, 6), rng.normal(size=(6, 4))
    if axis == 1:
        found = conjugate_gradient(lambda S: S @ A, rhs.T, axis=1, tol=1e-10, max_iter=200).point.T
    else:
        found = conjugate_gradient(lambda S: A @ S, rhs, axis=axis, tol=1e-10, max_iter=200).point
    np.testing.assert_allclose(found, np.linalg.solve(A, rhs), rtol=1e-6, atol=1e-8)


def test_columns_of_their_own_end_within_their_dimension():
    rng = np.random.default_rng(1)
    matrices = [spd(rng, 5) * 10.0**c for c in range(3)]
    rhs = rng.normal(size=(5, 3))

    def product(S):
        return np.column_stack([M @ s for M, s in zip(matrices, S.T, strict=True)])

    solution = conjugate_gradient(product, rhs, axis=0, tol=1e-8, max_iter=8)
    assert solution.n_iter <= 7
    for c, M in enumerate(matrices):
        np.testing.assert_allclose(solution.point[:, c], np.linalg.solve(M, rhs[:, c]), rtol=1e-5)


def test_exact_preconditioner_needs_one_product():
    rng = np.random.default_rng(2)
    A, rhs = spd(rng, 6), rng.normal(size=(6, 2))
    solution = conjugate_gradient(
        lambda S: A @ S, rhs, tol=1e-9, precondition=lambda R: np.linalg.solve(A, R)
    )
    assert solution.n_iter == 1


def test_zero_right_hand_side_costs_nothing():
    solution = conjugate_gradient(lambda S: S, np.zeros((3, 2)), axis=0)
    assert solution.n_iter == 0
    assert not solution.point.any()


def test_early_stop_still_descends():
    rng = np.random.default_rng(3)
    A, rhs = spd(rng, 20), rng.normal(size=(20, 1))
    values = []
    for most in range(1, 8):
        s = conjugate_gradient(lambda S: A @ S, rhs, tol=0.0, max_iter=most).point
        values.append(0.5 * np.vdot(s, A @ s) - np.vdot(rhs, s))
    assert values[0] < 0
    assert all(later < earlier for earlier, later in pairwise(values))


def test_a_stop_keeps_what_the_products_so_far_brought():
    rng = np.random.default_rng(4)
    A, rhs = spd(rng, 20), rng.normal(size=(20, 1))
    answers = iter([False, False, True])
    stopped = conjugate_gradient(lambda S: A @ S, rhs, tol=0.0, should_stop=lambda: next(answers))
    three = conjugate_gradient(lambda S: A @ S, rhs, tol=0.0, max_iter=3)
    assert stopped.n_iter == 3
    np.testing.assert_array_equal(stopped.point, three.point)
    # the first product is always made: a fit without any time has a direction of descent
    assert conjugate_gradient(lambda S: A @ S, rhs, should_stop=lambda: True).n_iter == 1


def test_backtracking_by_problem():
    # f(t) = (1 - c t)^2 from t = 0: a full step is right for c = 1, far too long for c = 8.
    c = np.array([[1.0], [8.0], [0.0]])
    step = backtrack(lambda t: (1 - c * t) ** 2, np.ones((3, 1)), -2 * c)
    assert step[0, 0] == 1.0
    assert 0 < step[1, 0] < 0.25
    assert step[2, 0] == 0.0


def test_backtracking_refuses_nan():
    with np.errstate(invalid="ignore"):
        step = backtrack(
            lambda t: np.where(t > 0.3, np.nan, -t), np.zeros((1, 1)), -np.ones((1, 1))
        )
    assert step[0, 0] == 0.25
