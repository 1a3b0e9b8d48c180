"""What is here: what a model says of its labels agrees with its coefficients, entry by entry."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from prml import PrBR, PrML

NAMES = ["sun", "sea", "snow", "ski", "sand"]


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 6))
    Y = (X @ rng.normal(size=(6, 5)) + 0.5 * rng.normal(size=(80, 5)) > 0.3).astype(float)
    return pd.DataFrame(X, columns=list("abcdef")), pd.DataFrame(Y, columns=NAMES)


@pytest.fixture(scope="module", params=["PrBR", "PrML", "squared_hinge"])
def model(request, problem):
    made = {
        "PrBR": PrBR(C=0.5),
        "PrML": PrML(C=2.0, theta=4.0, tol=1e-2),
        "squared_hinge": PrBR(loss="squared_hinge", C=0.5),
    }[request.param]
    return made.fit(*problem)


def naive_slack(model, label, row):
    """The slack of one example from the definition: <wt, v> + intercept, v in 1, -1, 0."""
    total = model.privileged_intercept_[label]
    for l in range(len(row)):
        if l != label and not np.isnan(row[l]):
            total += model.privileged_coef_[label, l] * (1 if row[l] == 1 else -1)
    return total


def test_slack_is_that_of_the_definition(model, problem):
    Y = problem[1].to_numpy().copy()
    Y[np.random.default_rng(0).random(Y.shape) < 0.2] = np.nan
    for label in range(5):
        told = model.explain_slack(NAMES[label], Y, n=5)
        assert len(told) == len(Y)
        for row, excuse in zip(Y, told, strict=True):
            assert excuse.slack == pytest.approx(naive_slack(model, label, row), abs=1e-12)
            by_label = dict(excuse.reasons)
            assert sum(by_label.values()) == pytest.approx(excuse.slack - excuse.baseline)
            for l, amount in by_label.items():
                share = 2 if row[NAMES.index(l)] == 1 else 1
                weight = model.privileged_coef_[label, NAMES.index(l)]
                assert amount == pytest.approx(share * weight)
            sizes = [abs(amount) for _, amount in excuse.reasons]
            assert sizes == sorted(sizes, reverse=True)


def test_own_column_is_not_read_and_sparse_is_the_same(model, problem):
    Y = problem[1].to_numpy()
    turned = Y.copy()
    turned[:, 2] = 1 - turned[:, 2]
    told = model.explain_slack("snow", Y)
    assert told == model.explain_slack("snow", turned)
    assert told == model.explain_slack(2, sp.csr_matrix(Y))
    assert all(len(excuse.reasons) <= 3 for excuse in told)


def test_hinge_slacks_of_training_examples_are_not_negative(problem):
    X, Y = problem
    model = PrBR(C=0.5).fit(X, Y)
    for label in NAMES:
        assert min(excuse.slack for excuse in model.explain_slack(label, Y)) > -1e-6


def test_relations_are_differences_of_slack(model):
    relations = model.label_relations()
    nothing = np.zeros((1, 5))
    for i in range(5):
        for l in range(5):
            one = nothing.copy()
            one[0, l] = 1
            rise = model.explain_slack(i, one)[0].slack - model.explain_slack(i, nothing)[0].slack
            assert relations[i, l] == pytest.approx(0.0 if i == l else rise, abs=1e-12)
    both = model.label_relations(symmetric=True)
    np.testing.assert_allclose(both, (relations + relations.T) / 2)


def test_feature_weights_are_coefficients_by_size(model):
    told = model.feature_weights("sea", n=4)
    assert len(told) == 4
    coef = dict(zip("abcdef", model.coef_[1], strict=True))
    assert all(coef[name] == weight for name, weight in told)
    assert min(abs(w) for _, w in told) >= sorted(map(abs, coef.values()))[1]
    renamed = model.feature_weights("sea", n=1, feature_names=[f"x{j}" for j in range(6)])
    assert renamed[0] == (f"x{'abcdef'.index(told[0][0])}", told[0][1])


def test_names_default_to_positions(problem):
    X, Y = problem
    model = PrBR(loss="squared").fit(X.to_numpy(), Y.to_numpy())
    assert {name for name, _ in model.feature_weights(0)} == set(range(6))
    assert {name for name, _ in model.teachers(0)} == {1, 2, 3, 4}


def test_what_cannot_be_told_is_said_in_a_sentence(problem):
    X, Y = problem
    model = PrBR(loss="squared", kernel="rbf").fit(X, Y)
    assert model.explain_slack("sun", Y)  # teachers read labels, whatever the kernel
    with pytest.raises(ValueError, match=r"fitted with a kernel.*expected kernel='linear'"):
        model.feature_weights("sun")
    linear = PrBR(loss="squared").fit(X, Y)
    with pytest.raises(ValueError, match="2 entries; expected one for each of the 6 features"):
        linear.feature_weights("sun", feature_names=["a", "b"])
    with pytest.raises(ValueError, match="Y has 3 label column"):
        linear.explain_slack("sun", Y.iloc[:, :3])
    with pytest.raises(ValueError, match="'rain' is not a label of this model"):
        linear.explain_slack("rain", Y)
