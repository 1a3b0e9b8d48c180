"""What is here: one function for each kind of estimator that an ONNX graph can hold.

To add a member: write a function that takes the fitted estimator, the graph and the value of its
input, returns `Answers`, and put it into `MEMBERS` under the name of the class.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit

from prml.export.kernels import kernel_columns, poly_kernel, rbf_kernel
from prml.export.onnx_graph import Graph, Value


class Answers(NamedTuple):
    """What an estimator says about every label, always of shape (n_samples, n_labels).

    `probabilities` or `labels` is a sentence instead of a value where there are none.
    """

    scores: Value
    probabilities: Value | str
    labels: Value | str


def write_estimator(estimator: Any, graph: Graph, X: Value) -> Answers:
    """Append the nodes of a fitted estimator."""
    name = type(estimator).__name__
    if name not in MEMBERS or not type(estimator).__module__.startswith("prml."):
        raise ValueError(
            f"to_onnx cannot write a {name}; expected one of {', '.join(MEMBERS)}, or a Pipeline "
            "that ends in one."
        )
    return MEMBERS[name](estimator, graph, X)


def _above(graph: Graph, scores: Value, cut: Any) -> Value:
    return graph.add("Greater", scores, graph.like(scores, cut), dtype=np.bool_)


def linear_scores(estimator: Any, graph: Graph, X: Value) -> Value:
    """X @ coef_.T + intercept_, through the factors of a low rank where they are smaller."""
    codes, components = (getattr(estimator, name, None) for name in ("codes_", "components_"))
    if codes is not None and components is not None:
        (n_labels, k), d = codes.shape, components.shape[1]
        if k * (n_labels + d) < n_labels * d:
            inner = graph.affine(X, components, 0.0)
            return graph.affine(inner, codes, estimator.intercept_)
    return graph.affine(X, estimator.coef_, estimator.intercept_)


def _kernel(estimator: Any, graph: Graph, X: Value) -> Value:
    """The kernel of the input with the landmarks of a PrBR or PrML."""
    kind, landmarks, gamma = estimator.kernel, estimator.landmarks_, estimator.gamma_
    if kind == "rbf":
        return rbf_kernel(graph, X, landmarks, gamma)
    if kind == "poly":
        return poly_kernel(graph, X, landmarks, gamma, estimator.degree, estimator.coef0)
    if kind == "precomputed":
        return kernel_columns(graph, X, landmarks)
    raise ValueError(
        f"to_onnx cannot write a {type(estimator).__name__} with the kernel {kind!r}; expected "
        "'linear', 'rbf', 'poly' or 'precomputed'."
    )


def _privileged(estimator: Any, graph: Graph, X: Value) -> Answers:
    """PrBR and PrML: the logistic function maps scores to (0, 1)."""
    if estimator.kernel == "linear":
        scores = linear_scores(estimator, graph, X)
    else:
        kernel = _kernel(estimator, graph, X)
        scores = graph.affine(kernel, estimator.landmark_coef_.T, estimator.intercept_)
        scores = graph.cast(scores, X.dtype)
    tiny = float(np.finfo(scores.dtype).eps)
    chance = graph.clip(graph.add("Sigmoid", scores), tiny, 1.0 - tiny)
    return Answers(scores, chance, _above(graph, scores, estimator._cut))


def _without_probabilities(estimator: Any, graph: Graph, scores: Value) -> Answers:
    reason = f"a {type(estimator).__name__} gives no probabilities; MultilabelCalibrator adds them"
    return Answers(scores, reason, _above(graph, scores, estimator._cut))


def _leml(estimator: Any, graph: Graph, X: Value) -> Answers:
    return _without_probabilities(estimator, graph, linear_scores(estimator, graph, X))


def _binary_relevance(estimator: Any, graph: Graph, X: Value) -> Answers:
    scores = linear_scores(estimator, graph, X)
    if estimator.scores == "hard":
        scores = graph.cast(_above(graph, scores, 0.0), scores.dtype)
    return _without_probabilities(estimator, graph, scores)


def _ml2(estimator: Any, graph: Graph, X: Value) -> Answers:
    kernel = rbf_kernel(graph, X, estimator.landmarks_, estimator.gamma_)
    scores = graph.affine(kernel, estimator.dual_coef_.T, estimator.intercept_)
    return _without_probabilities(estimator, graph, graph.cast(scores, X.dtype))


def _calibrator(estimator: Any, graph: Graph, X: Value) -> Answers:
    """A sigmoid a label; its scores are log-odds, computed without the way over probabilities."""
    if hasattr(estimator, "curve_indptr_"):
        raise ValueError(
            "to_onnx cannot write isotonic curves; expected a MultilabelCalibrator with "
            "method='sigmoid'."
        )
    from prml.model_selection.calibration import _EDGE

    raw = write_model(estimator.estimator_, graph, X).scores
    scaled = graph.add("Mul", raw, graph.like(raw, estimator.slope_))
    log_odds = graph.add("Add", scaled, graph.like(raw, estimator.offset_))
    largest = float(logit(1.0 - _EDGE))
    log_odds = graph.clip(log_odds, -largest, largest)
    return Answers(log_odds, graph.add("Sigmoid", log_odds), _above(graph, log_odds, 0.0))


def _tuner(estimator: Any, graph: Graph, X: Value) -> Answers:
    """The answers of the estimator inside, with other labels."""
    inside = write_model(estimator.estimator_, graph, X)
    scores = inside.scores
    is_binary = estimator._kind == "binary"
    if hasattr(estimator, "slope_"):
        reason = "the labels of strategy 'f_measure' are a search, which has no ONNX form"
        if is_binary:
            raise ValueError(f"to_onnx: {reason}.")
        return inside._replace(labels=reason)
    if hasattr(estimator, "cut_"):
        labels = _above(graph, scores, estimator.cut_)
        if is_binary:  # there the tuner moves the scores by its cut
            scores = graph.add("Sub", scores, graph.like(scores, estimator.cut_))
    elif is_binary:
        labels = _above(graph, scores, estimator._plain_cut)
    else:
        labels = _mark_top_k(graph, scores, estimator.k_)
    return Answers(scores, inside.probabilities, labels)


def _teacher_transfer(estimator: Any, graph: Graph, X: Value) -> Answers:
    """The scores of the first stage, moved and scaled, beside the features of the second."""
    if estimator._kind != "multilabel":
        raise ValueError("to_onnx writes a TeacherTransfer of several labels only.")
    scores = write_model(estimator.estimator_, graph, X).scores
    pool = graph.constant(estimator.pool_, np.int64)
    scores = graph.cast(graph.add("Gather", scores, pool, axis=1), X.dtype)
    factor = float(estimator.score_factor_)
    moved = graph.add("Sub", scores, graph.like(scores, estimator.score_mean_))
    block = graph.add("Mul", moved, graph.like(moved, factor))
    second = graph.add("Concat", X, block, axis=1) if estimator.passthrough else block
    return write_model(estimator.final_estimator_, graph, second)


def _search(estimator: Any, graph: Graph, X: Value) -> Answers:
    """PrMLCV: the members it chose, their scores added and their probabilities averaged."""
    if estimator._kind != "multilabel":
        raise ValueError("to_onnx writes a PrMLCV of several labels only.")
    members = [write_model(member, graph, X) for member in estimator.members_]
    if len(members) == 1:
        return members[0]
    raised = [
        m.scores if np.isneginf(f) else graph.add("Max", m.scores, graph.like(m.scores, float(f)))
        for m, f in zip(members, estimator.member_floors_, strict=True)
    ]
    scores = _weighted_sum(graph, raised, estimator.member_factors_)
    even = np.full(len(members), 1.0 / len(members))
    reason = next((m.probabilities for m in members if isinstance(m.probabilities, str)), None)
    given = [m.probabilities for m in members if not isinstance(m.probabilities, str)]
    chances = reason or _weighted_sum(graph, given, even)
    return Answers(scores, chances, _above(graph, scores, 0.0))


def _weighted_sum(graph: Graph, values: list[Value], weights: np.ndarray) -> Value:
    parts = [
        graph.add("Mul", value, graph.like(value, float(weight)))
        for value, weight in zip(values, weights, strict=True)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = graph.add("Add", total, graph.cast(part, total.dtype))
    return total


def _mark_top_k(graph: Graph, scores: Value, k: int) -> Value:
    """True for the k best labels of each row; ONNX gives ties to the lower position, as we do."""
    best = graph.add_second_output(
        "TopK", scores, graph.constant([k], np.int64), dtype=np.int64, axis=1
    )
    blank = graph.add("Sub", scores, scores)
    ones = graph.cast(graph.add("GreaterOrEqual", best, graph.constant(0), dtype=bool), blank.dtype)
    marked = graph.add("ScatterElements", blank, best, dtype=blank.dtype, axis=1)
    graph.nodes[-1].input.append(ones.name)
    return _above(graph, marked, 0.5)


def write_model(model: Any, graph: Graph, X: Value) -> Answers:
    """Append a model: an estimator, or a pipeline that ends in one."""
    if hasattr(model, "steps"):
        from prml.export.steps import write_steps

        X = write_steps(model.steps[:-1], graph, X)
        model = model.steps[-1][1]
    return write_estimator(model, graph, X)


MEMBERS: dict[str, Callable[[Any, Graph, Value], Answers]] = {
    "PrML": _privileged,
    "PrBR": _privileged,
    "BinaryRelevance": _binary_relevance,
    "LEML": _leml,
    "ML2": _ml2,
    "ThresholdTuner": _tuner,
    "MultilabelCalibrator": _calibrator,
    "TeacherTransfer": _teacher_transfer,
    "PrMLCV": _search,
}
