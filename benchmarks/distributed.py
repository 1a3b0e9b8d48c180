"""What is here: `python -m benchmarks.distributed`: rounds, bytes and overhead of the scale-out.

- rounds: to a gap of 1e-2 with the labels in K = 1 to 64 blocks, simulated in one process; beside
  them the rounds that blocks with added steps (CoCoA+) need for one D-step;
- bytes: what 2 and 4 worker processes and the client send each other in a round, as serialised, as
  counted by the loopback device, and as the formula of the page says;
- overhead: seconds of a fit on two worker processes over those of n_jobs=2, in turn.
"""

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from benchmarks import machine
from benchmarks.cocoa import gram_of, rounds_of_added_blocks
from prml import PrML
from prml.datasets import load_dataset
from prml.datasets.atomic_file import replacing
from prml.distributed import fit_dask
from prml.distributed.centre import Centre, deal_labels
from prml.distributed.in_process import InProcess
from prml.distributed.part import Settings
from prml.distributed.traffic import expected_bytes, expected_evaluation
from prml.solvers.lowrank import run_rounds

RESULTS = Path(__file__).parent / "results" / "distributed.json"
IMAGE = Path(__file__).parents[1] / "docs" / "images" / "distributed-rounds.png"
BLOCKS = (1, 2, 4, 8, 16, 32, 64)
TOL = 1e-2
SETTINGS = {"enron": 0.01, "bibtex": 0.01, "corel5k": 0.01, "eurlex": 0.02}  # C
MAX_ADDED_ROUNDS = 400


def load(name: str) -> tuple[Any, Any]:
    """Half of a dataset; of eurlex 2000 rows of unit norm and the 200 most frequent labels."""
    data = load_dataset(name)
    half = np.random.default_rng(0).permutation(data.X.shape[0])[: data.X.shape[0] // 2]
    X, Y = data.X[half], sp.csr_matrix(data.Y)[half]
    if name == "eurlex":
        X, Y = normalize(X[:2000]), Y[:2000]
        counts = np.asarray(Y.sum(axis=0)).ravel()
        Y = Y[:, np.sort(np.argsort(-counts, kind="stable")[:200])]
    return X, Y


def measure_rounds(name: str, added: bool) -> dict[str, Any]:
    """Rounds for every K, ours and with added steps."""
    X, Y = load(name)
    model = PrML(C=SETTINGS[name], tol=TOL, random_state=0)
    training_set, numbers = model._read_problem(X, Y, None)
    gamma1 = float(model.gamma1)
    ours: dict[str, int] = {}
    others: dict[str, int | None] = {}
    Z = None
    for K in BLOCKS:
        blocks = deal_labels(training_set, K)
        workers = InProcess(training_set, Settings(numbers, gamma1, model._seed()), blocks, K)
        centre = Centre(workers, blocks, training_set, gamma1)
        solution = run_rounds(centre, tol=TOL, max_iter=2000, monitor=model._monitor())
        ours[str(K)], Z = solution.n_iter, solution.factors.product()
        print(f"{name}, K = {K}: {solution.n_iter} rounds", file=sys.stderr, flush=True)
    assert Z is not None
    G = gram_of(Z, gamma1)
    for K in BLOCKS if added else ():
        blocks = deal_labels(training_set, K)
        others[str(K)] = rounds_of_added_blocks(
            training_set, numbers, G, blocks, tol=TOL, max_rounds=MAX_ADDED_ROUNDS
        )
        print(f"{name}, K = {K}: {others[str(K)]} with added steps", file=sys.stderr, flush=True)
        if others[str(K)] is None:
            break
    return {"dataset": name, "tol": TOL, "C": SETTINGS[name], "rounds": ours, "added": others}


def measure_bytes(name: str, n_workers: int) -> dict[str, Any]:
    """Bytes of a fit on worker processes: counted, seen by the loopback device, predicted."""
    X, Y = load(name)
    with _cluster(n_workers) as client:
        fit_dask(PrML(C=SETTINGS[name], tol=0.5, random_state=0), X, Y, client)
        before = _loopback()
        model = fit_dask(PrML(C=SETTINGS[name], tol=TOL, random_state=0), X, Y, client)
        wire = _loopback() - before
    n_labels, width = Y.shape[1], X.shape[1] + 1
    rows = [len(part) for part in np.array_split(np.arange(n_labels), n_workers)]
    traffic = model.traffic_
    said = sum(sum(expected_bytes(rows, width, entry["rank"])) for entry in traffic[:-1])
    said += len(model.history_) * expected_evaluation([n_labels - 1] * n_labels)
    moved = sum(entry["down"] + entry["up"] for entry in traffic[1:])
    n_rounds = len(traffic) - 1
    return {
        "dataset": name,
        "workers": n_workers,
        "rounds": model.n_iter_,
        "rank": model.rank_,
        "gap": model.dual_gap_,
        "objective": model.objective_,
        "bytes_a_round": round(moved / n_rounds),
        "formula": round(said / n_rounds),
        "over_formula": round(moved / said, 3),
        "loopback_whole_fit": wire,
        "counted_whole_fit": sum(entry["down"] + entry["up"] for entry in traffic),
    }


def measure_overhead(name: str, repeats: int) -> dict[str, Any]:
    """Seconds of n_jobs=2 and of two worker processes, taken in turn; the quickest of each."""
    X, Y = load(name)
    settings = {"C": SETTINGS[name], "tol": TOL, "random_state": 0}
    seconds: dict[str, list[float]] = {"n_jobs=2": [], "2 workers": []}
    cpu: dict[str, list[float]] = {"n_jobs=2": [], "2 workers": []}
    loads = []
    with _cluster(2) as client:
        fit_dask(PrML(**settings | {"tol": 0.5}), X, Y, client)  # compiled code is loaded
        PrML(n_jobs=2, **settings | {"tol": 0.5}).fit(X, Y)
        for _ in range(repeats):
            loads.append(round(os.getloadavg()[0], 1))
            start, before = time.perf_counter(), time.process_time()
            alone = PrML(n_jobs=2, **settings).fit(X, Y)
            seconds["n_jobs=2"].append(round(time.perf_counter() - start, 2))
            cpu["n_jobs=2"].append(round(time.process_time() - before, 2))
            start, before = time.perf_counter(), _processor_seconds(client)
            model = fit_dask(PrML(**settings), X, Y, client)
            seconds["2 workers"].append(round(time.perf_counter() - start, 2))
            cpu["2 workers"].append(round(_processor_seconds(client) - before, 2))
    ratios = [b / a for a, b in zip(*seconds.values(), strict=True)]
    return {
        "dataset": name,
        "seconds": seconds,
        "ratio_of_quickest": round(min(seconds["2 workers"]) / min(seconds["n_jobs=2"]), 2),
        "median_of_ratios": round(float(np.median(ratios)), 2),
        "processor_seconds": cpu,
        "processor_ratio": round(min(cpu["2 workers"]) / min(cpu["n_jobs=2"]), 2),
        "load_average_before": loads,
        "objectives": [alone.objective_, model.objective_],
        "rounds": [alone.n_iter_, model.n_iter_],
    }


class _cluster:
    """Worker processes with one thread each, and a client of them."""

    def __init__(self, n_workers: int):
        from distributed import Client, LocalCluster

        self.cluster = LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
        )
        self.client = Client(self.cluster, set_as_default=False)

    def __enter__(self) -> Any:
        return self.client

    def __exit__(self, *error: Any) -> None:
        self.client.close()
        self.cluster.close()


def _processor_seconds(client: Any) -> float:
    """Of this process, the scheduler in it, and the workers: less disturbed than the clock."""
    return time.process_time() + sum(client.run(time.process_time).values())


def _loopback() -> int:
    """Bytes that have gone through the loopback device; all programs of the machine count."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.strip().startswith("lo:"))


def draw_rounds(rows: list[dict[str, Any]], path: Path) -> None:
    """Rounds against K: ours flat, with added steps rising."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.2), layout="constrained", facecolor="white")
    axes = figure.subplots(1, len(rows), squeeze=False)[0]
    for ax, row in zip(axes, rows, strict=True):
        looks = [("rounds", "#D55E00", "-", "o"), ("added", "#0072B2", "--", "s")]
        names = {"rounds": "the whole fit (prml)", "added": "one D-step, added steps (CoCoA+)"}
        for key, colour, dash, marker in looks:
            reached = {int(K): n for K, n in row[key].items() if n is not None}
            if reached:
                ax.plot(
                    list(reached), list(reached.values()), dash, color=colour, marker=marker,
                    label=names[key], markersize=5,
                )  # fmt: skip
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_xticks(BLOCKS, [str(K) for K in BLOCKS])
        ax.set_title(row["dataset"], fontsize=10)
        ax.set_xlabel("blocks K", fontsize=9)
        ax.tick_params(labelsize=8)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    axes[0].set_ylabel(f"rounds to a gap of {TOL:g}", fontsize=9)
    axes[0].legend(fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Measure what is asked for and keep it beside what was measured before."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("part", nargs="+", choices=["rounds", "bytes", "overhead", "draw"])
    parser.add_argument("--dataset", action="append", help="only this one (again for more)")
    parser.add_argument("--repeats", type=int, default=3, help="turns of the overhead")
    parser.add_argument("--no-added", action="store_true", help="leave the added steps out")
    parser.add_argument("--output", type=Path, default=RESULTS)
    asked = parser.parse_args(argv)
    warnings.filterwarnings("ignore", category=UserWarning)
    kept = json.loads(asked.output.read_text()) if asked.output.exists() else {}
    kept["machine"] = machine.describe()
    if "rounds" in asked.part:
        for name in asked.dataset or ("bibtex", "corel5k"):
            kept.setdefault("rounds", {})[name] = measure_rounds(name, not asked.no_added)
            _write(asked.output, kept)
    if "bytes" in asked.part:
        for name in asked.dataset or ("enron", "bibtex", "eurlex"):
            for n_workers in (2, 4):
                row = measure_bytes(name, n_workers)
                kept.setdefault("bytes", {})[f"{name}, {n_workers} workers"] = row
                print(json.dumps(row), flush=True)
                _write(asked.output, kept)
    if "overhead" in asked.part:
        for name in asked.dataset or ("bibtex",):
            kept.setdefault("overhead", {})[name] = measure_overhead(name, asked.repeats)
            print(json.dumps(kept["overhead"][name]), flush=True)
            _write(asked.output, kept)
    if ("rounds" in asked.part or "draw" in asked.part) and asked.output == RESULTS:
        draw_rounds(list(kept["rounds"].values()), IMAGE)
    return kept


def _write(path: Path, kept: dict[str, Any]) -> None:
    with replacing(path) as out:
        out.write(json.dumps(kept, indent=1).encode() + b"\n")


if __name__ == "__main__":
    main()
