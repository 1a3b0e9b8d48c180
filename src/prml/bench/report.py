"""What is here: the report - one self-contained page, a Markdown table, JSON and the figures."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from prml import __version__
from prml.bench import figures, studies
from prml.bench.claims import average_ranks, count_claims
from prml.bench.gallery import Gallery
from prml.bench.methods import METHODS
from prml.bench.paper_figures import PAPER_METHODS, printed_row
from prml.bench.results_file import Record, ResultsFile
from prml.bench.summary import (
    MARK,
    SHORT_TITLES,
    Row,
    best_means,
    code_counts,
    figure,
    markdown_table,
    summarise,
    write_paper_table,
)
from prml.datasets.atomic_file import replacing
from prml.metrics import METRICS, SIX


class Picture(NamedTuple):
    """A figure of the page."""

    name: str
    title: str
    caption: str
    drawing: Any

    @property
    def uri(self) -> str:
        return figures.as_data_uri(self.drawing)


def write_report(
    folder: Path, records: Sequence[Record], *, setup: str = "full", title: str | None = None
) -> list[Path]:
    """Write report.html, table.md, paper_table.json and the figures; return the paths.

    `folder` may hold `privileged.jsonl` and `convergence.json` of the studies: they get a figure.
    """
    rows = summarise(records, setup)
    if not rows:
        raise ValueError(f"there are no finished cells of a {setup} run; expected at least one.")
    folder.mkdir(parents=True, exist_ok=True)
    pictures = _pictures(folder, rows, setup)
    paths = [folder / "paper_table.json", folder / "table.md", folder / "report.html"]
    write_paper_table(paths[0], rows)
    _write(paths[1], markdown_table(rows).encode())
    page = render_page(
        "bench.html.j2",
        title=title or "The comparison",
        n_cells=sum(row.n_trials for row in rows),
        tables=_tables(rows),
        heads=_heads(),
        claims=count_claims(rows),
        pictures=pictures,
        methods=[METHODS[name] for name in METHODS if any(row.method == name for row in rows)],
        codes=code_counts(records, setup),
        machines=sorted({str(r.get("machine")) for r in records}),
        versions=sorted({_versions(r) for r in records}),
        mark=MARK,
        has_mixed=any(row.is_mixed for row in rows),
        setup=setup,
    )
    _write(paths[2], page.encode())
    for picture in pictures:
        path = folder / f"{picture.name}.png"
        _write(path, figures.as_png(picture.drawing))
        paths.append(path)
    return paths


def write_gallery(path: Path, galleries: Sequence[Gallery]) -> None:
    page = render_page("gallery.html.j2", title="True and predicted labels", galleries=galleries)
    _write(path, page.encode())


def render_page(template: str, **context: Any) -> str:
    """Fill a template of this package, which may extend those of `prml.report`."""
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    except ImportError as missing:
        raise ImportError(
            "The page needs jinja2; pip install 'prml[report]' brings it."
        ) from missing
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("prml.bench"), PackageLoader("prml.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(version=__version__, **context)


def _write(path: Path, content: bytes) -> None:
    with replacing(path) as out:
        out.write(content)


def _heads() -> list[str]:
    return [
        f"{title} {'↓' if METRICS[name].better == 'lower' else '↑'}"
        for title, name in zip(SHORT_TITLES, SIX, strict=True)
    ]


def _versions(record: Record) -> str:
    found = record.get("versions", {})
    return ", ".join(f"{name} {found[name]}" for name in found if name != "prml")


def _tables(rows: Sequence[Row]) -> list[dict[str, Any]]:
    tables = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        ours = [row for row in rows if row.dataset == dataset]
        best = best_means(ours)
        lines = []
        for row in ours:
            printed = printed_row(dataset, row.method)
            cells = []
            for m in range(len(SIX)):
                paper = None
                if printed is not None and row.method in PAPER_METHODS:
                    paper = f"{figure(printed.mean[m])} ± {figure(printed.std[m])}"
                undefined = math.isnan(row.mean[m])
                cells.append(
                    {
                        "mean": "-" if undefined else figure(row.mean[m]),
                        "std": figure(row.std[m]) if row.n_trials > 1 and not undefined else None,
                        "paper": paper,
                        "is_best": round(row.mean[m], 3) == best[m],
                    }
                )
            lines.append({"row": row, "cells": cells})
        tables.append({"dataset": dataset, "lines": lines})
    return tables


def _pictures(folder: Path, rows: Sequence[Row], setup: str) -> list[Picture]:
    pictures = []
    ranks = average_ranks(rows)
    if ranks is not None:
        caption = (
            f"Mean rank over the six metrics and {len(ranks.datasets)} datasets "
            f"({', '.join(ranks.datasets)}); 1 is best. Methods under one bar are not told apart "
            "at the 5 % level (Nemenyi)."
        )
        drawing = figures.draw_ranks(ranks)
        pictures.append(Picture("ranks", "Average ranks", caption, drawing))
    pictures.append(
        Picture(
            "time",
            "Time against accuracy",
            "Hollow: the set-up of the paper's table; filled: tuned. Seconds of one trial, its "
            "search included, against average precision.",
            figures.draw_time_and_accuracy(rows),
        )
    )
    study = folder / "privileged.jsonl"
    if study.is_file():
        lines, levels = studies.privileged_rows(ResultsFile(study).read(), setup)
        if lines:
            n = min(row.n_trials for by_k in lines.values() for row in by_k.values())
            pictures.append(
                Picture(
                    "privileged",
                    "How many labels should comment?",
                    "Metrics against the number of nearest labels that teach each label; bands are "
                    f"one standard deviation, at least {n} trials a point. LEML has no teacher.",
                    figures.draw_privileged(lines, levels),
                )
            )
    converged = folder / "convergence.json"
    if converged.is_file():
        pictures.append(
            Picture(
                "convergence",
                "Convergence",
                "Relative duality gap to the global optimum against time; the paper starts from "
                "multipliers of 0.",
                figures.draw_convergence(studies.read_convergence(converged)),
            )
        )
    return pictures
