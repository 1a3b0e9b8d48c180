"""What is here: which format a data file has, by its name, its first line or the user's word."""

from pathlib import Path

import click

from prml.datasets.text_input import shown

FORMATS = ("arff", "csv", "libsvm", "npz", "parquet", "text", "xmc")
COMPRESSED = (".gz", ".bz2", ".xz")
_ENDINGS = {
    ".arff": "arff",
    ".csv": "csv",
    ".tsv": "csv",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".npz": "npz",
    ".parquet": "parquet",
    ".xmc": "xmc",
}


def format_of(path: Path, given: str | None) -> str:
    """Return the format of a file; `.txt` is XMC when its first line is three numbers."""
    if given is not None:
        return given
    bare = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    ending = bare.suffix.lower()
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if ending in (".txt", ".dat", ""):
        from prml.datasets.text_input import open_lines

        with open_lines(path) as reader:
            words = reader.readline().split()
        three_numbers = len(words) == 3 and all(word.isdigit() for word in words)
        return "xmc" if three_numbers else "libsvm"
    raise click.UsageError(
        f"{path}: the ending {ending!r} tells no format; --format takes one of {', '.join(FORMATS)}"
    )


def label_choice(text: str | None) -> int | str | list[str] | None:
    """Read `--labels`: a number (-n: the last n), a Mulan XML file, or names joined by commas."""
    if text is None:
        return None
    stripped = text.strip()
    try:
        return int(stripped)
    except ValueError:
        pass
    if stripped.lower().endswith(".xml"):
        return stripped
    names = [name.strip() for name in stripped.split(",")]
    if not all(names):
        raise click.UsageError(
            f"--labels is {shown(text)}; expected a number, names joined by commas, or a .xml file"
        )
    return names
