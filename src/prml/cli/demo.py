"""What is here: `prml demo` - the tags of Debian packages, learned, scored and shown."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prml.cli.output import Output, with_output

if TYPE_CHECKING:
    import numpy as np
    from sklearn.utils import Bunch

METHOD = "one-vs-rest LIBLINEAR"
N_SHOWN = 10


@click.command("demo", epilog="Example: prml demo --report tags.html")
@click.option(
    "--report",
    "report_path",
    type=click.Path(dir_okay=False, path_type=Path),
    default="demo-report.html",
    show_default=True,
    help="The page to write.",
)
@click.option("--no-report", is_flag=True, help="Write no page.")
@with_output
def demo_command(output: Output, report_path: Path, no_report: bool) -> None:
    """Learn the tags of Debian packages from their one-line descriptions.

    The data are in the package: nothing is fetched. The scores are those on packages kept
    aside, and the page shows ten of them with their true and predicted tags.
    """
    if not no_report and not report_path.absolute().parent.is_dir():
        raise click.UsageError(f"{report_path}: there is no such folder to write the page into.")

    from prml.datasets.debtags import load_debtags
    from prml.metrics import evaluate

    data = load_debtags()
    train, test = data.train_idx, data.test_idx
    n_labels = len(data.label_names)
    output.remark(
        f"{len(data.text)} Debian packages, {n_labels} tags, "
        f"{data.Y.nnz / len(data.text):.1f} tags a package; {len(train)} to learn from."
    )
    start = time.perf_counter()
    with output.progress("Fitting", total=n_labels) as advance:
        coef, intercept = fit_one_vs_rest(data.X[train], data.Y[train], advance)
    seconds = time.perf_counter() - start
    scores = data.X[test] @ coef.T + intercept
    table = evaluate(data.Y[test], scores)
    page = None if no_report else _write_page(report_path, data, scores, table, seconds)
    if output.as_json:
        figures = {"method": METHOD, "seconds": round(seconds, 2), "scores": table.to_dict()}
        output.json({**figures, "report": None if page is None else str(page)})
        return
    _print(output, data, scores, table, seconds)
    if page is not None:
        output.line(f"Ten packages with their true and predicted tags: {page}")


def fit_one_vs_rest(X, Y, advance: Callable[..., None]) -> "tuple[np.ndarray, np.ndarray]":
    """Fit LIBLINEAR's linear SVM for each label; return coef (n_labels, n_features), intercept."""
    import numpy as np
    from sklearn.svm import LinearSVC

    columns = Y.tocsc()
    coef = np.empty((Y.shape[1], X.shape[1]))
    intercept = np.empty(Y.shape[1])
    for label in range(Y.shape[1]):
        present = columns[:, [label]].toarray().ravel() > 0
        model = LinearSVC(C=1.0, random_state=0).fit(X, present)
        coef[label], intercept[label] = model.coef_[0], model.intercept_[0]
        advance()
    return coef, intercept


def _chosen_rows(data: "Bunch") -> "np.ndarray":
    """Draw the packages to show by lot, the same in every run."""
    import numpy as np

    return np.sort(np.random.default_rng(0).choice(len(data.test_idx), N_SHOWN, replace=False))


def _print(output: Output, data: "Bunch", scores, table, seconds: float) -> None:
    from prml.metrics import METRICS

    rows = []
    for name, value in table.to_dict().items():
        rows.append([METRICS[name].title, f"{value:.3f}", METRICS[name].better])
    output.table(["metric", METHOD, "better"], rows)
    output.line(f"Fitted in {seconds:.1f} s. For instance:")
    for row in _chosen_rows(data)[:3]:
        where = data.test_idx[row]
        predicted = [data.label_names[i] for i in (-scores[row]).argsort() if scores[row, i] > 0]
        output.line(f"  {data.package_names[where]}: {data.text[where]}")
        output.line(f"    predicted  {', '.join(predicted) or 'nothing'}")
        output.line(f"    true       {', '.join(data.label_names[data.Y[where].indices])}")


def _write_page(path: Path, data: "Bunch", scores, table, seconds: float) -> Path:
    from prml.metrics import METRICS
    from prml.report import Example, ScoreRow, tags_of, write_demo_page

    examples = []
    for row in _chosen_rows(data):
        where = data.test_idx[row]
        tags = tags_of(data.Y[where].toarray(), scores[row], data.label_names)
        examples.append(Example(data.package_names[where], data.text[where], tags))
    rows = [
        ScoreRow(METRICS[name].title, METRICS[name].better, METRICS[name].summary, [value])
        for name, value in table.to_dict().items()
    ]
    return write_demo_page(
        path,
        title="Tags for Debian packages",
        lead=(
            "Debian describes every package in one line, and people have tagged many of them by "
            "hand. Can the tags be learned from the line?"
        ),
        facts={
            "packages": f"{len(data.text):,}",
            "tags": str(len(data.label_names)),
            "tags a package": f"{data.Y.nnz / len(data.text):.1f}",
            "words and word pairs": f"{len(data.feature_names):,}",
            "seconds to fit": f"{seconds:.1f}",
        },
        methods=[METHOD],
        scores=rows,
        examples=examples,
        data_note=f"From {data.source}. {data.citation}",
    )
