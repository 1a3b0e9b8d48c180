"""What is here: what the rounds of PrML know of all labels together - V, its multipliers, rho.

The splitting itself is told of in `prml.solvers.lowrank`. A round has the labels take their turns,
thresholds what they ask for, and lets the multipliers follow; between rounds the multipliers are
brought nearer to the spectral ball and rho is weighed. None of that asks where the labels are.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from prml.loops.splitting import follow, relaxed_target
from prml.solvers.label_state import LabelState
from prml.solvers.label_threads import LabelThreads
from prml.solvers.spectral import Factors, scale_into_ball, threshold
from prml.solvers.training_set import TrainingSet

# Measured on yeast, enron, corel5k and bibtex, C from 1e-3 to .1, theta 2 and inf.
# A label's turn: pair sweeps and Newton steps, more of them once the gap falls slowly.
EFFORTS = ((3, 0), (8, 0), (3, 4))
SLOW = (0.97, 0.98)  # the next effort follows when so much of the last gap is left
RELIEF_UNTIL = 2e-3  # the gap from which on relief would disturb what has settled
AIM = 0.002  # how far into the ball a pass of relief aims
DIRECTIONS = 16  # of one pass, the longest first; a pass costs their square for every example
RELIEF_SHARE = 0.1  # of the gap that scaling into the ball may make up
RELIEF_PAYS = 8.0  # how many times dearer scaling has to be than what a pass aims at
RISING = 0.03  # the lower bound still rises when it does by more than this
OVER_RELAXATION = 1.6
BLOCK = 64  # rows of V and M that a thread goes through at once
SCALING_SHARE = 0.4  # of the gap that scaling into the ball makes up when rho is right
BALANCE = 1.3  # how far from it rho is changed


class LowRankSolution(NamedTuple):
    """The best predictor and the best multipliers seen, with the bounds that they certify."""

    factors: Factors  # of Z, (n_labels, n_features + 1)
    wt: list[np.ndarray]
    wt0: np.ndarray
    alpha: list[np.ndarray]
    beta: list[np.ndarray]
    objective: float
    dual_objective: float
    n_iter: int
    rho: float


def no_factors(shape: tuple[int, int]) -> Factors:
    """The zero matrix."""
    return Factors(np.zeros((shape[0], 0)), np.zeros(0), np.zeros((0, shape[1])))


class Coupling:
    """What couples the labels: V, its multipliers, rho. Where the labels are is left open.

    A subclass says how the labels take their turns and how the bounds are found: `Splitting` in
    threads, `prml.distributed` on other machines.
    """

    labels: list[LabelState]
    n_efforts = len(EFFORTS)

    def __init__(self, n_labels: int, width: int, gamma1: float, n_jobs: int | None):
        self.root = float(np.sqrt(gamma1))
        self.threads = LabelThreads(n_jobs)
        self.V, self.dual = np.zeros((n_labels, width)), np.zeros((n_labels, width))
        self.factors = no_factors(self.V.shape)
        self.rho = 1.0
        self.round = 0
        self.effort = 0
        self.last_gap = float("inf")
        self.scaled_off = 0.0  # what scaling into the ball costs the lower bound
        self.enough = 0.0  # accuracy asked of all teachers together when a predictor is judged
        self.should_stop: Callable[[], bool] = lambda: False  # asked before every label's turn

    def start_from_constants(
        self, training_set: TrainingSet, members: np.ndarray, scale: np.ndarray | float = 1.0
    ) -> None:
        """Begin at the majority of every label: rank one, and its multipliers are known.

        Labels that have nothing better than a constant, the most of a large set, are then solved.
        `scale` multiplies the members' rows.
        """
        present, known = training_set.targets.present, training_set.targets.known
        sign = np.where(2 * present > known, 1.0, -1.0) * (known > 0)
        size = float(np.linalg.norm(sign))
        if size == 0.0 or not training_set.X.bias:
            return
        rows = scale * sign[members]
        self.V[:, -1] = rows
        self.dual[:, -1] = self.root * rows / size
        constant = np.zeros((1, self.V.shape[1]))
        constant[0, -1] = 1.0
        self.factors = Factors(rows[:, None] / size, np.array([size]), constant)

    def turns(self) -> np.ndarray:
        """Every label's sweeps around its centre; returns M, the rows sum_j alpha_j y_j x_j."""
        raise NotImplementedError

    def dual_rows(self) -> np.ndarray:
        """M as the labels have it now."""
        raise NotImplementedError

    def sum_of_dual_parts(self) -> tuple[float, float]:
        """The two parts of the dual value, summed over the labels."""
        raise NotImplementedError

    def shed(self, excess: Factors) -> None:
        """Let M lose `excess`, as far as the multipliers can; see `LabelState.shed`."""
        raise NotImplementedError

    def best_of_nothing(self) -> LowRankSolution:
        """Z = 0 with the teachers at 0: the bounds before the first round."""
        raise NotImplementedError

    def with_upper_bound(self, best: LowRankSolution) -> LowRankSolution:
        """The better of the predictor that is kept and the one that the rounds have now."""
        raise NotImplementedError

    def with_lower_bound(self, best: LowRankSolution) -> LowRankSolution:
        """The better of the multipliers that are kept and those of the rounds, made feasible."""
        raise NotImplementedError

    def step(self) -> None:
        """One round: the labels' turns, the new V and the multipliers that follow from it."""
        target = self.target(self.turns())
        self.round += 1
        self.factors = threshold(target, self.root / self.rho, guess=self.factors.left)
        self.move(target, self.factors.product())

    def target(self, M: np.ndarray) -> np.ndarray:
        """The matrix of which the new V is the thresholding."""
        state = (self.V, M, self.dual, self.rho, OVER_RELAXATION)
        target = np.empty_like(self.V)
        self._rows_of(lambda first, last: relaxed_target(*state, first, last, target))
        return target

    def move(self, target: np.ndarray, V: np.ndarray) -> None:
        """Take the new V; the multipliers that follow from it take the place of the target."""
        self._rows_of(lambda first, last: follow(V, self.rho, first, last, target))
        self.V, self.dual = V, target

    def _rows_of(self, work: Callable[[int, int], object]) -> list:
        """Run `work` on the rows in blocks, whose number does not depend on the threads."""
        n = len(self.V)
        blocks = range(0, n, BLOCK)
        return self.threads.each(lambda first: work(first, min(first + BLOCK, n)), blocks)

    def lower_bound(self) -> tuple[float, float]:
        """The bound of the multipliers scaled by t into the spectral ball, and t."""
        t = scale_into_ball(self.dual_rows(), self.root)
        gains, costs = self.sum_of_dual_parts()
        self.scaled_off = (1.0 - t) * gains
        return t * gains - costs, t

    def relieve(self) -> bool:
        """Bring the multipliers nearer to the spectral ball where the gap is made of that.

        The lower bound scales all of them alike until none is outside: a share of sum(alpha). In
        the directions that are too long alone it need not cost more than that share of <M, V>,
        which is far less where Z is a small part of the objective (eurlex, mediamill).
        Returns whether there was anything to do.
        """
        gains, costs = self.sum_of_dual_parts()
        is_dear = gains > RELIEF_PAYS * self.root * float(self.factors.values.sum())
        if self.last_gap < RELIEF_UNTIL or not is_dear:
            return False
        aim = AIM * self.root
        longest = threshold(self.dual_rows(), self.root - aim, guess=self.factors.left)
        outside = longest.values[0] - aim if longest.rank else 0.0
        scaled_off = gains * outside / (self.root + outside)
        if scaled_off <= RELIEF_SHARE * min(self.last_gap, RISING) * (gains - costs):
            return False
        # a little further than into the ball: bounds of single multipliers keep some from moving
        excess = np.maximum(longest.values - aim + min(aim, outside), 0.0)
        self.shed(longest._replace(values=excess).leading(DIRECTIONS))
        return True

    def near_enough(self, distance: np.ndarray) -> float:
        """The distance up to which teachers can stay as they are: `enough` for all of them."""
        ordered = np.sort(distance)
        n_near = int(np.searchsorted(np.cumsum(ordered), self.enough, side="right"))
        return float(ordered[n_near - 1]) if n_near else 0.0

    def work_harder(self, gap: float) -> None:
        """A larger effort from here on when the gap has fallen too slowly since it was last known.

        Never a smaller one: what Newton steps bring is seen only some rounds later.
        """
        if self.effort < len(SLOW) and gap > SLOW[self.effort] * self.last_gap:
            self.effort += 1
        self.last_gap = gap

    def balance(self, width: float, *, may_rise: bool) -> None:
        """Change rho by what the gap, `width`, is made of; by less as rounds go by.

        A small rho brings the multipliers into the spectral ball in few rounds and V late to what
        the labels ask for, a large one the other way round. What each costs is known: scaling into
        the ball is one part of the gap, the objective of V the other. (The residuals of the
        splitting, balanced, led to a rho several times too large on eurlex and too small on enron.)
        """
        factor = 1.0 + 8.0 / (4.0 + self.round)
        share = self.scaled_off / SCALING_SHARE
        if share > BALANCE * width:
            self.rho /= factor
        elif share * BALANCE < width and may_rise:
            self.rho *= factor
