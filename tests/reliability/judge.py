"""What is here: whether a fit ended as promised - in a right answer or one clear sentence."""

import copy
import warnings
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from tests.estimators import oracles
from tests.reliability.cases import Case

from prml import PrBR, PrML, PrMLCV, TeacherTransfer
from prml.baselines import ECC, LEML, ML2, BinaryRelevance, RAkEL
from prml.model_selection import MultilabelCalibrator, ThresholdTuner

QUICK = {"max_iter": 300, "max_time": 0.5, "random_state": 0}
ESTIMATORS: dict[str, Any] = {
    "PrBR": PrBR(**QUICK),
    "PrBR-inf": PrBR(theta=np.inf, C=0.1, **QUICK),
    "PrBR-squared": PrBR(loss="squared", **QUICK),
    "PrBR-squared-hinge": PrBR(loss="squared_hinge", privileged_intercept=False, **QUICK),
    "PrBR-logistic": PrBR(loss="logistic", class_weight="balanced", **QUICK),
    "PrBR-no-teacher": PrBR(loss="squared", privileged=None, **QUICK),
    "PrBR-rbf": PrBR(kernel="rbf", **QUICK),
    "PrML": PrML(**QUICK),
    "PrML-squared": PrML(loss="squared", n_components=2, **QUICK),
    "PrML-alternating": PrML(
        algorithm="alternating", n_components=2, max_iter=30, max_time=0.2, random_state=0
    ),
    "BinaryRelevance": BinaryRelevance(random_state=0),
    "BinaryRelevance-logistic": BinaryRelevance(loss="logistic", random_state=0),
    "ECC": ECC(n_chains=2, random_state=0),
    "RAkEL": RAkEL(random_state=0),
    "LEML": LEML(n_components=2, random_state=0),
    "ML2": ML2(n_neighbors=3, max_iter=5, random_state=0),
    "TeacherTransfer": TeacherTransfer(PrBR(loss="squared", **QUICK), cv=2, random_state=0),
    "ThresholdTuner": ThresholdTuner(PrBR(loss="squared", **QUICK), cv=2, random_state=0),
    "MultilabelCalibrator": MultilabelCalibrator(BinaryRelevance(), cv=2, random_state=0),
}
# Minutes for a hundred cases: kept for the long runs.
SLOW: dict[str, Any] = {"PrMLCV": PrMLCV(cv=2, max_time=3.0, random_state=0)}
TAKES_MISSING = (PrBR, PrML)
LONGEST_SENTENCE = 1500  # scikit-learn's own words about NaN are long


def judge(name: str, case: Case) -> str:
    """Fit, predict and check; return "right", "refused" or "stopped" (warned of, with its gap)."""
    model = clone({**ESTIMATORS, **SLOW}[name])
    before = _snapshot(case.X), _snapshot(case.Y)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model.fit(case.X, case.Y)
            scores = model.decision_function(case.X)
            answer = model.predict(case.X)
        except (ValueError, TypeError) as error:
            _assert_sentence(error)
            _assert_may_refuse(model, case, error)
            return "refused"
        finally:
            assert (_snapshot(case.X), _snapshot(case.Y)) == before, "the input was changed"
    assert case.fault is None, f"{case.fault}, and nobody complained"
    _assert_answer(model, case, scores, answer)
    sound = _assert_bounds(model, case)
    categories = {warning.category.__name__ for warning in told}
    if case.is_ordinary:
        noise = [w for w in told if issubclass(w.category, RuntimeWarning)]
        places = [f"{w.filename}:{w.lineno}: {w.message}" for w in noise]
        assert not noise, f"a numpy warning on ordinary data: {places[0]}"
    if not sound and model.max_time is None:
        assert "ConvergenceWarning" in categories, "stopped without a word"
    return "right" if sound else "stopped"


def _snapshot(given: Any) -> Any:
    """Everything that a fit could change about its input, as comparable values."""
    if sp.issparse(given):
        parts = ("row", "col", "data") if given.format == "coo" else ("indptr", "indices", "data")
        held = [getattr(given, part) for part in parts]
        return given.format, given.shape, [(a.dtype.str, a.tobytes()) for a in held]
    if isinstance(given, pd.DataFrame):
        return list(given.columns), given.index.tolist(), _snapshot(given.to_numpy())
    if isinstance(given, np.ndarray):
        content = given.tolist() if given.dtype.hasobject else None
        raw = None if given.dtype.hasobject else np.ascontiguousarray(given).tobytes()
        return (
            given.shape,
            given.strides,
            given.dtype.str,
            given.flags.writeable,
            repr(content),
            raw,
        )
    if hasattr(given, "to_numpy"):
        return list(given.columns), _snapshot(given.to_numpy())
    return repr(copy.deepcopy(given))


def _assert_sentence(error: Exception) -> None:
    sentence = str(error)
    assert 10 < len(sentence) < LONGEST_SENTENCE, f"no sentence: {sentence[:300]!r}"


def _assert_may_refuse(model: Any, case: Case, error: Exception) -> None:
    """A sound case of ordinary scale must be learned; folds and kernels may need more examples."""
    if case.fault is not None or not case.is_ordinary:
        return
    if case.has_missing and not isinstance(model, TAKES_MISSING):
        return
    if isinstance(model, TeacherTransfer | ThresholdTuner | MultilabelCalibrator | PrMLCV):
        return  # each fold needs examples: the sentence says so
    raise AssertionError(f"a sound case was refused: {error}") from error


def _assert_answer(model: Any, case: Case, scores: np.ndarray, answer: np.ndarray) -> None:
    shape = case.plain_Y.shape
    assert np.isfinite(scores).all(), "a score is not finite"
    assert scores.size == shape[0] * shape[1] and answer.size == scores.size
    if model._kind == "multilabel":
        assert set(np.unique(answer)) <= {0, 1}
    for attribute, held in vars(model).items():
        if attribute.endswith("coef_") and isinstance(held, np.ndarray):
            assert np.isfinite(held).all(), f"{attribute} is not finite"


def _assert_bounds(model: Any, case: Case) -> bool:
    """The certificate is true: the objective is that of the coefficients, the gap that of both."""
    if not isinstance(model, TAKES_MISSING):
        return True
    assert np.isfinite(model.objective_) and not np.isnan(model.dual_gap_)
    assert model.dual_objective_ <= model.objective_ * (1 + 1e-9) + 1e-12
    if model.objective_ > 0 and np.isfinite(model.dual_objective_):
        gap = (model.objective_ - model.dual_objective_) / model.objective_
        assert abs(max(0.0, gap) - model.dual_gap_) <= 1e-9 * max(1.0, gap)
    assert model.converged_ == (model.dual_gap_ <= model.tol)
    plain = model.kernel == "linear" and model.loss == "hinge" and model.privileged == "all"
    if plain and case.is_ordinary and model._kind == "multilabel":
        written_out = oracles.Case(
            case.plain_X, case.plain_Y, C=model.C, gamma2=model.gamma2, theta=model.theta
        )
        if isinstance(model, PrBR):
            value, violation = oracles.prbr_value(written_out, model)
        else:
            value, violation = oracles.prml_value(written_out, model.gamma1, model)
        loose = (
            1e-3 if case.X.__class__.__name__ != "ndarray" or case.X.dtype != np.float64 else 1e-6
        )
        assert violation <= 1e-6 * max(1.0, case.scale), f"a constraint is violated by {violation}"
        assert abs(value - model.objective_) <= loose * max(value, 1e-9), (value, model.objective_)
    return bool(model.converged_)
