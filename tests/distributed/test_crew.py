"""What is here: who is waited for, and what a late answer is worth - no cluster needed."""

import asyncio
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from tests.distributed.clusters import wait_until

from prml.distributed import serve
from prml.distributed.crew import Crew, Limits, Member

pytest.importorskip("distributed")  # messages are measured as Dask serialises them


class Scripted(Crew):
    """Workers "quick" and "slow", each with a block; the slow one takes `delay` seconds."""

    def __init__(self, delay: float, **limits):
        super().__init__(None, None, None, [np.array([0]), np.array([1])], Limits(**limits))
        for b, name in enumerate(("quick", "slow")):
            self.members[name] = Member(name, 1, None, [b], ready=True)
        self.orphans.clear()
        self.delay = delay

    async def _call(self, address, request, limit=None):
        await asyncio.sleep(self.delay if address == "slow" else 0.0)
        return {"blocks": dict.fromkeys(request["blocks"], (address, request["number"]))}


def ask(crew, op, number):
    return crew._ask(op, lambda blocks: {"op": op, "number": number, "blocks": blocks})


def test_a_late_turn_counts_when_it_comes_and_a_late_judgement_never():
    async def run(op):
        crew = Scripted(0.3, least_wait=0.05, patience=1.0)
        first = await ask(crew, op, 1)
        await asyncio.sleep(0.4)
        second = await ask(crew, op, 2)
        return first, second

    first, second = asyncio.run(run("turn"))
    assert first == [("turn", {0: ("quick", 1)})]
    assert second == [("turn", {1: ("slow", 1)}), ("turn", {0: ("quick", 2)})]
    first, second = asyncio.run(run("judge"))
    assert first == [("judge", {0: ("quick", 1)})]
    assert second == [("judge", {0: ("quick", 2)})]


def test_the_same_late_worker_is_waited_for_once():
    async def run():
        crew = Scripted(2.0, least_wait=0.3, patience=1.0)
        times = []
        for number in range(3):
            start = time.monotonic()
            answers = await ask(crew, "turn", number)
            times.append(time.monotonic() - start)
            assert answers == [("turn", {0: ("quick", number)})]
        for member in crew.members.values():
            if member.call is not None:
                member.call.cancel()
        return times

    first, *rest = asyncio.run(run())
    assert 0.3 <= first < 1.5
    assert max(rest) < 0.2


def test_an_answer_for_a_block_that_has_gone_elsewhere_counts_no_more():
    async def run():
        crew = Scripted(0.2, least_wait=0.05, patience=1.0)
        await ask(crew, "turn", 1)
        crew._orphan(crew.members["slow"])
        await asyncio.sleep(0.3)
        return crew, await ask(crew, "turn", 2)

    crew, answers = asyncio.run(run())
    assert ("turn", {0: ("quick", 2)}) in answers
    assert all(1 not in blocks for _, blocks in answers)
    assert crew.orphans == {1} and crew.lost() and not crew.lost()


def test_a_worker_that_is_invited_again_lets_its_first_part_go(monkeypatch):
    worker = SimpleNamespace(address="here", state=SimpleNamespace(nthreads=1))
    monkeypatch.setattr("distributed.get_worker", lambda: worker)
    monkeypatch.setattr(serve, "training_set_of", lambda source: source)
    ends = []

    def hold(name):
        ends.append((name, serve.attend(name, "fit", None)))

    threads = [threading.Thread(target=hold, args=(name,)) for name in ("first", "second")]
    for thread, name in zip(threads, ("first", "second"), strict=True):
        thread.start()
        wait_until(
            lambda name=name: getattr(_part(), "training_set", None) == name, 10
        )  # its part is the one that answers
    threads[0].join(10)
    assert ends == [("first", "dismissed")]
    assert _part().training_set == "second"
    asyncio.run(serve.respond(worker, "fit", {"op": "dismiss"}))
    threads[1].join(10)
    assert _part() is None
    answer = asyncio.run(serve.respond(worker, "fit", {"op": "turn", "blocks": {}}))
    assert "unknown" in answer


def _part():
    here = serve._attended.get(("here", "fit"))
    return None if here is None else here.part
