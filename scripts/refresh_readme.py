"""What is here: the README's generated parts, made again from a real run and the benchmark.

    python -m scripts.refresh_readme            # or: make readme
    python -m scripts.refresh_readme --picture  # the picture of the demo's page too (Chromium)

A generated part stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->`; the rest is prose.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from scripts.real_run import run

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
TABLE = ROOT / "benchmarks" / "results" / "paper_table.json"
PICTURE = ROOT / "docs" / "images" / "demo-report.png"
FIT = "prml fit debtags -o tags.prml"
ASK = 'prml predict tags.prml --text "graphical music player"'
TRIALS = 10  # a mean of fewer says of how many
BEST = "PrML-best"
SHOWN_METRICS = {"average precision, higher is better": 4, "ranking loss, lower is better": 3}


def quiet(command: str, folder: str) -> list[str]:
    """What a command prints, without its progress."""
    return [line for line in run(command, folder) if not line.startswith("Fitting")]


def console(*blocks: list[str]) -> str:
    body = "\n".join(line for block in blocks for line in block)
    return f"```console\n{body}\n```"


def demo() -> str:
    """What `prml demo` prints; of its examples, the shortest."""
    with tempfile.TemporaryDirectory() as folder:
        lines = quiet("prml demo", folder)
    first = next(i for i, line in enumerate(lines) if line.startswith("What PrBR says"))
    examples = [lines[i : i + 3] for i in range(first + 1, len(lines) - 2, 3)]
    shortest = min(examples, key=lambda three: sum(map(len, three)))
    return console(["$ prml demo"], lines[: first + 1], shortest, lines[-2:])


def command_line() -> str:
    """From data to the tags of a sentence."""
    with tempfile.TemporaryDirectory() as folder:
        fitted = quiet(FIT, folder)
        asked = quiet(ASK, folder)
    return console([f"$ {FIT}"], fitted, [f"$ {ASK}"], asked)


def table() -> str:
    """Ranking metrics by method and dataset, from the benchmark's means."""
    from prml.bench import METHODS, PAPER_DATASETS
    from prml.bench.paper_figures import printed_row

    rows = json.loads(TABLE.read_text("utf-8")) if TABLE.is_file() else []
    means = {(row["method"], row["dataset"]): row["mean"] for row in rows}
    notes = {(row["method"], row["dataset"]): _note(row) for row in rows}
    datasets = [name for name in PAPER_DATASETS if any(d == name for _, d in means)]
    methods = [name for name in METHODS if any(m == name for m, _ in means)]
    parts = []
    for title, place in SHOWN_METRICS.items():
        better: Callable = max if "higher" in title else min
        parts += [f"| {title} | " + " | ".join(datasets) + " |", "|---|" + "---|" * len(datasets)]
        lines = {m: [_cell(means.get((m, d)), place) for d in datasets] for m in methods}
        best = [
            better((c[j] for c in lines.values() if c[j]), default="") for j in range(len(datasets))
        ]
        for method, cells in lines.items():
            shown = [
                (f"**{c}**" if c and c == b else c or "-") + notes.get((method, d), "")
                for c, b, d in zip(cells, best, datasets, strict=True)
            ]
            parts.append(
                f"| {METHODS[method].name}: {METHODS[method].summary} | {' | '.join(shown)} |"
            )
        printed = [printed_row(d, "PrML") for d in datasets]
        figures = ["-" if row is None else _cell(row.mean, place) for row in printed]
        parts += [f"| *PrML, as the paper prints it* | {' | '.join(figures)} |", ""]
    return "\n".join(parts).rstrip()


def _note(row: dict) -> str:
    """How many trials, where they are few, and whether the limit of a cell cut its fits short."""
    notes = [str(row["n_trials"])] if row["n_trials"] < TRIALS else []
    if row["n_cut_fits"] and row["method"] != BEST:  # which is made to end with its limit
        notes.append("cut")
    return f" ({', '.join(notes)})" if notes else ""


def _cell(mean, place: int) -> str:
    return "" if mean is None or mean[place] is None else f"{mean[place]:.3f}".replace("0.", ".")


PARTS: dict[str, Callable[[], str]] = {"demo": demo, "command line": command_line, "table": table}


def part(text: str, name: str) -> str:
    """The generated part of a text, without its marks."""
    found = re.search(
        rf"<!-- begin: {name} -->\n\n?(.*?)\n?\n<!-- end: {name} -->", text, flags=re.S
    )
    if found is None:
        raise ValueError(
            f"README.md has no part '{name}'; expected <!-- begin: {name} --> and an end."
        )
    return found.group(1)


def replace_part(text: str, name: str, new: str) -> str:
    part(text, name)
    pattern = rf"(<!-- begin: {name} -->\n).*?(<!-- end: {name} -->)"
    return re.sub(pattern, lambda marks: f"{marks[1]}\n{new}\n\n{marks[2]}", text, flags=re.S)


def take_picture() -> None:
    """Photograph the demo's page."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("the picture needs Chromium, which is not on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        run("prml demo --report page.html", folder)
        subprocess.run(
            [
                chromium,
                "--headless",
                "--no-sandbox",
                "--hide-scrollbars",
                "--window-size=900,1010",
                f"--screenshot={PICTURE}",
                f"file://{folder}/page.html",
            ],
            check=True,
            capture_output=True,
        )


def main(argv: list[str]) -> int:
    text = README.read_text("utf-8")
    for name, make in PARTS.items():
        text = replace_part(text, name, make())
    README.write_text(text, encoding="utf-8")
    if "--picture" in argv:
        take_picture()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
