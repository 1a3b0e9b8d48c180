"""What is here: kernel values between the input and stored landmarks.

In double precision whatever the input: |x|^2 + |z|^2 - 2xz loses the digits of small distances, and
the coefficients behind a kernel are large and cancel.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from prml.export.onnx_graph import Graph, Value


def rbf_kernel(graph: Graph, X: Value, landmarks: Any, gamma: float) -> Value:
    """exp(-gamma |x - z|^2) for every row x of the input and landmark z, as float64."""
    Z, X = _dense(landmarks), graph.cast(X, np.float64)
    own = graph.add("ReduceSumSquare", X, axes=[1], keepdims=1)
    # |z|^2 - 2 x z' in one product
    rest = graph.affine(X, -2.0 * Z, np.einsum("ij,ij->i", Z, Z))
    distance = graph.add("Relu", graph.add("Add", rest, own))
    return graph.add("Exp", graph.add("Mul", distance, graph.like(X, -float(gamma))))


def poly_kernel(
    graph: Graph, X: Value, landmarks: Any, gamma: float, degree: float, coef0: float
) -> Value:
    """(gamma <x, z> + coef0)^degree for every row x of the input and landmark z, as float64."""
    X = graph.cast(X, np.float64)
    inside = graph.affine(X, gamma * _dense(landmarks), coef0)
    return graph.add("Pow", inside, graph.like(X, float(degree)))


def kernel_columns(graph: Graph, X: Value, positions: Any) -> Value:
    """Some columns of an input that is itself a kernel, as float64."""
    chosen = graph.constant(positions, np.int64)
    return graph.add("Gather", graph.cast(X, np.float64), chosen, axis=1)


def _dense(landmarks: Any) -> np.ndarray:
    rows = landmarks.toarray() if sp.issparse(landmarks) else landmarks
    return np.asarray(rows, dtype=np.float64)
