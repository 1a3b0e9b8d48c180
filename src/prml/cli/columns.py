"""What is here: which columns of a table are text, features and labels."""

from collections.abc import Sequence
from dataclasses import dataclass

from prml.datasets.text_input import shown


@dataclass(frozen=True)
class Columns:
    """The columns of each kind, by name."""

    text: list[str]
    features: list[str]
    labels: list[str]


def choose_columns(
    source: str,
    names: Sequence[str],
    *,
    labels: int | str | Sequence[str] | None,
    text: Sequence[str],
    ignore: Sequence[str],
    features: Sequence[str] | None = None,
) -> Columns:
    """Divide the columns of `source`; without `features` every column left over is one.

    `labels` is a number (-n: the last n columns), a list of names, or None for no labels.
    """
    if isinstance(labels, str):
        raise ValueError(f"{source}: its labels are columns, given by names or a number.")
    if labels is None:
        label_names: list[str] = []
    elif isinstance(labels, int):
        if not 0 < abs(labels) < len(names):
            raise ValueError(f"{source} has {len(names)} columns; {labels} cannot be labels.")
        label_names = list(names[:labels] if labels > 0 else names[labels:])
    else:
        label_names = list(labels)
    roles = {"label": label_names, "text": text, "ignored": ignore, "feature": features or []}
    known = set(names)
    for role, wanted in roles.items():
        for column in wanted:
            if column not in known:
                listed = ", ".join(map(shown, names[:8])) + (" ..." if len(names) > 8 else "")
                raise ValueError(
                    f"{source} has no column {shown(column)} ({role}); it has {listed}."
                )
    if features is not None:
        return Columns(list(text), list(features), label_names)
    taken = {*label_names, *text, *ignore}
    rest = [] if text else [column for column in names if column not in taken]
    if not text and not rest:
        raise ValueError(f"{source} has no column left for the features.")
    return Columns(list(text), rest, label_names)
