"""What is here: the workers of a Dask cluster as the centre sees them - who has which block.

Nothing here waits without a limit. A worker whose connection breaks is lost at once; one that does
not answer is waited for a little longer than the others (`Limits`), then the round goes on without
it, and after `Limits.give_up` its blocks go to others. A lost block starts from the copy that a
neighbour has, or from beta = C. Workers that join get the training set while rounds go on, and
blocks at the next round.
"""

import asyncio
import contextlib
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from prml import __version__
from prml.distributed.part import GIVES_ROWS, Settings
from prml.distributed.serve import HANDLER, attend, install, opened, relayed
from prml.distributed.traffic import Traffic, message_size
from prml.solvers.feasibility import InfeasibleError


class Limits(NamedTuple):
    """How long the rounds wait.

    Attributes
    ----------
    patience : float
        A round waits for late workers until so many times the time in which half of the workers
        have answered. It waits for the same late worker once: the next rounds go on without it
        until it answers.
    least_wait : float
        But at least so many seconds.
    give_up : float
        Seconds without an answer after which a worker's blocks go to others.
    no_workers : float
        Seconds without a worker that is ready after which the fit ends.
    scheduler : float
        Seconds for the scheduler to answer before it counts as lost.
    mirror_every : int
        Rounds between two copies of every block to a neighbour.

    Examples
    --------
    >>> from prml.distributed import Limits
    >>> Limits(give_up=300.0).patience
    3.0
    """

    patience: float = 3.0
    least_wait: float = 10.0
    give_up: float = 60.0
    no_workers: float = 120.0
    scheduler: float = 15.0
    mirror_every: int = 10


class ClusterLost(RuntimeError):
    """The scheduler is gone, or no worker is left."""


@dataclass
class Member:
    """One worker: what it has and what it is asked."""

    address: str
    n_threads: int
    presence: Any  # the future of `attend`
    blocks: list[int] = field(default_factory=list)
    ready: bool = False
    call: Any = None  # what it is working on, an asyncio task
    asked: str = ""
    since: float = 0.0
    refusals: int = 0

    @property
    def free(self) -> bool:
        return self.ready and self.call is None


class Crew:
    """The workers of a client's cluster; see `prml.distributed.centre.Workers`.

    Messages go to the workers directly, or by way of the scheduler (`direct` false) where the
    client cannot reach them.

    Parameters
    ----------
    client : distributed.Client
    source : Source
        Where a worker gets the training set from; see `prml.distributed.sources`.
    settings : Settings
    blocks : list of ndarray
    limits : Limits
    starts : list, optional
        The multipliers that the labels start from.
    """

    direct = True

    def __init__(
        self,
        client: Any,
        source: Any,
        settings: Settings,
        blocks: list[np.ndarray],
        limits: Limits,
        starts: list | None = None,
    ):
        self.client, self.source, self.settings, self.limits = client, source, settings, limits
        self.blocks, self.starts = blocks, starts
        self.fit = f"prml-{uuid.uuid4().hex}"
        self.members: dict[str, Member] = {}
        self.orphans: set[int] = set(range(len(blocks)))
        self.mirrors: dict[int, str] = {}
        self.traffic = Traffic()
        self.events: list[tuple[int, str]] = []  # (round, what happened)
        self._moved: set[int] = set()
        self._lost = False
        self._round = 0
        self._mirrored_at = 0
        self._began = False

    # --- for the centre -------------------------------------------------------------------------

    def muster(self, round: int) -> set[int]:
        self._round = round
        self._sync(self._muster())
        moved, self._moved = self._moved, set()
        return moved

    def lost(self) -> bool:
        lost, self._lost = self._lost, False
        return lost

    def ask(self, op: str, request: Any) -> list[tuple[str, dict[int, Any]]]:
        return self._sync(self._ask(op, request))

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *error: Any) -> None:
        """Let every worker go; those that do not answer find out by themselves."""
        with contextlib.suppress(Exception):
            self._sync(self._dismiss())

    def _sync(self, work: Any) -> Any:
        async def run() -> Any:
            return await work

        return self.client.sync(run)

    # --- calls ----------------------------------------------------------------------------------

    async def _call(self, address: str, request: dict[str, Any], limit: float | None = None) -> Any:
        from distributed.protocol import to_serialize

        self.traffic.down += message_size(request)
        if self.direct:
            proxy = getattr(self.client.rpc(address), HANDLER)
            call = proxy(fit=self.fit, request=to_serialize(request))
        else:
            call = self._relay(address, request)
        answer = opened(await asyncio.wait_for(call, limit))
        self.traffic.up += message_size(answer)
        return answer

    async def _relay(self, address: str, request: dict[str, Any]) -> Any:
        answers = await self.client.run(relayed, self.fit, request, workers=[address])
        return answers[address]

    async def _ask(self, op: str, request: Any) -> list[tuple[str, dict[int, Any]]]:
        answers = []
        for member in list(self.members.values()):
            if member.call is not None and member.call.done():
                late = self._harvest(member)
                # rows of M serve whenever they come; all else was asked about a V that is past
                answers += [answer for answer in late if answer[0] in GIVES_ROWS]
        asked = [m for m in self.members.values() if m.free and m.blocks]
        start = time.monotonic()
        for member in asked:
            self._start(member, op, request(list(member.blocks)))
        n_answered, deadline = 0, start + self.limits.give_up
        while waiting := [m for m in asked if m.call is not None and not m.call.done()]:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            await asyncio.wait(
                [m.call for m in waiting], timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            n_done = sum(m.call is None or m.call.done() for m in asked)
            if 2 * n_done >= len(asked) and 2 * n_answered < len(asked):
                elapsed = time.monotonic() - start
                wait = max(self.limits.least_wait, self.limits.patience * elapsed)
                deadline = min(deadline, start + wait)
            n_answered = n_done
        for member in asked:
            if member.call is not None and member.call.done():
                answers += self._harvest(member)
        return answers

    def _start(self, member: Member, op: str, request: dict[str, Any]) -> None:
        member.call = asyncio.ensure_future(self._call(member.address, request))
        member.asked, member.since = op, time.monotonic()

    def _harvest(self, member: Member) -> list[tuple[str, dict[int, Any]]]:
        """The answer of a call that has ended; of a worker that is lost none."""
        call, member.call = member.call, None
        try:
            answer = call.result()
        except (OSError, TimeoutError, asyncio.CancelledError):
            self._lose(member, "the connection broke")
            return []
        if "unknown" in answer:
            self._lose(member, "it started anew")
            return []
        known = answer.get("blocks")
        if known is None:
            known = dict.fromkeys(member.blocks)
        # blocks that have meanwhile gone elsewhere count no more
        return [(member.asked, {b: known[b] for b in known if b in member.blocks})]

    # --- who is there ---------------------------------------------------------------------------

    async def _muster(self) -> None:
        give_up = time.monotonic() + self.limits.no_workers
        while True:
            await self._roll_call()
            free = [m for m in self.members.values() if m.free]
            busy = [m for m in self.members.values() if m.ready and m.call is not None]
            if free and self._all_expected(give_up):
                await self._place_orphans()
                await self._even_out()
                if not self.orphans:
                    break
            elif busy and not self.orphans:
                await asyncio.wait([m.call for m in busy], timeout=0.5)
                break
            if time.monotonic() > give_up:
                raise ClusterLost(
                    f"no worker of {self.client.scheduler.address} was ready for "
                    f"{self.limits.no_workers:g} s"
                )
            await asyncio.sleep(0.05)
        self._began = True
        if self._mirror_is_due():
            await self._mirror()

    def _all_expected(self, give_up: float) -> bool:
        """At the very start wait a little for all workers, so that no block has to move."""
        waited = time.monotonic() - (give_up - self.limits.no_workers)
        return self._began or waited > 20.0 or all(m.ready for m in self.members.values())

    async def _roll_call(self) -> None:
        """Find out who is there, who left, who is new, who is ready and who is stuck."""
        for address in set(self.members) - set(await self._addresses()):
            self._lose(self.members[address], "it left")
        now = time.monotonic()
        for member in list(self.members.values()):
            stuck = member.call is not None and not member.call.done()
            if stuck and member.blocks and now - member.since > self.limits.give_up:
                self._note(f"{member.address} does not answer: its blocks go to others")
                self._orphan(member)
            if member.call is not None and member.call.done() and not member.blocks:
                self._harvest(member)  # late, and of no use any more
        await asyncio.gather(*[self._look_at(m) for m in self.members.values() if not m.ready])

    async def _addresses(self) -> dict[str, int]:
        lost = f"the scheduler at {self.client.scheduler.address} does not answer"
        if self.client.status != "running":
            raise ClusterLost(lost)
        try:
            ask = self.client.scheduler.ncores_running()
            threads = await asyncio.wait_for(ask, self.limits.scheduler)
        except (OSError, TimeoutError):
            raise ClusterLost(lost) from None
        for address in set(threads) - set(self.members):
            presence = await self._invite(address)
            if presence is not None:
                self.members[address] = Member(address, threads[address], presence)
        return threads

    async def _invite(self, address: str) -> Any:
        """Start the task that holds the training set on a worker; None when it is gone again."""
        try:
            call = self.client.run(install, workers=[address])
            version = (await asyncio.wait_for(call, self.limits.scheduler)).get(address)
        except (OSError, TimeoutError):
            return None
        except ImportError as error:
            raise ValueError(f"the worker at {address} has no prml ({error}).") from None
        if version != __version__:
            raise ValueError(
                f"the worker at {address} has prml {version}; expected the client's, {__version__}."
            )
        source = await self.source.sent_by(self.client)
        key = f"{self.fit}-{uuid.uuid4().hex}"
        arguments = (source, self.fit, self.settings)
        return self.client.submit(attend, *arguments, workers=[address], key=key, pure=False)

    async def _look_at(self, member: Member) -> None:
        """See whether a new worker has its training set by now."""
        status = member.presence.status
        if status == "error":
            error = await member.presence.exception()
            if isinstance(error, ValueError | ImportError | TypeError | MemoryError):
                raise error
            self._lose(member, f"{type(error).__name__}: {error}")
        elif status in ("lost", "cancelled"):  # the worker that had the data is gone
            self.source.renew()
            presence = await self._invite(member.address)
            member.presence = member.presence if presence is None else presence
        else:
            try:
                answer = await self._call(member.address, {"op": "hello"}, 5.0)
            except (OSError, TimeoutError):
                member.refusals += 1
                if member.refusals >= 3 and self.direct:
                    self.direct = False
                    self._note(f"{member.address} cannot be reached: by way of the scheduler now")
                return
            member.ready = "ready" in answer
            if member.ready:
                self._note(f"{member.address} is ready")

    # --- blocks ---------------------------------------------------------------------------------

    def _lose(self, member: Member, why: str) -> None:
        self._note(f"{member.address} is lost ({why})")
        self._orphan(member)
        if member.call is not None:
            member.call.cancel()
        self.members.pop(member.address, None)
        with contextlib.suppress(Exception):
            member.presence.release()

    def _orphan(self, member: Member) -> None:
        self._lost = self._lost or bool(member.blocks)
        self.orphans.update(member.blocks)
        member.blocks = []

    async def _place_orphans(self) -> None:
        """Give blocks without a home to the free workers with the least to do."""
        plan: dict[tuple[str, str | None], list[int]] = {}
        free = [m for m in self.members.values() if m.free]
        load = {m.address: len(m.blocks) / m.n_threads for m in free}
        for b in sorted(self.orphans):
            home = min(free, key=lambda m: load[m.address])
            load[home.address] += 1 / home.n_threads
            mirror = self.mirrors.get(b)
            plan.setdefault((home.address, mirror if mirror in self.members else None), []).append(
                b
            )
        await asyncio.gather(
            *[self._settle(home, bs, mirror, "mirrored") for (home, mirror), bs in plan.items()]
        )

    async def _settle(
        self, address: str, blocks: list[int], origin: str | None, origin_op: str
    ) -> bool:
        """Let a worker take blocks, from another one that has their states or from the start."""
        request: dict[str, Any] = {"op": "take", "blocks": {b: self.blocks[b] for b in blocks}}
        if origin is not None:
            request |= {"from": origin, "from_op": origin_op}
        if self.starts is not None:
            request["starts"] = {b: [self.starts[i] for i in self.blocks[b]] for b in blocks}
        member = self.members[address]
        try:
            answer = await self._call(address, request, self.limits.give_up)
        except (OSError, TimeoutError):
            answer = {"unknown": blocks}
        if "unknown" in answer:
            self._lose(member, "it could not take its blocks")
            return False
        if answer["infeasible"]:
            raise InfeasibleError(answer["infeasible"])
        member.blocks.extend(blocks)
        self.orphans.difference_update(blocks)
        self._moved.update(blocks)
        if self._began and origin_op == "mirrored":
            of = "a copy" if origin is not None else "beta = C"
            self._note(f"{address} takes blocks {blocks} from {of}")
        return True

    async def _even_out(self) -> None:
        """Move blocks to workers that have too few: those that joined."""
        free = [m for m in self.members.values() if m.free]
        while len(free) > 1:
            poor = min(free, key=lambda m: (len(m.blocks) + 1) / m.n_threads)
            rich = max(free, key=lambda m: len(m.blocks) / m.n_threads)
            if (len(poor.blocks) + 1) / poor.n_threads >= len(rich.blocks) / rich.n_threads:
                return
            b = rich.blocks.pop()
            if await self._settle(poor.address, [b], rich.address, "states"):
                with contextlib.suppress(Exception):
                    await self._call(rich.address, {"op": "drop", "blocks": [b]}, 5.0)
                self._note(f"block {b} moves to {poor.address}")
            else:
                rich.blocks.append(b)
            free = [m for m in self.members.values() if m.free]

    def _mirror_is_due(self) -> bool:
        """Every so many rounds, and at once when a block has lost its copy."""
        if sum(m.free for m in self.members.values()) < 2:
            return False
        if self._round >= self._mirrored_at + self.limits.mirror_every:
            return True
        homes = {b: m.address for m in self.members.values() for b in m.blocks}
        return any(at not in self.members or at == homes.get(b) for b, at in self.mirrors.items())

    async def _mirror(self) -> None:
        """Copy every worker's blocks to the next one."""
        ring = [m for m in self.members.values() if m.free]
        self._mirrored_at = self._round

        async def copy(member: Member, neighbour: Member) -> None:
            blocks = list(member.blocks)
            request = {"op": "mirror", "from": member.address, "blocks": blocks}
            with contextlib.suppress(OSError, TimeoutError):
                answer = await self._call(neighbour.address, request, self.limits.give_up)
                if "mirrored" in answer:
                    self.mirrors.update(dict.fromkeys(blocks, neighbour.address))

        await asyncio.gather(*[copy(m, n) for m, n in zip(ring, ring[1:] + ring[:1], strict=True)])

    async def _dismiss(self) -> None:
        async def dismiss(member: Member) -> None:
            if member.call is not None:
                member.call.cancel()
            with contextlib.suppress(Exception):
                await self._call(member.address, {"op": "dismiss"}, 3.0)
            member.presence.release()

        await asyncio.gather(*[dismiss(m) for m in self.members.values()])
        self.source.release()

    def _note(self, what: str) -> None:
        self.events.append((self._round, what))
