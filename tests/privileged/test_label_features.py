"""What is here: the privileged label features and the pools against dense loops."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from prml.privileged import LabelFeatures, nearest_labels, read_pools
from prml.targets import read_targets


def random_labels(seed, n, n_labels, missing):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, n_labels)) < 0.4).astype(float)
    Y[rng.random(Y.shape) < missing] = np.nan
    return Y


def naive_vectors(Y, labels):
    return np.where(np.isnan(Y), 0.0, np.where(Y == 1, 1.0, -1.0))[:, labels]


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 60),
    n_labels=st.integers(1, 7),
    missing=st.sampled_from([0.0, 0.2, 1.0]),
    pool=st.booleans(),
    intercept=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_groups_are_the_distinct_vectors(seed, n, n_labels, missing, pool, intercept):
    Y = random_labels(seed, n, n_labels, missing)
    rng = np.random.default_rng(seed)
    matrix = rng.random((n_labels, n_labels)) < 0.5
    targets = read_targets(Y)
    pools = read_pools(matrix, targets.positives)[1] if pool else None
    features = LabelFeatures(targets, pools, intercept)
    rows = np.flatnonzero(rng.random(n) < rng.choice([0.8, 1.0]))
    for i in range(n_labels):
        teacher = features.of_label(i, rows)
        expected = [l for l in range(n_labels) if l != i and (matrix[i, l] or not pool)]
        assert teacher.labels.tolist() == expected
        vectors = naive_vectors(Y, expected)[rows]
        assert np.array_equal(teacher.vectors()[teacher.group], vectors)
        assert len(teacher.norm) == len(np.unique(vectors, axis=0)) if len(rows) else True
        norms = (teacher.vectors() ** 2).sum(axis=1) + intercept
        assert np.array_equal(teacher.norm, norms)
        assert teacher.bias == float(intercept)


def test_without_a_teacher_nobody_comments():
    features = LabelFeatures(read_targets(random_labels(0, 9, 4, 0.0)), None, True, enabled=False)
    teacher = features.of_label(2)
    assert len(teacher.labels) == 0
    assert teacher.bias == 0.0
    assert set(teacher.group) == {0}
    assert teacher.norm.tolist() == [0.0]


def naive_nearest(Y, k):
    pools = []
    for i in range(Y.shape[1]):
        distance = [((Y[:, i] != Y[:, l]).sum(), l) for l in range(Y.shape[1]) if l != i]
        pools.append(sorted(l for _, l in sorted(distance)[:k]))
    return pools


@given(seed=st.integers(0, 10_000), n_labels=st.integers(1, 8), k=st.integers(0, 7))
@settings(max_examples=40, deadline=None)
def test_the_nearest_labels_by_hamming_distance(seed, n_labels, k):
    Y = random_labels(seed, 12, n_labels, 0.0)
    k = min(k, n_labels - 1)
    found = nearest_labels(sp.csr_matrix(Y), k)
    assert [pool.tolist() for pool in found] == naive_nearest(Y, k)


@pytest.mark.parametrize("k", [-1, 4])
def test_more_neighbours_than_labels_are_refused(k):
    with pytest.raises(ValueError, match="expected between 0 and 3"):
        nearest_labels(sp.csr_matrix((5, 4)), k)


def test_a_label_never_comments_on_itself():
    has_teacher, pools = read_pools(np.ones((3, 3), bool), sp.csr_matrix((5, 3)))
    assert has_teacher
    assert [pool.tolist() for pool in pools] == [[1, 2], [0, 2], [0, 1]]
