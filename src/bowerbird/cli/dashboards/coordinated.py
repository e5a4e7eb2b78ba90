"""A dashboard on the port of a coordinator: what workers ask goes to the one, everything else to the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from bowerbird.cli.dashboards.shown import check_installed, open_browser
from bowerbird.errors import UserError
from bowerbird.ports import Clock, Vault
from bowerbird.web.wanted import Wanted

_FLEET = "/fleet/"
Application = Callable[[Any, Any, Any], Awaitable[None]]


class Shown(Struct, frozen=True):
    """How the crawl of a coordinator is shown."""

    names: tuple[str, ...] = ()
    opens: bool = False


class FleetAndPages:
    """What is served beside the services of a coordinator."""

    def __init__(self, fleet: Application, say: Callable[[str], Any]) -> None:
        self._fleet = fleet
        self._say = say
        self._pages: Application | None = None
        self._site: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_for_workers = self._pages is None or str(scope.get("path", "")).startswith(_FLEET)
        await (self._fleet if is_for_workers or self._pages is None else self._pages)(scope, receive, send)

    @asynccontextmanager
    async def opened(self, wanted: Wanted, clock: Clock, vault: Vault) -> AsyncIterator[None]:
        """Shows the store while the block runs, or says why it is not shown: workers are served either way."""
        check_installed()
        from bowerbird.web.dashboard import dashboard
        from bowerbird.web.serving import opened_site

        try:
            async with opened_site(wanted, clock, vault) as self._site:
                self._pages = dashboard(self._site)
                try:
                    yield
                finally:
                    self._pages = None
        except UserError as error:
            if self._site is not None:
                raise
            self._say(f"There is no dashboard: {error}. Workers are served; --no-dashboard says that none is wanted.")
            yield

    async def tell(self, base: str, *, opens: bool) -> None:
        """Says each address that lets a browser in, until it is cancelled."""
        if self._site is None:
            return
        from bowerbird.web.serving import tell_entrances

        told: list[str] = []

        async def say(address: str) -> None:
            self._say(f"Another browser comes in with {address}" if told else f"Dashboard: {address}")
            told.append(address)
            if opens and len(told) == 1:
                await asyncio.to_thread(open_browser, address)

        await tell_entrances(self._site, base, say)
