"""What is here: the figures as JSON and as a table, with the machine and the commands behind."""

import json
from pathlib import Path
from typing import Any

from benchmarks.bars import BARS, Figure, as_table, verdict
from prml.datasets.atomic_file import replacing

PATH = Path(__file__).parent / "results" / "speed.json"


def keep(path: Path, figures: list[Figure], machine: dict[str, Any], command: str) -> None:
    """Write the figures; those that the file has from the same machine stay unless made anew."""
    kept: dict[tuple[str, str, str], dict[str, Any]] = {}
    if path.is_file():
        before = json.loads(path.read_text())
        if before["machine"] == machine:
            kept = {_key(entry): entry for entry in before["figures"]}
    for figure in figures:
        entry = {
            **figure._asdict(),
            "bar": BARS[figure.row]._asdict(),
            "verdict": verdict(BARS[figure.row], figure),
            "command": command,
        }
        kept[_key(entry)] = entry
    order = list(BARS)
    entries = sorted(kept.values(), key=lambda entry: order.index(entry["row"]))
    text = json.dumps({"machine": machine, "figures": entries}, indent=1)
    with replacing(path) as out:
        out.write(text.encode() + b"\n")
    with replacing(path.with_suffix(".md")) as out:
        out.write(as_page(entries, machine).encode())


def as_page(entries: list[dict[str, Any]], machine: dict[str, Any]) -> str:
    """The figures as a page of Markdown."""
    figures = [Figure(*(entry[name] for name in Figure._fields)) for entry in entries]
    commands = dict.fromkeys(entry["command"] for entry in entries)
    return "\n".join(
        [
            "# Speed beside LIBLINEAR",
            "",
            "Ratios measured in one run on the same split and as many threads; made by",
            "",
            *(f"    {command}" for command in commands),
            "",
            "on " + ", ".join(f"{name} {value}" for name, value in machine.items()) + ".",
            "",
            as_table(figures),
            "",
        ]
    )


def _key(entry: dict[str, Any]) -> tuple[str, str, str]:
    return entry["row"], entry["dataset"], entry["setting"]
