"""What is here: ML2's label programmes against SciPy's nnls and their optimality conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.baselines import naive_ml2

from prml.baselines.label_manifold import build_manifold, kkt_violation, numerical_label
from prml.baselines.reconstruction import reconstruction_matrix


def programme(seed, n=40, d=3, k=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.3, 1.0, -1.0)
    return reconstruction_matrix(X, k), y


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 8))
def test_same_optimum_as_nnls(seed, k):
    S, y = programme(seed, k=k)
    found = numerical_label(build_manifold(S), y, tol=1e-9)
    expected = naive_ml2.numerical_label(S, y)
    B = np.eye(len(y)) - S.toarray()
    best = np.square(B @ expected).sum()
    assert found.kkt_residual <= 1e-9
    assert (y * found.mu >= 1).all()
    assert np.square(B @ found.mu).sum() == pytest.approx(best, rel=1e-6, abs=1e-9)


def test_the_solution_itself_where_it_is_unique():
    S, y = programme(3, n=60, k=6)
    B = np.eye(60) - S.toarray()
    expected = naive_ml2.numerical_label(S, y)
    free = y * expected > 1 + 1e-6
    assert free.sum() > 10  # else the test would say little
    assert np.linalg.matrix_rank(B[:, free]) == free.sum()
    found = numerical_label(build_manifold(S), y, tol=1e-10)
    np.testing.assert_allclose(found.mu, expected, atol=1e-5)


def test_residual_is_that_of_the_dense_programme():
    S, y = programme(4)
    for tol in (1e-1, 1e-3, 1e-6):
        found = numerical_label(build_manifold(S), y, tol=tol)
        B = (np.eye(len(y)) - S.toarray()) * y
        v, gradient = y * found.mu, B.T @ (B @ (y * found.mu))
        start = np.abs(B.T @ (B @ np.ones(len(y)))).max()
        assert found.kkt_residual == pytest.approx(kkt_violation(v, gradient) / start, abs=1e-12)
        assert found.kkt_residual <= tol * (1 + 1e-6)


def test_kkt_violation_by_hand():
    v, gradient = np.array([1.0, 1.0, 2.0]), np.array([5.0, -0.2, 0.1])
    assert kkt_violation(v, gradient) == 0.2


def test_too_few_iterations_are_reported():
    S, y = programme(5)
    assert numerical_label(build_manifold(S), y, tol=1e-12, max_iter=2).kkt_residual > 1e-6


@pytest.mark.parametrize("value", [-1.0, 1.0])
def test_constant_label_stays(value):
    S, _ = programme(6)
    found = numerical_label(build_manifold(S), np.full(40, value))
    np.testing.assert_array_equal(found.mu, np.full(40, value))
    assert found.kkt_residual == 0


def test_one_example_has_no_neighbour():
    manifold = build_manifold(reconstruction_matrix(np.ones((1, 1)), 3))
    assert numerical_label(manifold, np.array([-1.0])).mu.tolist() == [-1.0]


def test_hubs_do_not_slow_it_down():
    """One example is everybody's neighbour: unscaled, its column dominates the curvature."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 30))
    X[0] = 0
    y = np.where(rng.random(300) < 0.2, 1.0, -1.0)
    found = numerical_label(build_manifold(reconstruction_matrix(X, 10)), y, tol=1e-6)
    assert found.kkt_residual <= 1e-6
    assert found.n_iter < 1000
