"""What is here: reconstruction weights against scikit-learn's, sparse against dense."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.manifold._locally_linear import barycenter_weights
from sklearn.neighbors import NearestNeighbors

from prml.baselines import reconstruction
from prml.baselines.reconstruction import barycentre_weights, reconstruction_matrix


@pytest.mark.parametrize("d", [3, 20])
def test_weights_of_locally_linear_embedding(d):
    X = np.random.default_rng(0).normal(size=(40, d))
    neighbours = NearestNeighbors(n_neighbors=7).fit(X).kneighbors(return_distance=False)
    expected = barycenter_weights(X, X, neighbours, reg=1e-3)
    np.testing.assert_allclose(barycentre_weights(X, neighbours, 1e-3), expected, rtol=1e-8)
    S = reconstruction_matrix(X, 7)
    dense = np.zeros((40, 40))
    np.put_along_axis(dense, neighbours, expected, axis=1)
    np.testing.assert_allclose(S.toarray(), dense, atol=1e-10)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 12), density=st.sampled_from([0.05, 0.4]))
def test_sparse_equals_dense_and_rows_sum_to_one(seed, k, density):
    X = sp.random(15, 8, density=density, format="csr", random_state=seed)
    neighbours = np.array(
        [np.random.default_rng(seed + j).permutation(np.delete(np.arange(15), j))[:k]
         for j in range(15)]
    )  # fmt: skip
    found = barycentre_weights(X, neighbours, 1e-3)
    np.testing.assert_allclose(found, barycentre_weights(X.toarray(), neighbours, 1e-3), atol=1e-8)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.isfinite(found).all()


def test_blocks_change_nothing(monkeypatch):
    X = np.random.default_rng(1).normal(size=(30, 4))
    whole = reconstruction_matrix(X, 5)
    monkeypatch.setattr(reconstruction, "BLOCK_BYTES", 8 * 5 * 5 * 4)
    np.testing.assert_allclose(reconstruction_matrix(X, 5).toarray(), whole.toarray(), atol=1e-12)


def test_near_equal_sparse_rows_keep_their_digits():
    """Rows at 1e6 with differences of 1: products before differences would leave noise only."""
    X = np.array([[1e6, 0.0], [1e6, 1.0], [1e6, 3.0], [1e6 + 2.0, 1.0]])
    neighbours = np.array([[1, 2], [0, 2], [0, 1], [0, 1]])
    np.testing.assert_allclose(
        barycentre_weights(sp.csr_matrix(X), neighbours, 1e-9),
        barycentre_weights(X - X[:1], neighbours, 1e-9),
        atol=1e-8,
    )


def test_equal_rows_get_equal_weights_and_one_row_none():
    S = reconstruction_matrix(np.ones((4, 2)), 2)
    assert set(S.data) == {0.5}
    assert reconstruction_matrix(np.ones((1, 2)), 3).nnz == 0
    assert reconstruction_matrix(np.ones((3, 2)), 99).getnnz(axis=1).tolist() == [2, 2, 2]
