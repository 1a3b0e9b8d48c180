"""What is here: rows of G M that are kept up to date, against the products themselves."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from prml.solvers.coupled_rows import CoupledRows


@given(seed=st.integers(0, 10_000), n_labels=st.integers(1, 40), in_order=st.booleans())
@settings(max_examples=30, deadline=None)
def test_rows_are_the_products_at_every_moment(seed, n_labels, in_order):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(n_labels, n_labels))
    G = G @ G.T
    M = rng.normal(size=(n_labels, 3))
    rows = CoupledRows(G, M)
    for i in range(n_labels) if in_order else rng.integers(n_labels, size=n_labels):
        assert np.allclose(rows.row(i), G[i] @ M)
        changed = i if in_order else rng.integers(n_labels)
        row = rng.normal(size=3)
        rows.change(changed, row)
        assert np.array_equal(M[changed], row)
