"""What is here: how many bytes a fit over workers moves, counted and predicted.

With L labels, d + 1 columns (the features and the constant), V of rank r and L_w labels on worker w
a round moves ::

    up      8 L (d + 1)                                     the rows of M
    down    8 sum_w min(L_w (d + 1), r (d + 1) + L_w r)     what is new in V: rows, or factors

and an evaluation of the objective, every few rounds, 8 sum_i (p_i + 1) more for the teachers, p_i
being the number of labels that comment on label i. A pass that brings multipliers nearer to the
spectral ball, up to three before an evaluation where they pay, moves the rows of M once more and
the few directions in which they change.
"""

from typing import Any, NamedTuple

import numpy as np

from prml.solvers.coupling import DIRECTIONS

BYTES = 8  # of a float64


class RoundTraffic(NamedTuple):
    """Bytes of one round, as serialised: to the workers, from them, and the rank of V after it.

    `reliefs` counts the passes towards the spectral ball since the round before.
    """

    round: int
    down: int
    up: int
    rank: int
    reliefs: int = 0

    def __str__(self) -> str:
        return f"round {self.round}: {self.down:,} bytes down, {self.up:,} up, rank {self.rank}"


class Traffic:
    """Counts what is sent between the centre and the workers.

    Attributes
    ----------
    rounds : list of RoundTraffic
        The bytes since the round before, evaluations and repairs counted.
    down, up : int
        Bytes since the last round ended.
    reliefs : int
        Passes towards the spectral ball since then.
    """

    def __init__(self) -> None:
        self.rounds: list[RoundTraffic] = []
        self.down = self.up = self.reliefs = 0

    def end_round(self, round: int, rank: int) -> RoundTraffic:
        self.rounds.append(RoundTraffic(round, self.down, self.up, rank, self.reliefs))
        self.down = self.up = self.reliefs = 0
        return self.rounds[-1]

    @property
    def mean(self) -> float:
        """Bytes a round, both ways."""
        return float(np.mean([entry.down + entry.up for entry in self.rounds] or [0]))


def message_size(message: Any) -> int:
    """The bytes of a message as Dask sends it, without the frame around it."""
    from distributed.protocol import serialize

    return sum(memoryview(frame).nbytes for frame in serialize(message)[1])


def smaller_in_factors(n_rows: int, width: int, rank: int) -> bool:
    """Whether the factors of so many rows of V are less than the rows."""
    return rank * (width + n_rows) < n_rows * width


def expected_bytes(
    rows_by_worker: list[int], width: int, rank: int, reliefs: int = 0
) -> tuple[int, int]:
    """Bytes down and up in a round without an evaluation; the formula of the module.

    Examples
    --------
    >>> from prml.distributed.traffic import expected_bytes
    >>> expected_bytes([80, 79], 1837, 40)  # bibtex, two workers, rank 40
    (1226560, 2336664)
    """
    n_labels, n_workers = sum(rows_by_worker), sum(n_rows > 0 for n_rows in rows_by_worker)
    down = sum(min(n_rows * width, rank * (width + n_rows)) for n_rows in rows_by_worker if n_rows)
    down += reliefs * n_workers * min(rank, DIRECTIONS) * (width + n_labels)
    return BYTES * down, BYTES * (1 + reliefs) * n_labels * width


def expected_evaluation(n_teachers: list[int]) -> int:
    """Bytes of an evaluation: every label's teacher with its intercept."""
    return BYTES * (sum(n_teachers) + len(n_teachers))
