"""What is here: the centre of a fit whose labels are on workers.

A round: every worker gets what is new in V (as factors of low rank, or its rows when these are
less), moves its rows of V and of the multipliers as the centre did, lets its labels take their
turns and returns its rows of M with the two parts of its dual value. The centre thresholds. The
iterates are those of one machine with a checkpoint, however the labels are dealt out.

A worker that is late leaves its last rows of M in place: they still belong to multipliers that are
feasible, so both bounds stay true; before its next turn it is sent the centre's rows.
"""

from typing import Any, Protocol

import numpy as np

from prml.distributed.part import GIVES_ROWS, label_records
from prml.distributed.traffic import Traffic, smaller_in_factors
from prml.solvers.checkpoint import Checkpoint
from prml.solvers.coupling import Coupling, LowRankSolution, no_factors
from prml.solvers.spectral import Factors
from prml.solvers.training_set import TrainingSet

UNKNOWN = -2  # a version that is neither the last nor the one before

Answers = list[tuple[str, dict[int, Any]]]  # what was asked, and the answer of each block


class Workers(Protocol):
    """Who does the turns: see `prml.distributed.crew`, and `in_process` for a simulation."""

    traffic: Traffic

    def muster(self, round: int) -> set[int]:
        """Give every block a home; returns the blocks that have a new one."""

    def lost(self) -> bool:
        """Whether a block has lost its multipliers since the last call."""

    def ask(self, op: str, request: Any) -> Answers:
        """Ask the workers that are free; `request(blocks)` makes the message of one."""


class Centre(Coupling):
    """V, its multipliers and the last rows of M of all labels; the labels are elsewhere.

    Parameters
    ----------
    workers : Workers
    blocks : list of ndarray
        The labels of every block.
    training_set : TrainingSet
        Asked for sizes and teachers only; its X may be empty.
    gamma1 : float
    keep_multipliers : bool
        Whether workers keep the best multipliers, not only the bound that they certify.
    verbose : bool
        Print the bytes moved in every round.
    """

    def __init__(
        self,
        workers: Workers,
        blocks: list[np.ndarray],
        training_set: TrainingSet,
        gamma1: float,
        *,
        keep_multipliers: bool = False,
        verbose: bool = False,
    ):
        super().__init__(training_set.n_labels, training_set.n_features + 1, gamma1, n_jobs=-1)
        self.workers, self.blocks, self.training_set = workers, blocks, training_set
        self.keep_multipliers, self.verbose = keep_multipliers, verbose
        self.start_from_constants(training_set, np.arange(training_set.n_labels))
        self.M = np.zeros_like(self.V)
        self.dual_parts = np.zeros((len(blocks), 2))
        self.version = 0  # couplings so far
        self.held = np.full(len(blocks), UNKNOWN)  # the version that a block's worker has
        self.rho_coupled = self.rho
        self._kept_lost = False

    # --- messages -------------------------------------------------------------------------------

    def _request(self, op: str, **more: Any):
        """A function that makes the message for the blocks of one worker."""
        left, values, right = self.factors

        def make(blocks: list[int]) -> dict[str, Any]:
            behind = [b for b in blocks if self.held[b] == self.version - 1]
            n_rows = sum(len(self.blocks[b]) for b in behind)
            as_factors = smaller_in_factors(n_rows, self.V.shape[1], len(values))
            request = {
                "op": op,
                "version": self.version,
                "rho": self.rho,
                "rho_coupled": self.rho_coupled,
                "blocks": {},
                **more,
            }
            for b in blocks:
                rows = self.blocks[b]
                if self.held[b] == self.version:
                    update = None
                elif b not in behind:
                    update = {"V": self.V[rows], "dual": self.dual[rows]}
                elif as_factors:
                    update = {"left": left[rows] * values}
                else:
                    update = {"V": self.V[rows]}
                request["blocks"][b] = update
                self.held[b] = UNKNOWN  # until the answer says that it has arrived
            if as_factors and behind:
                request["right"] = right
            return request

        return make

    def _plain(self, op: str, **more: Any):
        return lambda blocks: {"op": op, "blocks": dict.fromkeys(blocks), **more}

    def _muster(self) -> None:
        for b in self.workers.muster(self.round):
            self.held[b] = UNKNOWN if self.round else 0  # before the first round all is 0
        if self.workers.lost():
            self._kept_lost = True

    def _ask_everyone(self, op: str, request) -> dict[int, Any] | None:
        """The answers of all blocks, or None when one is missing."""
        found: dict[int, Any] = {}
        for asked, answers in self.workers.ask(op, request):
            if asked == op:
                found |= answers
            elif asked in GIVES_ROWS:
                self._accept(answers)
        return found if len(found) == len(self.blocks) else None

    def _insist(self, op: str, request) -> dict[int, Any]:
        """The answers of all blocks, asked again while workers come and go.

        `Workers.muster` gives up in time, so this ends.
        """
        while True:
            self._muster()
            found = self._ask_everyone(op, request)
            if found is not None:
                return found

    # --- the rounds -----------------------------------------------------------------------------

    def turns(self) -> np.ndarray:
        answered = False
        while not answered:
            self._muster()
            request = self._request("turn", round=self.round, effort=self.effort)
            for asked, answers in self.workers.ask("turn", request):
                if asked in GIVES_ROWS:
                    self._accept(answers)
                    answered = True
        return self.M

    def dual_rows(self) -> np.ndarray:
        return self.M

    def sum_of_dual_parts(self) -> tuple[float, float]:
        gains, costs = self.dual_parts.sum(axis=0)
        return float(gains), float(costs)

    def shed(self, excess: Factors) -> None:
        coordinates = excess.left * excess.values
        request = self._request("shed", coordinates=coordinates, directions=excess.right)
        self.workers.traffic.reliefs += 1
        for asked, answers in self.workers.ask("shed", request):
            if asked in GIVES_ROWS:
                self._accept(answers)

    def _accept(self, answers: dict[int, Any]) -> None:
        for b, (rows, parts, version) in answers.items():
            self.M[self.blocks[b]] = rows
            self.dual_parts[b] = parts
            self.held[b] = version if version == self.version else UNKNOWN

    def step(self) -> None:
        super().step()
        self.rho_coupled = self.rho
        self.version += 1
        moved = self.workers.traffic.end_round(self.round, self.factors.rank)
        if self.verbose:
            print(moved, flush=True)

    # --- the bounds -----------------------------------------------------------------------------

    def best_of_nothing(self) -> LowRankSolution:
        zeros = self._insist("nothing", self._plain("nothing"))
        features, n_labels = self.training_set.features, len(self.V)
        wt0 = np.zeros(n_labels)
        for b, (_, intercepts) in zeros.items():
            wt0[self.blocks[b]] = intercepts
        best = LowRankSolution(
            no_factors(self.V.shape),
            [np.zeros(len(features.labels_of(i))) for i in range(n_labels)],
            wt0,
            [],
            [],
            float(sum(objective for objective, _ in zeros.values())),
            -np.inf,
            0,
            1.0,
        )
        self.report()
        return self.with_lower_bound(best)

    def report(self) -> None:
        """Ask for the rows of M as they are: after a start that is not at 0."""
        for b, (rows, parts) in self._insist("report", self._plain("report")).items():
            self.M[self.blocks[b]] = rows
            self.dual_parts[b] = parts

    def with_lower_bound(self, best: LowRankSolution) -> LowRankSolution:
        if self.keep_multipliers and self._kept_lost:  # the value stands, its multipliers do not
            best = best._replace(dual_objective=-np.inf)
            self._kept_lost = False
        value, t = self.lower_bound()
        if value > best.dual_objective and (not self.keep_multipliers or self._keep(t)):
            best = best._replace(dual_objective=value)
        return best._replace(n_iter=self.round, rho=self.rho)

    def _keep(self, t: float) -> bool:
        """Let the workers keep what the bound is made of, when all of them still have it."""
        if (self.held < max(self.version - 1, 0)).any():
            return False
        if self._ask_everyone("keep", self._plain("keep", t=t)) is None:
            self._kept_lost = True  # some have kept this one, some the one before
            return False
        return True

    def with_upper_bound(self, best: LowRankSolution) -> LowRankSolution:
        best = best._replace(n_iter=self.round, rho=self.rho)
        enlargement = 1.0
        if not self.training_set.features.bias:
            least = self._judged("least")
            if least is None:
                return best
            enlargement = max(least.values())
        distances = self._judged("distances", enlargement=enlargement)
        if distances is None:
            return best
        cutoff = self.near_enough(np.concatenate(list(distances.values())))
        found = self._judged("judge", enlargement=enlargement, cutoff=cutoff)
        if found is None:
            return best
        factors = self.factors._replace(values=enlargement * self.factors.values)
        objective = self.root * float(factors.values.sum())
        objective += sum(answer[0] for answer in found.values())
        if objective >= best.objective:
            return best
        wt, wt0 = self._teachers(found)
        return best._replace(factors=factors, wt=wt, wt0=wt0, objective=float(objective))

    def _judged(self, op: str, **more: Any) -> dict[int, Any] | None:
        found = self._ask_everyone(op, self._request(op, **more))
        if found is not None:
            self.held[:] = self.version
        return found

    def _teachers(self, found: dict[int, Any]) -> tuple[list[np.ndarray], np.ndarray]:
        features, n_labels = self.training_set.features, len(self.V)
        wt: list[np.ndarray] = [np.empty(0)] * n_labels
        wt0 = np.empty(n_labels)
        for b, (_, joined, intercepts, _) in found.items():
            rows = self.blocks[b]
            wt0[rows] = intercepts
            ends = np.cumsum([len(features.labels_of(i)) for i in rows])
            for i, part in zip(rows, np.split(joined, ends[:-1]), strict=True):
                wt[i] = part.copy()
        return wt, wt0

    # --- states, for checkpoints and for those who keep the multipliers -------------------------

    def fetch_labels(self) -> None:
        """Fill `labels` with the states of all labels."""
        self.labels = label_records(self._insist("states", self._plain("states")), self.blocks)

    def send_labels(self, best: LowRankSolution) -> None:
        """Give the workers the states in `labels` and the best multipliers."""
        states = {}
        for b, rows in enumerate(self.blocks):
            kept = ([best.alpha[i] for i in rows], [best.beta[i] for i in rows])
            states[b] = {"labels": [vars(self.labels[i]) for i in rows], "kept": kept}

        def request(blocks: list[int]) -> dict[str, Any]:
            return {
                "op": "take",
                "blocks": {b: self.blocks[b] for b in blocks},
                "states": {b: states[b] for b in blocks},
            }

        found = self._ask_everyone("take", request)
        while found is None:  # a worker came or went
            self._muster()
            found = self._ask_everyone("take", request)
        self._kept_lost = False
        self.held[:] = UNKNOWN
        self.rho_coupled = self.rho
        self.report()

    def fingerprint(self) -> str:
        """SHA-256 of the data that the workers have."""
        found = self._insist("fingerprint", self._plain("fingerprint"))
        return next(iter(found.values()))

    def with_multipliers(self, best: LowRankSolution) -> LowRankSolution:
        """`best` with the multipliers that certify its lower bound."""
        while True:
            found = self._insist("multipliers", self._plain("multipliers"))
            if not self._kept_lost and all(kept is not None for kept in found.values()):
                break
            # a worker took the best with it: certify what there is now
            self._kept_lost = False
            self.report()
            value, t = self.lower_bound()
            if self._ask_everyone("keep", self._plain("keep", t=t)) is None:
                self._kept_lost = True
            best = best._replace(dual_objective=value)
        alpha: list[np.ndarray] = [np.empty(0)] * len(self.V)
        beta: list[np.ndarray] = [np.empty(0)] * len(self.V)
        for b, (alphas, betas) in found.items():
            for i, a, c in zip(self.blocks[b], alphas, betas, strict=True):
                alpha[i], beta[i] = a.copy(), c.copy()
        return best._replace(alpha=alpha, beta=beta)


class CentreCheckpoint(Checkpoint):
    """The file of `Checkpoint`, its states fetched from the workers and sent to them.

    A fit begun on workers can go on on one machine and the other way round.
    """

    def __init__(self, plain: Checkpoint, fingerprint: str | None = None):
        vars(self).update(vars(plain))
        if fingerprint is not None:
            self._data = fingerprint

    def restore(self, rounds: Centre, best: LowRankSolution) -> LowRankSolution:  # type: ignore[override]
        if not self.path.exists():
            return super().restore(rounds, best)
        rounds.fetch_labels()
        best = super().restore(rounds, best)
        rounds.send_labels(best)
        return best

    def _write(self, rounds: Centre, best: LowRankSolution) -> None:  # type: ignore[override]
        best = rounds.with_multipliers(best)
        rounds.fetch_labels()
        super()._write(rounds, best)
        rounds.labels = []


def deal_labels(training_set: TrainingSet, n_blocks: int) -> list[np.ndarray]:
    """Deal the labels out to blocks of about the same work: frequent ones are dearer."""
    order = np.argsort(-training_set.targets.present, kind="stable")
    return [np.sort(order[b::n_blocks]) for b in range(min(n_blocks, len(order)))]
