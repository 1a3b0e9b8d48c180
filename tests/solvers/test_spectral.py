"""What is here: singular value thresholding and the largest singular value against a full SVD."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prml.solvers import spectral

SHAPES = [(7, 12), (12, 7), (1, 5), (5, 1), (9, 9)]


def naive_threshold(matrix, tau):
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return (left * np.maximum(values - tau, 0.0)) @ right


def low_rank(rng, shape, rank, noise=0.0):
    matrix = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    return matrix + noise * rng.normal(size=shape)


def assert_is_svd(factors):
    k = factors.rank
    assert np.allclose(factors.left.T @ factors.left, np.eye(k), atol=1e-9)
    assert np.allclose(factors.right @ factors.right.T, np.eye(k), atol=1e-9)
    assert (factors.values > 0).all()


@given(
    shape=st.sampled_from(SHAPES),
    rank=st.integers(1, 9),
    tau=st.floats(0.01, 10.0),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None)
def test_threshold_equals_a_full_svd(shape, rank, tau, seed):
    matrix = low_rank(np.random.default_rng(seed), shape, rank)
    factors = spectral.threshold(matrix, tau)
    assert np.allclose(factors.product(), naive_threshold(matrix, tau), atol=1e-7)
    assert_is_svd(factors)


def test_what_is_below_the_threshold_is_of_rank_zero():
    for shape in SHAPES:
        for matrix in (np.zeros(shape), 1e-3 * np.ones(shape)):
            factors = spectral.threshold(matrix, 1.0)
            assert factors.rank == 0
            assert factors.product().shape == shape
            assert not factors.product().any()


@pytest.mark.parametrize("shape", [(40, 60), (60, 40)])
@pytest.mark.parametrize("start", ["none", "empty", "near", "stale", "too wide"])
def test_threshold_of_large_matrices_equals_a_full_svd(monkeypatch, shape, start):
    monkeypatch.setattr(spectral, "FULL_SIZE", 8)
    rng = np.random.default_rng(0)
    matrix = low_rank(rng, shape, 5, noise=0.05)
    tau = 2.0
    guess = {
        "none": None,
        "empty": np.zeros((shape[0], 0)),
        "near": np.linalg.svd(matrix)[0][:, :5] + 1e-3 * rng.normal(size=(shape[0], 5)),
        "stale": np.linalg.qr(rng.normal(size=(shape[0], 3)))[0],
        "too wide": np.linalg.qr(rng.normal(size=(shape[0], 30)))[0],
    }[start]
    factors = spectral.threshold(matrix, tau, guess=guess)
    exact = naive_threshold(matrix, tau)
    assert np.linalg.norm(factors.product() - exact) <= 1e-5 * np.linalg.norm(exact)
    assert_is_svd(factors)


def test_threshold_of_a_large_matrix_of_full_rank(monkeypatch):
    # every value survives: the basis has to grow to the whole space
    monkeypatch.setattr(spectral, "FULL_SIZE", 8)
    matrix = np.random.default_rng(0).normal(size=(70, 90))
    factors = spectral.threshold(matrix, 1e-3)
    assert factors.rank == 70
    assert np.allclose(factors.product(), naive_threshold(matrix, 1e-3), atol=1e-8)


@pytest.mark.parametrize("full_size", [800, 3])
@pytest.mark.parametrize("shape", [(7, 12), (12, 7), (30, 50), (50, 30)])
def test_the_largest_singular_value_is_bounded_from_above(monkeypatch, full_size, shape):
    monkeypatch.setattr(spectral, "FULL_SIZE", full_size)
    for seed in range(5):
        matrix = np.random.default_rng(seed).normal(size=shape)
        exact = np.linalg.norm(matrix, 2)
        bound = spectral.largest_singular_value(matrix)
        assert exact * (1 - 1e-12) <= bound <= exact * (1 + 1e-3)
    assert spectral.largest_singular_value(np.zeros(shape)) == 0.0


@pytest.mark.parametrize("full_size", [800, 3])
def test_the_largest_value_is_found_when_its_vectors_sum_to_zero(monkeypatch, full_size):
    monkeypatch.setattr(spectral, "FULL_SIZE", full_size)
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=20), rng.normal(size=30)
    u, v = u - u.mean(), v - v.mean()
    matrix = np.outer(u, v) / np.linalg.norm(u) / np.linalg.norm(v)
    matrix += 0.5 * np.ones((20, 30)) / np.sqrt(600)
    assert spectral.largest_singular_value(matrix) == pytest.approx(1.0, rel=1e-3)
