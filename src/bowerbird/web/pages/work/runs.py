"""Modules that people run by hand, beside whatever runs the crawl."""

from __future__ import annotations

import asyncio
import logging

from bowerbird.app.modules_by_hand import run_from_store
from bowerbird.errors import UserError
from bowerbird.modules.running.found import KnownModules
from bowerbird.ports import Clock, Database

_log = logging.getLogger(__name__)


class Runs:
    """Runs modules in the background of a dashboard; what came of each is in the store like any other run."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._said: dict[tuple[str, str], str] = {}

    def begin(self, crawl: str, module: str) -> None:
        """Raises `UserError` where there is no such module, or it runs already."""
        key = (crawl, module)
        if module not in KnownModules():
            raise UserError(f"there is no module {module!r}", code="unknown_module")
        if key in self._tasks:
            raise UserError(f"the module {module} is being run just now", code="already_running")
        self._said.pop(key, None)
        self._tasks[key] = asyncio.create_task(self._run(crawl, module), name=f"module {module} of {crawl}")

    def is_running(self, crawl: str, module: str) -> bool:
        return (crawl, module) in self._tasks

    def said(self, crawl: str, module: str) -> str:
        """Why the last one that was begun here could not be run at all; empty: it could."""
        return self._said.get((crawl, module), "")

    async def done(self, crawl: str, module: str) -> None:
        if task := self._tasks.get((crawl, module)):
            await task

    async def _run(self, crawl: str, module: str) -> None:
        try:
            await run_from_store(self._database, crawl, module, self._clock)
        except Exception as error:
            # Whatever it is, a page says it: nobody else waits for the run.
            _log.warning("the module %.60r of %.200r could not be run: %.300r", module, crawl, str(error))
            self._said[crawl, module] = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        finally:
            self._tasks.pop((crawl, module), None)
