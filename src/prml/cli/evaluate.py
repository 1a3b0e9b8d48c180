"""What is here: `prml evaluate` - how good a model is on labelled data."""

from pathlib import Path
from typing import Any

import click
import numpy as np
import scipy.sparse as sp

from prml.cli.output import Output, with_output
from prml.cli.tables import (
    BLOCK_ROWS,
    DataOptions,
    Table,
    choose_part,
    read_table,
    with_data_options,
)


@click.command("evaluate", epilog="Example: prml evaluate model.prml debtags --metrics all")
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("data")
@click.option(
    "--metrics",
    help="Names joined by commas, or all; the six of the paper when left out.",
)
@click.option("--by-label", is_flag=True, help="Also the F1 and the AUC of every label.")
@with_data_options
@with_output
def evaluate_command(
    output: Output,
    options: DataOptions,
    model_path: Path,
    data: str,
    metrics: str | None,
    by_label: bool,
) -> None:
    """Score the MODEL on the labelled examples of DATA."""
    from prml.cli import models
    from prml.metrics import evaluate

    model, note = models.open_model(model_path)
    names = models.label_names(model)
    options = with_noted_input(options, note)
    table = read_table(
        data, options, n_features=models.n_features(model), label_names=named_labels(names)
    )
    part = choose_part(table, options.part, preferred="test")
    Y = aligned_labels(table, names, data)
    check_kind(table, note, data)
    output.remark(f"{data} ({part}): {table.n_rows} examples.")

    def blocks():
        for start in range(0, table.n_rows, BLOCK_ROWS):
            yield models.scores_of(model, table.X[start : start + BLOCK_ROWS])

    chosen: Any = metrics
    if metrics is not None and metrics != "all":
        chosen = [name.strip() for name in metrics.split(",")]
    result = evaluate(Y, blocks, metrics=chosen, **_predicted(model, table))
    details = dict(result.by_label) if by_label else {}
    if output.as_json:
        scores: dict[str, Any] = {"scores": result.to_dict(), "n_samples": table.n_rows}
        if by_label:
            scores["labels"] = {
                name: {key: values[i] for key, values in details.items()}
                for i, name in enumerate(names)
            }
        output.json(scores)
        return
    output.line(str(result))
    if by_label:
        rows = [
            [name, *(f"{values[i]:.3f}" for values in details.values())]
            for i, name in enumerate(names)
        ]
        output.table(["label", *details], rows)


def _predicted(model: Any, table: Table) -> dict[str, Any]:
    """Return what tells the predicted labels: a cut, or the labels where they are no mere cut."""
    from prml.base import MultilabelEstimator
    from prml.cli import models

    final = models.final_estimator(model)
    if type(final).predict is MultilabelEstimator.predict:
        return {"cut": final._cut}
    starts = range(0, table.n_rows, BLOCK_ROWS)
    blocks = [models.labels_of(model, table.X[i : i + BLOCK_ROWS]) for i in starts]
    return {"predicted": sp.vstack([sp.csr_matrix(block) for block in blocks], format="csr")}


def with_noted_input(options: DataOptions, note: dict[str, Any]) -> DataOptions:
    """Fill in what the model file knows of its input and the command line does not say."""
    from dataclasses import replace

    if not options.text and note.get("kind") == "text":
        columns = note.get("text_columns") or []
        options = replace(options, text=tuple(map(str, columns)))
    if options.zero_based is None and isinstance(note.get("zero_based"), bool):
        options = replace(options, zero_based=note["zero_based"])
    return options


def check_kind(table: Table, note: dict[str, Any], data: str) -> None:
    """Refuse numbers for a model of text, and text for a model of numbers."""
    wants_text = note.get("kind") == "text"
    if wants_text != table.is_text:
        found, wanted = ("text", "numbers") if table.is_text else ("numbers", "text")
        raise ValueError(f"{data} holds {found} and the model was fitted to {wanted}.")


def named_labels(names: list[str]) -> list[str] | None:
    """Return names that can be looked for in a file; 0, 1, 2 ... are positions."""
    return None if names == [str(i) for i in range(len(names))] else names


def aligned_labels(table: Table, names: list[str], data: str) -> Any:
    """Return Y with the columns in the order of the model's labels."""
    if table.Y is None:
        raise click.UsageError(f"{data}: no labels to compare with; --labels tells which they are")
    Y = table.Y
    if table.label_names is not None and named_labels(names) is not None:
        position = {name: i for i, name in enumerate(table.label_names)}
        absent = [name for name in names if name not in position]
        if absent:
            raise ValueError(
                f"{data} lacks {len(absent)} of the model's {len(names)} labels, such as "
                f"{absent[0]!r}."
            )
        order = [position[name] for name in names]
        return Y[:, order]
    if Y.shape[1] > len(names):
        raise ValueError(f"{data} has {Y.shape[1]} labels and the model {len(names)}.")
    if Y.shape[1] < len(names):  # the last labels never occur in this file
        missing = len(names) - Y.shape[1]
        if sp.issparse(Y):
            return sp.csr_matrix((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], len(names)))
        return np.hstack([Y, np.zeros((Y.shape[0], missing))])
    return Y
