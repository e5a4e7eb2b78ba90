"""Works for a coordinator: a process with secrets and without a database."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from msgspec import Struct

from bowerbird.cli.live.beat import heard_by
from bowerbird.cli.screens.amounts.numbers import many
from bowerbird.cli.screens.output import Output
from bowerbird.crawl.process.endings import Ending
from bowerbird.db import open_database
from bowerbird.ports import Clock, Transport, Vault
from bowerbird.remote.worker.link import Address, Link
from bowerbird.remote.worker.working import Hands, RemoteWorker
from bowerbird.settings import load_settings, service_manager
from bowerbird.transport import HttpTransport

_TOLD_EVERY = timedelta(minutes=1)
_NEVER_SILENT = timedelta(0)
_WORDS = {signal.SIGINT: "interrupted with Ctrl-C", signal.SIGTERM: "asked to end by the system (SIGTERM)"}


class Ended(Struct, frozen=True):
    """How a process of a fleet ended, and whether somebody interrupted it."""

    ending: Ending
    was_interrupted: bool = False


async def work_for(address: Address, vault: Vault, clock: Clock, output: Output, wanted: tuple[int, frozenset[str]]) -> Ended:
    """Works until the coordinator says that it is enough, or somebody ends it. `wanted`: calls at once, and facets."""
    link = Link(address, clock)
    own = await open_database(":memory:", clock)
    await own.create_tables()

    def transport(contact: str) -> Transport:
        return HttpTransport(clock, load_settings(contact=contact or None).user_agent)

    worker = RemoteWorker(link, Hands(clock=clock, vault=vault, transport=transport, own=own, slots=wanted[0], facets=wanted[1]))
    telling = asyncio.create_task(_tell(worker, clock, output))
    try:
        async with heard_by(service_manager(), lambda: _NEVER_SILENT, clock):
            with _signals(worker) as asked:
                return await _worked(worker, asked)
    finally:
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling
        await link.close()
        await own.close()


async def _worked(worker: RemoteWorker, asked: list[str]) -> Ended:
    """`asked`: why users want it to end, so far."""
    try:
        ending = await worker.run()
    except asyncio.CancelledError:
        # Ours: of a worker that no coordinator knows yet, or of a user who does not want to wait.
        if not asked or (task := asyncio.current_task()) is None:
            raise
        task.uncancel()
        ending = Ending.stopped(asked[0])
    return Ended(ending, _WORDS[signal.SIGINT] in asked)


async def _tell(worker: RemoteWorker, clock: Clock, output: Output) -> None:
    """A line when it is enrolled and now and then, with what stands in the way."""
    told = ""
    while True:
        tally = worker.tally
        trouble = f"  [{tally.trouble}]" if tally.trouble_at and clock.now() - tally.trouble_at < _TOLD_EVERY else ""
        if worker.number():
            output.progress(f"worker {worker.number()}: {many(tally.calls, 'call')}{trouble}")
            wait = _TOLD_EVERY
        else:
            if trouble and trouble != told:
                output.progress(f"Waiting (Ctrl-C ends it): {tally.trouble}")
            wait, told = timedelta(seconds=1), trouble
        await clock.sleep_until(clock.now() + wait)


@contextmanager
def _signals(worker: RemoteWorker) -> Iterator[list[str]]:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    asked: list[str] = []

    def end(reason: str) -> None:
        if (asked or not worker.number()) and task is not None:
            task.cancel()
        asked.append(reason)
        worker.end(reason)

    for number, reason in _WORDS.items():
        loop.add_signal_handler(number, end, reason)
    try:
        yield asked
    finally:
        for number in _WORDS:
            loop.remove_signal_handler(number)
