"""What is here: scikit-learn's own checks, and bad data and parameters through PrBR and PrML."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from tests.estimators import oracles
from tests.estimators.oracles import make_case

from prml import PrBR, PrML

BOTH = pytest.mark.parametrize("Estimator", [PrBR, PrML])
WEIGHT_CHECKS = ["check_sample_weight_equivalence_on_dense_data"]
WEIGHT_CHECKS += ["check_sample_weight_equivalence_on_sparse_data"]


def quiet_fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(*args, **kwargs)


@BOTH
def test_the_checks_of_scikit_learn(Estimator):
    reason = "compares to 1e-7 what is solved to a gap of 1e-3; see the tests of weights"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        results = check_estimator(
            Estimator(),
            expected_failed_checks=dict.fromkeys(WEIGHT_CHECKS, reason),
            on_skip=None,
        )
    assert not [r for r in results if r["status"] == "failed"]
    assert len(results) > 40


BAD_PARAMETERS = [
    ({"C": -1.0}, "C is -1.0; expected a finite number above 0"),
    ({"C": 0}, "C is 0"),
    ({"C": np.inf}, "C is inf"),
    ({"C": np.nan}, "C is nan"),
    ({"C": "1"}, "C is '1'"),
    ({"C": True}, "C is True"),
    ({"gamma2": 0}, "gamma2 is 0; expected a finite number above 0"),
    ({"theta": 0.0}, "theta is 0.0; expected a number above 0, or inf"),
    ({"theta": np.nan}, "theta is nan"),
    ({"loss": "hing"}, "loss is 'hing'; expected one of 'hinge'"),
    ({"kernel": "sigmoid"}, "kernel is 'sigmoid'"),
    ({"tol": 0.0}, "tol is 0.0"),
    ({"max_iter": 0}, "max_iter is 0; expected a whole number, 1 or more"),
    ({"max_iter": 1.5}, "max_iter is 1.5"),
    ({"max_time": 0}, "max_time is 0"),
    ({"privileged_intercept": "yes"}, "privileged_intercept is 'yes'; expected True or False"),
    ({"fit_intercept": 1}, "fit_intercept is 1"),
    ({"warm_start": None}, "warm_start is None"),
    ({"keep_duals": 0}, "keep_duals is 0"),
    ({"privileged": "some"}, "privileged is 'some'; expected 'all'"),
    ({"privileged": 4}, "privileged is 4; expected between 0 and 3"),
    ({"privileged": -1}, "privileged is -1"),
    ({"privileged": True}, "privileged is an array of dtype bool and shape ()"),
    ({"privileged": 2.0}, "privileged is an array of dtype float64"),
    ({"privileged": np.ones((3, 3), bool)}, r"shape \(3, 3\); expected .* \(4, 4\)"),
    ({"privileged": np.ones((4, 4))}, "dtype float64"),
    ({"privileged": None, "theta": np.inf}, "without a teacher"),
    ({"loss": "logistic", "theta": np.inf}, "only the hinge has a limit"),
    ({"class_weight": "even"}, "class_weight is 'even'"),
    ({"class_weight": {2: 1.0}}, "class_weight is {2: 1.0}"),
    ({"class_weight": {1: -1.0}}, "class_weight of 1 is -1.0"),
    ({"class_weight": {0: np.nan}}, "class_weight of 0 is nan"),
]


@BOTH
@pytest.mark.parametrize(("wrong", "sentence"), BAD_PARAMETERS, ids=lambda v: str(v)[:40])
def test_a_bad_parameter_is_named(Estimator, wrong, sentence):
    case = make_case()
    with pytest.raises(ValueError, match=sentence):
        Estimator(**wrong).fit(case.X, case.Y)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"gamma1": 0.0}, "gamma1 is 0.0"),
        ({"n_components": 0}, "n_components is 0"),
        ({"n_components": 2.0}, "n_components is 2.0"),
        ({"algorithm": "newton"}, "algorithm is 'newton'; expected one of 'convex', 'alternating'"),
    ],
)
def test_a_bad_parameter_of_the_low_rank(wrong, sentence):
    case = make_case()
    with pytest.raises(ValueError, match=sentence):
        PrML(**wrong).fit(case.X, case.Y)


def spoiled(matrix, value, where=(1, 2)):
    matrix = np.array(matrix, dtype=float)
    matrix[where] = value
    return matrix


@BOTH
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X, Y: (spoiled(X, np.nan), Y), "NaN"),
        (lambda X, Y: (spoiled(X, np.inf), Y), "infinity"),
        (lambda X, Y: (sp.csr_matrix(spoiled(X, np.nan)), Y), "NaN"),
        (lambda X, Y: (X, spoiled(Y, 2)), "Y holds 2.0 at row 1, label 2; expected 0 or 1"),
        (lambda X, Y: (X, spoiled(Y, -1)), "Y holds -1.0 at row 1, label 2"),
        (lambda X, Y: (X, spoiled(Y, np.inf)), "Y holds inf at row 1, label 2"),
        (lambda X, Y: (X, sp.csr_matrix(spoiled(Y, 0.5))), "Y holds 0.5 at row 1, label 2"),
        (lambda X, Y: (X[:0], Y[:0]), "0 sample"),
        (lambda X, Y: (X[:, :0], Y), "0 feature"),
        (lambda X, Y: (X, Y[:, :0]), "Y has 0 labels"),
        (lambda X, Y: (X[1:], Y), "X has 49 rows and Y has 50"),
        (lambda X, Y: (X, None), "requires y"),
        (lambda X, Y: (X, Y[:, :, None]), "3 dimensions"),
        (lambda X, Y: (X[0], Y[0]), "2D array"),
        (lambda X, Y: (X.astype(complex), Y), "[Cc]omplex"),
    ],
    ids=range(15),
)
def test_bad_data_is_a_sentence(Estimator, change, sentence):
    case = make_case()
    X, Y = change(case.X, case.Y)
    with pytest.raises(ValueError, match=sentence):
        Estimator().fit(X, Y)


@BOTH
@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (np.full(50, -1.0), "[Nn]egative"),
        (np.full(50, np.nan), "NaN"),
        (np.zeros(50), "at least one non-zero"),
        (np.ones(49), "shape"),
        (np.ones((50, 4)), "1D"),
    ],
    ids=["negative", "nan", "zero", "short", "2-D"],
)
def test_bad_weights_are_a_sentence(Estimator, weight, sentence):
    case = make_case()
    with pytest.raises(ValueError, match=sentence):
        Estimator().fit(case.X, case.Y, sample_weight=weight)


def exact(Estimator, case):
    return oracles.exact_prbr(case) if Estimator is PrBR else oracles.exact_prml(case, 1.0)


def assert_right(Estimator, case, **fit):
    """Solved without a numpy warning, to the optimum, finite everywhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", message=".*constant predictor", category=UserWarning)
        model = Estimator(random_state=0, **oracles.parameters(case)).fit(case.X, case.Y, **fit)
    optimum = exact(Estimator, case)
    assert model.objective_ == pytest.approx(optimum, rel=1.1e-3, abs=1e-6)
    assert model.converged_
    for name in ("coef_", "intercept_", "privileged_coef_", "privileged_intercept_"):
        assert np.isfinite(getattr(model, name)).all()
    return model


THETAS = pytest.mark.parametrize("theta", [np.inf, 2.0])


@BOTH
@THETAS
def test_one_row(Estimator, theta):
    case = make_case(n=1, theta=theta)
    model = assert_right(Estimator, case)
    assert model.predict(case.X).shape == (1, 4)


@BOTH
@THETAS
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_constant_label_is_predicted(Estimator, theta, value):
    case = make_case(theta=theta, C=10.0)
    case.Y[:, 1] = value
    model = assert_right(Estimator, case)
    if Estimator is PrBR and theta == 2.0:
        assert (model.predict(case.X)[:, 1] == value).all()


@BOTH
@THETAS
def test_a_duplicated_label_gets_the_same_predictor(Estimator, theta):
    case = make_case(theta=theta, C=5.0, flips=0.05)
    case.Y[:, 3] = case.Y[:, 0]
    model = assert_right(Estimator, case)
    scores = model.decision_function(case.X)
    assert np.abs(scores[:, 3] - scores[:, 0]).max() <= 0.1 + 0.1 * np.abs(scores[:, 0]).max()


@BOTH
@THETAS
def test_a_duplicated_row_and_a_constant_feature(Estimator, theta):
    case = make_case(theta=theta)
    case = case._replace(X=np.vstack([case.X, case.X[:1]]), Y=np.vstack([case.Y, case.Y[:1]]))
    case.X[:, 1] = 3.0
    case.X[:, 2] = 0.0
    assert_right(Estimator, case)


@BOTH
@THETAS
def test_a_label_of_which_nothing_is_known(Estimator, theta):
    case = make_case(theta=theta)
    case.Y[:, 2] = np.nan
    model = assert_right(Estimator, case)
    assert np.allclose(model.coef_[2], 0.0, atol=1e-12)
    assert np.allclose(model.privileged_coef_[2], 0.0, atol=1e-12)


@BOTH
@THETAS
def test_nothing_is_known_at_all(Estimator, theta):
    case = make_case(theta=theta)
    case.Y[:] = np.nan
    model = assert_right(Estimator, case)
    assert model.objective_ == 0.0
    assert model.dual_gap_ == 0.0


@BOTH
@THETAS
def test_features_all_zero_and_no_intercept(Estimator, theta):
    case = make_case(theta=theta, fit_intercept=False)
    case.X[:] = 0.0
    assert_right(Estimator, case)


@BOTH
@pytest.mark.parametrize("scale", [1e-6, 100.0])
def test_features_of_any_scale(Estimator, scale):
    case = make_case(C=0.1)
    assert_right(Estimator, case._replace(X=case.X * scale))


@BOTH
def test_one_label_has_nobody_to_comment(Estimator):
    model = assert_right(Estimator, make_case(n_labels=1))
    assert model.privileged_coef_.shape == (1, 1)
    assert model.teachers(0) == []


@BOTH
def test_1_d_targets(Estimator):
    case = make_case(n=60)
    y = np.array(["sea", "sun"])[case.Y[:, 0].astype(int)]
    binary = quiet_fit(Estimator(), case.X, y)
    assert set(binary.predict(case.X)) <= {"sea", "sun"}
    assert binary.predict_proba(case.X).shape == (60, 2)
    classes = (case.Y[:, 0] + 2 * case.Y[:, 1]).astype(int)
    many = quiet_fit(Estimator(class_weight="balanced"), case.X, classes)
    assert set(many.predict(case.X)) <= set(classes)
    assert np.allclose(many.predict_proba(case.X).sum(axis=1), 1.0)
    one = quiet_fit(Estimator(), case.X, np.full(60, "sea"))
    assert set(one.predict(case.X)) == {"sea"}


@BOTH
def test_a_data_frame_keeps_its_names(Estimator):
    case = make_case()
    X = pd.DataFrame(case.X, columns=list("abcd"))
    Y = pd.DataFrame(case.Y, columns=["w", "x", "y", "z"])
    model = quiet_fit(Estimator(random_state=0), X, Y)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.label_names_.tolist() == ["w", "x", "y", "z"]
    plain = quiet_fit(Estimator(random_state=0), case.X, case.Y)
    assert np.array_equal(plain.coef_, model.coef_)
    assert model.teachers("w")[0][0] in {"x", "y", "z"}
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["d", "c", "b", "a"]])


PREDICTED = [
    (lambda X: X[:, :3], "3 features"),
    (lambda X: X[0], "2D array"),
    (lambda X: X[:0], "0 sample"),
    (lambda X: np.where(X.max() == X, np.nan, X), "NaN"),
    (lambda X: np.where(X.max() == X, -np.inf, X), "infinity"),
    (lambda X: np.where(X.max() == X, -1e101, X), "1e[+]100"),
    (lambda X: np.where(X.max() == X, 1e200, X), "1e[+]100"),
]


@pytest.mark.parametrize(("spoil", "sentence"), PREDICTED)
@pytest.mark.parametrize("order", ["C", "F"])
@BOTH
def test_bad_rows_are_refused_at_prediction(Estimator, order, spoil, sentence):
    case = make_case()
    model = quiet_fit(Estimator(random_state=0), case.X, case.Y)
    with pytest.raises(ValueError, match=sentence):
        model.predict(np.array(spoil(case.X), order=order))


@BOTH
def test_any_layout_of_the_same_rows_gets_the_same_scores(Estimator):
    case = make_case()
    model = quiet_fit(Estimator(random_state=0), case.X, case.Y)
    expected = model.decision_function(case.X)
    large = np.full_like(case.X, 1e99)  # allowed, although the sum of their squares is not
    assert np.isfinite(model.decision_function(large)).all()
    for same in (
        np.asfortranarray(case.X),
        np.repeat(case.X, 2, axis=1)[:, ::2],
        case.X.astype(">f8"),
        sp.csr_matrix(case.X),
        case.X.tolist(),
    ):
        assert np.allclose(model.decision_function(same), expected, rtol=1e-12, atol=1e-12)


@BOTH
def test_the_callers_arrays_stay_as_they_are(Estimator):
    case = make_case(missing=0.1)
    X, Y, weight = case.X.copy(), case.Y.copy(), np.ones(50)
    for array in (case.X, case.Y, weight):
        array.flags.writeable = False
    quiet_fit(Estimator(class_weight="balanced"), case.X, case.Y, sample_weight=weight)
    assert np.array_equal(X, case.X)
    assert np.array_equal(Y, case.Y, equal_nan=True)
    model = Estimator(C=3.0, theta=np.inf)
    assert clone(model).get_params() == model.get_params()
