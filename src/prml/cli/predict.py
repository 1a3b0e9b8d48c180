"""What is here: `prml predict` - labels, scores, probabilities or the best labels of examples."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from prml.cli.output import Output, with_output
from prml.cli.tables import DataOptions, with_data_options
from prml.cli.writers import FORMATS, KINDS, open_writer


@click.command(
    "predict", epilog='Example: prml predict model.prml --text "a fast terminal emulator"'
)
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("data", required=False)
@click.option("--text", "texts", multiple=True, help="A text to label; may be repeated.")
@click.option(
    "--what", type=click.Choice(KINDS), default="labels", show_default=True, help="What to write."
)
@click.option("-k", "--top", "k", type=click.IntRange(1), help="The k best labels, with scores.")
@click.option("--to", type=click.Choice(FORMATS), help="Format of the output; CSV by default.")
@click.option(
    "-o",
    "--output",
    "out_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; standard output when left out.",
)
@with_data_options
@with_output
def predict_command(
    output: Output,
    options: DataOptions,
    model_path: Path,
    data: str | None,
    texts: tuple[str, ...],
    what: str,
    k: int | None,
    to: str | None,
    out_path: Path | None,
) -> None:
    """Label the examples of DATA with the MODEL.

    DATA is a file as in `prml fit`, or - for standard input: lines of text for a model of text,
    LIBSVM lines for others. It is read and answered in blocks, so its size does not matter.
    """
    from prml.cli import models
    from prml.cli.blocks import as_model_input, example_blocks

    model, note = models.open_model(model_path)
    names = models.label_names(model)
    if k is not None:
        what = "top"
    k = min(k or 5, len(names))
    if output.as_json:
        to = to or "jsonl"
    if what == "probabilities" and not hasattr(models.final_estimator(model), "predict_proba"):
        raise click.UsageError(
            f"a {type(models.final_estimator(model)).__name__} gives scores and no probabilities"
        )
    blocks: Iterator[Any]
    if (data is None) == (not texts):
        raise click.UsageError("expected DATA (a file, or - for standard input), or --text")
    if data is None:
        if note.get("kind") != "text":
            raise click.UsageError("the model was fitted to numbers; it cannot read a text")
        blocks = iter([list(texts)])
    else:
        blocks = example_blocks(
            data,
            options,
            note=note,
            n_features=models.n_features(model),
            label_names=names,
        )
    with (
        open_writer(out_path, to, what, names, k) as writer,
        output.progress("Predicted") if out_path is not None else _silent() as advance,
    ):
        n_rows = 0
        for block in blocks:
            values = answer(model, as_model_input(block), what)
            writer.write(values, best_labels(values, k) if what == "top" else None)
            n_rows += len(values)
            advance(note=f"{n_rows} rows")
    if out_path is not None:
        output.remark(f"{out_path}: {n_rows} rows.")


def _silent():
    from contextlib import nullcontext

    return nullcontext(lambda steps=1, note="": None)


def answer(model: Any, X: Any, what: str) -> np.ndarray:
    """Return labels, probabilities or scores, always (n_samples, n_labels)."""
    from prml.cli import models

    if what == "probabilities":
        return np.asarray(model.predict_proba(X))
    if what == "labels":
        return models.labels_of(model, X)
    return models.scores_of(model, X)


def best_labels(scores: np.ndarray, k: int) -> np.ndarray:
    """Return the positions of the k best labels of every row, best first."""
    top = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1, kind="stable")
    return np.take_along_axis(top, order, axis=1)
