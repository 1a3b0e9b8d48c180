"""What is here: wide training sets, which PrML turns into the space of their rows."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimators import oracles
from tests.estimators.oracles import make_case
from tests.solvers.test_certificate import training_set_of

from prml import PrML
from prml.solvers import lowrank
from prml.solvers.row_space import is_worthwhile, row_space
from prml.solvers.spectral import Factors


@settings(deadline=None, max_examples=30)
@given(
    n=st.integers(1, 12),
    wider=st.integers(0, 20),
    seed=st.integers(0, 99),
    fit_intercept=st.booleans(),
    repeated=st.booleans(),
)
def test_margins_and_singular_values_stay(n, wider, seed, fit_intercept, repeated):
    case = make_case(seed, n=n, d=n + wider, n_labels=3, fit_intercept=fit_intercept)
    if repeated:  # rows that span less than their number
        case = case._replace(X=np.repeat(case.X[:1], n, axis=0))
    space = row_space(training_set_of(case)[0])
    turned = space.training_set
    rng = np.random.default_rng(seed)
    right = np.linalg.qr(rng.normal(size=(turned.n_features + 1, 2)))[0].T
    here = Factors(np.linalg.qr(rng.normal(size=(3, 2)))[0], np.array([2.0, 1.0]), right)
    there = space.lift(here)
    np.testing.assert_allclose(there.right @ there.right.T, right @ right.T, atol=1e-12)
    constant = np.full((n, 1), float(fit_intercept))
    margins = np.hstack([turned.matrix, constant]) @ here.product().T
    np.testing.assert_allclose(case.features() @ there.product().T, margins, atol=1e-10)
    np.testing.assert_allclose(turned.squares, (case.features() ** 2).sum(axis=1), rtol=1e-10)


@pytest.mark.parametrize("theta", [2.0, np.inf])
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_wide_set_has_the_optimum_of_the_outside_solver(theta, as_sparse, missing, monkeypatch):
    case = make_case(4, n=14, d=40, n_labels=4, theta=theta, C=0.5, missing=missing)
    X = sp.csr_matrix(case.X) if as_sparse else case.X
    calls = []
    monkeypatch.setattr(lowrank, "row_space", lambda t: (calls.append(1), row_space(t))[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = PrML(random_state=0, **oracles.parameters(case)).fit(X, case.Y)
    assert calls
    exact = oracles.exact_prml(case, 1.0)
    value, violation = oracles.prml_value(case, 1.0, model)
    assert violation <= 1e-8
    assert value == pytest.approx(model.objective_, rel=1e-8)
    assert exact * (1 - 1e-8) <= value <= exact * (1 + 1.1e-3)
    assert model.dual_objective_ <= exact * (1 + 1e-8)
    assert model.coef_.shape == (4, 40)


def test_turned_or_not_the_multipliers_certify_the_same(monkeypatch):
    case = make_case(6, n=16, d=60, n_labels=5, C=0.3)
    turned = PrML(random_state=0, keep_duals=True, **oracles.parameters(case)).fit(case.X, case.Y)
    monkeypatch.setattr(lowrank, "is_worthwhile", lambda training_set: False)
    plain = PrML(random_state=0, keep_duals=True, **oracles.parameters(case)).fit(case.X, case.Y)
    assert turned.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    for one, other in zip(turned.dual_coef_, plain.dual_coef_, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    np.testing.assert_allclose(turned.coef_, plain.coef_, atol=1e-6)


@pytest.mark.parametrize(
    ("n", "d", "density", "expected"),
    [(20, 100, 1.0, True), (60, 100, 1.0, False), (50, 1000, 0.002, False), (50, 1000, 0.2, True)],
)
def test_few_examples_and_rows_not_too_sparse(n, d, density, expected):
    case = make_case(1, n=n, d=3, n_labels=3)
    X = sp.random(n, d, density, format="csr", random_state=0)
    training_set = training_set_of(case)[0].with_features(X)
    assert is_worthwhile(training_set) == expected


def test_a_checkpoint_holds_the_features_of_the_user(tmp_path, monkeypatch):
    case = make_case(6, n=16, d=60, n_labels=5, C=0.3)
    monkeypatch.setattr(lowrank, "row_space", lambda training_set: pytest.fail("turned"))
    PrML(random_state=0, checkpoint=tmp_path / "fit", **oracles.parameters(case)).fit(
        case.X, case.Y
    )
