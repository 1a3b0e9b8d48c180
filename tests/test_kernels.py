"""What is here: kernels as features, and the estimators on them, against the kernels themselves."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from prml import PrBR, load_model, save_model
from prml.kernels import Kernel, default_gamma, kernel_features, kernel_scores
from prml.metrics import average_precision

LOSSES = ["hinge", "squared", "squared_hinge", "logistic"]
RBF = Kernel("rbf", 0.3, 3, 1.0)


def make_data(seed=0, n=50, d=4, n_labels=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (np.sin(2 * X @ rng.normal(size=(d, n_labels))) > 0.2).astype(int)
    return X, Y


def linear_kernel(A, B):
    return A @ B.T


def test_exact_features_reproduce_the_kernel_of_old_and_new_rows():
    X, _ = make_data()
    new = np.random.default_rng(1).normal(size=(7, X.shape[1]))
    for kernel, truth in [
        (RBF, rbf_kernel(X, gamma=0.3)),
        (Kernel("poly", 0.2, 2, 1.0), polynomial_kernel(X, gamma=0.2, degree=2, coef0=1)),
    ]:
        phi = kernel_features(X, kernel, n_landmarks=None, seed=0)
        np.testing.assert_allclose(phi.features @ phi.features.T, truth, atol=1e-8)
        # a model whose coefficients are the features of row 3 scores x with k(x, row 3)
        coef = phi.landmark_coef(phi.features[3:4])
        scores = kernel_scores(new, kernel, phi.landmarks, coef)[:, 0]
        np.testing.assert_allclose(scores, kernel.between(new, X[3:4])[:, 0], atol=1e-6)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 100), m=st.integers(1, 20))
def test_landmark_features_are_the_nystroem_approximation(seed, m):
    X, _ = make_data(seed, n=20)
    phi = kernel_features(X, RBF, n_landmarks=m, seed=seed)
    to_landmarks = rbf_kernel(X, phi.landmarks, gamma=0.3)
    among = rbf_kernel(phi.landmarks, gamma=0.3)
    truth = to_landmarks @ np.linalg.pinv(among, rcond=1e-12) @ to_landmarks.T
    np.testing.assert_allclose(phi.features @ phi.features.T, truth, atol=1e-6)


def test_repeated_rows_lower_the_rank_and_change_nothing():
    X, _ = make_data(n=20)
    phi = kernel_features(np.vstack([X, X]), RBF, n_landmarks=None, seed=0)
    assert phi.features.shape == (40, 20)
    np.testing.assert_allclose(phi.features[:20], phi.features[20:], atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_linear_kernel_is_the_linear_solver(loss):
    X, _ = make_data()
    Y = (X @ np.random.default_rng(2).normal(size=(4, 3)) > 0).astype(int)
    settings_ = {"loss": loss, "C": 0.3, "tol": 1e-6 if loss == "hinge" else 1e-12}
    linear = PrBR(**settings_).fit(X, Y)
    through_kernel = PrBR(kernel=linear_kernel, **settings_).fit(X, Y)
    assert through_kernel.objective_ == pytest.approx(linear.objective_, rel=2e-6)
    atol = 2e-2 if loss == "hinge" else 1e-5
    np.testing.assert_allclose(
        linear.decision_function(X), through_kernel.decision_function(X), atol=atol
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_precomputed_equals_rbf(loss):
    X, Y = make_data()
    new = np.random.default_rng(1).normal(size=(7, X.shape[1]))
    settings_ = {"loss": loss, "C": 2.0, "random_state": 0}
    rbf = PrBR(kernel="rbf", gamma=0.3, **settings_).fit(X, Y)
    given_K = PrBR(kernel="precomputed", **settings_).fit(rbf_kernel(X, gamma=0.3), Y)
    np.testing.assert_allclose(
        rbf.decision_function(new),
        given_K.decision_function(rbf_kernel(new, X, gamma=0.3)),
        atol=1e-8,
    )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_nystroem_with_all_rows_as_landmarks_is_exact(loss, kernel):
    X, Y = make_data()
    settings_ = {
        "loss": loss,
        "kernel": kernel,
        "C": 9.0,
        "gamma": 0.3,
        "degree": 2,
        "random_state": 0,
    }
    exact = PrBR(**settings_).fit(X, Y)
    nystroem = PrBR(n_landmarks=len(X), **settings_).fit(X, Y)
    np.testing.assert_allclose(exact.decision_function(X), nystroem.decision_function(X), atol=1e-8)


def test_squared_loss_without_a_teacher_is_kernel_ridge():
    X, Y = make_data()
    outside = KernelRidge(alpha=0.5, kernel=lambda a, b: np.exp(-0.3 * np.sum((a - b) ** 2)))
    scores = outside.fit(X, 2 * Y - 1).predict(X)
    model = PrBR(loss="squared", privileged=None, theta=1.0, C=2.0, kernel="rbf", gamma=0.3,
                 fit_intercept=False, tol=1e-12)  # fmt: skip
    np.testing.assert_allclose(model.fit(X, Y).decision_function(X), scores, atol=1e-6)


def test_sparse_rows_equal_dense_ones():
    X, Y = make_data()
    X[np.abs(X) < 0.5] = 0.0
    assert default_gamma(sp.csr_matrix(X)) == pytest.approx(default_gamma(X))
    dense = PrBR(loss="squared", kernel="rbf").fit(X, Y)
    sparse = PrBR(loss="squared", kernel="rbf").fit(sp.csr_matrix(X), Y)
    assert sp.issparse(sparse.landmarks_)
    np.testing.assert_allclose(
        dense.decision_function(X), sparse.decision_function(sp.csr_matrix(X)), atol=1e-6
    )


def test_prediction_in_small_blocks_changes_nothing(monkeypatch):
    X, Y = make_data()
    model = PrBR(loss="squared", kernel="rbf").fit(X, Y)
    whole = model.decision_function(X)
    monkeypatch.setattr("prml.kernels.PREDICT_BYTES", 8 * 3 * len(X))
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed"])
def test_a_model_with_a_kernel_survives_its_file(kernel, tmp_path):
    X, Y = make_data()
    if kernel == "precomputed":
        X = rbf_kernel(X)
    model = PrBR(loss="squared", kernel=kernel, n_landmarks=20, random_state=0).fit(X, Y)
    save_model(model, tmp_path / "model.prml")
    again = load_model(tmp_path / "model.prml")
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))


def test_a_kernel_that_does_not_fit_is_refused_before_it_is_computed():
    with pytest.raises(ValueError, match="set n_landmarks"):
        kernel_features(np.zeros((1000, 2)), RBF, n_landmarks=None, seed=0, max_bytes=1e6)
    with pytest.raises(ValueError, match="an n_landmarks below 500"):
        kernel_features(np.zeros((1000, 2)), RBF, n_landmarks=500, seed=0, max_bytes=1e6)


@pytest.mark.parametrize(
    ("kernel", "X", "said"),
    [
        ("precomputed", np.ones((4, 3)), "square"),
        ("precomputed", np.triu(np.ones((4, 4))), "symmetric"),
        ("precomputed", sp.csr_matrix(np.eye(4)), "dense"),
        ("precomputed", np.diag([1.0, 1.0, 1.0, -1.0]), "positive semi-definite"),
        ("precomputed", np.eye(4)[::-1] + 0.0, "Mercer|semi-definite"),
        (lambda A, B: np.ones(3), np.ones((4, 3)), "one value for each pair"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), np.ones((4, 3)), "NaN"),
        ("rfb", np.ones((4, 3)), "kernel is 'rfb'; expected"),
    ],
)
def test_wrong_kernels_are_refused_in_a_sentence(kernel, X, said):
    with pytest.raises(ValueError, match=said):
        PrBR(kernel=kernel, loss="squared").fit(X, [[1, 0], [0, 1], [1, 1], [0, 0]])


def test_cross_validation_slices_a_precomputed_kernel_both_ways():
    from sklearn.model_selection import cross_val_score

    X, Y = make_data()
    model = PrBR(loss="squared", kernel="precomputed")
    scores = cross_val_score(
        model, rbf_kernel(X), Y, cv=3,
        scoring=lambda m, K, truth: average_precision(truth, m.decision_function(K)),
    )  # fmt: skip
    assert np.isfinite(scores).all()


def test_a_kernel_learns_what_no_line_can():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    Y = np.c_[X[:, 0] * X[:, 1] > 0, (X**2).sum(axis=1) > 1.4].astype(int)
    for loss in LOSSES:
        model = PrBR(loss=loss, kernel="rbf", C=10, privileged=None).fit(X[:200], Y[:200])
        assert (model.predict(X[200:]) == Y[200:]).mean() > 0.9
