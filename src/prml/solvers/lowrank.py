"""What is here: PrML as one convex problem, solved by splitting (`algorithm="convex"`).

    min over Z, wt   sqrt(gamma1) |Z|_*  +  sum_i f_i(z_i, wt_i)

where f_i is label i's SVM+ objective without the term of z. The alternating direction method of
multipliers with Z = V decouples it: given V and the scaled multipliers every label solves its own
SVM+ problem around a centre (the engine's, omega = 1/rho), and V is the label predictors with
singular values shrunk by sqrt(gamma1)/rho, hence of exactly low rank. Labels need no products with
each other's weights and run in parallel; one thresholding a round couples them.

The certificate is that of `prml.solvers.certificate`: the labels' own multipliers, scaled into the
spectral ball, bound the optimum from below, V with its best teacher from above.

Why not the closed-form update of G = W W': with the floor that keeps directions alive it stalls at
a gap of about 1 % and mixes the labels in every coordinate; splitting was several times faster to
that gap on enron and bibtex and goes on from there.
"""

from collections.abc import Callable

import numpy as np

from prml.loops import svmplus as loops
from prml.loops.svmplus import Problem
from prml.loops.teacher import scaled
from prml.monitor import Monitor, is_interrupt
from prml.solvers.absent_labels import counted, each_for_itself, stand_in
from prml.solvers.checkpoint import Checkpoint
from prml.solvers.coupling import EFFORTS, RISING, Coupling, LowRankSolution, no_factors
from prml.solvers.feasibility import InfeasibleError, is_feasible, lift_direction
from prml.solvers.given_margins import TeacherFit, fit_teacher, repair_teacher
from prml.solvers.label_state import LabelState
from prml.solvers.labelwise import zero_solution
from prml.solvers.row_space import is_worthwhile, row_space
from prml.solvers.spectral import Factors
from prml.solvers.svmplus import Lift, record_bounds, relative_gap
from prml.solvers.training_set import Hyperparameters, TrainingSet

# Measured as the constants of `prml.solvers.coupling`.
EVALUATE_EVERY = 4
FULL_SWEEP_EVERY = 5
TEACHER_SHARE = 0.3  # of the gap that the teachers' own inaccuracy may make up
RELIEFS = 3  # passes in which multipliers outside the spectral ball are brought nearer to it
PRESUMED_GAP = 0.2  # while the lower bound rises and nobody asks for the upper one


class Splitting(Coupling):
    """The rounds with all labels, or those of `members`, in this process.

    A member may stand for several labels (`prml.solvers.absent_labels`): `counts`.
    """

    def __init__(
        self,
        training_set: TrainingSet,
        numbers: Hyperparameters,
        gamma1: float,
        *,
        seed: int,
        n_jobs: int | None,
        starts: list | None = None,
        members: np.ndarray | None = None,
        counts: np.ndarray | None = None,
    ):
        self.training_set, self.numbers = training_set, numbers
        self.members = np.arange(training_set.n_labels) if members is None else members
        n_labels = len(self.members)
        self.counts = np.ones(n_labels, np.int64) if counts is None else counts
        super().__init__(n_labels, training_set.n_features + 1, gamma1, n_jobs)
        self._problems = _Problems(training_set, numbers, self.members, self.counts)
        self.labels = [
            LabelState(
                self._problems[i],
                np.random.default_rng([seed, self.members[i]]),
                None if starts is None else starts[i],
            )
            for i in range(n_labels)
        ]
        self.lifts: list[Lift | None] = [None] * n_labels
        if not training_set.features.bias:
            lifts = self.each_label(lambda i: lift_direction(self._problems[i]))
            feasible = self.each_label(lambda i: is_feasible(self._problems[i], lifts[i]))
            self.lifts = lifts
            if not all(feasible):
                raise InfeasibleError([int(i) for i in self.members[~np.array(feasible)]])
        if starts is None:
            self.start_from_constants(training_set, self.members, np.sqrt(self.counts))

    def each_label(self, work: Callable[[int], object], labels: np.ndarray | None = None) -> list:
        """Run `work` on every label, or those given, shared out over threads; in their order."""
        chosen = range(len(self.labels)) if labels is None else map(int, labels)
        return self.threads.each(work, chosen)

    def turns(self) -> np.ndarray:
        """Every label's sweeps around its centre; returns M, the rows sum_j alpha_j y_j x_j."""
        full = self.round < 3 or self.round % FULL_SWEEP_EVERY == 0
        is_due = (self.round + 1) % EVALUATE_EVERY == 0
        n_sweeps, newton_steps = EFFORTS[self.effort]

        def turn(i: int) -> None:
            if self.should_stop():
                return
            centre = self.V[i] - self.dual[i] / self.rho
            problem = self._problems[i]._replace(omega=1.0 / self.rho, centre=centre)
            label = self.labels[i]
            label.sweep(problem, full, n_sweeps)
            if newton_steps:
                # the rounds are slow: whoever was left out may be why
                label.active = np.arange(len(problem.rows))
                label.newton(problem, newton_steps)
            if is_due:
                label.pay(problem)

        self.each_label(turn)
        return self.dual_rows()

    def dual_rows(self) -> np.ndarray:
        rows = np.concatenate([label.m_row for label in self.labels])
        return rows.reshape(self.V.shape)

    def shed(self, excess: Factors) -> None:
        self.shed_rows(excess.left * excess.values, excess.right)

    def shed_rows(self, coordinates: np.ndarray, directions: np.ndarray) -> None:
        """As `shed`, the excess of each label given in the directions, one a row."""
        X, bias = self.training_set.matrix, self.training_set.X.bias
        projected = np.asarray(X @ directions[:, :-1].T) + bias * directions[:, -1]

        def shed(i: int) -> None:
            if not self.should_stop():
                own = projected if self.counts[i] == 1 else projected / np.sqrt(self.counts[i])
                self.labels[i].shed(self._problems[i], own, coordinates[i])

        self.each_label(shed)

    def upper_bound(self) -> tuple[float, Factors, list[np.ndarray], np.ndarray]:
        """The objective of V, made feasible, with its best teachers; V and the teachers."""
        enlargement = self.enlargement()
        factors = self.factors._replace(values=enlargement * self.factors.values)
        repaired = self.repair(enlargement)
        cutoff = self.near_enough(distances_of(repaired))
        objectives, wt, wt0 = self.judge(enlargement, repaired, cutoff)
        return self.root * float(factors.values.sum()) + objectives, factors, wt, wt0

    def repair(self, enlargement: float) -> list[TeacherFit]:
        """The labels' teachers made feasible at the enlarged V, and how good they are."""

        def repair(i: int) -> TeacherFit:
            problem, label = self._problems[i], self.labels[i]
            state = (*label.teacher(problem), label.alpha, label.beta)
            return repair_teacher(problem, enlargement * self.V[i], *state, lift=self.lifts[i])

        return self.each_label(repair)

    def judge(
        self, enlargement: float, repaired: list[TeacherFit], cutoff: float
    ) -> tuple[float, list[np.ndarray], np.ndarray]:
        """The labels' objectives, summed, at the enlarged V with good teachers; these too.

        Teachers that may be further from the best than the cutoff are improved.
        """
        fits = repaired.copy()
        far = np.flatnonzero(distances_of(repaired) > cutoff)
        better = self.each_label(lambda i: self._fit_teacher(i, enlargement), far)
        for i, fit in zip(far, better, strict=True):
            fits[i] = fit
        total = float(sum(fit.objective for fit in fits))
        return total, [fit.wt for fit in fits], np.array([fit.wt0 for fit in fits])

    def _fit_teacher(self, i: int, enlargement: float) -> TeacherFit:
        problem, label = self._problems[i], self.labels[i]
        m = np.empty(len(problem.rows))
        loops.margins(problem, enlargement * self.V[i], m)
        state = (*label.teacher(problem), label.alpha, label.beta)
        return fit_teacher(problem, m, *state, lift=self.lifts[i])

    def enlargement(self) -> float:
        """The factor by which V must grow for margin 1 where no teacher can excuse an example.

        1 with the privileged intercept or a finite theta, and where no factor would do.
        """
        least = 1.0
        for i, lift in enumerate(self.lifts):
            if lift is None:
                continue
            problem = self._problems[i]
            hard = np.isinf(problem.upper) & (lift.xi[problem.group] == 0.0)
            if hard.any():
                m = np.empty(len(problem.rows))
                loops.margins(problem, self.V[i], m)
                least = min(least, float(m[hard].min()))
        return 1.0 / least if least > 0.0 else 1.0

    def sum_of_dual_parts(self) -> tuple[float, float]:
        parts = [label.dual_parts() for label in self.labels]
        return float(sum(gain for gain, _ in parts)), float(sum(cost for _, cost in parts))

    def feasible_multipliers(self, t: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """alpha scaled by t; what it gives up goes to beta, so that no teacher changes."""
        multipliers = [
            scaled(label.alpha, label.beta, self._problems[i].group, t)
            for i, label in enumerate(self.labels)
        ]
        return [alpha for alpha, _ in multipliers], [beta for _, beta in multipliers]

    def best_of_nothing(self) -> LowRankSolution:
        fits = [
            zero_solution(self.training_set, int(i), self.numbers, self._problems[k])
            for k, i in enumerate(self.members)
        ]
        best = LowRankSolution(
            no_factors(self.V.shape),
            [fit.wt for fit in fits],
            np.array([fit.wt0 for fit in fits]),
            [],
            [],
            float(sum(k * fit.objective for k, fit in zip(self.counts, fits, strict=True))),
            -np.inf,
            0,
            1.0,
        )
        return self.with_lower_bound(best)

    def with_upper_bound(self, best: LowRankSolution) -> LowRankSolution:
        objective, factors, wt, wt0 = self.upper_bound()
        if objective < best.objective:
            best = best._replace(factors=factors, wt=wt, wt0=wt0, objective=objective)
        return best._replace(n_iter=self.round, rho=self.rho)

    def with_lower_bound(self, best: LowRankSolution) -> LowRankSolution:
        dual_objective, t = self.lower_bound()
        if dual_objective > best.dual_objective:
            alpha, beta = self.feasible_multipliers(t)
            best = best._replace(alpha=alpha, beta=beta, dual_objective=dual_objective)
        return best._replace(n_iter=self.round, rho=self.rho)


def distances_of(fits: list[TeacherFit]) -> np.ndarray:
    """How far from the best each teacher may be."""
    return np.array([fit.distance for fit in fits])


class _Problems:
    """The problems of the labels, kept when they fit into memory and made anew when not."""

    MAX_BYTES = 1 << 30

    def __init__(
        self,
        training_set: TrainingSet,
        numbers: Hyperparameters,
        members: np.ndarray,
        counts: np.ndarray,
    ):
        self.training_set, self.numbers, self.members = training_set, numbers, members
        self.counts = counts
        # sign and group, four arrays more where weights differ, and the corrections of one label
        nnz = training_set.targets.positives.nnz
        bytes_each_example = 44 if training_set.has_entry_weights else 12
        bytes_each = bytes_each_example * training_set.n_samples + 12 * nnz
        self._keep = bytes_each * len(members) <= self.MAX_BYTES
        self._kept: dict[int, Problem] = {}

    def __getitem__(self, i: int) -> Problem:
        if i in self._kept:
            return self._kept[i]
        problem = self.training_set.problem(int(self.members[i]), self.numbers)
        is_counted = self.counts[i] > 1  # it has features of its own: made once
        if is_counted:
            problem = counted(problem, int(self.counts[i]))
        if self._keep or is_counted:
            self._kept[i] = problem
        return problem


def solve_low_rank(
    training_set: TrainingSet,
    numbers: Hyperparameters,
    gamma1: float,
    *,
    tol: float,
    max_iter: int,
    seed: int,
    monitor: Monitor,
    n_jobs: int | None = None,
    starts: list | None = None,
    checkpoint: Checkpoint | None = None,
) -> LowRankSolution:
    """Minimise the convex objective to the relative duality gap `tol`.

    `checkpoint` (see `prml.solvers.checkpoint`) is restored from and written to.
    """
    space, one = None, each_for_itself(training_set.n_labels)
    if checkpoint is None:  # a file holds all labels in the user's features
        one = stand_in(training_set)
        space = row_space(training_set) if is_worthwhile(training_set) else None
    if starts is not None:
        alpha, beta = (one.joined(list(parts)) for parts in zip(*starts, strict=True))
        starts = list(zip(alpha, beta, strict=True))
    rounds = Splitting(
        training_set if space is None else space.training_set,
        numbers,
        gamma1,
        seed=seed,
        n_jobs=n_jobs,
        starts=starts,
        members=one.members,
        counts=one.counts,
    )
    best = run_rounds(rounds, tol=tol, max_iter=max_iter, monitor=monitor, checkpoint=checkpoint)
    factors = one.rows(best.factors)
    return best._replace(
        factors=factors if space is None else space.lift(factors),
        wt=one.teachers(best.wt),
        wt0=best.wt0[one.source],
        alpha=one.shared_out(best.alpha),
        beta=one.shared_out(best.beta),
    )


def run_rounds(
    rounds: Coupling,
    *,
    tol: float,
    max_iter: int,
    monitor: Monitor,
    checkpoint: Checkpoint | None = None,
) -> LowRankSolution:
    """Rounds until the bounds are `tol` apart, wherever the labels are."""
    with rounds.threads.between_turns(*rounds.V.shape):
        return _run_rounds(rounds, tol, max_iter, monitor, checkpoint)


def _run_rounds(
    rounds: Coupling, tol: float, max_iter: int, monitor: Monitor, checkpoint: Checkpoint | None
) -> LowRankSolution:
    best = rounds.best_of_nothing()
    rounds.should_stop = lambda: monitor.remaining <= 0
    if checkpoint is not None:
        best = checkpoint.restore(rounds, best)
    last_bound = best.dual_objective
    # What is known without the judgement that an end forces: who goes on has the same rounds.
    resumable = best
    try:
        while rounds.round < max_iter and not monitor.out_of_time:
            rounds.step()
            last = rounds.round >= max_iter or monitor.out_of_time
            is_due = rounds.round % EVALUATE_EVERY == 0
            if not is_due and not last:
                continue
            best = rounds.with_lower_bound(best)
            if is_due and rounds.round > EVALUATE_EVERY:  # too early before
                for _ in range(RELIEFS):
                    if monitor.remaining <= 0 or not rounds.relieve():
                        break
                    best = rounds.with_lower_bound(best)
            rise = relative_gap(best.dual_objective, last_bound)
            last_bound = best.dual_objective
            # The upper bound is dear: ask for it when the lower one has nearly stopped rising.
            is_rising = rise > max(3.0 * tol, RISING)
            if is_due and is_rising:
                rounds.balance(PRESUMED_GAP * max(best.dual_objective, 0.0), may_rise=False)
                resumable = best
                if not last:
                    if checkpoint is not None:
                        checkpoint.save(rounds, best)
                    continue
            needed = max(tol, TEACHER_SHARE * min(rounds.last_gap, 1.0))
            rounds.enough = TEACHER_SHARE * needed * best.objective
            if monitor.remaining <= 0:
                rounds.enough = np.inf  # the repair alone: the time is up
            best = rounds.with_upper_bound(best)
            gap = relative_gap(best.objective, best.dual_objective)
            bounds = (best.objective, best.dual_objective)
            stop = record_bounds(monitor, rounds.round, *bounds, rank=best.factors.rank)
            if is_due and not is_rising:
                rounds.balance(best.objective - best.dual_objective, may_rise=True)
                rounds.work_harder(gap)
                resumable = best
            if gap <= tol or stop or last:
                break
            if checkpoint is not None:
                checkpoint.save(rounds, best)
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        monitor.interrupted()  # in the middle of a round: the last checkpoint stays as it is
    else:
        if checkpoint is not None:
            gap = relative_gap(best.objective, best.dual_objective)
            checkpoint.close(rounds, resumable, solved=gap <= tol)
    return best
