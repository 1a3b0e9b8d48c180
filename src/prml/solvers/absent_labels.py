"""What is here: the labels that no example has, solved as one.

Their problems are the same up to the numbering of the labels that comment, and so are their
solutions. PrBR solves the first of them. In PrML's matrix k equal rows z count like one row
sqrt(k) z: one problem with the features divided by sqrt(k), everything else k times as dear.
(Of the 3,993 labels of eurlex 3,040 are absent from 417 examples: a search has many such.)
"""

from typing import NamedTuple

import numpy as np

from prml.loops.svmplus import Csr, Dense, Problem
from prml.solvers.spectral import Factors
from prml.solvers.training_set import TrainingSet


class StandIn(NamedTuple):
    """One absent label in the place of others.

    Attributes
    ----------
    members : ndarray
        The labels that are solved, ascending.
    counts : ndarray of int
        How many labels each of them stands for.
    others : ndarray
        The labels that are not solved.
    label : int
        The member that stands for them, -1 where there are none.
    """

    members: np.ndarray
    counts: np.ndarray
    others: np.ndarray
    label: int

    @property
    def position(self) -> int:
        """Where among the members the label is that stands for others."""
        return int(np.searchsorted(self.members, self.label))

    def stands_for(self, label: int) -> list[int]:
        """A member and the labels in whose place it is."""
        return [label, *map(int, self.others)] if label == self.label else [label]

    def teacher(self, wt: np.ndarray, other: int) -> np.ndarray:
        """The stand-in's teacher as that of another absent label: the two change places."""
        if len(wt) == 0:  # nobody comments
            return wt
        a, b = self.label, other
        return np.concatenate([wt[:a], wt[b - 1 : b], wt[a : b - 1], wt[b:]])

    def everyone(self, parts: list[np.ndarray]) -> list[np.ndarray]:
        """What belongs to the members, as it belongs to all labels in turn; nothing is shared."""
        full = dict(zip(map(int, self.members), parts, strict=True))
        full |= {int(j): full[self.label].copy() for j in self.others}
        return [full[i] for i in range(len(full))]

    def teachers(self, wt: list[np.ndarray]) -> list[np.ndarray]:
        """The members' teachers as those of all labels."""
        full = self.everyone(wt)
        for other in map(int, self.others):
            full[other] = self.teacher(full[other], other)
        return full

    def rows(self, factors: Factors) -> Factors:
        """Predictors of the members, sqrt(count) times each, as predictors of all labels."""
        left = factors.left / np.sqrt(self.counts)[:, None]
        full = np.empty((int(self.counts.sum()), left.shape[1]))
        full[self.members] = left
        if len(self.others):
            full[self.others] = left[self.position]
        return factors._replace(left=full)


def nobody_stands_in(n_labels: int) -> StandIn:
    """Every label for itself."""
    return StandIn(np.arange(n_labels), np.ones(n_labels, np.int64), np.empty(0, np.int64), -1)


def stand_in(training_set: TrainingSet) -> StandIn:
    """The first absent label in the place of all, where no label is commented on in its own way.

    With a teacher it can always be solved: another absent label excuses every example.
    """
    n_labels, features = training_set.n_labels, training_set.features
    is_same = features.pools is None and not training_set.has_entry_weights
    absent = np.flatnonzero(training_set.targets.present == 0)
    if not is_same or len(absent) < 2:
        return nobody_stands_in(n_labels)
    members = np.setdiff1d(np.arange(n_labels), absent[1:])
    counts = np.ones(len(members), np.int64)
    counts[np.searchsorted(members, absent[0])] = len(absent)
    return StandIn(members, counts, absent[1:], int(absent[0]))


def counted(problem: Problem, count: int) -> Problem:
    """A label's problem `count` times, in sqrt(count) z."""
    X, divisor = problem.X, float(np.sqrt(count))
    if isinstance(X, Csr):
        X = X._replace(data=X.data / divisor, bias=X.bias / divisor)
    else:
        X = Dense(X.values / divisor, X.bias / divisor)
    return problem._replace(
        X=X,
        cost=count * problem.cost,
        upper=count * problem.upper,
        square=problem.square / count,
        group_cost=count * problem.group_cost,
        gamma2=count * problem.gamma2,
    )
