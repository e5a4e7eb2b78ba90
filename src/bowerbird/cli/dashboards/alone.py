"""A dashboard by itself: `bowerbird serve` over a store, while its crawls run elsewhere or not at all."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from bowerbird.cli.dashboards.shown import check_installed, open_browser
from bowerbird.cli.screens.output import Output
from bowerbird.clock import RealClock
from bowerbird.db.addresses import public
from bowerbird.limits.vault import FileVault
from bowerbird.settings import Settings
from bowerbird.web.wanted import Wanted


async def show_store(settings: Settings, wanted: Wanted, output: Output, *, opens: bool = False) -> None:
    """Shows a store until the user has had enough."""
    check_installed()
    from bowerbird.web.serving import make_ready, opened_site, served, tell_entrances

    vault = FileVault(settings.vault, settings.vault_password)
    told: list[str] = []

    async def say(address: str) -> None:
        shown = f"Another browser comes in with {address}" if told else f"Showing {public(wanted.store)} at {address}"
        told.append(address)
        output.line(shown if len(told) > 1 else f"{shown}\nEnd with Ctrl-C; crawls of the store are not touched by it.")
        output.result({"address": address})
        if opens and len(told) == 1:
            await asyncio.to_thread(open_browser, address)

    async with opened_site(wanted, RealClock(), vault) as site, served(site, wanted.where) as base:
        make_ready(site)
        telling = asyncio.create_task(tell_entrances(site, base, say))
        with _ended_by_signal(telling), suppress(asyncio.CancelledError):
            await telling


@contextmanager
def _ended_by_signal(task: asyncio.Task[None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
