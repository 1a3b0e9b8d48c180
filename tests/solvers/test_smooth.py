"""What is here: the pieces of the smooth solvers, each against the formula it stands for."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from prml.monitor import Monitor
from prml.privileged import LabelFeatures
from prml.solvers.smooth.block import make_block
from prml.solvers.smooth.labelwise import solve_smooth
from prml.solvers.smooth.losses import LOSSES
from prml.solvers.smooth.lowrank import solve_smooth_low_rank
from prml.solvers.smooth.newton import newton_direction, solve_block
from prml.solvers.smooth.operators import Examples, Teachers
from prml.solvers.smooth.precondition import Spectra
from prml.solvers.training_set import Hyperparameters, TrainingSet
from prml.targets import read_targets

NUMBERS = Hyperparameters(0.7, 0.5, 2.0)


def make_problem(seed=0, n=30, d=4, n_labels=5, *, missing=0.2, pools=None, enabled=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, n_labels)) > 0.3).astype(float)
    Y[rng.random(Y.shape) < missing] = np.nan
    targets = read_targets(Y)
    features = LabelFeatures(targets, pools, True, enabled=enabled)
    return TrainingSet(X, targets, features, True), Y


def whole_block(training_set, loss, **options):
    examples = Examples(training_set.matrix, 1.0)
    labels = np.arange(training_set.n_labels)
    return make_block(training_set, examples, labels, LOSSES[loss], NUMBERS, **options)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("part", ["residual", "cost"])
def test_slopes_curvatures_and_conjugates_belong_to_the_values(loss, part):
    curve = getattr(LOSSES[loss], part)
    t = np.linspace(-3, 3, 12)
    h = 1e-6
    slope = (curve.value(t + h) - curve.value(t - h)) / (2 * h)
    np.testing.assert_allclose(curve.slope(t), slope, atol=1e-7)
    curvature = (curve.slope(t + h) - curve.slope(t - h)) / (2 * h)
    np.testing.assert_allclose(curve.curvature(t), curvature, atol=1e-6)
    assert curve.curvature(t).max() <= curve.largest_curvature
    sign = -1.0 if part == "residual" else 1.0
    for p in (0.1, 0.5, 0.9):
        found = minimize_scalar(lambda x, p=p: float(curve.value(np.array([x]))[0] - sign * p * x))
        conjugate = -found.fun
        assert sign * curve.dual(np.array([p]))[0] == pytest.approx(conjugate, abs=1e-8)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), pooled=st.booleans())
def test_teachers_multiply_by_label_vectors_they_never_form(seed, pooled):
    rng = np.random.default_rng(seed)
    pools = [np.flatnonzero(rng.random(5) < 0.5) for _ in range(5)] if pooled else None
    if pooled:
        pools = [pool[pool != i] for i, pool in enumerate(pools)]
    training_set, Y = make_problem(seed, pools=pools)
    labels = np.array([3, 0])
    teachers = Teachers(training_set.features, labels)
    V = np.where(np.isnan(Y), 0.0, np.where(Y == 1, 1.0, -1.0))
    V = np.hstack([V, np.ones((len(V), 1))])
    seen = np.ones((6, 2))
    for column, label in enumerate(labels):
        hidden = np.setdiff1d(np.arange(5), training_set.features.labels_of(label))
        seen[hidden, column] = 0.0
    U, R = rng.normal(size=(6, 2)) * seen, rng.normal(size=(len(V), 2))
    np.testing.assert_allclose(teachers.slacks(U), V @ U, atol=1e-12)
    np.testing.assert_allclose(teachers.back(R), (V.T @ R) * seen, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("enabled", [True, False])
def test_gradients_and_second_derivatives_of_a_block(loss, enabled):
    training_set, _ = make_problem(enabled=enabled)
    rng = np.random.default_rng(1)
    block = whole_block(training_set, loss, omega=0.3, centre=rng.normal(size=(5, 5)))
    P = block.pack(rng.normal(size=(5, 5)), rng.normal(size=(6, 5)) if enabled else None)

    def value(p):
        return block.start(p.reshape(P.shape)).objective.sum()

    def gradient(p):
        return block.start(p.reshape(P.shape)).gradient.ravel()

    if enabled:  # the value does not depend on what a teacher does not see, the gradient is 0 there
        hidden = block.teachers.hide(np.ones(block.teachers.shape)) == 0
        assert (block.start(P).gradient[block.n_own :][hidden] == 0).all()
    state = block.start(P)
    S = block.pack(rng.normal(size=(5, 5)), rng.normal(size=(6, 5)) if enabled else None)
    h = 1e-6
    slope = (value(P + h * S) - value(P - h * S)) / (2 * h)
    assert np.vdot(state.gradient, S) == pytest.approx(slope, rel=1e-6)
    image = block.hessian_product(block.curvatures(state))(S)
    change = (gradient(P + h * S) - gradient(P - h * S)).reshape(P.shape) / (2 * h)
    np.testing.assert_allclose(image, change, atol=1e-5 * np.abs(image).max())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("enabled", [True, False])
def test_the_gap_is_that_of_the_dual_value(loss, enabled):
    training_set, _ = make_problem(enabled=enabled)
    rng = np.random.default_rng(2)
    block = whole_block(training_set, loss)
    U = 0.3 * rng.normal(size=(6, 5)) if enabled else None
    state = block.start(block.pack(0.3 * rng.normal(size=(5, 5)), U))
    from_t, from_xi = block.slopes(state.t, state.xi)
    M = block.examples.back(-from_t * block.signs)
    dual = block.dual_value(-from_t, from_xi) - 0.5 * np.vdot(M, M)
    assert state.objective.sum() - dual == pytest.approx(state.gap.sum(), rel=1e-9)


@pytest.mark.parametrize("enabled", [True, False])
def test_gathered_directions_equal_solved_systems(enabled):
    training_set, _ = make_problem(enabled=enabled)
    block = whole_block(training_set, "logistic")
    state = block.start(np.zeros((block.n_unknowns, 5)))
    product = block.hessian_product(block.curvatures(state))
    # accuracies far apart: labels are done at different times and the rest is gathered
    forcing = np.array([0.9, 1e-2, 1e-12, 1e-12, 0.5])
    S = newton_direction(block, state, forcing)
    residual = np.linalg.norm(product(S) + state.gradient, axis=0)
    assert (residual <= 1.01 * forcing * np.linalg.norm(state.gradient, axis=0) + 1e-9).all()
    spectra = Spectra(block.examples, training_set.features, LOSSES["logistic"])
    preconditioned = newton_direction(block, state, np.full(5, 1e-12), spectra)
    np.testing.assert_allclose(preconditioned[:, 2:4], S[:, 2:4], atol=1e-8)


def test_the_preconditioner_inverts_both_blocks_of_the_squared_loss():
    training_set, _ = make_problem(missing=0.0)
    block = whole_block(training_set, "squared", omega=0.3)
    state = block.start(np.zeros((block.n_unknowns, 5)))
    curvatures = block.curvatures(state)
    apply = Spectra(block.examples, training_set.features, LOSSES["squared"])(block, curvatures)
    product = block.hessian_product(curvatures)
    rng = np.random.default_rng(0)
    own = block.pack(rng.normal(size=(5, 5)), None)
    image = product(own)
    image[5:] = 0.0
    np.testing.assert_allclose(apply(image), own, atol=1e-9)
    teacher = block.pack(np.zeros((5, 5)), rng.normal(size=(6, 5)))
    image = product(teacher)
    image[:5] = 0.0
    np.testing.assert_allclose(apply(image), teacher, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_halted_block_returns_true_bounds(loss):
    training_set, _ = make_problem()
    block = whole_block(training_set, loss)
    start = np.zeros((block.n_unknowns, 5))
    halted = solve_block(block, start, tol=1e-9, max_iter=50, should_stop=lambda: True)
    solved = solve_block(block, start, tol=1e-9, max_iter=50)
    assert (halted.n_iter == 0).all() and (halted.P == 0).all()
    assert (halted.objective - halted.gap <= solved.objective).all()
    assert (solved.gap <= 1e-9 * solved.objective).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
def test_the_constants_to_start_from_are_the_best_there_are(loss, weight):
    training_set, _ = make_problem()
    block = make_block(
        training_set,
        Examples(training_set.matrix, training_set.X.bias),
        np.arange(5),
        LOSSES[loss],
        NUMBERS._replace(C=weight),
    )
    state = block.start(block.constants())
    intercepts = state.gradient[block.n_own - 1]
    assert np.abs(intercepts).max() < 1e-9 * weight * training_set.n_samples
    others = np.delete(state.P, block.n_own - 1, axis=0)
    assert (others == 0).all() and (state.P[block.n_own - 1] != 0).all()


def test_without_an_intercept_the_start_is_zero():
    training_set, _ = make_problem()
    examples = Examples(training_set.matrix, 0.0)
    block = make_block(training_set, examples, np.arange(5), LOSSES["logistic"], NUMBERS)
    assert not block.constants().any()


def test_a_time_limit_of_nothing_gives_a_model_with_bounds():
    training_set, _ = make_problem()
    monitor = Monitor(max_time=0.0)
    options = {"tol": 1e-9, "max_iter": 50, "monitor": monitor}
    solution = solve_smooth(training_set, NUMBERS, "logistic", **options)
    assert monitor.stopped_by == "time limit" and (solution.Z[:-1] == 0).all()
    assert np.isfinite(solution.objective).all()
    low_rank = solve_smooth_low_rank(training_set, NUMBERS, "logistic", 1.0, **options)
    assert low_rank.factors.rank == 0 and np.isfinite(low_rank.objective)


def test_an_interrupt_keeps_the_best_so_far():
    training_set, _ = make_problem()

    def interrupt(record):
        raise KeyboardInterrupt

    for solve in (
        lambda monitor: solve_smooth(
            training_set, NUMBERS, "logistic", tol=1e-9, max_iter=50, monitor=monitor
        ),
        lambda monitor: solve_smooth_low_rank(
            training_set, NUMBERS, "logistic", 1.0, tol=1e-9, max_iter=50, monitor=monitor
        ),
    ):
        monitor = Monitor(callbacks=interrupt)
        with pytest.warns(RuntimeWarning, match="best model so far"):
            solution = solve(monitor)
        assert monitor.stopped_by == "interrupt"
        assert np.isfinite(np.sum(solution.objective))


def test_sparse_grams_equal_dense_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4)) * (rng.random((20, 4)) < 0.5)
    weight = rng.uniform(size=20)
    dense, sparse = Examples(X, 1.0), Examples(sp.csr_matrix(X), 1.0)
    A = np.hstack([X, np.ones((20, 1))])
    np.testing.assert_allclose(dense.gram(weight), A.T @ (weight[:, None] * A), atol=1e-12)
    np.testing.assert_allclose(sparse.gram(weight), dense.gram(weight), atol=1e-12)
    np.testing.assert_allclose(sparse.gram(None), A.T @ A, atol=1e-12)
