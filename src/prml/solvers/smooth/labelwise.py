"""What is here: all labels of a training set under a smooth loss, in blocks, over threads."""

import threading
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed

from prml.monitor import Monitor
from prml.solvers.smooth.block import Block, make_block
from prml.solvers.smooth.losses import LOSSES
from prml.solvers.smooth.newton import solve_block
from prml.solvers.smooth.operators import Examples
from prml.solvers.smooth.precondition import Spectra
from prml.solvers.smooth.ridge import ridge_applies, solve_ridge
from prml.solvers.svmplus import record_bounds
from prml.solvers.time_shares import TimeShares
from prml.solvers.training_set import Hyperparameters, TrainingSet

# Numbers in one array of a block; about ten such arrays are alive at once.
BLOCK_NUMBERS = 2**21
# A sparse product reads a row of the block for every number of X: they have to stay in the cache.
SPARSE_BLOCK_NUMBERS = 2**18


class Solution(NamedTuple):
    """Predictors and teachers of all labels and the bounds that they certify, by label.

    Z is (n_features + 1, n_labels), intercepts last; U is (n_labels + 1, n_labels), column i the
    teacher of label i, privileged intercepts last, or None without a teacher.
    """

    Z: np.ndarray
    U: np.ndarray | None
    objective: np.ndarray
    gap: np.ndarray
    n_iter: int


def block_size(training_set: TrainingSet, n_unknowns: int) -> int:
    """How many labels a block holds."""
    n_numbers = SPARSE_BLOCK_NUMBERS if sp.issparse(training_set.matrix) else BLOCK_NUMBERS
    return max(1, n_numbers // max(training_set.n_samples, n_unknowns, 1))


def solve_smooth(
    training_set: TrainingSet,
    numbers: Hyperparameters,
    loss: str,
    *,
    tol: float,
    max_iter: int,
    monitor: Monitor,
    n_jobs: int | None = None,
    start: tuple[np.ndarray, np.ndarray | None] | None = None,
) -> Solution:
    """Solve every label's problem to the relative gap `tol`; stop early when the monitor says so.

    The blocks depend on the sizes of the problem alone, so the result does not depend on `n_jobs`.
    Block k of K must be done at (k+1)/K of the time limit, and what they leave over goes to those
    that were cut short; a label not reached stays at its start.

    Parameters
    ----------
    loss : a key of `LOSSES`
    start : (Z, U), optional
        Where to start, as in `Solution`; by default at the best constants.
    """
    examples = Examples(training_set.matrix, training_set.X.bias)
    if (
        loss == "squared"
        and not training_set.features.enabled
        and not training_set.has_entry_weights
        and ridge_applies(examples, monitor.remaining)
    ):
        return _solve_all_by_ridge(training_set, numbers, examples, monitor)
    return _Blocks(training_set, numbers, loss, examples, monitor).solve(
        tol, max_iter, n_jobs, start
    )


def _solve_all_by_ridge(training_set, numbers, examples, monitor) -> Solution:
    weight = training_set.sample_weight
    weight = np.ones(training_set.n_samples) if weight is None else weight
    cost = numbers.C * numbers.theta * weight
    n_labels = training_set.n_labels
    Z = np.empty((training_set.n_features + 1, n_labels))
    objective, gap = np.empty(n_labels), np.empty(n_labels)
    size = block_size(training_set, len(Z))
    for labels, part, objectives, gaps in solve_ridge(
        examples, training_set.targets.positives, cost, size
    ):
        Z[:, labels], objective[labels] = part, objectives
        gap[labels] = np.minimum(gaps, objectives)  # 0 bounds every objective from below
    _record(monitor, 1, objective, gap)
    return Solution(Z, None, objective, gap, 1)


class _Blocks:
    """One fit: the state that its blocks share."""

    def __init__(self, training_set, numbers, loss, examples, monitor):
        self.training_set, self.numbers, self.examples = training_set, numbers, examples
        self.loss = LOSSES[loss]
        self.monitor = monitor
        self.spectra = Spectra(
            examples, training_set.features, self.loss, seconds=monitor.remaining
        )
        features = training_set.features
        n_labels = training_set.n_labels
        self.Z = np.zeros((training_set.n_features + 1, n_labels))
        self.U = np.zeros((n_labels + 1, n_labels)) if features.enabled else None
        n_unknowns = len(self.Z) + (0 if self.U is None else len(self.U))
        size = block_size(training_set, n_unknowns)
        self.blocks = np.array_split(np.arange(n_labels), -(-n_labels // size))
        # Until a label has had its turn: the value of the zero predictor, and 0 as a dual bound.
        self.objective = np.array([self._value_of_zero(i) for i in range(n_labels)])
        self.gap = self.objective.copy()
        self.n_steps = self.n_iter = 0
        self.is_cold = True
        self.done: set[int] = set()
        self.lock = threading.Lock()
        self.halt = threading.Event()
        self.shares = TimeShares(len(self.blocks), monitor, self.halt)

    def solve(self, tol, max_iter, n_jobs, start) -> Solution:
        if start is not None:
            self.is_cold = False
            self.Z[:], U = start
            if self.U is not None and U is not None:
                self.U[:] = U

        def run(k: int) -> None:
            try:
                self._solve_block(k, tol, max_iter)
            except KeyboardInterrupt:  # with one job the signal lands here
                self.halt.set()
                self.monitor.interrupted()

        try:
            for blocks in self.shares.turns():
                Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(run)(k) for k in blocks)
        except KeyboardInterrupt:
            self.halt.set()
            self.monitor.interrupted()
            for k in set(range(len(self.blocks))) - self.done:
                run(k)  # halted: no step, but true bounds
        return Solution(self.Z, self.U, self.objective, self.gap, self.n_iter)

    def _block(self, labels) -> Block:
        return make_block(self.training_set, self.examples, labels, self.loss, self.numbers)

    def _value_of_zero(self, i: int) -> float:
        zero = np.zeros(1)
        value = self.numbers.theta * self.loss.residual.value(zero)[0]
        if self.U is not None:
            value += self.loss.cost.value(zero)[0]
        return float(self.numbers.C * value * self.training_set.weights(i).sum())

    def _solve_block(self, k: int, tol: float, max_iter: int) -> None:
        labels, monitor = self.blocks[k], self.monitor

        def report(objective, gap) -> None:
            with self.lock:
                self.objective[labels], self.gap[labels] = objective, gap
                self.n_steps += 1
                if _record(monitor, self.n_steps, self.objective, self.gap):
                    self.halt.set()

        block = self._block(labels)
        if self.is_cold and k not in self.done:
            start = block.constants()
        else:
            start = block.pack(self.Z[:, labels], None if self.U is None else self.U[:, labels])
        solution = solve_block(
            block,
            start,
            tol=tol,
            max_iter=max_iter,
            precondition=self.spectra,
            report=report,
            should_stop=lambda: self.shares.is_over(k),
        )
        Z, U = block.unpack(solution.P)
        with self.lock:
            self.Z[:, labels] = Z
            if self.U is not None:
                self.U[:, labels] = U
            self.objective[labels], self.gap[labels] = solution.objective, solution.gap
            self.n_iter = max(self.n_iter, int(solution.n_iter.max()))
            self.done.add(k)


def _record(monitor: Monitor, iteration: int, objective: np.ndarray, gap: np.ndarray) -> bool:
    upper, lower = float(objective.sum()), float((objective - gap).sum())
    return record_bounds(monitor, iteration, upper, lower, n_labels=len(objective))


def smooth_multipliers(
    training_set: TrainingSet,
    numbers: Hyperparameters,
    loss: str,
    Z: np.ndarray,
    U: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The multipliers alpha and beta that a point defines, both (n_labels, n_samples).

    In the scale of the hinge member: at the solution z = sum_j alpha_j y_j x_j and
    gamma2 u = sum_j (alpha_j + beta_j - C_j) v_j.
    """
    examples = Examples(training_set.matrix, training_set.X.bias)
    alpha = np.empty((training_set.n_labels, training_set.n_samples))
    beta = np.empty_like(alpha)
    size = block_size(training_set, 1)
    for first in range(0, training_set.n_labels, size):
        labels = np.arange(first, min(first + size, training_set.n_labels))
        block = make_block(training_set, examples, labels, LOSSES[loss], numbers)
        P = block.pack(Z[:, labels], None if U is None else U[:, labels])
        t, xi = block.entries(P)
        from_t, from_xi = block.slopes(t, xi)
        alpha[labels] = -from_t.T
        # without a teacher any beta will do: take the one that leaves u at 0
        beta[labels] = (block.costs + from_t).T if from_xi is None else (block.costs - from_xi).T
    return alpha, beta
