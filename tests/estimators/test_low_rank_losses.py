"""What is here: PrML with the smooth losses and kernels, against factors found by an optimiser."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import check_estimator
from tests.estimators.test_losses import LOSSES, make_data, quiet_fit
from tests.solvers import naive_smooth as naive

from prml import PrML


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("gamma1", [1.0, 100.0])
@pytest.mark.parametrize("teacher", ["all", None])
def test_the_global_optimum_is_found(loss, gamma1, teacher):
    X, Y = make_data(n=50, d=4, n_labels=3, missing=0.1)
    model = PrML(loss=loss, C=0.5, gamma1=gamma1, gamma2=0.5, privileged=teacher, tol=2e-7)
    quiet_fit(model, X, Y)
    value, Z = naive.solve_low_rank(
        X, Y, loss, 0.5, gamma1, 0.5, 2.0, teacher=teacher is not None
    )  # fmt: skip
    assert model.converged_
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert model.dual_objective_ <= value * (1 + 1e-9)
    scale = max(1.0, np.abs(Z).max())
    np.testing.assert_allclose(np.c_[model.coef_, model.intercept_], Z, atol=2e-2 * scale)
    np.testing.assert_allclose(model.codes_ @ model.components_, model.coef_, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_large_gamma1_leaves_nothing_and_is_certified(loss):
    X, Y = make_data()
    model = quiet_fit(PrML(loss=loss, gamma1=1e8), X, Y)
    assert model.rank_ == 0 and model.converged_
    assert len(model.degenerate_labels_) == Y.shape[1]


@pytest.mark.parametrize("loss", LOSSES)
def test_multipliers_lie_in_the_spectral_ball(loss):
    X, Y = make_data()
    model = quiet_fit(PrML(loss=loss, gamma1=20.0, keep_duals=True), X, Y)
    A = np.hstack([X, np.ones((len(X), 1))])
    M = (model.dual_coef_ * np.where(Y.T == 1, 1, -1)) @ A
    assert np.linalg.norm(M, 2) <= np.sqrt(20.0) * (1 + 1e-9)
    assert np.abs(model.dual_coef_).sum() > 0


@pytest.mark.parametrize("loss", LOSSES)
def test_a_bound_on_the_rank_is_kept_at_a_price(loss):
    X, Y = make_data(n_labels=4)
    free = quiet_fit(PrML(loss=loss, gamma1=0.5), X, Y)
    with pytest.warns(ConvergenceWarning, match="n_components"):
        bound = PrML(loss=loss, gamma1=0.5, n_components=2).fit(X, Y)
    assert free.rank_ > 2 >= bound.rank_
    assert bound.codes_.shape == (4, bound.rank_)
    assert np.linalg.matrix_rank(np.c_[bound.coef_, bound.intercept_]) <= 2
    assert bound.objective_ > free.objective_ * (1 - 1e-3)
    assert bound.dual_objective_ <= free.objective_


@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_jobs_and_sparse_rows_change_nothing(loss, monkeypatch):
    X, Y = make_data(n_labels=5)
    whole = quiet_fit(PrML(loss=loss, tol=1e-5), X, Y)
    monkeypatch.setattr("prml.solvers.smooth.labelwise.BLOCK_NUMBERS", 2 * len(X))
    parts = quiet_fit(PrML(loss=loss, tol=1e-5, n_jobs=2), sp.csr_matrix(X), Y)
    assert parts.objective_ == pytest.approx(whole.objective_, rel=2e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_start_goes_on(loss):
    X, Y = make_data(n=100)
    model = quiet_fit(PrML(loss=loss, warm_start=True, tol=1e-5), X, Y)
    cold, objective = model.n_iter_, model.objective_
    quiet_fit(model, X, Y)
    assert model.n_iter_ < cold
    assert model.objective_ == pytest.approx(objective, rel=2e-5)


@pytest.mark.parametrize("loss", ["hinge", *LOSSES])
def test_kernels_are_features_here_too(loss):
    X, Y = make_data(n=40)
    K = rbf_kernel(X, gamma=0.3)
    settings = {"loss": loss, "gamma1": 0.1, "random_state": 0}
    rbf = quiet_fit(PrML(kernel="rbf", gamma=0.3, **settings), X, Y)
    precomputed = quiet_fit(PrML(kernel="precomputed", **settings), K, Y)
    nystroem = quiet_fit(PrML(kernel="rbf", gamma=0.3, n_landmarks=40, **settings), X, Y)
    scores = rbf.decision_function(X)
    np.testing.assert_allclose(precomputed.decision_function(K), scores, atol=1e-6)
    np.testing.assert_allclose(nystroem.decision_function(X), scores, atol=1e-6)


@pytest.mark.parametrize(
    "wrong", [{"algorithm": "alternating"}, {"checkpoint": "fit.ckpt"}], ids=str
)
def test_what_only_the_hinge_has_is_refused(wrong):
    X, Y = make_data()
    with pytest.raises(ValueError, match="loss is 'squared'"):
        PrML(loss="squared", **wrong).fit(X, Y)


@pytest.mark.long
@pytest.mark.parametrize("loss", LOSSES)
def test_scikit_learn_checks(loss):
    check_estimator(
        PrML(loss=loss, C=0.1),  # scores small enough for probabilities below 1
        expected_failed_checks={
            f"check_sample_weight_equivalence_on_{kind}_data": "equal up to the gap"
            for kind in ("dense", "sparse")
        },
    )
