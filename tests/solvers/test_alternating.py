"""The paper's alternating algorithm against the convex solver and against PrBR."""

from itertools import pairwise

import numpy as np
import pytest

from prml import PrBR, PrML
from prml.privileged import LabelFeatures
from prml.solvers.alternating import solve_fixed_metric
from prml.solvers.label_state import LabelState
from prml.solvers.training_set import Hyperparameters, TrainingSet
from prml.targets import read_targets


def made_up(seed, n=60, d=5, rank=2, n_labels=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, rank)) @ rng.normal(size=(rank, n_labels))
    return X, (scores + 0.3 * rng.normal(size=scores.shape) > 0.3).astype(int)


def both(seed, theta):
    X, Y = made_up(seed)
    convex = PrML(C=0.3, theta=theta, tol=1e-3, random_state=0).fit(X, Y)
    paper = PrML(C=0.3, theta=theta, algorithm="alternating", max_iter=60, random_state=0).fit(X, Y)
    assert paper.objective_ >= convex.dual_objective_ * (1 - 1e-9)
    assert convex.objective_ <= paper.objective_ * (1 + 1e-3)
    assert paper.dual_objective_ <= convex.objective_ * (1 + 1e-9)
    return convex, paper


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore")
def test_both_algorithms_agree(seed):
    convex, paper = both(seed, 2.0)
    assert paper.objective_ == pytest.approx(convex.objective_, rel=1e-2)


@pytest.mark.filterwarnings("ignore")
def test_without_residuals_the_paper_may_end_above_the_optimum_and_says_so():
    convex, paper = both(1, np.inf)
    assert paper.objective_ > 1.05 * convex.objective_
    assert paper.dual_gap_ > 0.05 and not paper.converged_


@pytest.mark.filterwarnings("ignore")
def test_the_objective_never_rises_and_the_bound_is_true():
    X, Y = made_up(7)
    optimum = PrML(C=0.3, tol=1e-5).fit(X, Y).objective_
    history = PrML(C=0.3, algorithm="alternating", max_iter=40, random_state=1).fit(X, Y).history_
    values = [record["objective"] for record in history]
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(values))
    assert all(record["dual_objective"] <= optimum * (1 + 1e-6) for record in history)


@pytest.mark.parametrize("theta", [2.0, np.inf])
def test_the_identity_as_metric_is_prbr(theta):
    X, Y = made_up(3)
    targets = read_targets(Y)
    training_set = TrainingSet(X, targets, LabelFeatures(targets))
    numbers = Hyperparameters(0.3, 1.0, theta)
    problems = [training_set.problem(i, numbers) for i in range(4)]
    labels = [LabelState(p, np.random.default_rng(i)) for i, p in enumerate(problems)]
    solve_fixed_metric(problems, labels, np.eye(4), 1e-6)
    model = PrBR(C=0.3, theta=theta, tol=1e-7).fit(X, Y)
    predictors = np.array([label.m_row for label in labels])
    np.testing.assert_allclose(predictors[:, :-1], model.coef_, atol=2e-3)
    np.testing.assert_allclose(predictors[:, -1], model.intercept_, atol=2e-3)


@pytest.mark.filterwarnings("ignore")
def test_a_bound_on_the_rank_is_kept_and_larger_ones_are_better():
    X, Y = made_up(5, rank=4)
    free = PrML(C=1.0).fit(X, Y)
    assert free.rank_ == 4
    one, two = (PrML(C=1.0, n_components=k).fit(X, Y) for k in (1, 2))
    assert one.rank_ <= 1 and two.rank_ <= 2
    assert free.objective_ <= two.objective_ <= one.objective_
    assert not one.converged_ and one.dual_gap_ > 0.01
    np.testing.assert_allclose(two.codes_ @ two.components_, two.coef_, atol=1e-12)


def test_a_bound_above_the_rank_changes_nothing():
    X, Y = made_up(5)
    free, bounded = (PrML(C=1.0, n_components=k, random_state=0).fit(X, Y) for k in (None, 4))
    np.testing.assert_array_equal(free.coef_, bounded.coef_)


@pytest.mark.filterwarnings("ignore")
def test_a_fit_that_is_stopped_keeps_the_best_part_within_the_bound_on_the_rank():
    X, Y = made_up(5, rank=4)
    model = PrML(C=1.0, n_components=2, callbacks=lambda record: True, random_state=0).fit(X, Y)
    assert len(model.history_) == 1
    assert model.rank_ == 2
    assert (model.predict(X) == Y).mean() > 0.7
