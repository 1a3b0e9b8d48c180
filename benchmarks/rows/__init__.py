"""What is here: how each row of the table is measured; a `measure` yields figures."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.bars import Figure


class Options(NamedTuple):
    """What the command line asks for."""

    rows: tuple[str, ...]
    datasets: tuple[str, ...]
    quick: bool = False
    repeats: int = 3


Measure = Callable[[Options], Iterator[Figure]]
