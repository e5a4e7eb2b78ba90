"""This process among the workers of a crawl."""

from __future__ import annotations

from datetime import datetime

from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.running import is_lone, living, running_already
from bowerbird.model import CrawlState
from bowerbird.ports import Transaction


async def enrol(tx: Transaction, crawl: str, now: datetime, *, is_alone: bool, label: str = "") -> Enrolment:
    """Enrols this process; where it is to work alone, it looks for company in the same transaction.

    The caller has written the row of the crawl: of two that start at the same time, the second waits there for the first.
    """
    if is_alone and (others := await living(tx, crawl, now)):
        raise running_already(crawl, others[0], now)
    return Enrolment(crawl, await registry.enrol_worker(tx, crawl, now, label), label)


async def go_on(tx: Transaction, row: registry.CrawlRow, me: Enrolment, now: datetime) -> None:
    """To start a crawl is to want it to run, from the moment in which this process is to be seen: a `stop` given later holds.

    Who joins others that were told to pause waits with them.
    """
    if row.wanted == CrawlState.STOPPED or (row.wanted == CrawlState.PAUSED and await me.is_lone(tx, now)):
        await registry.set_wanted(tx, row.crawl, CrawlState.RUNNING, now)


class Enrolment:
    """The number under which this process works.

    A process that was silent for too long (it was stopped, its machine slept) is taken for dead by the others, and everything
    it held was given to them. When it wakes up it enrols anew: under its old number its next death would be seen by nobody.
    """

    def __init__(self, name: str, worker: int, label: str = "") -> None:
        self._name = name
        self._worker = worker
        self.label = label
        """What its user calls this worker; empty: nothing."""
        self.plan = 0
        """The version of the crawl's plan that this process follows."""

    def number(self) -> int:
        return self._worker

    async def is_lone(self, tx: Transaction, now: datetime) -> bool:
        """Whether nobody else works on the crawl."""
        return await is_lone(tx, self._name, self._worker, now)

    async def renew(self, tx: Transaction, now: datetime) -> int:
        """A sign of life; answers our number, which is another when it came too late. `confirm` it after the commit."""
        is_alive = await registry.heartbeat(tx, self._worker, now)
        return self._worker if is_alive else await registry.enrol_worker(tx, self._name, now, self.label)

    def confirm(self, worker: int) -> bool:
        """Whether the number is a new one: then nothing that was held under the old one is ours."""
        is_new, self._worker = worker != self._worker, worker
        return is_new
