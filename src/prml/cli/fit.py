"""What is here: `prml fit` - from a data file to a model file."""

import time
from pathlib import Path
from typing import Any

import click

from prml.cli.output import Output, with_output
from prml.cli.tables import DataOptions, Table, choose_part, read_table, with_data_options

SCALES = ("none", "unit", "standard", "maxabs")


@click.command(
    "fit",
    epilog="Example: prml fit emotions.arff --labels -6 --scale standard -o emotions.prml",
)
@click.argument("data")
@click.option(
    "-o",
    "--output",
    "model_path",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The model file to write.",
)
@click.option(
    "-e",
    "--estimator",
    help="PrBR, PrML, PrMLCV or a method to compare with. Without it: PrBR with "
    "loss=squared_hinge, or PrML where --checkpoint or --scheduler is given.",
)
@click.option("-p", "--param", "settings", multiple=True, help="A parameter, as NAME=VALUE.")
@click.option(
    "--scale",
    type=click.Choice(SCALES),
    default="none",
    show_default=True,
    help="Rows of unit norm, or columns of unit variance or unit maximum; stored with the model.",
)
@click.option(
    "--cv",
    type=click.IntRange(2),
    help="Search the best member of the family (PrMLCV) by so many folds.",
)
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds for the fit.")
@click.option(
    "--checkpoint",
    type=click.Path(dir_okay=False),
    help="Keep the state of a long fit here and resume from it.",
)
@click.option("--jobs", type=int, help="Labels fitted at once.")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Fit on the workers of the Dask scheduler at this address, such as tcp://host:8786.",
)
@with_data_options
@with_output
def fit_command(
    output: Output,
    options: DataOptions,
    data: str,
    model_path: Path,
    estimator: str | None,
    settings: tuple[str, ...],
    scale: str,
    cv: int | None,
    time_limit: float | None,
    checkpoint: str | None,
    jobs: int | None,
    scheduler: str | None,
) -> None:
    """Fit a model to DATA and write it to a file.

    DATA is a file (ARFF, LIBSVM, XMC, npz, CSV or Parquet; compressed text too) or the name of a
    dataset. Text goes through tf-idf, which is stored with the model.
    """
    from prml.cli import models

    if not model_path.absolute().parent.is_dir():
        raise click.UsageError(f"{model_path}: there is no such folder to write the model into")
    if cv is not None:
        estimator = "PrMLCV"
    parameters = models.read_parameters(settings)
    if estimator is None:  # a good model in seconds, or the one made for long fits
        is_long = checkpoint is not None or scheduler is not None
        estimator = "PrML" if is_long else "PrBR"
        parameters = parameters if is_long else {"loss": "squared_hinge"} | parameters
    switches = {"cv": cv, "max_time": time_limit, "checkpoint": checkpoint, "n_jobs": jobs}
    parameters |= {name: value for name, value in switches.items() if value is not None}
    learner = models.make_estimator(models.estimator_class(estimator), parameters)

    table = read_table(data, options)
    part = choose_part(table, options.part, preferred="train")
    if table.Y is None or table.Y.shape[1] == 0:
        raise click.UsageError(f"{data}: no labels to learn; --labels tells which columns they are")
    if table.Y.shape[0] != table.n_rows:
        raise ValueError(f"{data} has {table.n_rows} examples and labels of {table.Y.shape[0]}.")
    steps, X = _prepare(table, scale)
    models.check_memory(X.shape[1], table.Y.shape[1], table.Y.shape[1])
    output.remark(
        f"{data} ({part}): {X.shape[0]} examples, {X.shape[1]} features, {table.Y.shape[1]} labels."
    )
    start = time.perf_counter()
    _fit(learner, X, table, output, scheduler)
    seconds = time.perf_counter() - start
    _name_labels(learner, table)
    model = _assemble(steps, learner)
    from prml.persistence import save_model

    figures = summary(learner)
    save_model(
        model,
        model_path,
        metadata={
            "input": _input_note(table),
            "training": {"data": Path(data).name, "part": part, "n_samples": X.shape[0]} | figures,
        },
    )
    if output.as_json:
        output.json({"model": str(model_path), "seconds": round(seconds, 3), **figures})
        return
    told = "".join(f", {name.replace('_', ' ')} {_short(value)}" for name, value in figures.items())
    output.line(f"{model_path}: {type(learner).__name__} fitted in {seconds:.1f} s{told}")


def summary(learner: Any) -> dict[str, Any]:
    """Return what a fitted estimator says of its own optimum."""
    names = (
        "best_score_", "objective_", "dual_gap_", "converged_", "stopped_by_", "n_iter_", "rank_"
    )  # fmt: skip
    held = {name.rstrip("_"): getattr(learner, name, None) for name in names}
    found = {name: value for name, value in held.items() if value is not None}
    return {name: getattr(value, "item", lambda v=value: v)() for name, value in found.items()}


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _prepare(table: Table, scale: str) -> tuple[list[tuple[str, Any]], Any]:
    """Fit what comes before the estimator: tf-idf for text, scaling when asked for."""
    import scipy.sparse as sp
    from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

    from prml.datasets.debtags import make_vectorizer

    steps: list[tuple[str, Any]] = []
    X = table.X
    if table.is_text:
        vectorizer = make_vectorizer(min_df=2 if len(X) >= 100 else 1)
        X = vectorizer.fit_transform(X)
        steps.append(("tfidf", vectorizer))
    if scale != "none":
        scaler = {
            "unit": Normalizer,
            "maxabs": MaxAbsScaler,
            "standard": lambda: StandardScaler(with_mean=not sp.issparse(X)),
        }[scale]()
        X = scaler.fit_transform(X)
        steps.append(("scale", scaler))
    return steps, X


def _fit(learner: Any, X: Any, table: Table, output: Output, scheduler: str | None) -> None:
    """Fit, here or on workers, with progress: every record of the estimator moves the bar."""
    n_labels = table.Y.shape[1]

    with output.progress("Fitting") as advance:

        def show(record: dict[str, Any]) -> None:
            shown = {"gap": "gap", "objective": "objective", "labels": f"of {n_labels} labels"}
            notes = [f"{_short(record[key])} {shown[key]}" for key in shown if key in record]
            if "best" in record:  # of a search
                notes.append(f"best score {_short(record['best_score'])}: {record['best']}")
            advance(note=", ".join([*notes, f"{record.get('time', 0.0):.0f} s"]))

        if "callbacks" in learner.get_params(deep=False):
            learner.set_params(callbacks=[show])
        if scheduler is None:
            learner.fit(X, table.Y)
        else:
            from prml.distributed import fit_dask

            fit_dask(learner, X, table.Y, scheduler)
    if "callbacks" in learner.get_params(deep=False):
        learner.set_params(callbacks=None)


def _name_labels(learner: Any, table: Table) -> None:
    import numpy as np

    if table.label_names is not None and len(learner.label_names_) == len(table.label_names):
        learner.label_names_ = learner.classes_ = np.array(table.label_names)


def _assemble(steps: list[tuple[str, Any]], learner: Any) -> Any:
    from sklearn.pipeline import Pipeline

    return Pipeline([*steps, ("model", learner)]) if steps else learner


def _input_note(table: Table) -> dict[str, Any]:
    """Note what `predict` must know to read a file of the same kind."""
    return {
        "kind": "text" if table.is_text else "numbers",
        "text_columns": table.text_columns,
        "feature_names": table.feature_names,
        "zero_based": table.zero_based,
    }
