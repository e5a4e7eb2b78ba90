"""A dashboard over one store, from the opened database to the address that a person opens."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from bowerbird.db.addresses import public
from bowerbird.db.tables import check_store
from bowerbird.db.threaded import open_threaded
from bowerbird.ports import Clock, Vault
from bowerbird.transport.serving import Listening, serving
from bowerbird.web.dashboard import dashboard
from bowerbird.web.security import Door, check_door
from bowerbird.web.site import Site
from bowerbird.web.wanted import Wanted

_LOOK_EVERY = timedelta(seconds=1)
_OBJECTS = 10_000
"""So many more there may be before garbage is looked for, as in all commands: a page is made of thousands."""


@asynccontextmanager
async def opened_site(wanted: Wanted, clock: Clock, vault: Vault | None = None) -> AsyncIterator[Site]:
    """The site over a store that exists, as it is: nothing is created. Raises `UserError` where others could come in
    and nobody has a password."""
    database = await open_threaded(wanted.store, clock)
    try:
        await check_store(database, public(wanted.store))
        door = Door.of(wanted.where, wanted.names)
        await check_door(door, database, public(wanted.store))
        site = Site(database, clock, public(wanted.store), vault=vault, store=wanted.store, door=door)
        site.keeper.begin()
        try:
            yield site
        finally:
            site.live.close()
            await site.keeper.end()
    finally:
        await database.close()


@asynccontextmanager
async def served(site: Site, where: Listening) -> AsyncIterator[str]:
    """Serves a site by itself until the block ends; gives its base URL."""
    async with serving(dashboard(site), where) as base:
        try:
            yield base
        finally:
            # Otherwise those who watch would be waited for.
            site.live.close()


def make_ready(site: Site) -> None:
    """For a process that shows a site and does nothing else: what the first readers would wait for is done now, and what stays
    as long as the process is not looked through for garbage while somebody waits for a page."""
    site.templates.compile()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS)


async def entrance_of(site: Site, base: str) -> str:
    """The address to open: with the key of the terminal while nobody has a password."""
    key = await site.guard.entrance.key()
    return f"{base}/enter?key={key}" if key else f"{base}/"


async def tell_entrances(site: Site, base: str, say: Callable[[str], Awaitable[None]]) -> None:
    """Says the address to open, and the next one whenever one was used: each lets one browser in. Never ends by itself."""
    told = ""
    while True:
        if (address := await entrance_of(site, base)) != told:
            await say(address)
            told = address
        await site.clock.sleep_until(site.clock.now() + _LOOK_EVERY)
