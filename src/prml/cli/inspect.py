"""What is here: `prml inspect` - what a model file holds."""

from pathlib import Path
from typing import Any

import click

from prml.cli.output import Output, plain, with_output


@click.command("inspect", epilog="Example: prml inspect model.prml --label use::editing")
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.option("--label", help="Tell about one label: who comments on it, what speaks for it.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many.")
@with_output
def inspect_command(output: Output, model_path: Path, label: str | None, top: int) -> None:
    """Tell what the file MODEL holds: estimator, parameters, certificate, labels, arrays."""
    from prml.cli import models
    from prml.persistence import load_model, read_header

    header = read_header(model_path)
    model = load_model(model_path)
    learner = models.final_estimator(model)
    if label is not None:
        noted = models.noted_input(header).get("feature_names")
        told = _about_label(model, learner, label, top, noted)
    else:
        told = _about_file(header, model, learner)
    if output.as_json:
        output.json(told)
        return
    _print(output, told)


def _about_file(header: dict[str, Any], model: Any, learner: Any) -> dict[str, Any]:
    from prml.cli.fit import summary

    parameters = {
        name: value if not hasattr(value, "shape") else f"array {value.shape}"
        for name, value in learner.get_params(deep=False).items()
    }
    names = [str(name) for name in getattr(learner, "label_names_", [])]
    told: dict[str, Any] = {
        "file": {"format": header["format"], "bytes": header["bytes"], **header["versions"]},
        "estimator": type(learner).__name__,
        "steps": [type(step).__name__ for _, step in getattr(model, "steps", [])],
        "parameters": plain(parameters),
        "certificate": summary(learner),
        "labels": names,
        "features": getattr(learner, "n_features_in_", None),
    }
    metadata = header["metadata"] if isinstance(header["metadata"], dict) else {}
    if "training" in metadata:
        told["training"] = metadata["training"]
    degenerate = getattr(learner, "degenerate_labels_", None)
    if degenerate is not None and len(degenerate):
        told["degenerate labels"] = [names[i] for i in degenerate if i < len(names)]
    told["arrays"] = {
        part["name"]: f"{part['dtype']} {tuple(part['shape'])}" for part in header["parts"]
    }
    return told


def _about_label(model: Any, learner: Any, label: str, top: int, noted: Any) -> dict[str, Any]:
    import numpy as np

    from prml.cli import models

    names = models.label_names(model)
    if label not in names:
        near = [name for name in names if label.lower() in name.lower()][:5] or names[:5]
        raise click.UsageError(f"the model has no label {label!r}; it has {', '.join(near)} ...")
    position = names.index(label)
    told: dict[str, Any] = {"label": label}
    coef = getattr(learner, "coef_", None)
    if coef is not None and getattr(coef, "ndim", 0) == 2 and len(coef) == len(names):
        features = _feature_names(model, noted, coef.shape[1])
        order = np.argsort(-np.abs(coef[position]), kind="stable")[:top]
        told["features"] = {features[i]: float(coef[position, i]) for i in order}
        told["intercept"] = float(np.ravel(learner.intercept_)[position])
    if hasattr(learner, "teachers"):
        teachers = learner.teachers(learner.label_names_[position], top)
        told["teachers"] = {str(who): weight for who, weight in teachers}
    return told


def _feature_names(model: Any, noted: Any, n_features: int) -> list[str]:
    """Return the names that the data had, those of the text features, or numbers."""
    first = model.steps[0][1] if hasattr(model, "steps") else model
    if hasattr(first, "vocabulary_"):
        noted = first.get_feature_names_out().tolist()
    if isinstance(noted, list) and len(noted) == n_features:
        return [str(name) for name in noted]
    return [str(i) for i in range(n_features)]


def _print(output: Output, told: dict[str, Any]) -> None:
    for key, value in told.items():
        if isinstance(value, dict):
            output.line(f"{key}:")
            for name, entry in value.items():
                shown = f"{entry:.4g}" if isinstance(entry, float) else entry
                output.line(f"  {name}: {shown}")
        elif isinstance(value, list):
            few = ", ".join(map(str, value[:12])) + (" ..." if len(value) > 12 else "")
            output.line(f"{key}: {len(value)}" + (f" ({few})" if value else ""))
        else:
            output.line(f"{key}: {value}")
