"""A dashboard in a process of its own, beside the one that crawls: `python -m bowerbird.web.child`.

It is told on its standard input what to show (`Wanted`, as JSON on one line: an address of a database may hold a password, which
the arguments of a process would show to everybody), and ends when that is closed, however the other process ended. On
its standard output it says one line of JSON for each address that lets a browser in, or why there is none.
"""

from __future__ import annotations

import asyncio
import sys

import msgspec
from msgspec import Struct

from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.limits.vault import FileVault
from bowerbird.settings import load_settings
from bowerbird.transport.serving import Listening
from bowerbird.web.serving import make_ready, opened_site, served, tell_entrances
from bowerbird.web.wanted import PORT, Wanted


class Asked(Struct, frozen=True, kw_only=True):
    """What the other process wants."""

    store: str
    host: str = "127.0.0.1"
    port: int | None = None
    """None: the usual one, or any that is free."""
    vault: str | None = None


class Told(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What it is told."""

    address: str = ""
    problem: str = ""


async def main() -> None:
    asked = msgspec.json.decode(await asyncio.to_thread(sys.stdin.readline), type=Asked)
    ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    try:
        shown = asyncio.create_task(_show(asked))
        await asyncio.wait([shown, ended], return_when=asyncio.FIRST_COMPLETED)
        if shown.done():
            shown.result()
        shown.cancel()
        await asyncio.wait([shown])
    except UserError as error:
        await _say(Told(problem=str(error)))


async def _show(asked: Asked) -> None:
    clock, settings = RealClock(), load_settings(vault=asked.vault)
    vault = FileVault(settings.vault, settings.vault_password)
    ports = (asked.port,) if asked.port is not None else (PORT, 0)
    for place, port in enumerate(ports, start=1):
        wanted = Wanted(store=asked.store, where=Listening(host=asked.host, port=port))
        async with opened_site(wanted, clock, vault) as site:
            make_ready(site)
            try:
                async with served(site, wanted.where) as base:
                    await tell_entrances(site, base, lambda address: _say(Told(address=address)))
            except UserError:
                # The port is taken: another dashboard is open.
                if place == len(ports):
                    raise


async def _say(told: Told) -> None:
    sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
