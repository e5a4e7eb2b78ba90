"""Tells the service manager that the crawl has begun and is alive: systemd's notification protocol, datagrams to a socket.

A crawl that is stuck says nothing any more, and the manager starts it again (`WatchdogSec`). Stuck means that a silence outlasts
what our own watch over the parts can mend, or that this very loop does not run.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from bowerbird.crawl.process.supervisor import RELAUNCH
from bowerbird.ports import Clock
from bowerbird.settings import Manager

_MENDED = RELAUNCH + timedelta(minutes=30)
"""By then a silent part was started again, or cannot be."""


@asynccontextmanager
async def heard_by(manager: Manager | None, longest_silence: Callable[[], timedelta], clock: Clock) -> AsyncIterator[None]:
    """While inside, the manager is told twice per watchdog period that the crawl is alive; nothing without a manager."""
    if manager is None:
        yield
        return
    _tell(manager, "READY=1")
    beating = asyncio.create_task(_beat(manager, longest_silence, clock), name="watchdog")
    try:
        yield
    finally:
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating
        _tell(manager, "STOPPING=1")


async def _beat(manager: Manager, longest_silence: Callable[[], timedelta], clock: Clock) -> None:
    while manager.watchdog is not None:
        if longest_silence() < _MENDED:
            _tell(manager, "WATCHDOG=1")
        await clock.sleep_until(clock.now() + manager.watchdog / 2)


def _tell(manager: Manager, state: str) -> None:
    # A manager that does not listen is no reason for the crawl to fail.
    address = "\0" + manager.socket[1:] if manager.socket.startswith("@") else manager.socket
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as speaking:
        speaking.setblocking(False)
        speaking.sendto(state.encode(), address)
