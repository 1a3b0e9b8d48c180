"""What is here: what runs inside a Dask worker - a task that holds a part, a handler that works.

The task (`attend`) occupies a thread of the worker for as long as the fit lasts, so that the
scheduler sees the worker as busy, and holds the training set. Requests come over a handler of the
worker's own server: the caller notices at once when the connection breaks, and nothing waits in a
queue of the scheduler for a worker that is gone.
"""

import asyncio
import threading
import time
from typing import Any

from prml import __version__
from prml.distributed.part import Part, Settings
from prml.distributed.sources import training_set_of

HANDLER = "prml_fit"
ABANDONED_AFTER = 600.0  # seconds without a request: the client is gone
PEER_PATIENCE = 60.0  # seconds for a neighbour to hand over states

# by worker too: the workers of a cluster in threads share this process
_attended: dict[tuple[str, str], "_Attended"] = {}


class _Attended:
    def __init__(self, part: Part):
        self.part = part
        self.done = threading.Event()
        self.last_request = time.monotonic()
        self.one_at_a_time = threading.Lock()


def install(dask_worker: Any = None) -> str:
    """Let a worker's server answer requests; returns the version of prml that it has."""

    async def prml_fit(fit: str, request: dict[str, Any]) -> Any:
        from distributed.protocol import to_serialize

        return to_serialize(await respond(dask_worker, fit, opened(request)))

    dask_worker.handlers[HANDLER] = prml_fit
    return __version__


def attend(source: Any, fit: str, settings: Settings) -> str:
    """Hold the part of a fit in this worker until it is dismissed; a Dask task."""
    from distributed import get_worker

    worker = get_worker()
    part = Part(training_set_of(source), settings, worker.state.nthreads)
    here = _Attended(part)
    place = worker.address, fit
    before = _attended.get(place)
    _attended[place] = here
    if before is not None:  # the client had given this worker up
        before.done.set()
    try:
        while not here.done.wait(1.0):
            if time.monotonic() - here.last_request > ABANDONED_AFTER:
                return "abandoned"
        return "dismissed"
    finally:
        if _attended.get(place) is here:
            del _attended[place]


def opened(message: Any) -> dict[str, Any]:
    """What is in a message; between threads of one process Dask leaves it in its wrapping."""
    from distributed.protocol import Serialize

    return message.data if isinstance(message, Serialize) else message


async def relayed(fit: str, request: dict[str, Any], dask_worker: Any = None) -> dict[str, Any]:
    """Answer a request that came by way of the scheduler (`Client.run`)."""
    return await respond(dask_worker, fit, request)


async def respond(worker: Any, fit: str, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request, or {"unknown": ...} when this worker does not have the fit.

    The work is done in a thread, so that the worker goes on listening.
    """
    here = _attended.get((worker.address, fit))
    if here is None:
        return {"unknown": fit}
    here.last_request = time.monotonic()
    if request["op"] == "dismiss":
        here.done.set()
        return {}
    if request["op"] == "hello":
        return {"ready": True}
    if request["op"] == "mirror":
        return await _mirror(worker, here.part, fit, request)
    if request["op"] == "mirrored":
        mirrors = here.part.mirrors
        return {"blocks": {b: mirrors[b] for b in request["blocks"] if b in mirrors}}
    if request.get("from") is not None:
        request = await _with_states(worker, here.part, fit, request)

    def work() -> dict[str, Any]:
        with here.one_at_a_time:
            start = time.perf_counter()
            answer = here.part.answer(request)
            here.last_request = time.monotonic()
            return answer | {"seconds": time.perf_counter() - start}

    return await asyncio.to_thread(work)


async def _mirror(worker: Any, part: Part, fit: str, request: dict[str, Any]) -> dict[str, Any]:
    """Copy blocks of a neighbour into the memory of this worker."""
    asked = {"op": "states", "blocks": request["blocks"]}
    answer = await _ask_peer(worker, request["from"], fit, asked)
    if "blocks" not in answer:
        return {"unknown": request["blocks"]}
    part.mirrors.update(answer["blocks"])
    return {"mirrored": True}


async def _with_states(
    worker: Any, part: Part, fit: str, request: dict[str, Any]
) -> dict[str, Any]:
    """A request to take blocks, with their states from where they are: here or at a neighbour's."""
    peer, op, blocks = request["from"], request["from_op"], list(request["blocks"])
    if op == "mirrored" and peer == worker.address:
        found = {b: part.mirrors[b] for b in blocks if b in part.mirrors}
    else:
        answer = await _ask_peer(worker, peer, fit, {"op": op, "blocks": blocks})
        found = answer.get("blocks", {})
    return request | {"states": found}


async def _ask_peer(worker: Any, peer: str, fit: str, request: dict[str, Any]) -> dict[str, Any]:
    from distributed.protocol import to_serialize

    try:
        call = getattr(worker.rpc(peer), HANDLER)(fit=fit, request=to_serialize(request))
        return opened(await asyncio.wait_for(call, PEER_PATIENCE))
    except (OSError, TimeoutError):
        return {}
