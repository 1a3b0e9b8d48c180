"""What is here: PrML with the hinge against the convex optimum of a semidefinite programme."""

import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from tests.estimators import oracles
from tests.estimators.oracles import Case, make_case

from prml import PrBR, PrML

INF = np.inf


def fit(case, gamma1=1.0, **more):
    settings = {"tol": 1e-3, "random_state": 0, "keep_duals": True} | oracles.parameters(case)
    sample_weight = more.pop("sample_weight", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = PrML(gamma1=gamma1, **settings | more)
        return model.fit(case.X, case.Y, sample_weight=sample_weight)


def assert_bounds_are_true(case, gamma1, model, exact):
    """Values recomputed, the point feasible, the certificate a bound at every record."""
    value, violation = oracles.prml_value(case, gamma1, model)
    assert violation <= 1e-6
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    gain, teachers, M, outside = oracles.dual_parts(case, model.dual_coef_, model.dual_slack_)
    assert outside <= 1e-9
    assert np.linalg.norm(M, 2) <= np.sqrt(gamma1) * (1 + 1e-9)
    assert model.dual_objective_ == pytest.approx(gain - teachers, rel=1e-9, abs=1e-9)
    room = 1e-6 * exact  # what the other solver leaves open
    for record in model.history_:
        assert record["dual_objective"] <= exact + room
        assert record["objective"] >= exact - room
        true_distance = 1.0 - exact / record["objective"]  # 1 where no feasible point is known
        assert record["gap"] >= true_distance - 1e-6
    assert model.dual_objective_ <= exact + room
    assert model.objective_ >= exact - room


def assert_factors_agree(model, gamma1):
    assert model.codes_.shape == (model.coef_.shape[0], model.rank_)
    assert np.allclose(model.codes_ @ model.components_, model.coef_, atol=1e-10)
    assert np.allclose(model.codes_ @ model.components_intercept_, model.intercept_, atol=1e-10)
    Z = np.hstack([model.coef_, model.intercept_[:, None]])
    D = np.hstack([model.components_, model.components_intercept_[:, None]])
    values = np.linalg.svd(Z, compute_uv=False)
    assert model.rank_ == (values > 1e-10 * max(values[0], 1e-300)).sum()
    # the factored regulariser is the nuclear norm: the factors are balanced
    factored = 0.5 * (D**2).sum() + 0.5 * gamma1 * (model.codes_**2).sum()
    assert factored == pytest.approx(np.sqrt(gamma1) * values.sum(), rel=1e-9, abs=1e-12)


TEN = [
    (make_case(0, n=50, theta=INF, C=0.3, flips=0.02, d=3, n_labels=3), 0.5),
    (make_case(1, n=60, d=5, n_labels=6, rank=2, theta=2.0), 4.0),
    (make_case(2, n=40, d=8, n_labels=5, rank=1, flips=0.0, theta=INF), 1.0),
    (make_case(3, n=30, d=3, n_labels=6, theta=5.0, C=0.1), 0.3),
    (make_case(4, n=60, d=4, n_labels=2, theta=1.0), 9.0),
    (make_case(5, n=25, d=10, n_labels=4, flips=0.0, theta=INF, missing=0.2, C=3.0), 2.0),
    (make_case(6, n=45, d=4, n_labels=5, theta=2.0, privileged_intercept=False, gamma2=0.2), 1.0),
    (make_case(7, n=35, d=4, n_labels=4, theta=2.0, fit_intercept=False, C=5.0), 1.0),
    (make_case(8, n=12, d=8, n_labels=4, theta=INF, privileged_intercept=False, flips=0.1), 0.5),
    (make_case(9, n=50, d=4, n_labels=4, theta=2.0, teacher=False, missing=0.1), 1.0),
]


@pytest.mark.parametrize(("case", "gamma1"), TEN, ids=range(len(TEN)))
def test_objective_is_that_of_the_convex_optimum(case, gamma1):
    exact = oracles.exact_prml(case, gamma1)
    model = fit(case, gamma1)
    assert model.converged_
    assert abs(model.objective_ - exact) <= 1e-3 * exact
    assert_bounds_are_true(case, gamma1, model, exact)
    assert_factors_agree(model, gamma1)


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(5, 40),
    d=st.integers(1, 6),
    n_labels=st.integers(1, 5),
    rank=st.sampled_from([1, 3]),
    theta=st.sampled_from([INF, 5.0, 2.0, 1.0]),
    C=st.sampled_from([1e-2, 0.3, 5.0]),
    gamma1=st.sampled_from([0.1, 1.0, 10.0]),
    gamma2=st.sampled_from([0.1, 2.0]),
    fit_intercept=st.booleans(),
    missing=st.sampled_from([0.0, 0.3]),
    pool=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_random_problems(seed, n, d, n_labels, rank, gamma1, missing, pool, **numbers):
    case = make_case(seed, n, d, n_labels, rank=rank, missing=missing, **numbers)
    if pool:
        rng = np.random.default_rng(seed)
        case = case._replace(pool=rng.random((n_labels, n_labels)) < 0.6)
    exact = oracles.exact_prml(case, gamma1)
    model = fit(case, gamma1)
    assert model.converged_
    assert abs(model.objective_ - exact) <= 1e-3 * exact
    assert_bounds_are_true(case, gamma1, model, exact)
    assert_factors_agree(model, gamma1)


def test_weights():
    case = make_case(1)
    weight = np.random.default_rng(0).uniform(0.0, 3.0, len(case.X))
    weighted = case._replace(weight=np.repeat(weight[:, None], 4, axis=1))
    exact = oracles.exact_prml(weighted, 1.0)
    model = fit(weighted, sample_weight=weight)
    assert_bounds_are_true(weighted, 1.0, model, exact)
    assert model.objective_ == pytest.approx(exact, rel=1e-3)
    balanced = np.where(case.Y == 1, 0.5 / case.Y.mean(axis=0), 0.5 / (1 - case.Y.mean(axis=0)))
    exact = oracles.exact_prml(case._replace(weight=balanced), 1.0)
    assert fit(case, class_weight="balanced").objective_ == pytest.approx(exact, rel=1e-3)


def test_a_weight_equals_a_repeated_row():
    case = make_case(2, n=30)
    weight = np.random.default_rng(0).integers(0, 4, len(case.X))
    weighted = fit(case, sample_weight=weight.astype(float), tol=1e-6)
    repeated = case._replace(X=np.repeat(case.X, weight, 0), Y=np.repeat(case.Y, weight, 0))
    assert fit(repeated, tol=1e-6).objective_ == pytest.approx(weighted.objective_, rel=2e-6)


@pytest.mark.parametrize("theta", [INF, 2.0])
def test_a_large_gamma1_gives_rank_zero(theta):
    case = make_case(0, theta=theta)
    with pytest.warns(UserWarning, match="constant predictor"):
        model = PrML(gamma1=1e8, theta=theta).fit(case.X, case.Y)
    assert model.rank_ == 0
    assert model.converged_
    assert model.components_.shape == (0, 4)
    assert model.codes_.shape == (4, 0)
    assert model.components_intercept_.shape == (0,)
    assert not model.coef_.any()
    assert model.degenerate_labels_.tolist() == [0, 1, 2, 3]
    assert model.objective_ == pytest.approx(oracles.exact_prml(case, 1e8), rel=1e-3)
    assert model.predict(case.X).shape == case.Y.shape


def test_every_form_of_the_data_gives_the_same_model():
    case = make_case(5, n=60, d=6)
    X = np.where(np.abs(case.X) < 0.5, 0.0, case.X)
    case = case._replace(X=X)
    dense = fit(case)
    assert np.array_equal(fit(case._replace(X=np.asfortranarray(X))).coef_, dense.coef_)
    assert np.array_equal(fit(case._replace(Y=sp.csr_matrix(case.Y))).coef_, dense.coef_)
    sparse = fit(case._replace(X=sp.csr_matrix(X)))
    narrow = fit(case._replace(X=X.astype(np.float32)))
    for other in (sparse, narrow):
        assert other.objective_ == pytest.approx(dense.objective_, rel=2e-3)
        assert np.abs(other.decision_function(X) - dense.decision_function(X)).max() < 0.2


def test_the_number_of_threads_changes_nothing():
    case = make_case(7, n=60, n_labels=7)
    one, two = fit(case, n_jobs=1), fit(case, n_jobs=2)
    for name in ("coef_", "privileged_coef_", "codes_", "components_", "dual_coef_"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert [r["objective"] for r in one.history_] == [r["objective"] for r in two.history_]


def test_one_label_is_prbr_with_the_norm_not_squared():
    # for a single row |Z|_* = |z|: at its optimum PrBR with weight 1/|z| has the same conditions
    case = make_case(0, n_labels=1, teacher=False)
    model = fit(case, tol=1e-7)
    size = np.linalg.norm(np.r_[model.coef_[0], model.intercept_])
    twin = PrBR(C=case.C * size, privileged=None, theta=2.0, tol=1e-9, random_state=0)
    twin.fit(case.X, case.Y)
    assert np.allclose(twin.coef_, model.coef_, atol=5e-3)


def test_infeasible_labels_are_named():
    case = make_case(n_labels=6, n=20, theta=INF, privileged_intercept=False)
    with pytest.raises(ValueError, match="no solution for the label") as caught:
        fit(case)
    named = str(caught.value).split("label(s) ")[1].split(";")[0]
    infeasible = [i for i in range(6) if np.isinf(oracles.exact_label(case, i))]
    assert named == ", ".join(map(str, infeasible))


def test_emotions_without_the_privileged_intercept_is_refused_quickly():
    X, Y = oracles.real_data("emotions")
    start = time.perf_counter()
    with pytest.raises(ValueError, match="no solution for the label"):
        PrML(theta=INF, privileged_intercept=False).fit(X, Y)
    assert time.perf_counter() - start < 5.0


@pytest.mark.parametrize("max_iter", [1, 3, 7])
def test_the_last_round_is_judged_whatever_its_number(max_iter):
    case = make_case(1, n=60, d=5, n_labels=6)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = PrML(max_iter=max_iter, tol=1e-9, keep_duals=True).fit(case.X, case.Y)
    assert model.n_iter_ == max_iter
    assert model.history_[-1]["iteration"] == max_iter
    assert_bounds_are_true(case, 1.0, model, oracles.exact_prml(case, 1.0))
    assert model.objective_ < 2 * 60 * 6  # better than the zero predictor that pays every residual


def test_warm_start_goes_on_along_a_path():
    case = make_case(3, n=60, d=5, n_labels=6)
    path = PrML(warm_start=True, tol=1e-4, random_state=0)
    for C in (0.1, 0.2, 0.4, 0.4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            path.set_params(C=C).fit(case.X, case.Y)
        cold = fit(case._replace(C=C), tol=1e-4)
        assert path.objective_ == pytest.approx(cold.objective_, rel=2e-4)


def test_a_callback_and_an_interrupt_keep_the_best_so_far():
    case = make_case(1, n=60, d=5, n_labels=6)
    exact = oracles.exact_prml(case, 1.0)
    model = fit(case, tol=1e-9, callbacks=lambda record: record["iteration"] >= 10)
    assert_bounds_are_true(case, 1.0, model, exact)
    assert [record["iteration"] >= 10 for record in model.history_].count(True) == 1

    def interrupt(record):
        if record["iteration"] >= 15:
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="best model so far is kept"):
        model = PrML(tol=1e-9, callbacks=interrupt, keep_duals=True).fit(case.X, case.Y)
    assert_bounds_are_true(case, 1.0, model, exact)
    assert not model.converged_


def test_a_time_limit_keeps_the_best_so_far():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 30))
    Y = (X @ rng.normal(size=(30, 6)) + rng.normal(size=(2000, 6)) > 0).astype(float)
    fit(make_case())  # compiled before the clock starts
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # more iterations are not the remedy
        model = fit(Case(X, Y), tol=1e-12, max_time=0.2)
    assert time.perf_counter() - start < 10.0
    assert not model.converged_ and model.stopped_by_ == "time limit"
    value, violation = oracles.prml_value(Case(X, Y), 1.0, model)
    assert violation <= 1e-6
    assert model.objective_ == pytest.approx(value, rel=1e-9)


def test_objective_falls_and_the_bound_rises():
    X, Y = oracles.real_data("flags")
    model = fit(Case(X / np.abs(X).max(axis=0), Y), tol=1e-4)
    objectives = [record["objective"] for record in model.history_]
    bounds = [record["dual_objective"] for record in model.history_]
    assert objectives == sorted(objectives, reverse=True)
    assert bounds == sorted(bounds)
    assert model.history_[-1]["gap"] == model.dual_gap_ <= 1e-4
