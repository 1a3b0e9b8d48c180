"""What is here: what the constructor parameters may be, and the sentence when they are not."""

import math
import numbers
import os
from collections.abc import Callable
from typing import Any

import numpy as np

Check = tuple[Callable[[Any], bool], str]


def _real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def _positive(value: Any) -> bool:
    return _real(value) and 0 < value < math.inf


def _count(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 1


def one_of(*values: Any) -> Check:
    listed = ", ".join(map(repr, values))
    return (lambda value: isinstance(value, str) and value in values), f"one of {listed}"


def one_of_or_callable(*values: Any) -> Check:
    accepts, listed = one_of(*values)
    return (lambda value: callable(value) or accepts(value)), f"{listed}, or a callable"


POSITIVE: Check = (_positive, "a finite number above 0")
POSITIVE_OR_INF: Check = (lambda v: _real(v) and v > 0, "a number above 0, or inf")
NON_NEGATIVE: Check = (lambda v: _real(v) and 0 <= v < math.inf, "a finite number, 0 or more")
POSITIVE_OR_NONE: Check = (lambda v: v is None or _positive(v), "a number above 0, or None")
COUNT: Check = (_count, "a whole number, 1 or more")
COUNT_OR_NONE: Check = (lambda v: v is None or _count(v), "a whole number, 1 or more, or None")
PATH_OR_NONE: Check = (
    lambda v: v is None or (isinstance(v, str | os.PathLike) and str(v) != ""),
    "the name of a file, or None",
)
YES_NO: Check = (lambda v: isinstance(v, bool | np.bool_), "True or False")


def check_parameters(estimator: Any, table: dict[str, Check]) -> None:
    """Raise a ValueError that names the first parameter outside its table entry."""
    for name, (accepts, expected) in table.items():
        value = getattr(estimator, name)
        if not accepts(value):
            raise ValueError(
                f"{type(estimator).__name__}: {name} is {value!r}; expected {expected}."
            )
