"""What is here: the kernel regression of ML2 against kernel ridge and a conic solver."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from tests.baselines import naive_ml2

from prml.baselines.kernel_features import (
    exact_kernel_bytes,
    largest_landmark_count,
    mean_distance,
    rbf_features,
)
from prml.baselines.support_regression import SharedFactor, support_regression
from prml.monitor import Monitor


def problem(seed, n=20, r=6, L=3):
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(n, r)) / 2
    size = 1 + np.abs(rng.normal(size=(n, L)))
    return Phi, np.where(Phi @ rng.normal(size=(r, L)) > 0.5, size, -size)


def test_without_tube_and_signs_it_is_kernel_ridge():
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(50, 4)), rng.normal(size=(9, 4))
    _, mu = problem(0, n=50)
    kernel = rbf_features(X, 0.2, max_bytes=1e9, n_landmarks=1, rng=rng)
    model = support_regression(kernel.features, mu, C1=3.0, C2=0.0, epsilon=0.0, tol=1e-10)
    expected = KernelRidge(alpha=1 / 3.0, kernel="rbf", gamma=0.2).fit(X, mu).predict(X_new)
    beta = kernel.dual_coef(model.theta)
    found = rbf_kernel(X_new, X[kernel.landmarks], gamma=0.2) @ beta
    np.testing.assert_allclose(found, expected, atol=1e-6)


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    C1=st.sampled_from([0.1, 1.0, 10.0]),
    C2=st.sampled_from([0.0, 0.5, 10.0]),
    epsilon=st.sampled_from([0.0, 1e-3, 0.5]),
)
@example(seed=0, C1=0.1, C2=10.0, epsilon=0.0)  # multipliers with a long way to go
def test_same_minimum_as_a_conic_solver(seed, C1, C2, epsilon):
    Phi, mu = problem(seed)
    found = support_regression(Phi, mu, C1=C1, C2=C2, epsilon=epsilon, tol=1e-5, max_iter=100)
    theta = naive_ml2.support_regression(Phi, mu, C1, C2, epsilon)
    best = naive_ml2.regression_objective(Phi, mu, theta, C1, C2, epsilon)
    own = naive_ml2.regression_objective(Phi, mu, found.theta, C1, C2, epsilon)
    assert found.objective == pytest.approx(own, rel=1e-9)
    assert found.dual_objective <= best * (1 + 1e-7)
    assert found.converged
    assert own <= best * (1 + 2e-5)


def test_bound_holds_at_every_step():
    Phi, mu = problem(1)
    theta = naive_ml2.support_regression(Phi, mu, 1.0, 10.0, 1e-3)
    best = naive_ml2.regression_objective(Phi, mu, theta, 1.0, 10.0, 1e-3)
    monitor = Monitor()
    support_regression(Phi, mu, tol=1e-6, monitor=monitor)
    assert len(monitor.history) > 3
    for record in monitor.history:
        assert record["dual_objective"] <= best * (1 + 1e-7) <= record["objective"] * (1 + 1e-6)


def test_step_solves_the_normal_equations_of_every_label():
    Phi, _ = problem(3, n=20, r=6, L=3)
    rng = np.random.default_rng(3)
    weights, rhs = rng.uniform(0, 2, size=20), rng.normal(size=(6, 3))
    on_kink = [np.arange(0), np.arange(4), np.arange(15)]  # none, fewer and more than features
    found = SharedFactor.build(Phi, weights).solve(rhs, 5.0, on_kink)
    for i, rows in enumerate(on_kink):
        normal = np.eye(6) + (Phi.T * weights) @ Phi + 5.0 * Phi[rows].T @ Phi[rows]
        np.testing.assert_allclose(normal @ found[:, i], rhs[:, i], atol=1e-10)


def test_callback_ends_it():
    Phi, mu = problem(2)
    monitor = Monitor(callbacks=lambda record: record["iteration"] == 2)
    assert support_regression(Phi, mu, tol=1e-12, monitor=monitor).n_iter == 2


def test_exact_features_give_the_kernel_even_with_equal_rows():
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(15, 3)), 2, axis=0)
    kernel = rbf_features(X, 0.3, max_bytes=1e9, n_landmarks=1, rng=rng)
    assert kernel.exact
    assert kernel.features.shape[1] == 15
    np.testing.assert_allclose(
        kernel.features @ kernel.features.T, rbf_kernel(X, gamma=0.3), atol=1e-8
    )


def test_landmark_features_are_the_nystroem_approximation():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    kernel = rbf_features(X, 0.3, max_bytes=30_000, n_landmarks=12, rng=rng)
    assert not kernel.exact
    assert len(kernel.landmarks) == 12
    K = rbf_kernel(X, X[kernel.landmarks], gamma=0.3)
    expected = K @ np.linalg.solve(K[kernel.landmarks], K.T)
    np.testing.assert_allclose(kernel.features @ kernel.features.T, expected, atol=1e-8)


def test_memory_decides():
    n = 100
    assert exact_kernel_bytes(n) == 240_000
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 2))
    assert rbf_features(X, 1.0, max_bytes=240_000, n_landmarks=5, rng=rng).exact
    assert not rbf_features(X, 1.0, max_bytes=239_999, n_landmarks=5, rng=rng).exact
    m = largest_landmark_count(n, 50_000)
    assert 16 * (n * m + m * m) <= 50_000 < 16 * (n * (m + 1) + (m + 1) ** 2)
    with pytest.raises(ValueError, match="too little for one landmark of 100 examples"):
        rbf_features(X, 1.0, max_bytes=1000, n_landmarks=5, rng=rng)


def test_mean_distance():
    assert mean_distance(np.array([[0.0], [1.0], [3.0]]), None) == pytest.approx(2.0)
    assert mean_distance(np.ones((4, 2)), None) == 1.0
    assert mean_distance(np.ones((1, 2)), None) == 1.0
