"""Settles one call: steps 4 to 6 of the way of one call (docs/architecture.md), in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import structs

from bowerbird.crawl.answers import endless_lists
from bowerbird.crawl.answers.short_lists import note_missing
from bowerbird.crawl.answers.visits import ended, visits_of
from bowerbird.crawl.work.bookkeeping import Bookkeeping
from bowerbird.crawl.work.call_log import Timings
from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.server_watch import ServerWatch, Weighed
from bowerbird.crawl.work.targets import Targets
from bowerbird.model import Answer, Answered, Arrival, CallReport, Lease, Page, Saved, Settled, Task, Visit
from bowerbird.ports import Links, Store, Transaction

ENOUGH = "as much of the list as was wanted has been read"


class Settler:
    """Understands answers and writes down everything that follows from them, all or nothing."""

    def __init__(self, books: Bookkeeping, store: Store, targets: Targets, watch: ServerWatch) -> None:
        self._books = books
        self._store = store
        self._targets = targets
        self._watch = watch

    async def settle(self, lane: Lane, lease: Lease, answer: Answer, *, has_expired: bool) -> CallReport:
        """`lane`: as it was when it asked. Raises `Fenced` when the lease is no longer ours."""
        page = self._store.clean(lane.provider.parse(lease.ask, answer, lane.service))
        # The settle may be tried again: what it changes in memory comes after its commit, or is taken back with it.
        async with self._books.database.transaction() as tx:
            weighed = await self._watch.weigh(tx, lane, lease, page, has_expired=has_expired)
            return await self._settle(tx, lane, lease, answer, weighed)

    async def _settle(self, tx: Transaction, lane: Lane, lease: Lease, answer: Answer, weighed: Weighed) -> CallReport:
        clock = self._books.clock
        now, began_at = clock.now(), clock.stopwatch()
        page, saved = await self._saved(tx, lane, lease, weighed.page, now)
        saved_at = clock.stopwatch()
        await self._targets.add(tx, lane.seeder.seed(lane.facet.name, lease.tasks, page, saved), lease.call, now)
        seeded_at = clock.stopwatch()
        visits = await self._visits(tx, lane, lease.tasks, page, saved, now)
        tasks = ended(lane, page, visits, goes_on=weighed.goes_on)
        await self._targets.end(tx, tasks, weighed.witness, lease.call, now)
        done = Answered(lease, answer, page, saved)
        report = _report(lane, done, tasks, await note_missing(tx, lane, lease, page, tasks, now))
        timings = Timings(seed=seeded_at - saved_at, settle=clock.stopwatch() - began_at)
        await self._books.end(tx, done, report, timings, now)
        not_offered = await self._watch.note(tx, lane, lease, weighed, now)
        await self._books.count(tx, report)
        if not_offered or weighed.has_expired:
            report = structs.replace(report, not_offered=not_offered, has_expired=weighed.has_expired)
        return report

    async def _saved(self, tx: Transaction, lane: Lane, lease: Lease, page: Page, now: datetime) -> tuple[Page, Saved]:
        """Saves a page and says what of it was new; a list that would never end is ended here."""
        page, trail = await endless_lists.bounded(tx, lane, lease, page)
        page = await self._store.allowed(tx, page, lane.service)
        if lane.sieve is not None:
            page = await lane.sieve.sift(tx, lease.tasks, page, lane.service, now)
        saved = await self._store.save(
            tx, page, service=lane.service, tasks=lease.tasks, facet=lane.facet, call=lease.call, now=now
        )
        if lane.sieve is not None:
            await lane.sieve.note(tx, lease.tasks, page, saved, now)
        if saved.is_enough and page.cursor is not None:
            page = structs.replace(page, cursor=None, is_whole=False, detail=ENOUGH)
        await endless_lists.remember(tx, lease, page, saved, trail)
        return page, saved

    async def _visits(
        self, tx: Transaction, lane: Lane, tasks: Sequence[Task], page: Page, saved: Saved, now: datetime
    ) -> list[Visit]:
        """What the call learned about each of its tasks, as their ranker is to see it."""
        tasks = lane.ranked(await self._as_they_are(tx, lane, tasks))
        visits = visits_of(tasks, page, saved, now, follows_opted_out=lane.follows_opted_out)
        found = [visits[task.task] for task in tasks]
        return found if lane.links is None else [await self._looked_around(tx, lane.links, visit) for visit in found]

    async def _as_they_are(self, tx: Transaction, lane: Lane, tasks: Sequence[Task]) -> Sequence[Task]:
        """The leased tasks with what their ranker wrote into them while the call was out."""
        if not lane.ranker.remembers:
            return tasks
        known = await self._books.frontier.known(tx, [Arrival(lane=task.lane, target=task.target) for task in tasks])
        # A task whose target was forgotten meanwhile has another name by now.
        memories = {task.task: task.memory for task in known.values()}
        return [structs.replace(task, memory=memories.get(task.task, task.memory)) for task in tasks]

    async def _looked_around(self, tx: Transaction, links: Links, visit: Visit) -> Visit:
        """The visit with what the lane remembers of the neighbours, for a walk that sees one side of each relation only."""
        lane, target = visit.task.lane, visit.task.target
        linked_by = tuple(await links.to(tx, lane, target)) if visit.is_finished else ()
        ends = {end for each in visit.relations for end in (each.source, each.target)} | set(linked_by)
        known = await self._books.frontier.known(tx, [Arrival(lane=lane, target=end) for end in ends - {target}])
        around = {task.target: task.memory for task in known.values() if task.memory is not None}
        return structs.replace(visit, linked_by=linked_by, around=around)


def _report(lane: Lane, done: Answered, tasks: Sequence[Settled], left_alone: tuple[str, ...]) -> CallReport:
    page, saved = done.page, done.saved
    return CallReport(
        facet=lane.facet.name,
        service=lane.service.name,
        outcome=page.outcome,
        results=page.results,
        new_items=saved.items_new,
        new_users=saved.users_new,
        new_posts=saved.posts_new,
        detail=page.detail,
        given_up=sum(task.failure is not None for task in tasks),
        left_alone=left_alone,
    )
