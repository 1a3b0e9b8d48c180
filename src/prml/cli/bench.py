"""What is here: `prml bench` - run the comparison of methods, and write it up."""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click

from prml.cli.output import Output, with_output
from prml.cli.tables import DataOptions, read_table, with_data_options

FOLDER = Path("benchmarks/results")
POSITIVE = click.FloatRange(0, min_open=True)
LOSSES = ("hinge", "squared_hinge", "logistic", "squared")


@click.group("bench", epilog="Example: prml bench paper --dataset flags --trials 2 --quick")
def bench_command() -> None:
    """Compare methods on the paper's datasets or on your own, and write it up."""


def with_run_options(command: Callable) -> Callable:
    """Add the options that `paper` and `run` share; the command is given them as `run`."""

    @click.option("-m", "--method", "methods", multiple=True, help="A method; may be repeated.")
    @click.option(
        "--trials", type=click.IntRange(1), default=10, show_default=True, help="Halves to draw."
    )
    @click.option(
        "--budget",
        type=POSITIVE,
        help="Minutes; no cell is begun that is expected to end later.",
    )
    @click.option(
        "--cell-limit",
        type=POSITIVE,
        default=60.0,
        show_default=True,
        help="Minutes for one cell: its search is cut, and its fit where that is possible.",
    )
    @click.option("--jobs", type=int, default=1, show_default=True, help="Threads of each fit.")
    @click.option("--quick", is_flag=True, help="Two settings a search; kept apart in the results.")
    @click.option("--redo", is_flag=True, help="Run again what another version of the code did.")
    @click.option("--redo-cut", is_flag=True, help="Run again what a time limit cut short.")
    @wraps(command)
    def wrapped(
        *args: Any, methods, trials, budget, cell_limit, jobs, quick, redo, redo_cut, **others: Any
    ) -> Any:
        run = {
            "methods": methods,
            "n_trials": trials,
            "budget": None if budget is None else 60.0 * budget,
            "cell_limit": 60.0 * cell_limit,
            "jobs": jobs,
            "setup": "quick" if quick else "full",
            "redo": redo,
            "redo_cut": redo_cut,
        }
        return command(*args, run=run, **others)

    return wrapped


def with_results(default: Path | None) -> Callable:
    return click.option(
        "--results",
        type=click.Path(dir_okay=False, path_type=Path),
        default=default,
        show_default=default is not None,
        help="The results file; finished cells in it are not run again.",
    )


@bench_command.command("paper")
@click.option("-d", "--dataset", "datasets", multiple=True, help="A dataset; may be repeated.")
@with_results(FOLDER / "paper.jsonl")
@with_run_options
@with_output
def paper_command(
    output: Output, run: dict[str, Any], datasets: tuple[str, ...], results: Path
) -> None:
    """Run the protocol of the paper: ten halves, parameters searched inside the training half.

    Every finished cell is written at once: a run that is stopped, even by kill -9, goes on where it
    was. Cheap cells and first trials come first.
    """
    from prml.bench import PAPER_DATASETS, load_data

    loaded = [load_data(name) for name in dict.fromkeys(datasets or PAPER_DATASETS)]
    _run(output, run, loaded, results)


@bench_command.command("run")
@click.option("--data", required=True, help="A data file, or the name of a dataset.")
@click.option(
    "--scale",
    type=click.Choice(["none", "unit", "standard"]),
    help="Rows of unit norm, or columns of unit variance; dense data: standard, else none.",
)
@with_results(None)
@with_data_options
@with_run_options
@with_output
def run_command(
    output: Output,
    run: dict[str, Any],
    options: DataOptions,
    data: str,
    scale: str | None,
    results: Path | None,
) -> None:
    """Run the same comparison on data of your own."""
    import scipy.sparse as sp

    from prml.bench import Data
    from prml.bench.summary import summarise

    table = read_table(data, options)
    if table.Y is None or table.Y.shape[1] == 0:
        raise click.UsageError(f"{data}: no labels to learn; --labels tells which columns they are")
    name = Path(data).name.split(".")[0]
    if table.is_text:
        # idf weights see all lines, labels none
        from prml.datasets.debtags import make_vectorizer

        X = make_vectorizer(min_df=2 if table.n_rows >= 100 else 1).fit_transform(table.X)
    else:
        X = table.X
    X = sp.csr_matrix(X) if sp.issparse(X) else X
    _check_labels(data, table.Y)
    scale = scale or ("none" if sp.issparse(X) else "standard")
    mine = Data(name, X, sp.csr_matrix(table.Y), scale, table.label_names)
    results = results or Path(f"{name}-bench.jsonl")

    def show(records: list) -> None:
        _print_rows(output, summarise(records, run["setup"]), name)

    _run(output, run, [mine], results, show=show)


def _check_labels(data: str, Y: Any) -> None:
    import numpy as np
    import scipy.sparse as sp

    if Y.shape[0] < 12:
        raise ValueError(f"{data} holds {Y.shape[0]} examples; expected at least 12 to split.")
    if not sp.issparse(Y) and np.isnan(np.asarray(Y, dtype=float)).any():
        raise ValueError(f"{data} has unknown labels; the compared methods need them all.")


def _run(
    output: Output,
    run: dict[str, Any],
    datasets: Sequence[Any],
    path: Path,
    methods: Sequence[Any] | None = None,
    show: Callable[[list], None] = lambda records: None,
) -> None:
    """Run the cells with progress; say what was done, `show` it, and end in 1 if cells failed."""
    from prml.bench import ResultsFile, choose_methods, run_cells
    from prml.bench.summary import latest

    run = dict(run)
    if methods is None:
        methods = choose_methods(run.pop("methods"))
    file = ResultsFile(path)
    now = {method.name: method.code for method in methods}
    others = {
        r.get("code") for r in file.read() if r.get("code") != now.get(r["method"], r.get("code"))
    }
    if others and not run["redo"]:
        output.remark(
            f"note: {path} has cells of {len(others)} other version(s) of the code, which are kept "
            "and marked; --redo runs them again."
        )
    total = len(datasets) * len(methods) * run["n_trials"]
    output.remark(f"{total} cells: {len(datasets)} datasets, {len(methods)} methods.")
    with output.progress("Cells", total=None) as advance:

        def watch(progress: Any) -> None:
            cell = progress.cell
            if progress.record is None:
                note = f"{cell.data.name} {cell.method.name} trial {cell.trial}"
                left = _duration(progress.seconds_left)
                count = f"{progress.n_done} of {progress.n_cells}"
                advance(0, note=f"{count}, about {left} left: {note}")

        new = run_cells(file, datasets, methods, watch=watch, **run)
    records = latest(file.read(), run["setup"])
    file.close()
    wanted = {
        (d.name, m.name, t) for d in datasets for m in methods for t in range(run["n_trials"])
    }
    done = {(r["dataset"], r["method"], r["trial"]): r.get("error") for r in records}
    n_missing = len(wanted - set(done))
    failures = [
        f"{data} {method}: {done[data, method, trial]}"
        for data, method, trial in sorted(wanted & set(done))
        if done[data, method, trial]
    ]
    for failure in dict.fromkeys(failures):
        output.remark(f"failed: {failure}")
    if output.as_json:
        counts = {"new_cells": len(new), "missing_cells": n_missing, "failed_cells": len(failures)}
        output.json({"results": str(path), **counts})
    else:
        output.line(f"{path}: {len(new)} new cells, {n_missing} of {len(wanted)} still to do.")
        show(records)
    if failures:
        raise click.ClickException(
            f"{len(failures)} of {len(wanted)} cells failed; their errors are in {path}"
        )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _print_rows(output: Output, rows: Sequence[Any], name: str) -> None:
    from prml.bench.summary import SHORT_TITLES, figure

    lines = [
        [row.method, *(figure(mean) for mean in row.mean), str(row.n_trials), f"{row.seconds:.1f}"]
        for row in rows
        if row.dataset == name and row.n_trials
    ]
    output.table(["method", *SHORT_TITLES, "trials", "s"], lines)


@bench_command.command("methods")
@with_output
def methods_command(output: Output) -> None:
    """List the methods that can be compared."""
    from prml.bench.methods import METHODS, is_available

    rows = [m for m in METHODS.values() if is_available(m)]
    if output.as_json:
        output.json({m.name: {"summary": m.summary, "searched": len(m.grid)} for m in rows})
        return
    for method in rows:
        searched = f"; {len(method.grid)} settings searched" if len(method.grid) > 1 else ""
        output.line(f"{method.name:<13} {method.summary}{searched}")


@bench_command.command("report")
@with_results(FOLDER / "paper.jsonl")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write into; by default that of the results.",
)
@click.option("--quick", is_flag=True, help="Report the cells of `--quick` runs.")
@with_output
def report_command(output: Output, results: Path, out: Path | None, quick: bool) -> None:
    """Write a page, a Markdown table, paper_table.json and the figures from the results."""
    from prml.bench import ResultsFile
    from prml.bench.report import write_report

    if not results.is_file():
        raise click.UsageError(
            f"{results}: there is no such results file; `prml bench paper` first"
        )
    file = ResultsFile(results)
    records = file.read()
    if file.n_unreadable:
        output.remark(f"note: {results} has {file.n_unreadable} line(s) cut short; left out.")
    paths = write_report(out or results.parent, records, setup="quick" if quick else "full")
    if output.as_json:
        output.json([str(path) for path in paths])
        return
    for path in paths:
        output.line(str(path))


@bench_command.command("privileged")
@click.option("-d", "--dataset", default="corel5k", show_default=True)
@click.option(
    "-k", "--dimension", "dimensions", type=click.IntRange(0), multiple=True,
    help="A number of privileged labels; may be repeated.",
)  # fmt: skip
@click.option("--theta", type=POSITIVE, default=float("inf"), show_default=True)
@click.option("--loss", type=click.Choice(LOSSES), default="hinge", show_default=True)
@click.option("-C", "C", type=POSITIVE, default=0.001, show_default=True)
@click.option("--gamma2", type=POSITIVE, default=2.0, show_default=True)
@click.option("--unit-rows", is_flag=True, help="Scale the rows of X to unit norm.")
@with_results(FOLDER / "privileged.jsonl")
@with_run_options
@with_output
def privileged_command(
    output: Output,
    run: dict[str, Any],
    dataset: str,
    dimensions: tuple[int, ...],
    theta: float,
    loss: str,
    C: float,
    gamma2: float,
    unit_rows: bool,
    results: Path,
) -> None:
    """Study how many labels should comment on each label, as the paper's Figure 2.

    Each choice of the parameters is a line of the figure; one file holds several.
    """
    from prml.bench import load_data
    from prml.bench.studies import DIMENSIONS, privileged_methods

    if run.pop("methods"):
        raise click.UsageError("--method has no meaning here: PrML is compared with LEML")
    data = load_data(dataset)
    methods = privileged_methods(
        dimensions or DIMENSIONS,
        data.Y.shape[1],
        theta=theta,
        loss=loss,
        C=C,
        gamma2=gamma2,
        unit_rows=unit_rows,
    )
    _run(output, run, [data], results, methods)


@bench_command.command("convergence")
@click.option(
    "-d", "--dataset", "datasets", multiple=True, default=("yeast", "enron", "corel5k"),
    show_default=True, help="A dataset; may be repeated.",
)  # fmt: skip
@click.option("--seconds", type=POSITIVE, default=30, show_default=True)
@click.option("-C", "C", type=POSITIVE, default=0.01, show_default=True)
@click.option("--gamma2", type=POSITIVE, default=1.0, show_default=True)
@click.option("--theta", type=POSITIVE, default=2.0, show_default=True)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=FOLDER / "convergence.json",
    show_default=True,
)
@with_output
def convergence_command(
    output: Output,
    datasets: tuple[str, ...],
    seconds: float,
    C: float,
    gamma2: float,
    theta: float,
    out: Path,
) -> None:
    """Follow the duality gap of PrML over time, by algorithm and start."""
    from prml.bench import load_data
    from prml.bench.studies import converge, write_convergence

    panels = {}
    with output.progress("Datasets", total=len(datasets)) as advance:
        for name in dict.fromkeys(datasets):
            panels[name] = converge(
                load_data(name), C=C, gamma2=gamma2, theta=theta, seconds=seconds
            )
            advance(note=name)
    write_convergence(out, panels)
    for name, curves in panels.items():
        for curve in curves:
            output.line(f"{name}, {curve.name}: gap {min(curve.gaps):.2g}")
    output.line(str(out))


@bench_command.command("gallery")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=FOLDER / "gallery.html",
    show_default=True,
)
@click.option("--corel5k/--no-corel5k", default=True, show_default=True)
@with_output
def gallery_command(output: Output, out: Path, corel5k: bool) -> None:
    """Write a page of examples with their true labels and the five that PrML puts first."""
    from prml.bench.gallery import corel5k_gallery, debtags_gallery
    from prml.bench.report import write_gallery

    makers = [debtags_gallery, *([corel5k_gallery] if corel5k else [])]
    galleries = []
    with output.progress("Datasets", total=len(makers)) as advance:
        for make in makers:
            galleries.append(make())
            advance(note=galleries[-1].title)
    write_gallery(out, galleries)
    output.line(str(out))
