"""What is here: `to_onnx`, from a fitted model to an ONNX file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from prml import __version__
from prml.datasets.atomic_file import replacing
from prml.export.members import Answers, write_model
from prml.export.onnx_graph import IR_VERSION, OPSET, Graph, Value
from prml.export.text import is_text_step, write_tfidf

OUTPUTS = ("scores", "probabilities", "labels")
LARGEST = 2**31 - 2**20  # protobuf's bound on one message, and room for names


def to_onnx(
    model: Any,
    path: str | Path | None = None,
    *,
    outputs: Sequence[str] | None = None,
    dtype: Any = np.float32,
    text: bool = True,
    locale: str = "C.UTF-8",
) -> Any:
    """Write a fitted model as an ONNX graph.

    Parameters
    ----------
    model : estimator
        PrBR and PrML (linear, rbf, poly or precomputed kernel), BinaryRelevance, LEML or ML2; a
        ThresholdTuner or a MultilabelCalibrator (sigmoids) around one; or a Pipeline of scalers, a
        Nystroem step or a tf-idf before one.
    path : str or Path, optional
        Where to write the file; it is replaced as a whole or not at all.
    outputs : sequence of {"scores", "probabilities", "labels"}, optional
        What the file answers, in this order; by default all that the model has. They equal
        `decision_function`, `predict_proba` and `predict`.
    dtype : float32 or float64
        The type of the input, the coefficients and the answers. Scores that lie within rounding of
        their cut can give other labels in float32.
    text : bool
        When the model starts with a TfidfVectorizer: take texts (a tensor of strings, which needs
        onnxruntime) or, if False, the features that the vectorizer makes.
    locale : str
        The locale by which the runtime lower-cases texts; it has to exist where the file is used.

    Returns
    -------
    onnx.ModelProto
        Its input is "X" of shape (n, n_features), or "text" of shape (n,). Its metadata have
        `label_names` and, where known, `feature_names`, as JSON.

    Examples
    --------
    >>> import onnxruntime
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from prml import PrBR
    >>> from prml.export import to_onnx
    >>> X, Y = make_multilabel_classification(n_samples=60, random_state=0)
    >>> model = PrBR(C=0.1).fit(X, Y)
    >>> proto = to_onnx(model, outputs=["scores", "labels"])
    >>> session = onnxruntime.InferenceSession(proto.SerializeToString())
    >>> scores, labels = session.run(None, {"X": X.astype("float32")})
    >>> bool(abs(scores - model.decision_function(X)).max() < 1e-5)
    True
    >>> bool((labels == model.predict(X)).all())
    True
    """
    _need_onnx()
    from onnx import checker, helper

    check_is_fitted(model)
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype is {dtype!r}; expected float32 or float64.")
    wanted = _wanted(outputs)
    _check_size(model, kind)
    graph = Graph()
    given, answers = _write(model, graph, kind, text, locale)
    results = _finish(_final(model), graph, answers, wanted, explicit=outputs is not None)
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "prml",
            [given],
            [_described(name, value, shape) for name, (value, shape) in results.items()],
            initializer=graph.constants,
        ),
        opset_imports=[
            helper.make_opsetid(domain, 1 if domain else OPSET)
            for domain in sorted(graph.domains | {""})
        ],
        ir_version=IR_VERSION,
        producer_name="prml",
        producer_version=__version__,
    )
    helper.set_model_props(proto, _metadata(model, text))
    if "com.microsoft" not in graph.domains:  # the checker knows the operators of ONNX alone
        checker.check_model(proto, full_check=True)
    if path is not None:
        with replacing(Path(path)) as out:
            out.write(proto.SerializeToString())
    return proto


def _need_onnx() -> None:
    try:
        import onnx  # noqa: F401
    except ImportError as missing:
        raise ImportError(
            "Writing ONNX needs onnx; pip install 'prml[onnx]' brings it."
        ) from missing


def _wanted(outputs: Sequence[str] | None) -> list[str]:
    names = list(OUTPUTS) if outputs is None else list(dict.fromkeys(outputs))
    for name in names:
        if name not in OUTPUTS:
            raise ValueError(f"outputs holds {name!r}; expected some of {', '.join(OUTPUTS)}.")
    if not names:
        raise ValueError(f"outputs is empty; expected some of {', '.join(OUTPUTS)}.")
    return names


def _final(model: Any) -> Any:
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _first(model: Any) -> Any:
    """The step that reads the input."""
    steps = [step for _, step in getattr(model, "steps", []) if step not in (None, "passthrough")]
    return steps[0] if steps else model


def _innermost(model: Any) -> Any:
    """The estimator that holds the coefficients."""
    model = _final(model)
    return _innermost(model.estimator_) if hasattr(model, "estimator_") else model


def _check_size(model: Any, dtype: np.dtype) -> None:
    held = [value for value in vars(_innermost(model)).values() if isinstance(value, np.ndarray)]
    largest = max((array.size for array in held if array.dtype.kind == "f"), default=0)
    if largest * dtype.itemsize > LARGEST:
        raise ValueError(
            f"The model has an array of {largest:,} numbers; expected at most "
            f"{LARGEST // dtype.itemsize:,}, since an ONNX file holds 2 GiB."
        )


def _write(model: Any, graph: Graph, dtype: np.dtype, text: bool, locale: str):
    """Append the model; return the described input and the answers."""
    steps = list(getattr(model, "steps", []))
    if steps and is_text_step(steps[0][1]):
        from sklearn.pipeline import Pipeline

        vectorizer = steps[0][1]
        rest = Pipeline(steps[1:])
        if text:
            texts = Value("text", np.dtype(object))
            X = write_tfidf(vectorizer, graph, texts, dtype, locale)
            return _described("text", texts, ["n"]), write_model(rest, graph, X)
        return _features(rest, graph, dtype, len(vectorizer.vocabulary_))
    return _features(model, graph, dtype, _first(model).n_features_in_)


def _features(model: Any, graph: Graph, dtype: np.dtype, n_features: int):
    X = Value("X", dtype)
    return _described("X", X, ["n", n_features]), write_model(model, graph, X)


def _described(name: str, value: Value, shape: Sequence[str | int]) -> Any:
    from onnx import TensorProto, helper

    is_text = value.dtype == object
    kind = TensorProto.STRING if is_text else helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, kind, list(shape))


def _finish(
    estimator: Any, graph: Graph, answers: Answers, wanted: list[str], *, explicit: bool
) -> dict[str, tuple[Value, list[str | int]]]:
    """Bring the answers into the shapes of scikit-learn and name them."""
    results: dict[str, tuple[Value, list[str | int]]] = {}
    shaped = {"scores": _scores, "probabilities": _probabilities, "labels": _labels}
    for name in wanted:
        found = getattr(answers, name)
        if isinstance(found, str):
            if explicit:
                raise ValueError(f"outputs holds {name!r}, and {found}.")
            continue
        value, shape = shaped[name](estimator, graph, answers)
        results[name] = graph.rename(value, name), shape
    return results


def _scores(estimator: Any, graph: Graph, answers: Answers):
    scores = answers.scores
    if estimator._kind == "binary":
        return graph.add("Squeeze", scores, graph.constant([1], np.int64)), ["n"]
    return scores, ["n", estimator.n_labels_]


def _probabilities(estimator: Any, graph: Graph, answers: Answers):
    chance: Any = answers.probabilities
    if estimator._kind == "multilabel":
        return chance, ["n", estimator.n_labels_]
    if estimator._kind == "multiclass":
        total = graph.add("ReduceSum", chance, graph.constant([1], np.int64), keepdims=1)
        return graph.add("Div", chance, total), ["n", estimator.n_labels_]
    if len(estimator.classes_) == 1:
        raise ValueError("The model saw a single class of a 1-D y; expected at least two.")
    other = graph.add("Sub", graph.like(chance, 1.0), chance)
    return graph.add("Concat", other, chance, axis=1), ["n", 2]


def _labels(estimator: Any, graph: Graph, answers: Answers):
    chosen: Any = answers.labels
    if estimator._kind == "multilabel":
        return graph.cast(chosen, np.int64), ["n", estimator.n_labels_]
    if estimator._kind == "multiclass":
        position = graph.add("ArgMax", answers.scores, dtype=np.int64, axis=1, keepdims=0)
    else:
        column = graph.constant([1], np.int64)
        position = graph.cast(graph.add("Squeeze", chosen, column), np.int64)
        if len(estimator.classes_) == 1:
            position = graph.add("Mul", position, graph.constant(0, np.int64))
    classes = graph.constant(estimator.classes_)
    return graph.add("Gather", classes, position, dtype=classes.dtype), ["n"]


def _metadata(model: Any, text: bool) -> dict[str, str]:
    final = _final(model)
    told = {
        "estimator": type(_innermost(model)).__name__,
        "label_names": json.dumps([str(name) for name in final.label_names_]),
    }
    first = _first(model)
    if is_text_step(first):
        names = None if text else first.get_feature_names_out()
    else:
        names = getattr(first, "feature_names_in_", None)
    if names is not None:
        told["feature_names"] = json.dumps([str(name) for name in names])
    return told
