"""What is here: LEML against generic optimisers, finite differences and its own certificate."""

import signal
import threading
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import check_estimator
from tests.baselines import naive_leml

from prml.baselines import LEML
from prml.baselines.label_losses import LOSSES, EntrywiseFit, SquaredFit, choose_fit
from prml.baselines.leml_solver import Design, Factors, h_step, objective, w_step
from prml.targets import read_targets

ALL_LOSSES = sorted(LOSSES)


def small_data(seed=0, n=24, d=5, L=4, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, L)) + rng.normal(size=(n, L)) > 0.3).astype(float)
    if missing:
        Y[rng.random(Y.shape) < missing] = np.nan
    return X, Y, rng


def fit_quietly(model, X, Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, Y)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_reaches_the_minimum_of_a_generic_optimiser(loss, missing):
    X, Y, rng = small_data(missing=missing)
    model = LEML(loss=loss, alpha=0.7, fit_intercept=False, tol=1e-9, max_iter=1000, max_cg=50)
    fit_quietly(model.set_params(random_state=0), X, Y)
    best = naive_leml.best_objective(X, Y, 4, 0.7, loss, rng)
    assert model.objective_ == pytest.approx(best, rel=1e-5)
    recomputed = naive_leml.objective(X, Y, model.components_.T, model.codes_, 0.7, loss)
    assert model.objective_ == pytest.approx(recomputed, rel=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_certificate_closes_at_full_rank_and_never_lies(loss, missing):
    X, Y, _ = small_data(seed=1, missing=missing)
    model = LEML(loss=loss, alpha=2.0, tol=1e-9, max_iter=2000, max_cg=100, random_state=0)
    fit_quietly(model, X, Y)
    assert model.dual_gap_ <= 1e-3
    for k, turns in ((4, 1), (2, 3), (1, 20)):
        rough = fit_quietly(clone(model).set_params(n_components=k, max_iter=turns), X, Y)
        assert rough.dual_objective_ <= model.objective_ * (1 + 1e-9)
        assert rough.objective_ >= model.dual_objective_


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_gradients_and_hessian_products_by_finite_differences(loss, missing):
    _, Y, rng = small_data(seed=2, n=12, missing=missing)
    fit = choose_fit(loss, read_targets(Y))
    A, H = rng.normal(size=(12, 3)), rng.normal(size=(4, 3))
    for expand, point, rebuild in (
        (fit.expand_in_A, A, lambda P: (P, H)),
        (fit.expand_in_H, H, lambda P: (A, P)),
    ):

        def value(x, point=point, rebuild=rebuild):
            return fit.value(*rebuild(x.reshape(point.shape)))

        def gradient(x, point=point, rebuild=rebuild, expand=expand):
            return expand(*rebuild(x.reshape(point.shape)))[0].ravel()

        assert check_grad(value, gradient, point.ravel()) < 1e-4
        S, h = rng.normal(size=point.shape), 1e-6
        product = expand(*rebuild(point))[1](S)
        ahead = gradient((point + h * S).ravel())
        behind = gradient((point - h * S).ravel())
        np.testing.assert_allclose(product.ravel(), (ahead - behind) / (2 * h), atol=1e-5)


def test_closed_forms_equal_entry_by_entry():
    _, Y, rng = small_data(seed=3)
    targets = read_targets(Y)
    closed, entrywise = SquaredFit(targets), EntrywiseFit(LOSSES["squared"], targets)
    A, H = rng.normal(size=(24, 3)), rng.normal(size=(4, 3))
    assert closed.value(A, H) == pytest.approx(entrywise.value(A, H))
    for method in ("expand_in_A", "expand_in_H"):
        (g, product), (G, Product) = getattr(closed, method)(A, H), getattr(entrywise, method)(A, H)
        S = rng.normal(size=g.shape)
        np.testing.assert_allclose(g, G, atol=1e-10)
        np.testing.assert_allclose(product(S), Product(S), atol=1e-10)
    one, two = closed.dual_direction(A, H), entrywise.dual_direction(A, H)
    v, w = rng.normal(size=(4, 1)), rng.normal(size=(24, 1))
    np.testing.assert_allclose(one[0](v), two[0](v), atol=1e-10)
    np.testing.assert_allclose(one[1](w), two[1](w), atol=1e-10)
    assert one[2](0.3) == pytest.approx(two[2](0.3))


def test_observed_entries_equal_a_mask():
    """Labels flagged as missing weigh nothing: any value put there gives the same derivatives."""
    _, Y, rng = small_data(seed=4, missing=0.4)
    A, H = rng.normal(size=(24, 3)), rng.normal(size=(4, 3))
    for loss in ALL_LOSSES:
        fit = choose_fit(loss, read_targets(Y))
        G = naive_leml.slope(loss, A @ H.T, Y)
        np.testing.assert_allclose(fit.expand_in_A(A, H)[0], G @ H, atol=1e-10)
        np.testing.assert_allclose(fit.expand_in_H(A, H)[0], G.T @ A, atol=1e-10)


def test_squared_loss_never_forms_the_residual():
    """20000 x 20000 labels: their dense residual would take 3.2 GB."""
    n = L = 20_000
    Y = sp.identity(n, format="csr")
    X = sp.random(n, 10, density=0.2, format="csr", random_state=0)
    tracemalloc.start()
    fit_quietly(LEML(n_components=2, max_iter=2, max_cg=3, random_state=0), X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6 < 8 * n * L


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000),
    loss=st.sampled_from(ALL_LOSSES),
    missing=st.sampled_from([0.0, 0.5]),
    lam=st.sampled_from([0.01, 1.0, 100.0]),
    k=st.integers(1, 4),
)
def test_no_step_ever_raises_the_objective(seed, loss, missing, lam, k):
    X, Y, rng = small_data(seed=seed, n=10, missing=missing)
    fit = choose_fit(loss, read_targets(Y))
    W, H = rng.normal(size=(5, k)), rng.normal(size=(4, k))
    factors = Factors(W, H, X @ W)
    with Design(X) as design:
        for _ in range(3):
            start = objective(fit, factors, lam)
            factors = w_step(design, fit, factors, lam, max_cg=2)
            np.testing.assert_allclose(factors.A, X @ factors.W, atol=1e-8)
            middle = objective(fit, factors, lam)
            factors = h_step(fit, factors, lam, max_cg=2)
            assert objective(fit, factors, lam) <= middle * (1 + 1e-9) + 1e-9
            assert middle <= start * (1 + 1e-9) + 1e-9


def test_one_label_is_a_regularised_regression():
    """With L = 1 the factors' norms are worth lam |z|: at small alpha that is least squares."""
    X, Y, _ = small_data(seed=5, L=1)
    model = LEML(alpha=1e-8, tol=1e-12, max_iter=500, max_cg=100, random_state=0)
    fit_quietly(model, X, Y)
    assert model.codes_.shape == (1, 1)
    reference = Ridge(alpha=1e-10).fit(X, Y[:, 0]).predict(X)
    np.testing.assert_allclose(model.decision_function(X)[:, 0] + 0.5, reference, atol=1e-3)


def test_sparse_dense_threads_and_attributes_agree():
    X, Y, _ = small_data(seed=6, n=40)
    X[np.abs(X) < 0.5] = 0
    X[7] = 0  # an empty row
    dense = LEML(n_components=3, random_state=0, max_iter=20).fit(X, Y)
    one = LEML(n_components=3, random_state=0, max_iter=20).fit(sp.csr_matrix(X), sp.csr_matrix(Y))
    two = clone(one).set_params(n_jobs=2).fit(sp.csr_matrix(X), Y)
    np.testing.assert_allclose(one.decision_function(X), dense.decision_function(X), atol=1e-8)
    np.testing.assert_array_equal(one.codes_, two.codes_)
    np.testing.assert_allclose(
        one.decision_function(X), X @ one.coef_.T + one.intercept_, atol=1e-10
    )
    np.testing.assert_allclose(one.decision_function(X)[7], one.intercept_)
    np.testing.assert_array_equal(one.predict(X), one.decision_function(X) > 0)
    np.testing.assert_allclose(
        one.codes_ @ one.components_intercept_ - 0.5, one.intercept_, atol=1e-12
    )


def test_rank_requests():
    X, Y, _ = small_data(seed=7)
    assert LEML(n_components=99, max_iter=20).fit(X, Y).n_components_ == 4
    assert LEML(n_components=0.6, max_iter=20).fit(X, Y).n_components_ == 3
    assert LEML(max_iter=20).fit(X, Y).n_components_ == 4
    capped = LEML(n_components=99, random_state=0, max_iter=20).fit(X, Y)
    full = LEML(n_components=4, random_state=0, max_iter=20).fit(X, Y)
    np.testing.assert_array_equal(capped.codes_, full.codes_)


@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_labels_without_positives_or_without_any_known_entry(loss):
    X, Y, _ = small_data(seed=8)
    Y[:, 1], Y[:, 2], Y[:, 3] = 0, np.nan, 1
    model = fit_quietly(LEML(loss=loss, alpha=0.1, random_state=0), X, Y)
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    assert not model.predict(X)[:, 1].any()
    assert model.predict(X)[:, 3].all()
    assert (scores[:, 2] == -LOSSES[loss].cut).all()
    assert not model.predict(X)[:, 2].any()


def test_missing_labels_change_what_is_learnt():
    X, Y, _ = small_data(seed=9, n=60)
    holes = Y.copy()
    holes[:50][Y[:50] == 1] = np.nan  # reading NaN as 0 would make every label absent
    model = fit_quietly(LEML(alpha=0.5, loss="logistic", random_state=0), X, holes)
    as_zero = fit_quietly(LEML(alpha=0.5, loss="logistic", random_state=0), X, np.nan_to_num(holes))
    assert (model.predict(X) == Y).mean() > (as_zero.predict(X) == Y).mean()


def test_callbacks_time_limit_and_history():
    X, Y, _ = small_data(seed=10)
    seen = []
    model = LEML(callbacks=lambda r: seen.append(r) or len(seen) == 2, tol=0.0, max_iter=50)
    model.fit(X, Y)
    assert model.n_iter_ == 2 == len(model.history_) == len(seen)
    assert seen[1]["objective"] <= seen[0]["objective"]
    assert model.stopped_by_ == "callback"
    cut = LEML(max_time=0.0, tol=0.0, max_iter=50).fit(X, Y)
    assert cut.n_iter_ == 1 and cut.stopped_by_ == "time limit"


def test_the_time_limit_ends_a_turn_too(monkeypatch):
    """With thousands of components one product takes long: a turn has many of them."""
    X, Y, _ = small_data(seed=10)
    n_products = 0
    real = Design.times

    def counted(self, S):
        nonlocal n_products
        n_products += 1
        return real(self, S)

    monkeypatch.setattr(Design, "times", counted)
    LEML(tol=0.0, max_iter=1, max_cg=50, random_state=0).fit(X, Y)
    n_with_time, n_products = n_products, 0
    LEML(max_time=0.0, tol=0.0, max_iter=1, max_cg=50, random_state=0).fit(X, Y)
    assert n_products < n_with_time


def test_interrupt_keeps_the_last_turn():
    X, Y, _ = small_data(seed=11)

    def press(record):
        if record["iteration"] == 3 and threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(RuntimeWarning, match="best model so far"):
        model = LEML(callbacks=press, tol=0.0, max_iter=50, random_state=0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        three = LEML(tol=0.0, max_iter=3, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.codes_, three.codes_)


def test_warns_with_the_decrease_reached():
    X, Y, _ = small_data(seed=12)
    with pytest.warns(ConvergenceWarning, match="after 1 turns .* raise max_iter"):
        LEML(max_iter=1, tol=1e-9).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "hinge"}, "loss is 'hinge'; expected one of squared, logistic, squared_hinge"),
        ({"alpha": 0}, "alpha is 0; expected a number above 0"),
        ({"n_components": 0}, "n_components is 0; expected a positive int"),
        ({"n_components": 1.5}, "n_components is 1.5; expected a positive int"),
        ({"max_iter": 0}, "max_iter is 0; expected at least 1"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, Y, _ = small_data()
    with pytest.raises(ValueError, match=message):
        LEML(**parameters).fit(X, Y)


@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_scikit_learn_contract(loss):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(LEML(loss=loss, random_state=0))
