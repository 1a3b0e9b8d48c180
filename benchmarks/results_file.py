"""What is here: the figures as JSON, with the machine and the command behind each."""

import json
from pathlib import Path
from typing import Any

from benchmarks.bars import BARS, Figure, verdict
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


def _key(entry: dict[str, Any]) -> tuple[str, str, str]:
    return entry["row"], entry["dataset"], entry["setting"]
