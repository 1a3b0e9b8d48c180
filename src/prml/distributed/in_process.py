"""What is here: workers that are not there - the same messages, answered in this process.

For simulations of many workers on one machine, and for tests.
"""

from typing import Any

import numpy as np

from prml.distributed.part import Part, Settings
from prml.distributed.traffic import Traffic, message_size
from prml.solvers.feasibility import InfeasibleError
from prml.solvers.training_set import TrainingSet


class InProcess:
    """Parts in this process, one for every imagined worker; block b is with worker b mod n."""

    def __init__(
        self,
        training_set: TrainingSet,
        settings: Settings,
        blocks: list[np.ndarray],
        n_workers: int,
        starts: list | None = None,
    ):
        self.parts = [Part(training_set, settings) for _ in range(n_workers)]
        self.homes = [range(w, len(blocks), n_workers) for w in range(n_workers)]
        self.blocks, self.starts = blocks, starts
        self.traffic = Traffic()
        self._settled = False

    def muster(self, round: int) -> set[int]:
        if self._settled:
            return set()
        self._settled = True
        for part, home in zip(self.parts, self.homes, strict=True):
            request: dict[str, Any] = {"op": "take", "blocks": {b: self.blocks[b] for b in home}}
            if self.starts is not None:
                request["starts"] = {b: [self.starts[i] for i in self.blocks[b]] for b in home}
            infeasible = part.answer(request)["infeasible"]
            if infeasible:
                raise InfeasibleError(infeasible)
        return set(range(len(self.blocks)))

    def lost(self) -> bool:
        return False

    def ask(self, op: str, request: Any) -> list[tuple[str, dict[int, Any]]]:
        answers = []
        for part, home in zip(self.parts, self.homes, strict=True):
            if len(home) == 0:
                continue
            message = request(list(home))
            self.traffic.down += message_size(message)
            answer = part.answer(message)
            self.traffic.up += message_size(answer)
            answers.append((op, answer.get("blocks", dict.fromkeys(home))))
        return answers
