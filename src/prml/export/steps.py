"""What is here: the steps that may stand before an estimator in a pipeline, as ONNX nodes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from prml.export.kernels import rbf_kernel
from prml.export.onnx_graph import Graph, Value


def write_steps(steps: Sequence[tuple[str, Any]], graph: Graph, X: Value) -> Value:
    """Append the steps one after the other; `passthrough` is no step."""
    for name, step in steps:
        if step is None or step == "passthrough":
            continue
        kind = type(step).__name__
        if kind not in STEPS or type(step).__module__.split(".")[0] not in ("sklearn", "prml"):
            raise ValueError(
                f"to_onnx cannot write the step {name!r}, a {kind}; expected one of "
                f"{', '.join(STEPS)}."
            )
        X = STEPS[kind](step, graph, X)
    return X


def unit_rows(graph: Graph, X: Value, norm: str) -> Value:
    """Divide rows by their norm; a row of zeros stays one."""
    if norm == "max":
        size = graph.add("ReduceMax", graph.add("Abs", X), axes=[1], keepdims=1)
    else:
        size = graph.add({"l1": "ReduceL1", "l2": "ReduceL2"}[norm], X, axes=[1], keepdims=1)
    tiny = graph.like(X, np.finfo(X.dtype).tiny)
    return graph.add("Div", X, graph.add("Max", size, tiny))


def _normalizer(step: Any, graph: Graph, X: Value) -> Value:
    return unit_rows(graph, X, step.norm)


def _standard_scaler(step: Any, graph: Graph, X: Value) -> Value:
    if step.with_mean and step.mean_ is not None:
        X = graph.add("Sub", X, graph.like(X, step.mean_))
    if step.scale_ is not None:
        X = graph.add("Div", X, graph.like(X, step.scale_))
    return X


def _max_abs_scaler(step: Any, graph: Graph, X: Value) -> Value:
    return graph.add("Div", X, graph.like(X, step.scale_))


def _min_max_scaler(step: Any, graph: Graph, X: Value) -> Value:
    scaled = graph.add("Mul", X, graph.like(X, step.scale_))
    moved = graph.add("Add", scaled, graph.like(X, step.min_))
    return graph.clip(moved, *step.feature_range) if step.clip else moved


def _feature_scaler(step: Any, graph: Graph, X: Value) -> Value:
    if step.column_mean_ is not None:
        X = graph.add("Sub", X, graph.like(X, step.column_mean_))
    if step.column_factor_ is not None:
        X = graph.add("Mul", X, graph.like(X, step.column_factor_))
    if step.method in ("unit", "idf"):
        return unit_rows(graph, X, "l2")
    return graph.add("Mul", X, graph.like(X, step.factor_))


def _truncated_svd(step: Any, graph: Graph, X: Value) -> Value:
    return graph.affine(X, step.components_, 0.0)


def _nystroem(step: Any, graph: Graph, X: Value) -> Value:
    """Features of a kernel, kept in double precision for what follows."""
    if step.kernel != "rbf":
        raise ValueError(
            f"to_onnx cannot write a Nystroem step with the kernel {step.kernel!r}; expected 'rbf'."
        )
    gamma = 1.0 / step.components_.shape[1] if step.gamma is None else step.gamma
    kernel = rbf_kernel(graph, X, step.components_, gamma)
    return graph.affine(kernel, step.normalization_, 0.0)


STEPS: dict[str, Callable[[Any, Graph, Value], Value]] = {
    "FeatureScaler": _feature_scaler,
    "Normalizer": _normalizer,
    "StandardScaler": _standard_scaler,
    "MaxAbsScaler": _max_abs_scaler,
    "MinMaxScaler": _min_max_scaler,
    "TruncatedSVD": _truncated_svd,
    "Nystroem": _nystroem,
}
