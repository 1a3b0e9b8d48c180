"""What is here: the element-wise loops of a splitting round, and the visiting order."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from prml.loops.splitting import follow, relaxed_target
from prml.loops.visiting_order import MODULUS, another_seed, new_seed, shuffled


def test_one_pass_does_what_whole_matrices_say():
    rng = np.random.default_rng(0)
    V, M, dual, new_V = rng.normal(size=(4, 7, 5))
    rho, r = 0.7, 1.6
    Z = V + (M - dual) / rho
    target = np.full_like(V, np.nan)
    for first, last in ((0, 3), (3, 7)):
        relaxed_target(V, M, dual, rho, r, first, last, target)
    np.testing.assert_allclose(target, r * Z + (1 - r) * V + dual / rho, rtol=1e-12)
    expected = rho * (target - new_V)
    for first, last in ((0, 4), (4, 7)):
        follow(new_V, rho, first, last, target)
    np.testing.assert_allclose(target, expected, rtol=1e-12)


@settings(deadline=None)
@given(n=st.integers(0, 300), seed=st.integers(1, MODULUS - 1))
def test_every_example_is_visited_once_in_runs_of_neighbours(n, seed):
    examples = 3 * np.arange(n)
    order = shuffled(examples, seed)
    assert sorted(order) == examples.tolist()
    # runs start at multiples of eight, and go on by one
    starts = np.flatnonzero(np.diff(order, prepend=-9) != 3)
    assert (order[starts] % (3 * 8) == 0).all()


def test_another_seed_gives_another_order():
    rng = np.random.default_rng(0)
    for _ in range(100):
        seed = new_seed(rng)
        one, other = (shuffled(np.arange(800), s)[::8] // 8 for s in (seed, another_seed(seed)))
        assert np.mean(one == other) < 0.1
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.45


def test_every_run_comes_first_about_as_often():
    rng, first = np.random.default_rng(0), np.zeros(10)
    for _ in range(2000):
        first[shuffled(np.arange(80), new_seed(rng))[0] // 8] += 1
    assert first.sum() == 2000
    assert abs(first - 200).max() < 60  # four standard deviations
