"""Where a call is written down: its limits and the query log, before it is made and when it ends."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeVar

from msgspec import Struct, structs

from bowerbird.crawl.life import registry
from bowerbird.crawl.work.call_log import QueryLog, Timings
from bowerbird.errors import Fenced
from bowerbird.model import Answered, Call, CallReport, Loss, Outcome, Page
from bowerbird.ports import Clock, Database, Frontier, Ledgers, Transaction

LEASE_TIME = timedelta(minutes=3)
"""How long a call may be out before its tasks are given to others."""

C = TypeVar("C", bound=Call)


class Bookkeeping(Struct, frozen=True, kw_only=True):
    """The accounts of one crawl in one process: whoever makes calls writes them here, in a transaction of his own."""

    crawl: int
    database: Database
    clock: Clock
    frontier: Frontier
    ledgers: Ledgers
    log: QueryLog

    async def begin(self, tx: Transaction, lane: int, call: C, now: datetime) -> C:
        """Charges a call and logs it as flying, before it is made; answers it with its number and with what it was charged."""
        charges = tuple(await self.ledgers.charge(tx, call.charges, now))
        call = structs.replace(call, charges=charges)
        return structs.replace(call, call=await self.log.begin(tx, lane, call))

    async def end(self, tx: Transaction, done: Answered, report: CallReport, timings: Timings, now: datetime) -> None:
        """Books an answered call; raises `Fenced` when somebody declared it lost before."""
        call, page = done.call, done.page
        await self.ledgers.settle(tx, call.charges, page, done.answer)
        await self._note_trouble(tx, f"{report.service}/{report.facet}", call, page, now)
        await registry.count_left_alone(tx, self.crawl, len(report.left_alone))
        if not await self.log.end(tx, done, timings, now):
            raise Fenced(f"call {call.call} was declared lost before its answer came; the answer is dropped")

    async def count(self, tx: Transaction, report: CallReport) -> None:
        """Adds a call to the crawl's totals, last of all in its transaction: every worker changes that row, and waits for it."""
        await registry.count(tx, self.crawl, report.new_items, report.new_users, report.new_posts)

    async def _note_trouble(self, tx: Transaction, part: str, call: Call, page: Page, now: datetime) -> None:
        if page.outcome is not Outcome.OK and not page.outcome.is_about_target:
            await registry.note_error(tx, self.crawl, part, str(page.outcome), call.call, page.detail, now)

    async def lose(self, tx: Transaction, call: Call, loss: Loss, now: datetime) -> bool:
        """Ends a call without an answer: it counts as spent. False when somebody has ended it before."""
        # First the call: of two who end it at the same time, one books it.
        if not await self.log.lose(tx, call.call, loss.outcome, loss.why, now):
            return False
        await self.ledgers.lost(tx, call.charges, now)
        return True
