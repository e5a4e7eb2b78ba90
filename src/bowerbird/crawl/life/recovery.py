"""Ends what nobody will end any more, as the rows themselves tell it: however long ago it was left behind, and by whom.

A call is flying while its worker lives and its lease runs; an account holds back calls only for those that fly. Whatever else
is found was left by a process that died, by one that was taken for dead, or by a fault of our own.
"""

from __future__ import annotations

from datetime import datetime

from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.claims import clear_claims
from bowerbird.crawl.work.bookkeeping import QueryLog
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Charge
from bowerbird.ports import Frontier, Transaction

_LOST = "its worker died before the answer was settled, or its lease ran out"


class Recovery:
    """Looks for such remains at the start of a process and again and again while it runs."""

    def __init__(self, log: QueryLog, ledgers: RateLimits, frontier: Frontier, crawl: int) -> None:
        self._log = log
        self._ledgers = ledgers
        self._frontier = frontier
        self._crawl = crawl

    async def recover(self, tx: Transaction, me: int, now: datetime) -> list[str]:
        """Books abandoned calls as spent and makes their tasks ready. Answers, in words, which limits dead calls had blocked."""
        await registry.end_workers(tx, await registry.dead_workers(tx, me, now), now)
        lost: list[Charge] = []
        for call, charges in await self._log.abandoned(tx, now):
            # First the calls: of two processes that find one at the same time, only one books it. Then, last of all, the limits:
            # a process that settles one of these calls late has locked it already, and waits for its limits.
            if await self._log.lose(tx, call, "lost", _LOST, now):
                lost += charges
        await clear_claims(tx)
        await self._frontier.recover(tx, now)
        freed = await self._ledgers.reconcile(tx, lost, self._log.in_flight, now)
        words = [
            f"{bucket} waited for calls that nobody makes any more: {amount} booked as spent" for bucket, amount in freed.items()
        ]
        for each in words:
            await registry.note_error(tx, self._crawl, "limits", None, None, each, now)
        return words
