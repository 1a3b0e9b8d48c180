"""What is here: `python -m benchmarks.scaling`: doubling and threads of the speed file, drawn."""

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


def draw(entries: list[dict], threads: list[dict]) -> Figure:
    """Seconds of an epoch against n, L and d, the speed-up of two threads; the bars beside them."""
    figure, (axes,) = new_figure(3.1, columns=len(AXES) + 1)
    for ax, (axis, name) in zip(axes, AXES.items(), strict=False):
        if ax is not axes[0]:
            ax.sharey(axes[0])
            ax.tick_params(labelleft=False)
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
        ax.set(xscale="log", yscale="log", xticks=sizes, xticklabels=[_short(s) for s in sizes])
        ax.minorticks_off()
        ax.set_xlabel(name, fontsize=9)
    low, high = axes[0].get_ylim()
    ticks = [t for k in range(-1, 6) for t in (10**k, 2 * 10**k, 5 * 10**k) if low <= t <= high]
    axes[0].set_yticks(ticks, [f"{t:g}" for t in ticks])
    axes[0].set_ylabel("milliseconds an epoch", fontsize=9)
    lines, names = axes[0].get_legend_handles_labels()
    figure.legend(lines, names, frameon=False, fontsize=8, loc="outside upper left", ncols=3)
    _draw_threads(axes[-1], threads)
    return figure


def _short(size: int) -> str:
    return f"{size // 1000}k" if size >= 1000 else str(size)


def _draw_threads(ax, entries: list[dict]) -> None:
    """How many times as fast as one thread two of them are."""
    for entry, (colour, marker, dash) in zip(entries, LOOKS.values(), strict=False):
        speeds = [1.0, entry["value"]]
        ax.plot([1, 2], speeds, dash, color=colour, marker=marker, ms=5, label=entry["dataset"])
    bar = BARS["threads"].first
    ax.plot([1, 2], [1.0, bar], ":", color=GREY, lw=1.2, label=f"{bar:g} times")
    ax.set(xticks=[1, 2], xlim=(0.8, 2.2), ylim=(0.9, 2.3))
    ax.set_xlabel("threads", fontsize=9)
    ax.set_ylabel("times as fast as one", fontsize=9)
    ax.legend(frameon=False, fontsize=8, loc="upper left")


def main(source: Path = results_file.PATH, target: Path = PATH) -> None:
    """Read the speed file, write the figure beside it."""
    figures = json.loads(source.read_text())["figures"]
    entries = [entry for entry in figures if entry["row"] == "doubling"]
    if len(entries) < len(AXES) * len(LOOKS):
        raise SystemExit("The speed file has no doubling rows: python -m benchmarks --row doubling")
    threads = [entry for entry in figures if entry["row"] == "threads"]
    with replacing(target) as out:
        draw(entries, threads).savefig(out, format="png", dpi=150)


if __name__ == "__main__":
    main()
