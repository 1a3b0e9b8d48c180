"""What is here: `certify` on fitted models and on arbitrary predictors and multipliers."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimators import oracles
from tests.estimators.oracles import make_case

from prml import PrML
from prml.privileged import LabelFeatures
from prml.solvers.certificate import certify
from prml.solvers.training_set import Hyperparameters, TrainingSet
from prml.targets import read_targets


def training_set_of(case):
    targets = read_targets(case.Y)
    features = LabelFeatures(targets, None, case.privileged_intercept, case.teacher)
    training_set = TrainingSet(case.X, targets, features, case.fit_intercept)
    return training_set, Hyperparameters(case.C, case.gamma2, case.theta)


CASES = [
    make_case(0),
    make_case(1, theta=np.inf, C=0.3, flips=0.02),
    make_case(2, missing=0.2),
    make_case(3, privileged_intercept=False),
    make_case(4, teacher=False),
    make_case(5, fit_intercept=False),
    make_case(6, n_labels=6)._replace(Y=make_case(6, n_labels=6).Y * [1, 0, 1, 0, 0, 1]),
    make_case(7, n=10, d=30),
]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_a_fitted_model_is_certified_by_itself(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = PrML(gamma1=2.0, warm_start=True, random_state=0, **oracles.parameters(case)).fit(
            case.X, case.Y
        )
    training_set, numbers = training_set_of(case)
    Z = np.hstack([model.coef_, model.intercept_[:, None]])
    wt = [model.privileged_coef_[i, training_set.features.labels_of(i)] for i in range(len(Z))]
    alpha, beta = zip(*model._multipliers, strict=True)
    own = certify(
        training_set,
        numbers,
        2.0,
        Z,
        wt=wt,
        wt0=model.privileged_intercept_,
        alpha=alpha,
        beta=beta,
    )
    assert own.objective == pytest.approx(model.objective_, rel=1e-8)
    assert own.dual_objective == pytest.approx(model.dual_objective_, rel=1e-8)
    assert own.gap == pytest.approx(model.dual_gap_, abs=1e-8)
    assert own.rank == model.rank_
    # teachers that are not given are sought: they are as good as the model's
    sought = certify(training_set, numbers, 2.0, Z, alpha=alpha, beta=beta)
    assert sought.objective <= model.objective_ * (1 + 1e-3)
    assert sought.objective >= oracles.exact_prml(case, 2.0) * (1 - 1e-6)
    # without multipliers nothing is known from below but 0
    assert certify(training_set, numbers, 2.0, Z, wt=wt).dual_objective == 0.0


@given(seed=st.integers(0, 1000), gamma1=st.sampled_from([0.1, 1.0, 10.0]))
@settings(max_examples=15, deadline=None)
def test_any_predictor_and_any_multipliers_bound_the_optimum(seed, gamma1):
    case = make_case(seed, n=25, n_labels=3)
    training_set, numbers = training_set_of(case)
    rng = np.random.default_rng(seed)
    Z = 0.3 * rng.normal(size=(3, 5))
    alpha, beta = [], []
    for i in range(3):
        problem = training_set.problem(i, numbers)
        alpha.append(problem.upper * rng.random(len(problem.rows)) * 0.1)
        beta.append(problem.group_cost * rng.random(len(problem.norm)))
    found = certify(training_set, numbers, gamma1, Z, alpha=alpha, beta=beta)
    exact = oracles.exact_prml(case, gamma1)
    assert found.dual_objective <= exact * (1 + 1e-6)
    assert found.objective >= exact * (1 - 1e-6)
    assert found.gap >= (found.objective - exact) / found.objective - 1e-6
