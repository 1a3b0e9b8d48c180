"""What is here: reliability curve and calibration error against scikit-learn and plain sums."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import calibration_curve

from prml.metrics import expected_calibration_error, reliability_curve


def make_problem(seed=0):
    rng = np.random.default_rng(seed)
    proba = rng.beta(0.5, 2, size=(200, 4))
    return (rng.random(proba.shape) < proba).astype(int), proba


def naive_error(y, p, n_bins):
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    return sum(
        (bins == b).mean() * abs(y[bins == b].mean() - p[bins == b].mean()) for b in np.unique(bins)
    )


def test_curve_equals_scikit_learn():
    Y, proba = make_problem()
    for label in (None, 2, -1):
        y = Y.ravel() if label is None else Y[:, label]
        p = proba.ravel() if label is None else proba[:, label]
        observed, predicted = calibration_curve(y, p, n_bins=8)
        curve = reliability_curve(sp.csr_matrix(Y), proba, n_bins=8, label=label)
        np.testing.assert_allclose(curve.observed[curve.n_entries > 0], observed, atol=1e-12)
        np.testing.assert_allclose(curve.predicted[curve.n_entries > 0], predicted, atol=1e-12)
        assert curve.n_entries.sum() == y.size and len(curve.edges) == 9


def test_error_equals_the_plain_sum():
    Y, proba = make_problem(1)
    blocks = [proba[:77], proba[77:]]
    for given in (proba, blocks):
        micro = expected_calibration_error(Y, given)
        macro = expected_calibration_error(Y, given, average="macro")
        assert micro == pytest.approx(naive_error(Y.ravel(), proba.ravel(), 15), abs=1e-12)
        expected = np.mean([naive_error(Y[:, l], proba[:, l], 15) for l in range(4)])
        assert macro == pytest.approx(expected, abs=1e-12)


def test_unknown_entries_are_left_out():
    Y, proba = make_problem(2)
    known = np.random.default_rng(0).random(Y.shape) > 0.3
    known[:, 3] = False
    expected = naive_error(Y[known], proba[known], 15)
    assert expected_calibration_error(Y, proba, mask=known) == pytest.approx(expected, abs=1e-12)
    hidden = np.where(known, Y, np.nan)
    macro = expected_calibration_error(hidden, proba, average="macro")
    expected = np.mean(
        [naive_error(Y[known[:, l], l], proba[known[:, l], l], 15) for l in range(3)]
    )
    assert macro == pytest.approx(expected, abs=1e-12)
    nothing = np.full(Y.shape, np.nan)
    assert np.isnan(expected_calibration_error(nothing, proba))
    assert np.isnan(expected_calibration_error(nothing, proba, average="macro"))


def test_bad_input_is_one_clear_sentence():
    Y, proba = make_problem()
    with pytest.raises(ValueError, match="expected probabilities between 0 and 1"):
        reliability_curve(Y, 2 * proba)
    with pytest.raises(ValueError, match="label is 4; expected one of the 4 labels"):
        reliability_curve(Y, proba, label=4)
    with pytest.raises(ValueError, match="n_bins is 0"):
        expected_calibration_error(Y, proba, n_bins=0)
    with pytest.raises(ValueError, match="average is 'label'"):
        expected_calibration_error(Y, proba, average="label")
