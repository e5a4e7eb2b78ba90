"""What a module works with during one run, under its claim."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from copy import deepcopy
from datetime import timedelta
from typing import Any

from msgspec import Struct

from bowerbird.flows.modules import option_values
from bowerbird.model import Claim
from bowerbird.modules.running import rows
from bowerbird.ports import Claims, Clock, Database, Judge, Messenger, Module, Questions, Stored, Transaction

HOLD = timedelta(minutes=10)
"""How long the claim to a module lasts unless it is renewed; a worker that dies over a run is replaced at once."""


class Surroundings(Struct, frozen=True, kw_only=True):
    """What all modules of a crawl share in one process."""

    crawl: int
    crawl_name: str
    database: Database
    clock: Clock
    claims: Claims
    worker: Callable[[], int]
    questions: Questions
    stored: Stored
    judge: Callable[[str], Judge | None] = lambda name: None
    knows_place: Callable[[str], bool] = lambda name: False
    messenger: Messenger | None = None
    found: Callable[[int], None] = lambda count: None


class RunContext:
    """Implements `ports.ModuleContext` for one run of one module."""

    def __init__(
        self, around: Surroundings, module: Module, written: Mapping[str, Any], claim: Claim, memory: dict[str, Any]
    ) -> None:
        self._around = around
        self._module = module
        self._claim = claim
        self._kept = deepcopy(memory)
        self.memory = memory
        self.options: Mapping[str, Any] = option_values(module.options, written)
        self.crawl, self.crawl_name = around.crawl, around.crawl_name
        self.database, self.clock = around.database, around.clock
        self.questions, self.stored = around.questions, around.stored
        self.found = around.found
        self.judge, self.knows_place, self.messenger = around.judge, around.knows_place, around.messenger

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        async with self.database.transaction() as tx:
            await self._around.claims.renew(tx, self._claim, self.clock.now() + HOLD)
            yield tx
            if self.memory != self._kept:
                await rows.remember(tx, self.crawl, self._module.name, self.memory)
        self._kept = deepcopy(self.memory)
