"""What is here: the maker of the documentation's walk through the commands, from a real run.

    python -m scripts.walk_commands docs/command_line.rst

Every command is run in a fresh folder, in this order, and shown with what it printed.
"""

import sys
import tempfile
from pathlib import Path

from scripts.real_run import run

HEAD = """\
The command line
================

What ``prml`` prints, from a real run (``make walk`` makes this page). Every command
has ``--help`` with an example, ``--quiet`` and ``--json``. Results go to standard output; progress
and remarks, here shown before them, to standard error. The exit code is 0 when the work is done, 1
when it failed, 2 for wrong usage or bad input, and then one sentence says what is wrong.
Shell completion: ``eval "$(_PRML_COMPLETE=bash_source prml)"`` (or ``zsh_source``,
``fish_source``).
"""

WALK = [
    (
        "A look around",
        "The embedded data need nothing; the others are found on disk or fetched once.",
        ["prml --help", "prml datasets", "prml datasets emotions", "prml demo"],
    ),
    (
        "Text: the tags of Debian packages",
        "A dataset that comes with a split is fitted on one part and evaluated on the other. Text "
        "goes through tf-idf, which the model file keeps.",
        [
            "prml fit debtags -o tags.prml",
            "prml evaluate tags.prml debtags",
            'prml predict tags.prml --text "graphical music player"',
            'prml predict tags.prml --text "graphical music player" -k 5',
            "printf 'play chess\\nconvert sound files\\n' | prml predict tags.prml - --to jsonl",
            "prml inspect tags.prml --label use::editing --top 5",
            "prml report tags.prml debtags --baseline -o tags.html",
        ],
    ),
    (
        "Numbers: emotions as ARFF",
        "The last six attributes are the labels. LIBSVM, XMC, npz, CSV and Parquet are read alike.",
        [
            "prml fit train.arff --labels -6 -e PrBR --scale standard -o emotions.prml",
            "prml evaluate emotions.prml test.arff --metrics ranking_loss,micro_f1",
            "prml predict emotions.prml test.arff --labels -6 | head -4",
            "prml predict emotions.prml test.arff --labels -6 --what scores -o scores.npz",
            "prml fit train.arff --labels -6 -e LEML -p n_components=4 -o leml.prml",
            "prml inspect leml.prml",
            "prml export emotions.prml -o emotions.onnx --check test.arff --labels -6",
            "prml fit train.arff --labels -6 --cv 3 --time-limit 20 -o best.prml",
            "prml bench run --data train.arff --labels -6 -m BR -m PrBR-theta --trials 2 --quick "
            "--results own.jsonl",
            "prml bench report --results own.jsonl --quick --out own",
        ],
    ),
    (
        "When something is wrong",
        "",
        [
            "prml fit train.arff --labels -6 -e PrBR -p c=1 -o m.prml; echo $?",
            "prml predict train.arff test.arff; echo $?",
            "prml fit train.arff --labels mood -o m.prml; echo $?",
        ],
    ),
]


def show(command: str, folder: str) -> str:
    """Run a command; return it and what it printed, as a block of reStructuredText."""
    lines = [f"$ {command}", *run(command, folder, columns=100)]
    indented = "\n".join(f"   {line}".rstrip() for line in lines)
    return f".. code-block:: console\n\n{indented}\n"


def write_emotions(folder: Path) -> None:
    """Write emotions as two ARFF files, by the split it comes with or else every third row."""
    import numpy as np

    from prml.datasets import dump_arff, load_dataset

    data = load_dataset("emotions")
    train, test = data.train_idx, data.test_idx
    if train is None:
        rows = np.arange(data.X.shape[0])
        train, test = rows[rows % 3 != 0], rows[rows % 3 == 0]
    for name, part in (("train", train), ("test", test)):
        dump_arff(
            folder / f"{name}.arff",
            data.X[part],
            data.Y[part],
            feature_names=data.feature_names,
            label_names=data.label_names,
        )


def main(argv: list[str]) -> int:
    if len(argv) != 1:
        print("usage: python -m scripts.walk_commands OUTPUT.rst", file=sys.stderr)
        return 2
    sections = [HEAD]
    with tempfile.TemporaryDirectory() as folder:
        write_emotions(Path(folder))
        for title, text, commands in WALK:
            sections += [f"{title}\n{'-' * len(title)}\n", *([f"{text}\n"] if text else [])]
            sections += [show(command, folder) for command in commands]
    Path(argv[0]).write_text("\n".join(sections), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
