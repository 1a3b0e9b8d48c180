"""What is here: the part of a fit that one worker has - blocks of labels and what is asked of them.

No Dask in this file: a request is a dict of numbers and arrays, and so is an answer. A block is a
`Splitting` of some labels; its rows of V and of the multipliers move in step with the centre's
(`prml.distributed.centre`), because both compute the same from the same few factors.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from prml.solvers.checkpoint import data_fingerprint
from prml.solvers.feasibility import InfeasibleError
from prml.solvers.given_margins import TeacherFit
from prml.solvers.label_threads import LabelThreads
from prml.solvers.labelwise import zero_solution
from prml.solvers.lowrank import Splitting, distances_of
from prml.solvers.training_set import Hyperparameters, TrainingSet

GIVES_ROWS = ("turn", "shed")  # requests whose answers hold rows of M
STATE = ("alpha", "beta", "active", "u", "s", "m_row", "rho", "rng")  # of a label


class Settings(NamedTuple):
    """The numbers of a fit that every worker needs."""

    numbers: Hyperparameters
    gamma1: float
    seed: int


class Part:
    """The blocks of one worker.

    Parameters
    ----------
    training_set : TrainingSet
        All examples, all labels as teachers.
    settings : Settings
    n_threads : int
        Blocks worked on at once.
    """

    def __init__(self, training_set: TrainingSet, settings: Settings, n_threads: int = 1):
        self.training_set, self.settings = training_set, settings
        self.threads = LabelThreads(n_threads)
        self.blocks: dict[int, Splitting] = {}
        self.versions: dict[int, int] = {}
        self.kept: dict[int, tuple[list, list]] = {}  # the best multipliers, made feasible
        self.repaired: dict[int, list[TeacherFit]] = {}  # between "distances" and "judge"
        self.mirrors: dict[int, dict] = {}  # blocks of other workers, as they were some rounds ago

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked of some blocks: {"op": ..., "blocks": {block: ...}, ...}."""
        strangers = [b for b in request["blocks"] if b not in self.blocks]
        if strangers and request["op"] != "take":
            return {"unknown": strangers}
        return getattr(self, "_" + request["op"])(request)

    def each(self, blocks, work: Callable[[int], Any]) -> dict[int, Any]:
        """`work` of every block, in threads when there are any."""
        return dict(zip(blocks, self.threads.each(work, blocks), strict=True))

    def _take(self, request) -> dict:
        """Take blocks over: {block: labels}, at the states or multipliers given or from nothing."""
        states, starts = request.get("states", {}), request.get("starts", {})

        def begin(b: int) -> list[int]:
            members = np.array(request["blocks"][b])
            try:
                self.blocks[b] = self._block(members, starts.get(b))
            except InfeasibleError as error:
                return error.labels
            self.versions[b] = -1
            self.repaired.pop(b, None)
            if b in states:
                self._set_state(b, states[b])
            return []

        infeasible = self.each(list(request["blocks"]), begin)
        return {"infeasible": sorted(i for labels in infeasible.values() for i in labels)}

    def _block(self, members: np.ndarray, starts: list | None) -> Splitting:
        numbers, gamma1, seed = self.settings
        if starts is not None:  # arrays that came over the wire are not ours to write
            starts = [(alpha.copy(), beta.copy()) for alpha, beta in starts]
        return Splitting(
            self.training_set, numbers, gamma1, seed=seed, n_jobs=1, starts=starts, members=members
        )

    def state(self, b: int) -> dict[str, Any]:
        """Everything that the next turn of a block depends on, besides V and the multipliers."""
        labels = [{name: getattr(label, name) for name in STATE} for label in self.blocks[b].labels]
        return {"labels": labels, "kept": self.kept.get(b)}

    def _set_state(self, b: int, state: dict[str, Any]) -> None:
        for label, kept in zip(self.blocks[b].labels, state["labels"], strict=True):
            for name, value in kept.items():
                setattr(label, name, value.copy() if isinstance(value, np.ndarray) else value)
        if state["kept"] is not None:
            self.kept[b] = state["kept"]

    def _states(self, request) -> dict:
        return {"blocks": {b: self.state(b) for b in request["blocks"]}}

    def _drop(self, request) -> dict:
        for b in request["blocks"]:
            for room in (self.blocks, self.versions, self.kept, self.repaired):
                room.pop(b, None)
        return {}

    def _fingerprint(self, request) -> dict:
        digest = data_fingerprint(self.training_set)
        return {"blocks": dict.fromkeys(request["blocks"], digest)}

    def _nothing(self, request) -> dict:
        """The objective of Z = 0 and the teachers' intercepts there."""

        def zero(b: int):
            numbers = self.settings.numbers
            members = map(int, self.blocks[b].members)
            fits = [zero_solution(self.training_set, i, numbers) for i in members]
            return sum(fit.objective for fit in fits), np.array([fit.wt0 for fit in fits])

        return {"blocks": self.each(list(request["blocks"]), zero)}

    def _in_step(self, b: int, request) -> Splitting:
        """Bring V and the multipliers of a block to the version of the request."""
        block, update = self.blocks[b], request["blocks"][b]
        if update is None:
            pass
        elif "dual" in update:
            block.V, block.dual = update["V"].copy(), update["dual"].copy()
        else:
            block.rho = request["rho_coupled"]
            V = update["V"] if "V" in update else update["left"] @ request["right"]
            block.move(block.target(block.dual_rows()), V)
        self.versions[b] = request["version"]
        block.rho = request["rho"]
        return block

    def _turn(self, request) -> dict:
        """The labels' sweeps: rows of M and the two parts of the dual value."""

        def turn(b: int):
            block = self._in_step(b, request)
            block.round, block.effort = request["round"], request["effort"]
            return block.turns(), block.sum_of_dual_parts(), self.versions[b]

        return {"blocks": self.each(list(request["blocks"]), turn)}

    def _shed(self, request) -> dict:
        """The multipliers brought nearer to the ball; what a turn returns."""

        def shed(b: int):
            block = self._in_step(b, request)
            block.shed_rows(request["coordinates"][block.members], request["directions"])
            return block.dual_rows(), block.sum_of_dual_parts(), self.versions[b]

        return {"blocks": self.each(list(request["blocks"]), shed)}

    def _report(self, request) -> dict:
        """What a turn returns, without the turn."""

        def report(b: int):
            block = self.blocks[b]
            return block.dual_rows(), block.sum_of_dual_parts()

        return {"blocks": self.each(list(request["blocks"]), report)}

    def _least(self, request) -> dict:
        """By how much V must grow in each block; see `Splitting.enlargement`."""
        work = lambda b: self._in_step(b, request).enlargement()  # noqa: E731
        return {"blocks": self.each(list(request["blocks"]), work)}

    def _distances(self, request) -> dict:
        """How far from the best the repaired teachers may be."""

        def repair(b: int):
            self.repaired[b] = self._in_step(b, request).repair(request["enlargement"])
            return distances_of(self.repaired[b])

        return {"blocks": self.each(list(request["blocks"]), repair)}

    def _judge(self, request) -> dict:
        """The objectives of V, enlarged, with the best teachers, and these."""

        def judge(b: int):
            block = self._in_step(b, request)
            repaired = self.repaired.pop(b, None)
            if repaired is None:  # a block that has come here since the repair
                repaired = block.repair(request["enlargement"])
            objective, wt, wt0 = block.judge(request["enlargement"], repaired, request["cutoff"])
            return objective, np.concatenate(wt), wt0, self.versions[b]

        return {"blocks": self.each(list(request["blocks"]), judge)}

    def _keep(self, request) -> dict:
        """Keep the multipliers of now, scaled into the ball: they are the best so far."""
        for b in request["blocks"]:
            self.kept[b] = self.blocks[b].feasible_multipliers(request["t"])
        return {}

    def _multipliers(self, request) -> dict:
        return {"blocks": {b: self.kept.get(b) for b in request["blocks"]}}


def label_records(states: dict[int, dict], blocks: list[np.ndarray]) -> list[Any]:
    """The states of all blocks as one list over the labels, as a checkpoint reads it."""
    records: list[Any] = [None] * sum(len(members) for members in blocks)
    for b, members in enumerate(blocks):
        for i, state in zip(members, states[b]["labels"], strict=True):
            records[i] = SimpleNamespace(**state)
    return records
