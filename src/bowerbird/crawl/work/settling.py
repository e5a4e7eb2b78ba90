"""Settles one call: steps 4 to 6 of the way of one call (docs/architecture.md), in one transaction."""

from __future__ import annotations

from bowerbird.crawl.answers.visits import Case, end_tasks
from bowerbird.crawl.work.bookkeeping import Bookkeeping, Timings
from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.servers.server_watch import ServerWatch, Weighed
from bowerbird.crawl.work.targets import Saver, Targets
from bowerbird.model import Answer, Answered, CallReport, Lease
from bowerbird.ports import Store, Transaction


class Settler:
    """Understands answers and writes down everything that follows from them, all or nothing."""

    def __init__(self, books: Bookkeeping, store: Store, targets: Targets, watch: ServerWatch) -> None:
        self._books = books
        self._store = store
        self._targets = targets
        self._saver = Saver(store, targets, books.clock)
        self._watch = watch

    async def settle(self, lane: Lane, lease: Lease, answer: Answer, *, has_expired: bool) -> CallReport:
        """`lane`: as it was when it asked. Raises `Fenced` when the lease is no longer ours."""
        page = self._store.clean(lane.provider.parse(lease.ask, answer, lane.service))
        # The settle may be tried again: what it changes in memory comes after its commit, or is taken back with it.
        async with self._books.database.transaction() as tx:
            weighed = await self._watch.weigh(tx, lane, lease, page, has_expired=has_expired)
            return await self._settle(tx, lane, lease, answer, weighed)

    async def _settle(self, tx: Transaction, lane: Lane, lease: Lease, answer: Answer, weighed: Weighed) -> CallReport:
        """What the page brings, what becomes of its tasks, what the answer tells of its server, then the books: in this order,
        because others wait longest for what is written last."""
        clock = self._books.clock
        now, began_at = clock.now(), clock.stopwatch()
        brought = await self._saver.save(tx, lane, lease, weighed.page, now)
        page, saved = brought.page, brought.saved
        case = Case(
            lane=lane, lease=lease, page=page, saved=saved, now=now, goes_on=weighed.goes_on, witness=weighed.witness
        )  # fmt: skip
        ended = await end_tasks(tx, self._targets, case)
        not_offered = await self._watch.note(tx, lane, lease, weighed, now)
        new_items, new_users, new_posts = saved.counts_new
        report = CallReport(
            facet=lane.facet.name,
            service=lane.service.name,
            outcome=page.outcome,
            results=page.results,
            new_items=new_items,
            new_users=new_users,
            new_posts=new_posts,
            detail=page.detail,
            given_up=ended.given_up,
            left_alone=ended.left_alone,
            not_offered=not_offered,
            has_expired=weighed.has_expired,
        )
        timings = Timings(seed=brought.seed_time, settle=clock.stopwatch() - began_at)
        await self._books.end(tx, Answered(lease, answer, page), report, timings, now)
        return report
