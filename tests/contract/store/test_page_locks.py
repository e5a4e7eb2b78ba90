"""What a page locks on PostgreSQL, in which order, and what it reads again when it had to wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

import pytest
from store_pages import (
    FEDIVERSE,
    FOLLOWERS,
    OTHER,
    PROFILES,
    TIMELINE,
    Crawled,
    X,
    federated,
    followers,
    post,
    toot,
    user,
)

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.model import Facet, Gone, Outcome, Page, Progress, Saved, Service, Subject, Task
from bowerbird.ports import Transaction
from bowerbird.store.forgetting.requests import Forgetter, Wish

T = TypeVar("T")
_NAMES = "select objid::bigint as name, granted from pg_locks where classid = 7254105 order by granted"


@pytest.fixture
async def crawled(migrated_url: str) -> AsyncIterator[Crawled]:
    opened = await open_database(migrated_url, RealClock())
    yield await Crawled(opened).register()
    await opened.close()


async def save(crawled: Crawled, tx: Transaction, page: Page, facet: Facet, target: str, service: Service = X) -> Saved:
    """Save into a transaction that stays open, an hour after everything before."""
    crawled.call += 1
    task = Task(task=1, lane=1, target=target, token=1, progress=Progress())
    return await crawled.store.save(
        tx,
        crawled.store.clean(page),
        service=service,
        tasks=[task],
        facet=facet,
        call=crawled.call,
        now=crawled.now,
    )


async def started(crawled: Crawled, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Begin `work`; return when it waits for a lock or has ended."""
    task = asyncio.create_task(work)
    waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock'"
    while not task.done() and not await crawled.rows(waiting):
        pass
    return task


async def test_page_locks_unknown_names_in_ascending_order(crawled: Crawled) -> None:
    people = tuple(federated(f"u{n}", str(n)) for n in range(20))
    page = Page(users=people, results=20)
    async with crawled.database.transaction() as tx:
        await save(crawled, tx, page, PROFILES, "1", FEDIVERSE)
        names = [row["name"] for row in await tx.fetch(_NAMES)]
        await tx.execute("delete from user_keys")
        await tx.execute("delete from users")
    # A server shows the numbers as unsigned.
    lowest = min(name - 2**32 if name >= 2**31 else name for name in names)
    async with crawled.database.transaction() as tx:
        await tx.execute("select pg_advisory_xact_lock(7254105, cast(? as int))", lowest)
        waiting = await started(crawled, crawled.save(page, PROFILES, *(each.key for each in people), service=FEDIVERSE))
        others = await crawled.rows(_NAMES)
    await waiting
    assert len(names) > 20
    # The other transaction holds the lowest one; the page waits for it and holds no other.
    assert [row["granted"] for row in others] == [False, True]


async def test_page_locks_known_accounts_in_order_of_their_numbers(crawled: Crawled) -> None:
    # The order of ids is the opposite of that of numbers.
    for n in range(9, 0, -1):
        await crawled.save(Page(users=(user(str(n)),), results=1), PROFILES, str(n))
    page = Page(users=tuple(user(str(n), name="new") for n in range(1, 10)), results=9)
    async with crawled.database.transaction() as tx:
        await tx.fetch("select 1 from users where user_no = (select min(user_no) from users) for update")
        waiting = await started(crawled, crawled.save(page, PROFILES, *map(str, range(1, 10))))
        free = await tx.fetch("select 1 from users for update skip locked")
    await waiting
    assert len(free) == 9


async def test_post_saved_while_author_opts_out_keeps_no_content(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1"),), results=1), PROFILES, "1")
    async with crawled.database.transaction() as tx:
        await save(crawled, tx, Page(users=(user("1", opts_out=True),), results=1), PROFILES, "1")
        waiting = await started(crawled, crawled.save(Page(posts=(post("5", "1"),), results=1), TIMELINE, "1"))
    await waiting
    assert await crawled.count("posts") == 1
    assert await crawled.count("posts", "text is not null") == 0


async def test_list_saved_while_absence_is_noted_removes_no_absent_account(crawled: Crawled) -> None:
    everybody = Page(users=(user("1"), user("2"), user("3")), results=3)
    await crawled.save(everybody, PROFILES, "1", "2", "3")
    await crawled.save(Page(relations=followers("1", "2", "3"), results=2), FOLLOWERS, "1")
    gone = Page(gone=(Gone(Subject.USER, "2", Outcome.SUSPENDED),))
    listed = Page(relations=followers("1", "3"), results=1)
    async with crawled.database.transaction() as tx:
        await save(crawled, tx, gone, PROFILES, "2")
        waiting = await started(crawled, crawled.save(listed, FOLLOWERS, "1"))
    await waiting
    assert await crawled.count("unavailable", "until is null") == 1
    assert await crawled.count("relations", "removed_at is not null") == 0


async def test_forget_waits_for_pages_being_saved(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1"),), posts=(post("5", "1"),), results=1), TIMELINE, "1")
    number = (await crawled.row("select user_no from users"))["user_no"]
    wish = Wish(who="a test", why="a test", users=frozenset({number}))
    async with crawled.database.transaction() as tx:
        await save(crawled, tx, Page(posts=(post("6", "1"),), results=1), TIMELINE, "1")
        waiting = await started(crawled, Forgetter(crawled.database, RealClock()).erase(wish))
    erased = await waiting
    assert erased.posts == 2
    assert await crawled.count("posts") == 0


async def test_page_locks_the_row_that_an_account_was_joined_into_while_it_waited(
    crawled: Crawled,
) -> None:
    mention = Page(posts=(toot("5", "u1", mentions=("7",)),), results=1)
    await crawled.save(mention, TIMELINE, "1", service=FEDIVERSE)
    await crawled.save(Page(users=(federated("u7", "97"),), results=1), PROFILES, "97", service=OTHER)
    is_saved, is_checked = asyncio.Event(), asyncio.Event()

    async def follow() -> None:
        async with crawled.database.transaction() as tx:
            page = Page(relations=followers("1", "7"), results=1)
            await save(crawled, tx, page, FOLLOWERS, "1", FEDIVERSE)
            is_saved.set()
            await is_checked.wait()

    async with crawled.database.transaction() as tx:
        # The account with this key turns out to be one that another server has shown.
        page = Page(users=(federated("u7", "7"),), results=1)
        await save(crawled, tx, page, PROFILES, "7", FEDIVERSE)
        waiting = await started(crawled, follow())
    await is_saved.wait()
    async with crawled.database.transaction() as tx:
        free = await tx.fetch("select id from users where id like '%u7' for update skip locked")
    is_checked.set()
    await waiting
    assert free == []
    assert await crawled.count("relations") == 1
