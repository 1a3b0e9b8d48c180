"""What is here: the smooth losses of PrBR against outside solvers and slow twins."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator
from tests.solvers import naive_smooth as naive

from prml import PrBR

LOSSES = ["squared", "squared_hinge", "logistic"]


def make_data(seed=0, n=60, d=5, n_labels=4, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, n_labels)) + rng.normal(size=(n, n_labels)) > 0.5).astype(float)
    if missing:
        Y[rng.random(Y.shape) < missing] = np.nan
    return X, Y


def quiet_fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(*args, **kwargs)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "case",
    [
        {},
        {"missing": True},
        {"privileged_intercept": False},
        {"fit_intercept": False},
        {"privileged": 2},
        {"weighted": True},
        {"privileged": None},
        {"C": 30.0, "gamma2": 0.1, "theta": 5.0},
    ],
    ids=str,
)
def test_every_member_equals_a_general_optimiser(loss, case):
    case = dict(case)
    missing, weighted = case.pop("missing", False), case.pop("weighted", False)
    X, Y = make_data(missing=0.2 if missing else 0.0)
    weight = np.random.default_rng(1).uniform(0, 2, len(X)) if weighted else None
    parameters = {"C": 0.7, "gamma2": 0.5, "theta": 2.0} | case
    model = quiet_fit(PrBR(loss=loss, tol=1e-12, **parameters), X, Y, sample_weight=weight)
    pools = [None] * Y.shape[1]
    if parameters.get("privileged") == 2:
        from prml.privileged import nearest_labels

        pools = nearest_labels(sp.csr_matrix(np.nan_to_num(Y)), 2)
    total = 0.0
    for i in range(Y.shape[1]):
        value, z, _ = naive.solve_label(
            X,
            Y,
            i,
            loss,
            parameters["C"],
            parameters["gamma2"],
            parameters["theta"],
            pool=pools[i],
            teacher=parameters.get("privileged", "all") is not None,
            intercept=parameters.get("privileged_intercept", True),
            fit_intercept=parameters.get("fit_intercept", True),
            weight=weight,
        )
        total += value
        ours = model.coef_[i]
        assert np.abs(ours - z[: X.shape[1]]).max() <= 1e-5 * max(1.0, np.abs(z).max())
    assert model.objective_ == pytest.approx(total, rel=1e-6)
    assert model.dual_objective_ <= total * (1 + 1e-9)
    assert model.converged_


def test_logistic_without_a_teacher_is_logistic_regression():
    X, Y = make_data(n=150)
    model = PrBR(loss="logistic", privileged=None, theta=1.0, C=2.0, tol=1e-13).fit(X, Y)
    with_constant = np.hstack([X, np.ones((len(X), 1))])
    for i in range(Y.shape[1]):
        outside = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=10000)
        z = outside.fit(with_constant, Y[:, i]).coef_[0]
        np.testing.assert_allclose(np.r_[model.coef_[i], model.intercept_[i]], z, atol=2e-6)


@pytest.mark.parametrize("shape", [(150, 5), (40, 60)], ids=["tall", "wide"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_squared_without_a_teacher_is_ridge(shape, sparse, weighted):
    X, Y = make_data(n=shape[0], d=shape[1])
    weight = np.random.default_rng(1).uniform(0, 2, len(X)) if weighted else None
    with_constant = np.hstack([X, np.ones((len(X), 1))])
    outside = Ridge(alpha=1 / 1.5, fit_intercept=False).fit(with_constant, 2 * Y - 1, weight)
    given_X = sp.csr_matrix(X) if sparse else X
    model = PrBR(loss="squared", privileged=None, theta=3.0, C=0.5, tol=1e-10)
    model.fit(given_X, Y, sample_weight=weight)
    np.testing.assert_allclose(np.c_[model.coef_, model.intercept_], outside.coef_, atol=1e-9)
    assert 0 <= model.dual_gap_ < 1e-10


def test_squared_hinge_without_a_teacher_is_linear_svc():
    X, Y = make_data(n=150)
    model = PrBR(loss="squared_hinge", privileged=None, theta=1.0, C=1.0, tol=1e-12).fit(X, Y)
    for i in range(Y.shape[1]):
        outside = LinearSVC(C=0.5, tol=1e-10, max_iter=100000, random_state=0).fit(X, Y[:, i])
        np.testing.assert_allclose(model.coef_[i], outside.coef_[0], atol=1e-5)
        np.testing.assert_allclose(model.intercept_[i], outside.intercept_[0], atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("teacher", ["all", None])
def test_the_multipliers_are_feasible_and_certify_the_gap(loss, teacher):
    X, Y = make_data(n=40, missing=0.1)
    C, theta, gamma2 = 0.7, 2.0, 0.5
    model = PrBR(loss=loss, C=C, theta=theta, gamma2=gamma2, privileged=teacher, tol=0.05,
                 keep_duals=True)  # fmt: skip
    quiet_fit(model, X, Y)
    dual = 0.0
    A = np.hstack([X, np.ones((len(X), 1))])
    for i in range(Y.shape[1]):
        known = ~np.isnan(Y[:, i])
        y = np.where(Y[:, i] == 1, 1.0, -1.0)
        alpha, beta = model.dual_coef_[i], model.dual_slack_[i]
        p = (alpha / (C * theta))[known]
        if loss == "logistic":
            assert (p >= 0).all() and (p <= 1).all()
            certified = -p * np.log(p) - (1 - p) * np.log(1 - p)
        else:
            assert loss == "squared" or (p >= 0).all()
            certified = p - p**2 / 2
        dual += C * theta * certified.sum() - np.sum((A.T @ (alpha * y)) ** 2) / 2
        if teacher is None:
            continue
        V = naive.label_vectors(Y, [l for l in range(Y.shape[1]) if l != i], True)
        free = np.where(known, alpha + beta - C, 0.0)
        s = ((alpha - free) / C)[known]  # the slack cost's own multiplier
        conjugate = s * np.log(s) + (1 - s) * np.log(1 - s) if loss == "logistic" else s**2 / 2
        dual -= np.sum((V.T @ free) ** 2) / (2 * gamma2) + C * conjugate.sum()
    assert dual == pytest.approx(model.dual_objective_, rel=1e-9)
    assert model.objective_ - dual <= 0.05 * model.objective_


@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), C=st.floats(1e-3, 30), theta=st.floats(0.1, 10))
def test_sparse_and_dense_rows_and_numbers_of_jobs_agree(loss, seed, C, theta):
    X, Y = make_data(seed, n=25, d=3, n_labels=3)
    X[np.abs(X) < 0.5] = 0.0
    settings_ = {"loss": loss, "C": C, "theta": theta, "tol": 1e-10}
    dense = quiet_fit(PrBR(**settings_), X, Y)
    sparse = quiet_fit(PrBR(**settings_, n_jobs=2), sp.csr_matrix(X), sp.csr_matrix(Y))
    np.testing.assert_allclose(
        dense.coef_, sparse.coef_, atol=1e-4 * max(1, np.abs(dense.coef_).max())
    )
    assert dense.dual_gap_ <= 1e-10


@pytest.mark.parametrize("loss", LOSSES)
def test_small_blocks_of_labels_change_nothing(loss, monkeypatch):
    X, Y = make_data(n_labels=5)
    whole = PrBR(loss=loss, tol=1e-10).fit(X, Y)
    monkeypatch.setattr("prml.solvers.smooth.labelwise.BLOCK_NUMBERS", 2 * len(X))
    parts = PrBR(loss=loss, tol=1e-10, n_jobs=2).fit(X, Y)
    np.testing.assert_allclose(whole.coef_, parts.coef_, atol=1e-5)
    np.testing.assert_allclose(whole.privileged_coef_, parts.privileged_coef_, atol=1e-5)
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_class_weights_equal_repeated_examples(loss):
    X, Y = make_data(n_labels=1)
    present = Y[:, 0] == 1
    twice = np.r_[np.arange(len(X)), np.flatnonzero(present)]
    weighted = PrBR(loss=loss, class_weight={0: 1.0, 1: 2.0}, tol=1e-12).fit(X, Y)
    repeated = PrBR(loss=loss, tol=1e-12).fit(X[twice], Y[twice])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_start_takes_fewer_steps_to_the_same_point(loss):
    X, Y = make_data(n=100)
    model = PrBR(loss=loss, warm_start=True, tol=1e-10).fit(X, Y)
    cold = model.n_iter_
    objective = model.objective_
    model.fit(X, Y)
    assert model.n_iter_ < max(cold, 1)
    assert model.objective_ == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_stopped_fit_says_so_and_its_bounds_are_true(loss):
    X, Y = make_data(n=100)
    best = PrBR(loss=loss, tol=1e-10).fit(X, Y).objective_
    stopped = quiet_fit(PrBR(loss=loss, tol=1e-14, callbacks=lambda record: True), X, Y)
    assert len(stopped.history_) == 1
    assert stopped.dual_objective_ <= best * (1 + 1e-9) <= stopped.objective_ * (1 + 2e-9)


def test_theta_inf_is_refused_in_a_sentence():
    X, Y = make_data()
    with pytest.raises(ValueError, match="theta is inf and loss is 'logistic'"):
        PrBR(loss="logistic", theta=np.inf).fit(X, Y)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_label_nobody_has_and_one_all_have_are_learned(loss):
    X, Y = make_data()
    Y[:, 0], Y[:, 1] = 0, 1
    model = quiet_fit(PrBR(loss=loss, privileged=None, C=10), X, Y)
    assert (model.predict(X)[:, :2] == [0, 1]).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_scikit_learn_checks(loss):
    # equal weights and repeated rows are compared to seven digits: gaps are squares of errors
    check_estimator(PrBR(loss=loss, tol=1e-20))
