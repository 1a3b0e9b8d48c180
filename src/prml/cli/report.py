"""What is here: `prml report` - a page about a model and how it does on labelled data."""

from pathlib import Path
from typing import Any

import click

from prml.cli.output import Output, with_output
from prml.cli.tables import DataOptions, Table, choose_part, read_table, with_data_options

BASELINE = "one-vs-rest LIBLINEAR"


@click.command("report", epilog="Example: prml report model.prml debtags --baseline -o report.html")
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("data")
@click.option(
    "-o",
    "--output",
    "out_path",
    type=click.Path(dir_okay=False, path_type=Path),
    default="report.html",
    show_default=True,
    help="The page to write.",
)
@click.option("--title", help="The title of the page.")
@click.option(
    "--baseline",
    is_flag=True,
    help=f"Fit {BASELINE} to the training data and put its scores beside the model's.",
)
@click.option(
    "--train",
    metavar="DATA",
    help="The training data, for --baseline; the training part of DATA when left out.",
)
@click.option(
    "--examples",
    "n_examples",
    type=click.IntRange(0, 500),
    default=16,
    show_default=True,
    help="How many examples to show.",
)
@with_data_options
@with_output
def report_command(
    output: Output,
    options: DataOptions,
    model_path: Path,
    data: str,
    out_path: Path,
    title: str | None,
    baseline: bool,
    train: str | None,
    n_examples: int,
) -> None:
    """Write a page about the MODEL and how it does on the labelled examples of DATA.

    One HTML file that needs no network: scores, the certificate of the fit, a table of the labels,
    who comments on whom, what other thresholds would give, and examples with what the teacher says
    to the mistakes.
    """
    from prml.cli import models
    from prml.cli.evaluate import aligned_labels, check_kind, named_labels, with_noted_input
    from prml.report import write_model_report

    if not out_path.absolute().parent.is_dir():
        raise click.UsageError(f"{out_path}: there is no such folder to write the page into")
    if train is not None and not baseline:
        raise click.UsageError("--train is for --baseline, which was not asked for")
    model, note = models.open_model(model_path)
    names = models.label_names(model)
    options = with_noted_input(options, note)

    def read(source: str, preferred: str, part: str | None) -> tuple[Table, Any, str]:
        table = read_table(
            source, options, n_features=models.n_features(model), label_names=named_labels(names)
        )
        chosen = choose_part(table, part, preferred=preferred)
        check_kind(table, note, source)
        return table, aligned_labels(table, names, source), chosen

    table, Y, part = read(data, "test", options.part)
    others: dict[str, Any] = {}
    if baseline:
        learned, Y_train, train_part = read(train or data, "train", None)
        if train is None and train_part == "all":
            raise click.UsageError(
                f"{data} comes without a split; --train names the data that the model was fitted to"
            )
        output.remark(f"Fitting {BASELINE} to {learned.n_rows} examples.")
        others = _baselines(model, learned.X, Y_train, output)
    page = write_model_report(
        out_path,
        model,
        table.X,
        Y,
        title=title or f"{type(models.final_estimator(model)).__name__} on {Path(data).name}",
        data_name=f"{Path(data).name}" + (f" ({part})" if part != "all" else ""),
        baselines=others,
        feature_names=_feature_names(table, note),
        n_examples=n_examples,
    )
    size = page.stat().st_size
    if output.as_json:
        output.json({"page": str(page), "bytes": size, "n_samples": table.n_rows})
        return
    output.line(f"{page}: {size / 1e6:.1f} MB, {table.n_rows} examples, {len(names)} labels")


def _baselines(model: Any, X: Any, Y: Any, output: Output) -> dict[str, Any]:
    """Fit the methods to compare with, behind the same steps as the model."""
    import numpy as np
    import scipy.sparse as sp
    from sklearn.pipeline import Pipeline

    from prml.baselines import BinaryRelevance

    steps = list(model.steps[:-1]) if hasattr(model, "steps") else []
    features = X
    for _, step in steps:
        features = features if step in (None, "passthrough") else step.transform(features)
    if not sp.issparse(Y) and np.isnan(Y).any():
        raise ValueError(
            "The training data have unknown labels, which LIBLINEAR cannot learn from."
        )
    with output.progress("Fitting", total=Y.shape[1]) as advance:
        machines = BinaryRelevance(
            C=1.0, loss="squared_hinge", random_state=0, callbacks=lambda record: advance() or False
        ).fit(features, Y)
    return {BASELINE: Pipeline([*steps, ("model", machines)]) if steps else machines}


def _feature_names(table: Table, note: dict[str, Any]) -> list[str] | None:
    """The names of the features where there is one for each column."""
    if table.is_text:
        return None
    for names in (table.feature_names, note.get("feature_names")):
        if isinstance(names, list) and len(names) == table.X.shape[1]:
            return names
    return None
