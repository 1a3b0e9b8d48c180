"""What is here: LEML and ML2 on benchmark halves - time, memory and the figures they reach."""

import resource
import time
import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import label_ranking_average_precision_score
from tests.baselines.halves import half_of

from prml.baselines import LEML, ML2


def fit_and_time(model, X, Y):
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y)
    return time.perf_counter() - start


def average_precision(model, X, Y):
    kept = Y.getnnz(axis=1) > 0
    return label_ranking_average_precision_score(
        Y[kept].toarray(), model.decision_function(X[kept])
    )


@pytest.mark.long
@pytest.mark.parametrize(("loss", "least"), [("squared", 0.52), ("logistic", 0.55)])
def test_leml_on_bibtex_within_two_minutes(loss, least):
    X, Y, X_test, Y_test = half_of("bibtex")
    model = LEML(n_components=0.8, alpha=10.0, loss=loss, n_jobs=2, random_state=0)
    assert fit_and_time(model, X, Y) < 120
    assert average_precision(model, X_test, Y_test) > least


@pytest.mark.long
@pytest.mark.parametrize(("name", "least"), [("yeast", 0.74), ("enron", 0.66)])
def test_ml2_within_two_minutes(name, least):
    X, Y, X_test, Y_test = half_of(name)
    model = ML2(n_jobs=2, random_state=0)
    assert fit_and_time(model, X, Y) < 120
    assert model.converged_
    assert average_precision(model, X_test, Y_test) > least


@pytest.mark.long
def test_ml2_on_mediamill_within_eight_gigabytes():
    X, Y, X_test, Y_test = half_of("mediamill")
    model = ML2(n_jobs=2, random_state=0, qp_tol=1e-2, tol=1e-2)
    fit_and_time(model, X.toarray(), Y)
    assert not model.exact_kernel_
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # kilobytes on Linux
    assert peak < 8e9
    assert average_precision(model, X_test.toarray(), Y_test) > 0.7
