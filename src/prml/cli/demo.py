"""What is here: `prml demo` - the tags of Debian packages, learned, scored and shown."""

import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from prml.cli.output import Advance, Output, with_output

if TYPE_CHECKING:
    import numpy as np
    from sklearn.utils import Bunch

N_SHOWN = 10
TAUGHT = "sound::player"


class Run(NamedTuple):
    """A fitted model and how it did on the packages kept aside."""

    name: str
    learner: Any
    scores: "np.ndarray"
    table: dict[str, float]
    seconds: float


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

    The data are in the package: nothing is fetched. Two methods, each at its defaults, are
    scored on packages kept aside; the page shows ten of these with true and predicted tags.
    """
    if not no_report and not report_path.absolute().parent.is_dir():
        raise click.UsageError(f"{report_path}: there is no such folder to write the page into.")
    if not no_report and find_spec("jinja2") is None:
        raise click.ClickException(
            "the page needs jinja2; pip install 'prml[report]' brings it, --no-report does without."
        )

    from prml.datasets.debtags import load_debtags

    data = load_debtags()
    output.remark(
        f"{len(data.text)} Debian packages, {len(data.label_names)} tags, "
        f"{data.Y.nnz / len(data.text):.1f} tags a package; {len(data.train_idx)} to learn from."
    )
    methods = []
    for name, learner in _learners().items():
        with output.progress(f"Fitting {name}") as advance:
            methods.append(_run(name, learner, data, advance))
    page = None if no_report else _write_page(report_path, data, methods)
    if output.as_json:
        told: dict[str, Any] = {m.name: {"seconds": m.seconds, "scores": m.table} for m in methods}
        output.json({"methods": told, "report": None if page is None else str(page)})
        return
    _print(output, data, methods)
    if page is not None:
        output.line(f"Ten packages with their true and predicted tags: {page}")


def _learners() -> dict[str, Any]:
    """The first model of a new user, and what most people would have taken instead."""
    from prml import PrBR
    from prml.baselines import BinaryRelevance

    return {
        "PrBR": PrBR(loss="squared_hinge"),
        "LIBLINEAR": BinaryRelevance(loss="squared_hinge", random_state=0),
    }


def _run(name: str, learner: Any, data: "Bunch", advance: Advance) -> Run:
    from prml.metrics import evaluate

    def show(record: dict[str, Any]) -> None:
        gap = record.get("gap", 1.0)  # the first bounds are far apart and tell nothing
        advance(note=f"gap {gap:.2g}" if gap < 1.0 else "")

    train, test = data.train_idx, data.test_idx
    start = time.perf_counter()
    learner.set_params(callbacks=show).fit(data.X[train], data.Y[train])
    seconds = round(time.perf_counter() - start, 2)
    learner.label_names_ = data.label_names
    scores = learner.decision_function(data.X[test])
    return Run(name, learner, scores, evaluate(data.Y[test], scores).to_dict(), seconds)


def _chosen_rows(data: "Bunch") -> "np.ndarray":
    """Draw the packages to show by lot, the same in every run."""
    import numpy as np

    return np.sort(np.random.default_rng(0).choice(len(data.test_idx), N_SHOWN, replace=False))


def _print(output: Output, data: "Bunch", methods: list[Run]) -> None:
    from prml.metrics import METRICS

    rows = []
    for name in methods[0].table:
        values = [f"{method.table[name]:.3f}" for method in methods]
        rows.append([METRICS[name].title, *values, METRICS[name].better])
    rows.append(["seconds to fit", *(f"{method.seconds:.1f}" for method in methods), "lower"])
    output.table(["metric", *(method.name for method in methods), "better"], rows)
    output.line("What PrBR says of some of them:")
    scores = methods[0].scores
    for row in _chosen_rows(data)[:3]:
        where = data.test_idx[row]
        predicted = [data.label_names[i] for i in (-scores[row]).argsort() if scores[row, i] > 0]
        output.line(f"  {data.package_names[where]}: {data.text[where]}")
        output.line(f"    predicted  {', '.join(predicted) or 'nothing'}")
        output.line(f"    true       {', '.join(data.label_names[data.Y[where].indices])}")
    teachers = ", ".join(f"{l} {w:+.2f}" for l, w in methods[0].learner.teachers(TAUGHT, 3))
    output.line(f"Who teaches {TAUGHT}: {teachers}")


def _write_page(path: Path, data: "Bunch", methods: list[Run]) -> Path:
    from prml.metrics import METRICS
    from prml.report import Example, ScoreRow, tags_of, write_demo_page

    examples = []
    for row in _chosen_rows(data):
        where = data.test_idx[row]
        tags = tags_of(data.Y[where].toarray(), methods[0].scores[row], data.label_names)
        examples.append(Example(data.package_names[where], data.text[where], tags))
    rows = []
    for name in methods[0].table:
        metric, values = METRICS[name], [method.table[name] for method in methods]
        rows.append(ScoreRow(metric.title, metric.better, metric.summary, values))
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
            "seconds to fit PrBR": f"{methods[0].seconds:.1f}",
        },
        methods=[method.name for method in methods],
        scores=rows,
        examples=examples,
        data_note=f"From {data.source}. {data.citation}",
    )
