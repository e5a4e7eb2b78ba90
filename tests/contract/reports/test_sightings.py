"""Who listed which post: kept for searches and streams, told again to queues that lack the authors, compared by day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import structs
from store_pages import FEDIVERSE, START, TIMELINE, X, federated, micros, post, toot, user

from bowerbird.model import Facet, Page, PostKind, Recalled, Service, Subject, User
from bowerbird.ports import Database
from bowerbird.reports.studies.overlap import read_overlap
from bowerbird.store import Store, register_service
from bowerbird.store.posts.recall import Recall

SEARCH = Facet(name="search", subject=Subject.WORD, yields=frozenset({"posts", "users"}))
SEARCHING, HEARING, TIMELINES, FOLLOWERS = 1, 2, 3, 4
_LANES = ((SEARCHING, "search"), (HEARING, "stream filter"), (TIMELINES, "timeline"), (FOLLOWERS, "followers"))


class Listening:
    """A store in a crawl with a search and a stream beside it; every page is a call an hour after the one before."""

    def __init__(self, database: Database, *, keeps: bool = True) -> None:
        self.database = database
        self.store = Store(database, keeps_sightings=keeps)
        self.now, self.call = START, 0

    async def begin(self) -> Listening:
        async with self.database.transaction() as tx:
            for service, network in ((X, "x"), (FEDIVERSE, "mastodon")):
                await register_service(tx, service, network)
            await tx.execute(
                "insert into crawls (crawl, name, flow, settings, state, wanted, created_at, updated_at) "
                "values (1, 'topic', '{}', '{}', 'running', 'running', 0, 0)"
            )
            await tx.execute_many("insert into lanes (lane, crawl, service, facet) values (?, 1, 1, ?)", _LANES)
            await tx.execute(
                "insert into streams (crawl, service, name, channel, options, state) "
                "values (1, 1, 'filter', 'filter', '', 'live')"
            )
        return self

    async def see(self, lane: int, page: Page, service: Service = X) -> None:
        self.call, self.now = self.call + 1, self.now + timedelta(hours=1)
        async with self.database.transaction() as tx:
            await tx.execute(
                "insert into calls "
                "(call, crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, outcome) "
                "values (?, 1, ?, '', 1, 'settled', '', 1, '', ?, 0, 'ok')",
                *(self.call, lane, micros(self.now)),
            )
            known = {"service": service, "call": self.call, "now": self.now}
            if lane == HEARING:
                await tx.execute("update streams set heard_at = ?", micros(self.now))
                await self.store.hear(tx, page, facet=SEARCH, **known)
            else:
                await self.store.save(tx, page, tasks=(), facet=TIMELINE if lane == TIMELINES else SEARCH, **known)

    async def seen(self) -> set[tuple[str, int]]:
        async with self.database.reading() as tx:
            rows = await tx.fetch("select p.id, s.lane from sightings s join posts p on p.post_no = s.post_no")
        return {(row["id"], row["lane"]) for row in rows}

    async def compared(self) -> tuple[datetime | None, int, int, int]:
        """Until when the report compares, and how many posts only search found, only the stream, and later ones."""
        async with self.database.reading() as tx:
            found = await read_overlap(tx, "topic")
        return found.both_until, found.total.search_only, found.total.stream_only, found.total.later

    async def task(self, lane: int, target: str, state: str, visited: int | None = None) -> None:
        async with self.database.transaction() as tx:
            await tx.execute(
                "insert into tasks (lane, target, ready, priority, state, depth, added_at, visited_at) "
                "values (?, ?, ?, 0, ?, 0, 0, ?)",
                *(lane, target, int(state == "waiting"), state, visited),
            )

    async def recall(self, service: Service = X, queues: Sequence[int] = (FOLLOWERS,), after: int = 0) -> Recalled | None:
        async with self.database.transaction() as tx:
            return await Recall(self.database).recall(tx, service, (SEARCHING, HEARING), queues, after)


def page(*keys: str, author: str = "1") -> Page:
    return Page(users=(user(author),), posts=tuple(post(key, author) for key in keys))


async def test_every_source_that_lists_a_post_is_remembered_once(database: Database) -> None:
    scene = await Listening(database).begin()
    for lane, keys in ((SEARCHING, "12"), (HEARING, "23"), (SEARCHING, "1"), (TIMELINES, "4")):
        await scene.see(lane, page(*keys))
    assert await scene.seen() == {("x:1", SEARCHING), ("x:2", SEARCHING), ("x:2", HEARING), ("x:3", HEARING)}


async def test_what_only_came_along_was_not_listed_until_it_is(database: Database) -> None:
    scene = await Listening(database).begin()
    both = page("1", "2")
    await scene.see(SEARCHING, structs.replace(both, along=frozenset({"x:2"})))
    assert await scene.seen() == {("x:1", SEARCHING)}
    await scene.see(SEARCHING, both)
    assert await scene.seen() == {("x:1", SEARCHING), ("x:2", SEARCHING)}


async def test_a_crawl_that_does_not_search_remembers_nothing(database: Database) -> None:
    scene = await Listening(database, keeps=False).begin()
    await scene.see(HEARING, page("1"))
    assert await scene.seen() == set()


async def test_the_report_tells_what_each_alone_would_have_missed(database: Database) -> None:
    scene = await Listening(database).begin()
    late, repost = {"created_at": START + timedelta(days=1)}, {"kind": PostKind.REPOST, "repost_of": "x:9"}
    await scene.see(SEARCHING, page("1"))
    await scene.see(HEARING, page("1"))
    scene.now += timedelta(days=1)
    await scene.see(HEARING, Page(users=(user("1"),), posts=(post("2", **late), post("3", **late), post("4", **late, **repost))))
    await scene.see(SEARCHING, Page(users=(user("1"),), posts=(post("3", **late), post("5", **late))))
    async with database.reading() as tx:
        found = await read_overlap(tx, "topic")
    total, (first, second) = found.total, found.days
    assert (total.search_only, total.stream_only, total.both, total.earlier) == (1, 2, 1, 1)
    assert total.stream_only_reposts == 1
    assert (first.day, first.earlier, second.both) == (START.date(), 1, 1)
    assert found.both_since == START + timedelta(hours=2)
    assert {(source.name, source.is_stream, source.posts, source.found_first) for source in found.sources} == {
        ("search", False, 3, 2),
        ("filter", True, 4, 3),
    }


async def test_what_one_of_the_two_has_not_been_asked_for_yet_is_not_missed(database: Database) -> None:
    scene = await Listening(database).begin()
    for lane in (SEARCHING, HEARING, SEARCHING):
        await scene.see(lane, page("0"))
    since, searched = START + timedelta(hours=2), scene.now
    for key, lane, at in (("1", HEARING, since), ("2", HEARING, searched + timedelta(minutes=1))):
        await scene.see(lane, Page(users=(user("1"),), posts=(post(key, created_at=at),)))
    assert await scene.compared() == (searched, 0, 1, 1)
    heard = scene.now
    for key, at in (("3", searched + timedelta(minutes=1)), ("4", heard + timedelta(minutes=1))):
        await scene.see(SEARCHING, Page(users=(user("1"),), posts=(post(key, created_at=at),)))
    assert await scene.compared() == (heard, 1, 2, 1)


async def test_authors_without_a_task_are_told_again_and_those_with_one_are_not(database: Database) -> None:
    scene = await Listening(database).begin()
    for author in "1234":
        await scene.see(SEARCHING, page(author * 2, author=author))
    await scene.task(FOLLOWERS, "1", "waiting")
    await scene.task(FOLLOWERS, "2", "asleep", micros(scene.now))
    await scene.task(FOLLOWERS, "3", "asleep", micros(START))
    found = await scene.recall()
    assert found is not None
    # 3 was asked before it posted, 4 never.
    assert found.lacking == {(FOLLOWERS, "3"), (FOLLOWERS, "4")}
    ((lane, told, saved),) = found.pages
    assert (lane, [one.id for one in told.posts], [one.key for one in told.users]) == (SEARCHING, ["x:44", "x:33"], ["4", "3"])
    assert all(one.is_new for one in saved.posts)
    assert await scene.recall(after=found.upto) is None


async def test_authors_are_named_as_their_service_names_them(database: Database) -> None:
    scene = await Listening(database).begin()
    ada: User = federated("ada", "77", followers=5, is_protected=False)
    await scene.see(SEARCHING, Page(users=(ada,), posts=(toot("1", "ada"),)), FEDIVERSE)
    found = await scene.recall(FEDIVERSE)
    assert found is not None
    assert found.lacking == {(FOLLOWERS, "77")}
    (told,) = found.pages[0][1].users
    assert (told.key, told.id, told.handle, told.followers, told.is_protected) == ("77", ada.id, "ada", 5, False)
