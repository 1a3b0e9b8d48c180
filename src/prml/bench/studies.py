"""What is here: the two studies beside the table - the privileged dimension, and convergence."""

import importlib.util
import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from prml.bench.figures import Curve
from prml.bench.methods import METHODS, Method, Parameters, family_builder
from prml.bench.protocol import Data, Halves, halves
from prml.bench.provenance import code_version, machine
from prml.bench.results_file import Record
from prml.bench.summary import Row, summarise
from prml.datasets.atomic_file import replacing

DIMENSIONS = (0, 10, 50, 100, 150, 200, 250, 300, 350, 365, 373)
WITHOUT_TEACHER = ("LEML", "LEML-fair")


def privileged_methods(
    dimensions: Sequence[int],
    n_labels: int,
    *,
    theta: float = math.inf,
    loss: str = "hinge",
    C: float = 0.001,
    gamma2: float = 2.0,
    unit_rows: bool = False,
) -> list[Method]:
    """PrML taught by the K nearest labels, for each K, and the methods without a teacher.

    The rank is bounded by .9 n_labels for all, as in the paper, and the parameters are the same for
    every K: what differs along a line is the teacher alone. By default they are those that the
    search of the table, with all labels as teachers, chooses on each of the ten halves of corel5k.
    """
    entry: Parameters = {"C": C, "gamma2": gamma2}
    if unit_rows:
        entry["unit_rows"] = True
    line = _line_name(theta, loss, entry)
    methods = []
    for k in sorted({min(k, n_labels - 1) for k in dimensions}):
        build = family_builder("PrML", theta=theta, loss=loss, privileged=k, rank_share=0.9)
        summary = f"PrML, theta = {theta:g}, the {k} nearest labels comment"
        methods.append(Method(f"{line}, K={k}", summary, "family", build, (entry,), effort=8))
    return [*methods, *(METHODS[name] for name in WITHOUT_TEACHER)]


def _line_name(theta: float, loss: str, entry: Parameters) -> str:
    """What tells a line from another; a cell of one is not taken for a cell of the other."""
    parts = ["PrML"]
    if not math.isinf(theta):
        parts.append(f"theta={theta:g}")
    if loss != "hinge":
        parts.append(loss.replace("_", " "))
    parts.append(f"C={entry['C']:g}")
    if entry["gamma2"] != 2.0:
        parts.append(f"gamma2={entry['gamma2']:g}")
    if entry.get("unit_rows"):
        parts.append("unit rows")
    return ", ".join(parts)


def privileged_rows(
    records: Sequence[Record], setup: str = "full"
) -> tuple[dict[str, dict[int, Row]], dict[str, Row]]:
    """The study's records as lines over K, and as levels without a teacher."""
    lines: dict[str, dict[int, Row]] = {}
    levels: dict[str, Row] = {}
    for row in summarise(records, setup):
        title, is_line, k = row.method.partition(", K=")
        if is_line:
            lines.setdefault(title, {})[int(k)] = row
        else:
            levels[row.method] = row
    return dict(sorted(lines.items())), levels


def converge(
    data: Data, *, C: float, gamma2: float, theta: float, seconds: float, tol: float = 1e-4
) -> list[Curve]:
    """Gap against time on trial 0: convex, convex from the paper's start, alternating if there."""
    parts = halves(data, 0)
    curves = []
    plans: list[tuple[str, str, bool]] = [
        ("convex", "convex", False),
        ("convex, paper's start", "convex", True),
    ]
    if importlib.util.find_spec("prml.solvers.alternating") is not None:
        plans.append(("alternating", "alternating", False))
    few = Halves(*(part[:30] for part in parts))
    for name, algorithm, from_zero in plans:
        # once on a few rows, so that no curve pays for compiling
        _fit_history(few, algorithm, from_zero, C=C, gamma2=gamma2, theta=theta, seconds=1, tol=tol)
        history = _fit_history(
            parts, algorithm, from_zero, C=C, gamma2=gamma2, theta=theta, seconds=seconds, tol=tol
        )
        points = [(r["time"], r["gap"]) for r in history if r.get("gap") is not None]
        if points:
            times, gaps = zip(*points, strict=True)
            curves.append(Curve(name, times, gaps))
    return curves


def _fit_history(parts, algorithm, from_zero, *, C, gamma2, theta, seconds, tol) -> list[dict]:
    from prml import PrML

    model = PrML(
        C=C, gamma2=gamma2, theta=theta, algorithm=algorithm, tol=tol, max_time=seconds,
        max_iter=10**6, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not from_zero:
            return model.fit(parts.X_train, parts.Y_train).history_
        # the paper starts from alpha = beta = 0, the solver from beta = C
        from prml.solvers.lowrank import solve_low_rank

        training_set, numbers = model._read_problem(parts.X_train, parts.Y_train, None)
        starts = []
        for i in range(training_set.n_labels):
            problem = training_set.problem(i, numbers)
            starts.append((np.zeros(len(problem.rows)), np.zeros(len(problem.norm))))
        monitor = model._monitor()
        solve_low_rank(
            training_set, numbers, 1.0, tol=tol, max_iter=10**6, seed=0, monitor=monitor,
            starts=starts,
        )  # fmt: skip
        return monitor.history


def write_convergence(path: Path, panels: dict[str, list[Curve]]) -> None:
    value = {
        "code": code_version(),
        "machine": machine(),
        "panels": {name: [curve._asdict() for curve in curves] for name, curves in panels.items()},
    }
    with replacing(path) as out:
        out.write(json.dumps(value, indent=1).encode() + b"\n")


def read_convergence(path: Path) -> dict[str, list[Curve]]:
    panels = json.loads(path.read_text())["panels"]
    return {name: [Curve(**curve) for curve in curves] for name, curves in panels.items()}
