"""What is here: PrBR with the hinge against the exact problem, and what a fit owes its user."""

import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from tests.estimators import oracles
from tests.estimators.oracles import Case, make_case

from prml import PrBR
from prml.privileged import nearest_labels

INF = np.inf


def quiet_fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(*args, **kwargs)


def assert_solved(case, *, tol=1e-4, close=3e-4, exact=None, **fit):
    """Fit a case; bounds, values, feasibility and multipliers all have to be true."""
    exact = oracles.exact_prbr(case) if exact is None else exact
    model = quiet_fit(
        PrBR(tol=tol, keep_duals=True, random_state=0, **oracles.parameters(case)),
        case.X,
        case.Y,
        **fit,
    )
    assert model.converged_
    assert model.dual_gap_ <= tol
    value, violation = oracles.prbr_value(case, model)
    assert violation <= 1e-6
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert -1e-6 * exact <= model.objective_ - exact <= close * exact
    dual, outside = oracles.prbr_dual_value(case, model.dual_coef_, model.dual_slack_)
    assert outside <= 1e-9
    assert model.dual_objective_ == pytest.approx(dual, rel=1e-9)
    assert model.dual_objective_ <= exact * (1 + 1e-6)
    # the gap reported is at least the true distance
    assert model.objective_ - exact <= model.dual_gap_ * model.objective_ + 1e-6 * exact
    return model


def pool_of(matrix):
    """The boolean matrix of the three nearest labels."""
    pool = np.zeros((matrix.shape[1],) * 2, dtype=bool)
    for i, near in enumerate(nearest_labels(sp.csr_matrix(matrix == 1, dtype=float), 3)):
        pool[i, near] = True
    return pool


@pytest.mark.parametrize("theta", [INF, 2.0, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("name", "labels", "n"),
    [
        ("flags", slice(None), 120),
        ("emotions", slice(None), 120),
        ("yeast", [0, 3, 6, 10, 13], 150),
    ],
)
def test_objective_on_real_data_is_that_of_the_exact_problem(name, labels, n, theta, intercept):
    X, Y = oracles.real_data(name, labels, n)
    X = X / np.abs(X).max(axis=0)
    case = Case(X, Y, C=0.5, gamma2=0.5, theta=theta, privileged_intercept=intercept)
    exact = oracles.exact_prbr(case)
    if np.isinf(exact):
        with pytest.raises(ValueError, match="no solution for the label"):
            PrBR(**oracles.parameters(case)).fit(X, Y)
        return
    assert_solved(case, exact=exact)


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(5, 40),
    d=st.integers(1, 8),
    n_labels=st.integers(1, 6),
    theta=st.sampled_from([INF, 5.0, 2.0, 1.0, 0.5]),
    C=st.sampled_from([1e-3, 0.1, 1.0, 20.0]),
    gamma2=st.sampled_from([0.1, 2.0]),
    privileged_intercept=st.booleans(),
    fit_intercept=st.booleans(),
    missing=st.sampled_from([0.0, 0.3]),
    pool=st.booleans(),
    weighted=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_objective_on_random_problems_is_that_of_the_exact_problem(
    seed, n, d, n_labels, missing, pool, weighted, **numbers
):
    case = make_case(seed, n, d, n_labels, missing=missing, **numbers)
    rng = np.random.default_rng(seed)
    weight = None
    if pool:
        case = case._replace(pool=rng.random((n_labels, n_labels)) < 0.6)
    if weighted:
        weight = rng.uniform(0.0, 2.0, size=n) * (rng.random(n) < 0.9)
        case = case._replace(weight=np.repeat(weight[:, None], n_labels, axis=1))
    exact = oracles.exact_prbr(case)
    assume(not np.isnan(exact))
    if np.isinf(exact):
        with pytest.raises(ValueError, match="no solution for the label"):
            PrBR(**oracles.parameters(case)).fit(case.X, case.Y, sample_weight=weight)
        return
    assert_solved(case, exact=exact, sample_weight=weight)


@pytest.mark.parametrize("theta", [INF, 2.0])
def test_the_nearest_labels_as_a_pool(theta):
    case = make_case(3, n_labels=6, theta=theta)
    case = case._replace(pool=pool_of(case.Y))
    by_matrix = assert_solved(case)
    by_number = quiet_fit(
        PrBR(**oracles.parameters(case) | {"privileged": 3}, tol=1e-4, random_state=0),
        case.X,
        case.Y,
    )
    assert np.array_equal(by_number.coef_, by_matrix.coef_)
    outside = ~case.pool | np.eye(6, dtype=bool)
    assert not by_number.privileged_coef_[outside].any()


@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 1: 3.0}, {1: 2.0}])
@pytest.mark.parametrize("theta", [INF, 2.0])
def test_class_weights(class_weight, theta):
    case = make_case(1, theta=theta, missing=0.1)
    if class_weight == "balanced":
        known = (~np.isnan(case.Y)).sum(axis=0)
        present = np.nansum(case.Y, axis=0)
        absent_weight, present_weight = known / (2 * (known - present)), known / (2 * present)
    else:
        absent_weight, present_weight = class_weight.get(0, 1.0), class_weight[1]
    weight = np.where(case.Y == 1, present_weight, absent_weight)
    case = case._replace(weight=weight)
    exact = oracles.exact_prbr(case)
    model = quiet_fit(
        PrBR(tol=1e-4, class_weight=class_weight, **oracles.parameters(case)), case.X, case.Y
    )
    assert abs(model.objective_ - exact) <= 3e-4 * exact


def test_a_weight_equals_a_repeated_row():
    case = make_case(2)
    weight = np.random.default_rng(0).integers(0, 4, len(case.X))
    tight = PrBR(tol=1e-12)
    weighted = quiet_fit(tight, case.X, case.Y, sample_weight=weight)
    coef, objective = weighted.coef_, weighted.objective_
    repeated = quiet_fit(tight, np.repeat(case.X, weight, 0), np.repeat(case.Y, weight, 0))
    assert repeated.objective_ == pytest.approx(objective, rel=1e-10)
    assert np.allclose(coef, repeated.coef_, atol=1e-6)


@pytest.mark.parametrize("theta", [INF, 2.0])
def test_every_form_of_the_data_gives_the_same_model(theta):
    case = make_case(5, n=60, d=6, theta=theta, C=0.1, flips=0.05)
    X = np.where(np.abs(case.X) < 0.5, 0.0, case.X)

    def fit(X, Y=case.Y, n_jobs=None):
        model = PrBR(theta=theta, C=0.1, tol=1e-6, n_jobs=n_jobs, random_state=0)
        return quiet_fit(model, X, Y)

    dense = fit(X)
    assert np.array_equal(fit(np.asfortranarray(X)).coef_, dense.coef_)
    assert np.array_equal(fit(X[:, ::-1][:, ::-1]).coef_, dense.coef_)
    assert np.array_equal(fit(X, n_jobs=2).coef_, dense.coef_)
    assert np.array_equal(fit(X, sp.csr_matrix(case.Y)).coef_, dense.coef_)
    for other in (fit(sp.csr_matrix(X)), fit(sp.csc_matrix(X)), fit(X, case.Y.astype(bool))):
        assert np.allclose(other.coef_, dense.coef_, atol=1e-4)
        assert other.objective_ == pytest.approx(dense.objective_, rel=2e-6)
    for narrow in (fit(X.astype(np.float32)), fit(sp.csr_matrix(X, dtype=np.float32))):
        assert narrow.objective_ == pytest.approx(dense.objective_, rel=1e-5)
        assert np.allclose(
            narrow.decision_function(X.astype(np.float32)), dense.decision_function(X), atol=5e-3
        )
    tangled = sp.csr_matrix(X)
    tangled.indices, tangled.data = tangled.indices.copy(), tangled.data.copy()
    for start, end in zip(tangled.indptr[:-1], tangled.indptr[1:], strict=True):  # unsorted rows
        tangled.indices[start:end] = tangled.indices[start:end][::-1].copy()
        tangled.data[start:end] = tangled.data[start:end][::-1].copy()
    tangled.has_sorted_indices = False
    assert fit(tangled).objective_ == pytest.approx(dense.objective_, rel=2e-6)


@pytest.mark.parametrize("theta", [INF, 2.0])
def test_the_number_of_threads_and_the_seed(theta):
    case = make_case(7, n=80, n_labels=7, theta=theta)
    one = quiet_fit(PrBR(theta=theta, random_state=3, n_jobs=1), case.X, case.Y)
    two = quiet_fit(PrBR(theta=theta, random_state=3, n_jobs=2), case.X, case.Y)
    for name in ("coef_", "intercept_", "privileged_coef_", "privileged_intercept_"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert one.objective_ == two.objective_


@pytest.mark.parametrize("C", [0.05, 2.0])
def test_theta_one_is_the_support_vector_machine(C):
    X, Y = oracles.real_data("emotions")
    X = X / np.abs(X).max(axis=0)
    total = 0.0
    for y in Y.T:
        svm = LinearSVC(C=C, loss="hinge", max_iter=200_000, tol=1e-6).fit(X, y)
        z = np.r_[svm.coef_[0], svm.intercept_]
        margin = np.where(y == 1, 1, -1) * svm.decision_function(X)
        total += 0.5 * z @ z + C * np.maximum(0.0, 1.0 - margin).sum()
    for privileged in ("all", None):
        model = quiet_fit(PrBR(C=C, theta=1.0, privileged=privileged), X, Y)
        assert model.objective_ == pytest.approx(total, rel=1e-3)


def test_yeast_at_theta_inf_warns_once_of_the_labels_that_stay_constant():
    X, Y = oracles.real_data("yeast", n_samples=600)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PrBR(theta=INF).fit(X, Y)
    assert len(caught) == 1
    sentence = str(caught[0].message)
    assert "constant predictor" in sentence
    assert "a finite theta (2.0)" in sentence
    assert "loss='squared_hinge'" in sentence
    assert caught[0].filename == __file__
    assert len(model.degenerate_labels_) >= 7
    assert f"For {len(model.degenerate_labels_)} of 14 labels" in sentence
    # what the certificate says of such a label: nothing beats slack 1 through the intercept
    i = model.degenerate_labels_[0]
    case = Case(X, Y, theta=INF)
    exact = oracles.exact_label(case, i)
    assert exact == pytest.approx(len(X) + 0.5, rel=1e-3)
    # the advice is true: a finite theta helps some, the squared hinge all
    assert len(quiet_fit(PrBR(theta=2.0), X, Y).degenerate_labels_) < len(model.degenerate_labels_)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert len(PrBR(theta=2.0, loss="squared_hinge").fit(X, Y).degenerate_labels_) == 0


def test_emotions_without_the_privileged_intercept_is_refused_quickly():
    X, Y = oracles.real_data("emotions")
    start = time.perf_counter()
    with pytest.raises(ValueError, match="no solution for the label") as caught:
        PrBR(theta=INF, privileged_intercept=False).fit(X, Y)
    assert time.perf_counter() - start < 5.0
    named = str(caught.value).split("label(s) ")[1].split(";")[0].split(", ")
    infeasible = [
        i
        for i in range(6)
        if np.isinf(oracles.exact_label(Case(X, Y, theta=INF, privileged_intercept=False), i))
    ]
    assert set(named) <= set(map(str, infeasible))
    assert named


def test_degenerate_labels_are_named_by_the_users_names():
    import pandas as pd

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = pd.DataFrame(rng.integers(0, 2, size=(40, 2)), columns=["sea", "sun"])
    Y.iloc[:, 0] = 0  # never present: the intercept alone is enough
    with pytest.warns(UserWarning, match=r"1 of 2 labels \(sea\)"):
        model = PrBR(C=10.0, tol=1e-2, random_state=0).fit(
            X, Y.assign(sun=(X[:, 0] > 0).astype(int))
        )
    assert model.label_names_.tolist() == ["sea", "sun"]


def test_warm_start_takes_fewer_steps_and_gives_the_same_optimum():
    X, Y = oracles.real_data("flags")
    X = X / np.abs(X).max(axis=0)
    cold = quiet_fit(PrBR(C=1.0, tol=1e-5, random_state=0), X, Y)
    warm = quiet_fit(PrBR(C=1.0, tol=1e-5, random_state=0, warm_start=True), X, Y)
    assert np.array_equal(warm.coef_, cold.coef_)
    assert quiet_fit(warm, X, Y).n_iter_ <= cold.n_iter_
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-5)
    for changes in ({"C": 0.2}, {"theta": 1.2}, {"gamma2": 5.0}, {"privileged": 2}, {"theta": INF}):
        expected = quiet_fit(PrBR(**{"tol": 1e-5} | changes), X, Y)
        again = PrBR(tol=1e-5, warm_start=True)
        quiet_fit(again, X, Y)
        quiet_fit(again.set_params(**changes), X, Y)
        assert again.objective_ == pytest.approx(expected.objective_, rel=2e-5)
    other = make_case()  # other data: a start of their own
    quiet_fit(warm, other.X, other.Y)
    assert warm.objective_ == pytest.approx(
        quiet_fit(PrBR(tol=1e-5), other.X, other.Y).objective_, rel=2e-5
    )


def test_history_and_callbacks():
    case = make_case(0, n_labels=5)
    seen = []
    model = quiet_fit(PrBR(callbacks=seen.append), case.X, case.Y)
    assert model.history_ == seen
    assert [record["iteration"] for record in seen] == [1, 2, 3, 4, 5]
    exact = oracles.exact_prbr(case)
    for record in seen:
        assert record["dual_objective"] <= exact * (1 + 1e-7)
        assert record["objective"] >= exact * (1 - 1e-7)
    assert seen[-1]["gap"] == pytest.approx(model.dual_gap_)


def bounds_are_true(case, model):
    exact = oracles.exact_prbr(case)
    value, violation = oracles.prbr_value(case, model)
    assert violation <= 1e-6
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert model.dual_objective_ <= exact * (1 + 1e-7) <= model.objective_ * (1 + 2e-7)
    assert model.predict(case.X).shape == case.Y.shape


@pytest.mark.parametrize("theta", [INF, 2.0])
def test_a_callback_can_end_the_fit(theta):
    case = make_case(0, n_labels=6, theta=theta)
    model = quiet_fit(
        PrBR(theta=theta, tol=1e-9, callbacks=lambda record: record["iteration"] == 2),
        case.X,
        case.Y,
    )
    bounds_are_true(case, model)
    assert not model.converged_


@pytest.mark.parametrize("theta", [INF, 2.0])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_keeps_the_best_so_far(theta, n_jobs):
    case = make_case(0, n_labels=6, theta=theta)

    def interrupt(record):
        if record["iteration"] == 2:
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="best model so far is kept"):
        model = PrBR(theta=theta, tol=1e-9, callbacks=interrupt, n_jobs=n_jobs).fit(case.X, case.Y)
    bounds_are_true(case, model)
    assert len(model.history_) == 2
    assert n_jobs == 2 or not model.converged_


def test_a_time_limit_keeps_the_best_so_far():
    rng = np.random.default_rng(0)
    case = Case(
        rng.normal(size=(3000, 30)), rng.integers(0, 2, size=(3000, 6)).astype(float), C=20.0
    )
    quiet_fit(PrBR(), case.X[:20], case.Y[:20])  # compiled before the clock starts
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = PrBR(C=20.0, tol=1e-12, max_time=0.2).fit(case.X, case.Y)
    assert time.perf_counter() - start < 5.0
    assert not model.converged_ and model.stopped_by_ == "time limit"
    value, violation = oracles.prbr_value(case, model)
    assert violation <= 1e-6
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert model.dual_objective_ <= model.objective_


def test_too_few_iterations_are_reported_with_the_gap():
    case = make_case(0, C=20.0)
    with pytest.warns(ConvergenceWarning, match="relative duality gap of .* raise max_iter"):
        model = PrBR(C=20.0, max_iter=1, tol=1e-6).fit(case.X, case.Y)
    assert not model.converged_ and model.stopped_by_ is None
    bounds_are_true(case, model)


SCRIPT = """
import sys, warnings
import numpy as np
from prml import PrBR, PrML
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(1500, 20)), rng.integers(0, 2, size=(1500, 10))
model = {estimator}(C=20.0, tol=1e-13, max_iter=10**8, n_jobs={n_jobs})
model.set_params(callbacks=lambda record: print("ready", flush=True) or False)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model.fit(X, Y)
assert any("best model so far" in str(w.message) for w in caught), caught
assert np.isfinite(model.objective_) and model.dual_objective_ <= model.objective_
assert model.predict(X[:3]).shape == (3, 10)
print("kept", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize(("estimator", "n_jobs"), [("PrBR", 1), ("PrBR", 2), ("PrML", 1)])
def test_ctrl_c_in_a_running_program(estimator, n_jobs):
    program = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(estimator=estimator, n_jobs=n_jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout.readline() == "ready\n", program.stderr.read()
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=60)
    finally:
        program.kill()
    assert program.returncode == 0, err
    assert out.endswith("kept\n")


def test_teachers_names_the_strongest_comments():
    case = make_case(4, n_labels=5)
    model = quiet_fit(PrBR(), case.X, case.Y)
    found = model.teachers(2, n=3)
    weights = model.privileged_coef_[2]
    assert [abs(w) for _, w in found] == sorted(np.abs(weights), reverse=True)[: len(found)]
    assert all(weights[name] == w for name, w in found)
    assert 2 not in [name for name, _ in found]
    with pytest.raises(ValueError, match="not a label of this model"):
        model.teachers("sun")


def test_scores_labels_and_chances_agree():
    case = make_case(4)
    model = quiet_fit(PrBR(), case.X, case.Y)
    scores = model.decision_function(case.X)
    assert np.allclose(scores, case.X @ model.coef_.T + model.intercept_)
    assert np.array_equal(model.predict(case.X), (scores > 0).astype(int))
    assert np.array_equal(model.predict_proba(case.X) > 0.5, scores > 0)
    top = model.predict_top_k(case.X, 2)
    assert np.array_equal(top[:, 0], scores.argmax(axis=1))
