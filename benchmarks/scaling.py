"""What is here: `python -m benchmarks.scaling`: the doubling rows of the speed file as a figure."""

import json
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks import results_file
from benchmarks.bars import BARS
from prml.bench.figures import BLUE, GREY, ORANGE, new_figure
from prml.datasets.atomic_file import replacing

PATH = results_file.PATH.with_name("scaling.png")
AXES = {"n": "examples", "L": "labels", "d": "features"}
LOOKS = {"sweep": (BLUE, "o", "-"), "PrML round": (ORANGE, "s", "--")}


def draw(entries: list[dict]) -> Figure:
    """Seconds of an epoch against n, L and d, and the slope of the bar."""
    figure, (axes,) = new_figure(2.9, columns=len(AXES), sharey=True)
    for ax, (axis, name) in zip(axes, AXES.items(), strict=True):
        highest = []
        for what, (colour, marker, dash) in LOOKS.items():
            entry = next(e for e in entries if e["setting"] == f"{axis}: {what}")
            sizes = [size[axis] for size in entry["details"]["sizes"]]
            seconds = [1e3 * each["wall"] for each in entry["details"]["seconds"]]
            ax.plot(sizes, seconds, dash, color=colour, marker=marker, ms=5, label=what)
            highest.append(seconds[0])
        bar = BARS["doubling"].first
        limit = [1.6 * max(highest) * bar**k for k in range(len(sizes))]
        ax.plot(sizes, limit, ":", color=GREY, lw=1.2, label=f"{bar:g} times a doubling")
        ax.set(xscale="log", yscale="log", xticks=sizes, xticklabels=[f"{s:,}" for s in sizes])
        ax.minorticks_off()
        ax.set_xlabel(name, fontsize=9)
    low, high = axes[0].get_ylim()
    ticks = [t for k in range(-1, 6) for t in (10**k, 2 * 10**k, 5 * 10**k) if low <= t <= high]
    axes[0].set_yticks(ticks, [f"{t:g}" for t in ticks])
    axes[0].set_ylabel("milliseconds an epoch", fontsize=9)
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def main(source: Path = results_file.PATH, target: Path = PATH) -> None:
    """Read the speed file, write the figure beside it."""
    figures = json.loads(source.read_text())["figures"]
    entries = [entry for entry in figures if entry["row"] == "doubling"]
    if len(entries) < len(AXES) * len(LOOKS):
        raise SystemExit("The speed file has no doubling rows: python -m benchmarks --row doubling")
    with replacing(target) as out:
        draw(entries).savefig(out, format="png", dpi=150)


if __name__ == "__main__":
    main()
