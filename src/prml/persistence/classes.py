"""What is here: the table of the classes that a model file may name."""

from importlib import import_module
from typing import Any

import numpy as np

from prml.persistence.errors import ModelFileError

# A file names a class by a key of this table; nothing in a file ever becomes an import path.
HOMES: dict[str, str] = {
    "PrBR": "prml.estimators",
    "PrML": "prml.estimators",
    "PrMLCV": "prml.estimators",
    "TeacherTransfer": "prml.estimators",
    "FeatureScaler": "prml.estimators",
    "BinaryRelevance": "prml.baselines",
    "ECC": "prml.baselines",
    "LEML": "prml.baselines",
    "ML2": "prml.baselines",
    "RAkEL": "prml.baselines",
    "MultilabelCalibrator": "prml.model_selection",
    "ThresholdTuner": "prml.model_selection",
    "CountVectorizer": "sklearn.feature_extraction.text",
    "DummyClassifier": "sklearn.dummy",
    "LabelBinarizer": "sklearn.preprocessing",
    "LinearSVC": "sklearn.svm",
    "LogisticRegression": "sklearn.linear_model",
    "MaxAbsScaler": "sklearn.preprocessing",
    "MinMaxScaler": "sklearn.preprocessing",
    "Normalizer": "sklearn.preprocessing",
    "Nystroem": "sklearn.kernel_approximation",
    "OneVsRestClassifier": "sklearn.multiclass",
    "Pipeline": "sklearn.pipeline",
    "Ridge": "sklearn.linear_model",
    "SelectKBest": "sklearn.feature_selection",
    "SimpleImputer": "sklearn.impute",
    "StandardScaler": "sklearn.preprocessing",
    "TfidfTransformer": "sklearn.feature_extraction.text",
    "TfidfVectorizer": "sklearn.feature_extraction.text",
    "TruncatedSVD": "sklearn.decomposition",
}

# Parameters that belong to the run and not to the model.
TRANSIENT = frozenset({"callbacks", "checkpoint"})

# Attributes of scikit-learn that are bound to the process (an id of an object, request objects).
UNSAVED = frozenset({"_metadata_request", "_stop_words_id"})

# n: labels, d: features, k: components. Decision values of these follow from the arrays alone.
SHAPES: dict[str, tuple[str, ...]] = {
    "coef_": ("n", "d"),
    "intercept_": ("n",),
    "components_": ("k", "d"),
    "components_intercept_": ("k",),
    "codes_": ("n", "k"),
}
CHECKED = frozenset({"PrBR", "PrML", "BinaryRelevance", "LEML"})


def class_named(name: Any) -> Any:
    """Look a class up in the table."""
    if not isinstance(name, str) or name not in HOMES:
        raise ModelFileError(f"it names the class {name!r}, which model files do not hold")
    return getattr(import_module(HOMES[name]), name)


def name_of(value: Any) -> str | None:
    """Return the key of an object's class in the table, None when it is not there."""
    name = type(value).__name__
    module = type(value).__module__
    if name not in HOMES or module.split(".")[0] not in ("prml", "sklearn"):
        return None
    try:
        return name if class_named(name) is type(value) else None
    except (ImportError, AttributeError):
        return None


def check_shapes(name: str, estimator: Any) -> None:
    """Refuse a linear model of ours whose arrays do not fit together."""
    if name not in CHECKED or not hasattr(estimator, "label_names_"):
        return
    if getattr(estimator, "kernel", "linear") != "linear":
        return
    sizes = {"n": len(estimator.label_names_), "d": getattr(estimator, "n_features_in_", None)}
    for attribute, symbols in SHAPES.items():
        array = vars(estimator).get(attribute)
        if array is None:
            continue
        if not isinstance(array, np.ndarray) or array.ndim != len(symbols):
            raise ModelFileError(f"{name}.{attribute} is not an array of {len(symbols)} dimensions")
        for size, symbol in zip(array.shape, symbols, strict=True):
            if sizes.setdefault(symbol, size) != size:
                raise ModelFileError(
                    f"{name}.{attribute} has the shape {array.shape}, which does not fit "
                    f"{sizes['n']} labels and {sizes['d']} features"
                )
