"""What is here: estimators by name and parameter, and what a loaded model expects and answers."""

import json
import os
from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from prml.datasets.text_input import shown

ESTIMATORS = (
    "PrML",
    "PrBR",
    "PrMLCV",
    "BinaryRelevance",
    "ECC",
    "RAkEL",
    "LEML",
    "ML2",
)
_WORDS = {"none": None, "true": True, "false": False, "inf": float("inf")}


def estimator_class(name: str) -> type:
    """Find an estimator by its name; case does not matter."""
    from importlib import import_module

    from prml.persistence.classes import HOMES

    exact = {known.lower(): known for known in ESTIMATORS}.get(name.lower())
    if exact is None:
        raise click.UsageError(
            f"there is no estimator {name!r}; expected one of {', '.join(ESTIMATORS)}"
        )
    return getattr(import_module(HOMES[exact]), exact)


def read_parameters(settings: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs: numbers, true, false, none, inf, JSON, or text as it stands."""
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, sign, value = setting.partition("=")
        if not sign or not name.strip().isidentifier():
            raise click.UsageError(
                f"--param is {shown(setting)}; expected NAME=VALUE, such as C=0.1"
            )
        word = value.strip()
        if word.lower() in _WORDS:
            parameters[name.strip()] = _WORDS[word.lower()]
            continue
        try:
            parameters[name.strip()] = json.loads(word)
        except (ValueError, RecursionError):
            parameters[name.strip()] = word
    return parameters


def make_estimator(cls: Any, parameters: dict[str, Any]) -> Any:
    """Build an estimator; a parameter that it does not have is told with those it has."""
    known = cls._get_param_names()
    for name in parameters:
        if name not in known:
            raise click.UsageError(
                f"{cls.__name__} has no parameter {name!r}; expected one of {', '.join(known)}"
            )
    return cls(**parameters)


def check_memory(n_features: int, n_labels: int, n_teachers: int = 0) -> None:
    """Refuse sizes whose coefficients would not fit: a wrong index in a file must not kill us."""
    wanted = 8 * n_labels * (n_features + n_teachers)
    available = _memory() // 2
    if wanted > available:
        raise ValueError(
            f"{n_features} features and {n_labels} labels ask for {wanted / 2**30:.1f} GiB of "
            f"coefficients, and {available / 2**30:.1f} GiB are allowed (half of the memory); the "
            "largest index in the file may be wrong."
        )


def _memory() -> int:
    """Return the bytes of memory of this machine; 16 GiB where it cannot be asked."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 34


def final_estimator(model: Any) -> Any:
    """Return the estimator at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def label_names(model: Any) -> list[str]:
    """Return the label names of a fitted model as text."""
    return [str(name) for name in final_estimator(model).label_names_]


def n_features(model: Any) -> int | None:
    """Return how many columns a model of numbers expects."""
    first = model.steps[0][1] if hasattr(model, "steps") else model
    return getattr(first, "n_features_in_", None)


def scores_of(model: Any, X: Any) -> np.ndarray:
    """Return the scores, always (n_samples, n_labels)."""
    scores = np.asarray(model.decision_function(X))
    return scores[:, None] if scores.ndim == 1 else scores


def labels_of(model: Any, X: Any) -> np.ndarray:
    """Return the predicted labels as booleans, always (n_samples, n_labels)."""
    final = final_estimator(model)
    if final._kind == "multilabel":
        return np.asarray(model.predict(X)) > 0
    return scores_of(model, X) > final._cut


def open_model(path: Any) -> tuple[Any, dict[str, Any]]:
    """Load a model file and what `prml fit` noted about its input."""
    from prml.persistence import load_model, read_header

    model = load_model(path)
    noted = noted_input(read_header(path))
    if not hasattr(model, "decision_function") or not hasattr(
        final_estimator(model), "label_names_"
    ):
        raise ValueError(f"{path} holds a {type(model).__name__} that gives no scores of labels.")
    return model, noted


def noted_input(header: dict[str, Any]) -> dict[str, Any]:
    """Return what `prml fit` noted about its input; nothing for a file saved from Python."""
    metadata = header["metadata"]
    noted = metadata.get("input") if isinstance(metadata, dict) else None
    return noted if isinstance(noted, dict) else {}
