"""What is here: probabilities - optimal fits, honest frequencies, rare labels, shapes."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator
from tests.model_selection import naive_choices as naive
from tests.model_selection.halves import halves_of

from prml.metrics import evaluate, expected_calibration_error
from prml.model_selection import (
    MultilabelCalibrator,
    cross_fitted_scores,
    multilabel_train_test_split,
)
from prml.model_selection.sigmoid_loops import fit_sigmoid
from prml.model_selection.sigmoids import fit_label_sigmoids


@pytest.mark.parametrize("seed", range(5))
def test_sigmoid_fit_reaches_the_minimum(seed):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(50) * 10.0 ** rng.integers(-2, 3)
    targets = (rng.random(50) < expit(scores)).astype(float)
    center = rng.standard_normal(2)
    root = rng.standard_normal((2, 2))
    precision = root @ root.T + 0.1 * np.eye(2)
    parameters = np.empty(2)
    value = fit_sigmoid(scores, targets, center, precision, center, True, parameters)
    expected = naive.naive_sigmoid(scores, targets, center, precision)
    assert value == pytest.approx(expected, rel=1e-7)


def test_without_a_prior_it_is_logistic_regression_on_the_scores():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(400)
    y = (rng.random(400) < expit(2 * scores - 1)).astype(float)
    parameters = np.empty(2)
    start = np.array([1.0, 0.0])
    fit_sigmoid(scores, y, start, np.zeros((2, 2)), start, True, parameters)
    oracle = LogisticRegression(C=np.inf, tol=1e-10).fit(scores[:, None], y)
    np.testing.assert_allclose(parameters, [oracle.coef_[0, 0], oracle.intercept_[0]], rtol=1e-4)


def simulated(seed=0, n_samples=3000, n_labels=12):
    """Scores whose true probabilities are known: each label its own sigmoid."""
    rng = np.random.default_rng(seed)
    slope = rng.uniform(1, 3, n_labels)
    offset = np.linspace(-7, 0.5, n_labels)
    scores = rng.standard_normal((n_samples, n_labels))
    proba = expit(slope * scores + offset)
    return scores, (rng.random(proba.shape) < proba).astype(np.int8), slope, offset


def test_true_sigmoids_are_found_and_rare_labels_lean_on_the_prior():
    scores, Y, slope, offset = simulated()
    a, b, mean, covariance = fit_label_sigmoids(scores, Y, None, 10)
    often = Y.sum(axis=0) > 200
    np.testing.assert_allclose(a[often], slope[often], rtol=0.2)
    np.testing.assert_allclose(b[often], offset[often], atol=0.5)
    assert (a > 0).all() and np.isfinite(b).all()
    assert (np.linalg.eigvalsh(covariance) > 0).all()
    # a label never seen positive: about the slope of the others, and hardly ever likely
    Y[:, 0] = 0
    a, b, mean, _ = fit_label_sigmoids(scores, Y, None, 10)
    assert 0.3 * mean[0] < a[0] < 3 * mean[0]
    assert expit(a[0] * scores[:, 0] + b[0]).mean() < 0.003


def test_scale_of_the_scores_does_not_matter():
    scores, Y, _, _ = simulated()
    a, b, _, _ = fit_label_sigmoids(scores, Y, None, 10)
    a1000, b1000, _, _ = fit_label_sigmoids(1000 * scores, Y, None, 10)
    np.testing.assert_allclose(a1000 * 1000, a, rtol=1e-6)
    np.testing.assert_allclose(b1000, b, rtol=1e-6)


def test_unknown_entries_are_not_negatives():
    scores, Y, _, _ = simulated()
    known = np.random.default_rng(1).random(Y.shape) > 0.4
    a, b, _, _ = fit_label_sigmoids(scores, Y, known, 10)
    often = Y.sum(axis=0) > 200
    predicted = expit(a * scores + b).mean(axis=0)
    np.testing.assert_allclose(predicted[often], Y.mean(axis=0)[often], rtol=0.1)
    a, b, _, _ = fit_label_sigmoids(scores, Y * known, None, 10)  # unknown read as absent
    assert (expit(a * scores + b).mean(axis=0) < 0.75 * Y.mean(axis=0))[often].all()


def test_order_is_never_reversed():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((500, 6))
    Y = (scores < 0).astype(np.int8)  # every label against its score
    Y[:, 1:] = scores[:, 1:] + rng.standard_normal((500, 5)) > 0
    a, _, _, _ = fit_label_sigmoids(scores, Y, None, 10)
    assert (a > 0).all()


@pytest.fixture(scope="module")
def halves():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 10))
    weights = rng.standard_normal((10, 9))
    proba = expit(2 * X @ weights / np.sqrt(10) + np.linspace(-5, 0, 9))
    Y = (rng.random(proba.shape) < proba).astype(int)
    return multilabel_train_test_split(X, Y, proba, test_size=0.5, random_state=0)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_are_near_the_truth(halves, method):
    X, X_test, Y, Y_test, _, truth = halves
    model = MultilabelCalibrator(RidgeClassifier(), method=method).fit(X, Y)
    proba = model.predict_proba(X_test)
    assert proba.shape == Y_test.shape
    assert ((proba > 0) & (proba < 1)).all()
    assert np.abs(proba - truth).mean() < 0.05
    uncalibrated = expit(model.estimator_.decision_function(X_test))
    plain = expected_calibration_error(Y_test, uncalibrated)
    assert expected_calibration_error(Y_test, proba) < plain / 2
    assert ((proba > 0.5) == model.predict(X_test)).all()
    np.testing.assert_allclose(expit(model.decision_function(X_test)), proba, rtol=1e-6)
    curve = model.reliability_curve(X_test, Y_test, n_bins=5)
    assert curve.n_entries.sum() == Y_test.size


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_every_label_keeps_its_order(halves, method):
    X, X_test, Y, Y_test, _, _ = halves
    model = MultilabelCalibrator(RidgeClassifier(), method=method).fit(X, Y)
    before = evaluate(Y_test, model.estimator_.decision_function(X_test)).by_label["auc"]
    after = evaluate(Y_test, model.predict_proba(X_test)).by_label["auc"]
    np.testing.assert_allclose(after, before, atol=1e-12)


def test_isotonic_curves_are_those_of_scikit_learn(halves):
    X, X_test, Y, _, _, _ = halves
    model = MultilabelCalibrator(RidgeClassifier(), method="isotonic").fit(X, Y)
    cross_fitted = cross_fitted_scores(RidgeClassifier(), X, Y)
    scores = model.estimator_.decision_function(X_test)
    for label in range(Y.shape[1]):
        oracle = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        oracle.fit(cross_fitted[:, label], Y[:, label])
        n = Y[:, label].sum()
        sigmoid = expit(scores[:, label] * model.slope_[label] + model.offset_[label])
        expected = (n * oracle.predict(scores[:, label]) + 10 * sigmoid) / (n + 10)
        np.testing.assert_allclose(model.predict_proba(X_test)[:, label], expected, atol=1e-9)


def test_extreme_scores_stay_inside_zero_and_one(halves):
    X, _, Y, _, _, _ = halves
    model = MultilabelCalibrator(RidgeClassifier()).fit(X, Y)
    proba = model.predict_proba(1e6 * X)
    assert ((proba > 0) & (proba < 1)).all()
    assert np.isfinite(model.decision_function(1e6 * X)).all()


def test_sparse_input_prefit_and_clone(halves):
    X, X_test, Y, Y_test, _, _ = halves
    fitted = RidgeClassifier().fit(X, Y)
    model = MultilabelCalibrator(fitted, cv="prefit", method="isotonic").fit(X_test, Y_test)
    assert model.estimator_ is fitted
    copy = clone(model).set_params(cv=3, method="sigmoid")
    copy.fit(X, Y)
    assert not hasattr(copy, "curve_indptr_")
    sparse = MultilabelCalibrator(OneVsRestClassifier(RidgeClassifier()), cv=3)
    sparse.fit(sp.csr_matrix(X), sp.csr_matrix(Y))
    np.testing.assert_allclose(
        sparse.predict_proba(sp.csr_matrix(X_test)), copy.predict_proba(X_test), atol=0.02
    )
    with pytest.raises(ValueError, match="method is 'platt'; expected one of"):
        clone(model).set_params(method="platt").fit(X, Y)


@pytest.mark.parametrize(
    "calibrator",
    [
        MultilabelCalibrator(RidgeClassifier(), cv=2),
        MultilabelCalibrator(LinearSVC(), method="isotonic", cv=2),
    ],
    ids=lambda calibrator: calibrator.method,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(calibrator):
    check_estimator(calibrator)


@pytest.mark.filterwarnings("ignore:Label not")
@pytest.mark.parametrize("name", ["enron", "yeast"])
def test_calibration_error_is_halved_on_real_data(name):
    X, X_test, Y, Y_test = halves_of(name)
    svm = OneVsRestClassifier(LinearSVC(C=0.1, tol=1e-2, random_state=0))
    model = MultilabelCalibrator(svm, cv=3).fit(X, Y)
    plain = expit(model.estimator_.decision_function(X_test))
    proba = model.predict_proba(X_test)
    for average in ("micro", "macro"):
        before = expected_calibration_error(Y_test, plain, average=average)
        assert expected_calibration_error(Y_test, proba, average=average) < before / 2
