"""What is here: ML2 as an estimator - its stages in order, its limits, its edge cases."""

import signal
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import check_estimator
from tests.baselines import naive_ml2

from prml.baselines import ML2
from prml.baselines.label_manifold import build_manifold, numerical_label
from prml.baselines.reconstruction import reconstruction_matrix


def small_data(seed=0, n=40, L=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    Y = (X @ rng.normal(size=(4, L)) + 0.3 * rng.normal(size=(n, L)) > 0.3).astype(int)
    return X, Y


def test_the_three_stages_in_order():
    X, Y = small_data()
    model = ML2(
        n_neighbors=5, gamma=0.2, C1=2.0, C2=3.0, fit_intercept=False, tol=1e-7, qp_tol=1e-9
    )
    model.fit(X, Y)
    manifold = build_manifold(reconstruction_matrix(X, 5))
    mu = np.column_stack([numerical_label(manifold, y, tol=1e-9).mu for y in (2.0 * Y - 1).T])
    root = np.linalg.cholesky(rbf_kernel(X, gamma=0.2) + 1e-10 * np.eye(40))
    theta = naive_ml2.support_regression(root, mu, 2.0, 3.0, 1e-3)
    np.testing.assert_allclose(model.decision_function(X), root @ theta, atol=1e-2)
    best = naive_ml2.regression_objective(root, mu, theta, 2.0, 3.0, 1e-3)
    assert model.objective_ == pytest.approx(best, rel=1e-5)
    assert model.converged_
    assert model.dual_gap_ <= 1e-7
    assert (model.kkt_residuals_ <= 1e-9).all()


def test_learns_what_a_line_cannot():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(300, 2))
    Y = np.column_stack([X.prod(axis=1) > 0, np.linalg.norm(X, axis=1) < 0.7]).astype(int)
    model = ML2(gamma=4.0, C1=10.0).fit(X[:200], Y[:200])
    assert (model.predict(X[200:]) == Y[200:]).mean() > 0.93


def test_sparse_dense_and_threads_agree():
    X, Y = small_data(2)
    X[np.abs(X) < 0.6] = 0
    X[5] = 0  # an empty row
    dense = ML2(n_neighbors=4, tol=1e-4, qp_tol=1e-6).fit(X, Y)
    one = ML2(n_neighbors=4, tol=1e-4, qp_tol=1e-6).fit(sp.csr_matrix(X), sp.csr_matrix(Y))
    two = clone(one).set_params(n_jobs=2).fit(sp.csr_matrix(X), Y)
    assert sp.issparse(one.landmarks_)
    np.testing.assert_allclose(
        one.decision_function(sp.csr_matrix(X)), dense.decision_function(X), atol=1e-2
    )
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.predict(X), one.decision_function(X) > 0)


def test_prediction_in_blocks(monkeypatch):
    X, Y = small_data(3)
    model = ML2().fit(X, Y)
    whole = model.decision_function(X)
    monkeypatch.setattr("prml.baselines.ml2.BLOCK_BYTES", 8 * 40 * 7)
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-9)


def test_landmarks_when_memory_is_short():
    X, Y = small_data(4, n=200)
    exact = ML2(random_state=0).fit(X, Y)
    short = ML2(random_state=0, max_memory=5e-4, n_landmarks=60).fit(X, Y)
    assert exact.exact_kernel_ and not short.exact_kernel_
    assert short.landmarks_.shape == (60, 4)
    np.testing.assert_array_equal(short.landmarks_, X[short.landmark_indices_])
    assert (short.predict(X) == exact.predict(X)).mean() > 0.9


def test_labels_that_are_constant():
    X, Y = small_data(5)
    Y[:, 0], Y[:, 1] = 0, 1
    model = ML2().fit(X, Y)
    assert not model.predict(X)[:, 0].any()
    assert model.predict(X)[:, 1].all()
    assert np.isfinite(model.decision_function(X)).all()


def test_one_label_one_example_many_neighbours():
    X, Y = small_data(6, L=1)
    assert ML2(n_neighbors=None).fit(X, Y).decision_function(X).shape == (40, 1)
    assert ML2(n_neighbors=1000).fit(X, Y).predict(X).shape == (40, 1)
    assert ML2().fit(X[:1], [[1, 0]]).predict(X[:1]).tolist() == [[1, 0]]


def test_missing_labels_are_refused():
    X, Y = small_data(7)
    Y = Y.astype(float)
    Y[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3, label 1; ML2 needs every label known"):
        ML2().fit(X, Y)


def test_time_limit_leaves_a_model():
    X, Y = small_data(8)
    model = ML2(max_time=0.0).fit(X, Y)
    assert not model.converged_ and model.stopped_by_ == "time limit"
    assert np.isnan(model.kkt_residuals_).all()
    assert (model.predict(X) == Y).mean() > 0.8


def test_callback_and_history():
    X, Y = small_data(9)
    seen = []
    model = ML2(callbacks=seen.append, tol=1e-6).fit(X, Y)
    assert seen == model.history_
    assert [r["stage"] for r in seen][:2] == ["numerical labels", "regression"]
    assert seen[-1]["gap"] == model.dual_gap_ <= 1e-6
    stopped = ML2(callbacks=lambda r: r.get("stage") == "regression" and r["iteration"] == 2)
    assert stopped.set_params(tol=1e-9).fit(X, Y).n_iter_ == 2


@pytest.mark.parametrize("stage", ["numerical labels", "regression"])
def test_interrupt_leaves_a_model(stage):
    X, Y = small_data(10)

    def press(record):
        if record["stage"] == stage:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(RuntimeWarning, match="best model so far"):
        model = ML2(callbacks=press, tol=1e-12).fit(X, Y)
    assert model.n_iter_ == 1
    assert (model.predict(X) == Y).mean() > 0.8


def test_warns_with_the_gap_reached():
    X, Y = small_data(11)
    with pytest.warns(ConvergenceWarning, match="relative duality gap of"):
        ML2(max_iter=1, tol=1e-9).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C1": 0}, "C1 is 0; expected a number above 0"),
        ({"C2": -1}, "C2 is -1; expected 0 or more"),
        ({"n_neighbors": 0}, "n_neighbors is 0; expected at least 1"),
        ({"gamma": -2.0}, "gamma is -2.0; expected a number above 0, or None"),
        ({"max_memory": 0}, "max_memory is 0; expected a number above 0"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, Y = small_data()
    with pytest.raises(ValueError, match=message):
        ML2(**parameters).fit(X, Y)


def test_scikit_learn_contract():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(ML2(random_state=0))
