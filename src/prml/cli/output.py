"""What is here: how every command speaks - results on stdout, progress and remarks on stderr."""

import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import click

Advance = Callable[..., None]


class Output:
    """Write the results of a command to standard output and its progress to standard error.

    Parameters
    ----------
    quiet : bool
        No progress and no remarks.
    as_json : bool
        The command prints one JSON value and no table.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False):
        self.quiet = quiet
        self.as_json = as_json

    def remark(self, sentence: str) -> None:
        if not self.quiet:
            click.echo(sentence, err=True)

    def line(self, text: str = "") -> None:
        click.echo(text)

    def json(self, value: Any) -> None:
        click.echo(json.dumps(plain(value), ensure_ascii=False, allow_nan=False))

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None
    ) -> None:
        """Print a table; every column after the first is aligned to the right."""
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for i, name in enumerate(columns):
            table.add_column(Text(name), justify="left" if i == 0 else "right")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        Console(file=sys.stdout, highlight=False).print(table)

    @contextmanager
    def progress(self, doing: str, total: int | None = None) -> Iterator[Advance]:
        """Show progress: a live bar on a terminal, a few plain lines in a pipe, or nothing.

        Yields `advance(steps=1, note="")`.
        """
        if self.quiet:
            yield lambda steps=1, note="": None
        elif sys.stderr.isatty():
            with _live_bar(doing, total) as advance:
                yield advance
        else:
            yield _plain_lines(doing, total)


@contextmanager
def _live_bar(doing: str, total: int | None) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = [TextColumn("{task.description}"), BarColumn()]
    columns += [MofNCompleteColumn(), TimeRemainingColumn()] if total else [TimeElapsedColumn()]
    columns += [TextColumn("{task.fields[note]}")]
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(doing, total=total, note="")
        yield lambda steps=1, note="": progress.update(task, advance=steps, note=note)


def _plain_lines(doing: str, total: int | None, every: float = 2.0) -> Advance:
    """Return an `advance` that writes a line at the start and the end, and few between."""
    done = 0
    last = -math.inf

    def advance(steps: int = 1, note: str = "") -> None:
        nonlocal done, last
        done += steps
        now = time.monotonic()
        if now - last < every and done != total:
            return
        last = now
        count = f" {done}/{total}" if total else ""
        click.echo(f"{doing}{count}{'  ' + note if note else ''}", err=True)

    return advance


def plain(value: Any) -> Any:
    """Turn NumPy values and containers into what JSON knows; NaN and infinities become null."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def with_output(command: Callable) -> Callable:
    """Add `--quiet` and `--json`; the command is given an `output` instead of the two."""

    @click.option("-q", "--quiet", is_flag=True, help="No progress and no remarks.")
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON value, for programs.")
    @wraps(command)
    def wrapped(*args: Any, quiet: bool, as_json: bool, **options: Any) -> Any:
        output = Output(quiet, as_json)
        with warnings.catch_warnings():
            # A warning of the library is a remark of the command: one line, no file and line.
            warnings.showwarning = lambda message, *_, **__: output.remark(f"note: {message}")
            return command(*args, output=output, **options)

    return wrapped
