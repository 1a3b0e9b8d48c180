"""What is here: the labels that no example has, solved as one.

Their problems are the same up to the numbering of the labels that comment, and so are their
solutions. PrBR solves the first of them. In PrML's matrix k equal rows z count like one row
sqrt(k) z: one problem with the features divided by sqrt(k), everything else k times as dear.
(Of the 3,993 labels of eurlex 3,040 are absent from 417 examples: a search has many such.)
"""

from typing import NamedTuple

import numpy as np

from prml.loops.rows import csr_rows, dense_rows
from prml.loops.svmplus import Csr, Problem
from prml.solvers.spectral import Factors
from prml.solvers.training_set import TrainingSet


class StandIn(NamedTuple):
    """Who is solved in whose place.

    Attributes
    ----------
    members : ndarray
        The labels that are solved, ascending.
    source : ndarray of shape (n_labels,)
        For every label where among the members the one is that is solved in its place.
    """

    members: np.ndarray
    source: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """How many labels each member stands for."""
        return np.bincount(self.source)

    def teacher(self, wt: np.ndarray, label: int) -> np.ndarray:
        """Its member's teacher as that of a label: the two change places."""
        a, b = int(self.members[self.source[label]]), label
        if a == b or len(wt) == 0:  # its own, or nobody comments
            return wt
        return np.concatenate([wt[:a], wt[b - 1 : b], wt[a : b - 1], wt[b:]])

    def teachers(self, wt: list[np.ndarray]) -> list[np.ndarray]:
        """The members' teachers as those of all labels."""
        return [self.teacher(wt[k], i) for i, k in enumerate(self.source)]

    def joined(self, parts: list[np.ndarray]) -> list[np.ndarray]:
        """Multipliers of all labels as those of the members, who bear them for others too."""
        bearers = zip(self.members, self.counts, strict=True)
        return [parts[i] if n == 1 else n * parts[i] for i, n in bearers]

    def shared_out(self, parts: list[np.ndarray]) -> list[np.ndarray]:
        """Multipliers of the members as those of all labels; no two have one array."""
        counts = self.counts
        return [parts[k] if counts[k] == 1 else parts[k] / counts[k] for k in self.source]

    def rows(self, factors: Factors) -> Factors:
        """Predictors of the members, sqrt(count) times each, as predictors of all labels."""
        left = factors.left / np.sqrt(self.counts)[:, None]
        return factors._replace(left=left[self.source])


def each_for_itself(n_labels: int) -> StandIn:
    return StandIn(np.arange(n_labels), np.arange(n_labels))


def stand_in(training_set: TrainingSet) -> StandIn:
    """The first absent label in the place of all, where no label is commented on in its own way.

    With a teacher it can always be solved: another absent label excuses every example.
    """
    n_labels = training_set.n_labels
    is_same = training_set.features.pools is None and not training_set.has_entry_weights
    absent = np.flatnonzero(training_set.targets.present == 0)
    if not is_same or len(absent) < 2:
        return each_for_itself(n_labels)
    is_member = np.ones(n_labels, dtype=bool)
    is_member[absent[1:]] = False
    source = np.cumsum(is_member) - 1
    source[absent] = source[absent[0]]
    return StandIn(np.flatnonzero(is_member), source)


def counted(problem: Problem, count: int) -> Problem:
    """A label's problem `count` times, in sqrt(count) z."""
    X, divisor = problem.X, float(np.sqrt(count))
    if isinstance(X, Csr):
        X = csr_rows(X.data / divisor, X.indices, X.indptr, X.bias / divisor)
    else:
        X = dense_rows(X.values / divisor, X.bias / divisor)
    return problem._replace(
        X=X,
        cost=count * problem.cost,
        upper=count * problem.upper,
        square=problem.square / count,
        group_cost=count * problem.group_cost,
        gamma2=count * problem.gamma2,
    )
