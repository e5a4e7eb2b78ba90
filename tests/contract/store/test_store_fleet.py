"""Many processes save into one PostgreSQL database: nobody is doubled, nothing is lost, and few wait for each other."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_pages import (
    FEDIVERSE,
    FOLLOWERS,
    FOLLOWING,
    HOME,
    OTHER,
    PROFILES,
    SKY,
    START,
    TIMELINE,
    Crawled,
    X,
    federated,
    followers,
    following,
    post,
    skeet,
    toot,
    user,
)

from bowerbird.clock import RealClock
from bowerbird.crawl.process.patience import patiently
from bowerbird.db import open_database
from bowerbird.db.postgres.database import PostgresDatabase, create_pool
from bowerbird.model import Broken, Facet, Gone, Outcome, Page, Progress, Saved, Service, Subject, Task, User
from bowerbird.ports import Database, Transaction
from bowerbird.store.intake.quarantine import KEPT
from bowerbird.store.locks import MOST_NAMES
from marks import examples
from migrated import Migrated

PROCESSES = 3
"""Each has a pool of connections of its own, as a process has."""

Fleet = Sequence[Crawled]
Asked = tuple[Page, Facet, str]


@pytest.fixture(scope="module")
async def pools(migrated: Migrated) -> AsyncIterator[list[Database]]:
    """Open from one test to the next: new sessions would take longer than the tests."""
    migrated.ready()
    opened = [await open_database(migrated.url, RealClock()) for _ in range(PROCESSES)]
    yield opened
    for each in opened:
        await each.close()


@pytest.fixture
async def fleet(migrated_url: str, pools: list[Database]) -> Fleet:
    opened = [Crawled(each) for each in pools]
    await opened[0].register()
    return opened


async def at_once(fleet: Fleet, asked: Sequence[Asked], service: Service = FEDIVERSE) -> list[Saved]:
    """Saves pages at the same time, dealt out to the processes."""
    saving = (fleet[n % PROCESSES].save(page, facet, target, service=service) for n, (page, facet, target) in enumerate(asked))
    return list(await asyncio.gather(*saving))


async def deadlocks(fleet: Fleet) -> int:
    """How many the server had to break up in this database."""
    row = await fleet[0].row("select deadlocks as n from pg_stat_database where datname = current_database()")
    return int(row["n"])


def person(number: int, description: str | None = None) -> User:
    name = f"u{number}"
    return federated(name, str(number), url=f"https://home.example/@{name}", description=description)


# -- few questions ------------------------------------------------------------------------------------------------------


class Counting(asyncpg.Connection):
    """Counts what the server is asked."""

    asked = 0

    async def execute(self, *args: Any, **kwargs: Any) -> Any:
        Counting.asked += 1
        return await super().execute(*args, **kwargs)

    async def executemany(self, *args: Any, **kwargs: Any) -> Any:
        Counting.asked += 1
        return await super().executemany(*args, **kwargs)

    async def fetch(self, *args: Any, **kwargs: Any) -> Any:
        Counting.asked += 1
        return await super().fetch(*args, **kwargs)

    async def fetchrow(self, *args: Any, **kwargs: Any) -> Any:
        Counting.asked += 1
        return await super().fetchrow(*args, **kwargs)


async def test_a_page_of_posts_takes_nine_questions_and_one_more_for_strangers(fleet: Fleet, migrated_url: str) -> None:
    pool = await create_pool(migrated_url, connection_class=Counting)
    crawled = Crawled(PostgresDatabase(pool, RealClock()))

    def page(first: int, **fields: Any) -> Page:
        toots = tuple(toot(str(n), "ada", tags=("tea",), raw=b"{}", **fields) for n in range(first, first + 40))
        return Page(outcome=Outcome.OK, users=(federated("ada", "1"),), posts=toots)

    asked = []
    for each in (page(100), page(200), page(300, mentions=("7",)), page(400, mentions=("7",), reply_to="mastodon:mammoth/101")):
        before = Counting.asked
        await crawled.save(each, TIMELINE, "1", service=FEDIVERSE)
        asked.append(Counting.asked - before)
    await pool.close()
    # The first page also reads who was forgotten, and which dictionaries there are.
    assert asked[1:] == [9, 10, 9]


# -- nobody is doubled -----------------------------------------------------------------------------------------------


async def test_strangers_whom_pages_name_in_opposite_orders_are_there_once(fleet: Fleet) -> None:
    pages = []
    for n in range(60):
        some = [person((n + step) % 40 + 1) for step in range(12)]
        some = some[::-1] if n % 2 else some
        mentions = tuple(str((n * 7 + step) % 40 + 1) for step in range(10))
        toots = [toot(f"{n}", some[0].handle or "", mentions=mentions), toot("77", some[0].handle or "")]
        pages.append((Page(users=tuple(some), posts=tuple(toots if n % 2 else toots[::-1]), results=2), TIMELINE, some[0].key))
    saved = await at_once(fleet, pages)
    assert await fleet[0].count("users") == 40 == sum(user.is_new for each in saved for user in each.users)
    assert await fleet[0].count("users", "id like 'mastodon:%'") == 0
    assert await fleet[0].count("user_keys") == 40
    posts = {each.id for page, *_ in pages for each in page.posts}
    assert await fleet[0].count("posts") == sum(each.is_new for one in saved for each in one.posts) == len(posts)
    assert await fleet[0].count("post_mentions", "user_no not in (select user_no from users)") == 0
    assert await deadlocks(fleet) == 0


async def test_an_account_that_one_server_shows_by_its_address_and_another_by_its_id_is_one(fleet: Fleet) -> None:
    shown = [Page(users=(person(n),), results=1) for n in range(1, 25)]
    addressed = [
        Page(users=(User(id=f"https://home.example/@u{n}", key=f"9{n}", url=f"https://home.example/@u{n}"),), results=1)
        for n in range(1, 25)
    ]
    await asyncio.gather(
        *(fleet[0].save(page, PROFILES, page.users[0].key, service=FEDIVERSE) for page in shown),
        *(fleet[1].save(page, PROFILES, page.users[0].key, service=OTHER) for page in addressed[::-1]),
    )
    assert await fleet[0].count("users") == 24
    assert await fleet[0].count("user_keys", "user_no not in (select user_no from users)") == 0


async def test_a_list_and_the_list_of_its_other_end_count_an_edge_once(fleet: Fleet) -> None:
    everybody = [str(n) for n in range(1, 13)]
    pages: list[Asked] = []
    for me in everybody:
        others = [other for other in everybody if other != me]
        random.Random(me).shuffle(others)
        pages.append((Page(users=(user(me),), relations=following(me, *others), results=11), FOLLOWING, me))
        pages.append((Page(relations=followers(me, *others), results=11), FOLLOWERS, me))
    saved = await at_once(fleet, pages, service=X)
    assert await fleet[0].count("users") == 12
    assert sum(each.relations_new for each in saved) == await fleet[0].count("relations") == 12 * 11
    assert await deadlocks(fleet) == 0


# -- nothing is lost -------------------------------------------------------------------------------------------------


async def test_changes_of_one_profile_each_leave_their_line(fleet: Fleet) -> None:
    await fleet[0].save(Page(users=(user("1", name="0"),), results=1), PROFILES, "1")
    await at_once(fleet, [(Page(users=(user("1", name=str(n)),), results=1), PROFILES, "1") for n in range(1, 31)], service=X)
    lines = await fleet[0].rows("select before, after from user_history order by at")
    steps = {row["before"]: row["after"] for row in lines}
    assert len(steps) == 30
    said = '{"name":"0"}'
    for _ in range(30):
        said = steps[said]
    assert said == f'{{"name":"{(await fleet[0].row("select name from users"))["name"]}"}}'


async def test_a_reply_finds_what_it_answers_when_both_come_at_once(fleet: Fleet) -> None:
    answered = [toot(f"1{n}", f"u{n}") for n in range(1, 31)]
    replies = [toot(f"2{n}", f"r{n}", reply_to=f"mastodon:mammoth/1{n}") for n in range(1, 31)]
    pages: list[Asked] = [
        (Page(posts=(each,), results=1), TIMELINE, "1") for pair in zip(answered, replies, strict=True) for each in pair
    ]
    await at_once(fleet, pages)
    assert await fleet[0].count("posts", "reply_to like 'mastodon:%'") == 0
    assert await fleet[0].count("posts", "reply_to is not null") == 30


async def test_a_post_that_one_stream_brings_while_another_deletes_it_is_empty(fleet: Fleet) -> None:
    brought = [Page(posts=(skeet(f"did:a{n}/app.bsky.feed.post/1", f"did:a{n}"),), results=1) for n in range(40)]
    gone = [Page(gone=(Gone(Subject.POST, page.posts[0].id, Outcome.NOT_FOUND, is_stated=True),), results=1) for page in brought]
    work = [hearing for pair in zip(brought, gone, strict=True) for hearing in pair]
    await asyncio.gather(*(fleet[n % PROCESSES].hear(page) for n, page in enumerate(work)))
    assert await fleet[0].count("posts", "text is not null") == 0
    assert await fleet[0].count("deletions") == 40


async def test_posts_that_come_while_their_author_leaves_are_empty(fleet: Fleet) -> None:
    authors = [f"did:a{n}" for n in range(20)]
    await fleet[0].hear(Page(users=tuple(User(id=did, key=did, handle=did) for did in authors), results=20))
    brought = [Page(posts=(skeet(f"{did}/app.bsky.feed.post/1", did),), results=1) for did in authors]
    left = [Page(gone=(Gone(Subject.USER, did, Outcome.DEACTIVATED, is_stated=True),), results=1) for did in authors]
    work = [page for pair in zip(brought, left, strict=True) for page in pair]
    await asyncio.gather(*(fleet[n % PROCESSES].hear(page) for n, page in enumerate(work)))
    hidden = await fleet[0].rows("select reason from unavailable where until is null")
    assert len(hidden) == 20
    assert await fleet[0].count("posts", "text is not null") == 0


async def test_items_that_cannot_be_used_are_counted_exactly_and_kept_within_their_bound(fleet: Fleet) -> None:
    reasons = ("no author", "no id", "no time")
    pages: list[Asked] = []
    for n in range(12):
        some = reasons if n % 2 else reasons[::-1]
        broken = tuple(Broken(Subject.POST, f"item {n} {place}".encode(), why) for why in some for place in range(10))
        pages.append((Page(broken=broken, results=30), TIMELINE, "1"))
    await at_once(fleet, pages)
    counted = await fleet[0].rows("select items from quarantine_sources")
    assert [row["items"] for row in counted] == [120, 120, 120]
    assert await fleet[0].count("quarantine") == 3 * KEPT
    assert await deadlocks(fleet) == 0


# -- whoever has nothing in common does not wait -----------------------------------------------------------------------


async def unsaved(crawled: Crawled, tx: Transaction, page: Page, facet: Facet, target: str, service: Service) -> Saved:
    """Saves into a transaction that stays open."""
    task = Task(task=1, lane=1, target=target, token=1, progress=Progress())
    return await crawled.store.save(tx, page, service=service, tasks=[task], facet=facet, call=1, now=START)


@pytest.mark.parametrize("service", [FEDIVERSE, X, SKY], ids=["mastodon", "x", "bluesky"])
async def test_pages_about_different_strangers_do_not_wait_for_each_other(fleet: Fleet, service: Service) -> None:
    def page(n: int) -> Page:
        who = {"mammoth": person(n), "bird": user(str(n)), "sky": User(id=f"did:{n}", key=f"did:{n}")}[service.name]
        said = {"mammoth": toot(f"1{n}", f"u{n}"), "bird": post(f"1{n}", str(n)), "sky": skeet(f"did:{n}/p/1", f"did:{n}")}
        return Page(users=(who,), posts=(said[service.name],), results=1)

    async with fleet[0].database.transaction() as one, fleet[1].database.transaction() as other:
        await unsaved(fleet[0], one, page(1), TIMELINE, "1", service)
        await unsaved(fleet[1], other, page(2), TIMELINE, "2", service)
    assert await fleet[0].count("users") == await fleet[0].count("posts") == 2


async def test_a_mention_of_somebody_whose_profile_is_being_saved_does_not_wait(fleet: Fleet) -> None:
    await fleet[0].save(Page(users=(person(1), person(2)), results=2), PROFILES, "1", service=FEDIVERSE)
    async with fleet[0].database.transaction() as one, fleet[1].database.transaction() as other:
        await unsaved(fleet[0], one, Page(users=(person(1, "countess"),), results=1), PROFILES, "1", FEDIVERSE)
        named = Page(users=(person(2),), posts=(toot("5", "u2", mentions=("1",)),), results=1)
        await unsaved(fleet[1], other, named, TIMELINE, "2", FEDIVERSE)
    assert await fleet[0].count("post_mentions") == 1


# -- the number of locks is bounded --------------------------------------------------------------------------------------


async def locks_of(crawled: Crawled, save: Callable[[Transaction], Awaitable[object]]) -> int:
    """How many locks on names a transaction holds at its end."""
    async with crawled.database.transaction() as tx:
        await save(tx)
        rows = await tx.fetch("select count(*) as n from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()")
    return int(rows[0]["n"])


@pytest.mark.parametrize("strangers", [20, 5_000])
async def test_a_page_of_any_number_of_strangers_takes_a_bounded_number_of_locks(fleet: Fleet, strangers: int) -> None:
    people = tuple(person(n) for n in range(strangers))
    posts = tuple(toot(f"1{n}", f"u{n}") for n in range(strangers))
    page = Page(users=people, posts=posts, results=strangers)
    taken = await locks_of(fleet[0], lambda tx: unsaved(fleet[0], tx, page, TIMELINE, "1", FEDIVERSE))
    assert taken <= MOST_NAMES + 1
    assert await fleet[0].count("users") == await fleet[0].count("posts") == strangers


async def test_large_pages_about_the_same_strangers_add_them_once(fleet: Fleet) -> None:
    posts = [tuple(toot(f"{n}", f"u{n}") for n in range(start, start + 300)) for start in (0, 100, 200, 0, 100, 200)]
    pages: list[Asked] = [
        (Page(users=tuple(person(int(each.key)) for each in some), posts=some, results=300), TIMELINE, "1") for some in posts
    ]
    small: list[Asked] = [(Page(users=(person(n),), results=1), PROFILES, str(n)) for n in range(0, 500, 20)]
    saved = await at_once(fleet, [*pages, *small])
    assert await fleet[0].count("users") == await fleet[0].count("posts") == 500
    assert sum(each.users_new for each in saved) == sum(each.posts_new for each in saved) == 500


async def test_whoever_saves_several_pages_in_one_transaction_does_so_alone(fleet: Fleet) -> None:
    async with fleet[0].database.transaction() as tx:
        await fleet[0].store.save_alone(tx)
        waiting = asyncio.create_task(fleet[1].save(Page(users=(user("1"),), results=1), PROFILES, "1"))
        for n in range(20):
            await unsaved(fleet[0], tx, Page(users=(user(str(n)),), results=1), PROFILES, str(n), X)
        assert not waiting.done()
    (known,) = (await waiting).users
    assert not known.is_new


# -- whatever pages come -------------------------------------------------------------------------------------------------

_KEYS = st.integers(1, 6)


@st.composite
def any_page(draw: st.DrawFn) -> tuple[Page, str, Service]:
    """A small page of one of two servers about a few accounts: shown whole, by address or only named, with posts and replies."""
    service = draw(st.sampled_from([FEDIVERSE, HOME]))
    start = "mastodon:mammoth/" if service is FEDIVERSE else "mastodon:home/"
    shown = draw(st.lists(_KEYS, min_size=1, max_size=4, unique=True))
    people = [person(n) if draw(st.booleans()) else User(id=f"https://home.example/@u{n}", key=str(n)) for n in shown]
    toots = [
        toot(
            str(draw(st.integers(1, 8))),
            f"u{shown[0]}",
            mentions=tuple(str(n) for n in draw(st.lists(_KEYS, max_size=3, unique=True))),
            reply_to=f"{start}{answered}" if (answered := draw(st.none() | st.integers(1, 8))) else None,
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    by_key = {each.key: each for each in toots}
    return Page(users=tuple(people), posts=tuple(by_key.values()), results=1), str(shown[0]), service


@given(pages=st.lists(any_page(), min_size=4, max_size=12))
@settings(max_examples=examples(15))
async def test_whatever_pages_come_at_once_every_account_and_post_is_there_once(
    migrated: Migrated, pools: list[Database], pages: list[Any]
) -> None:
    try:
        await _save_all([Crawled(each) for each in pools[:2]], pages)
    finally:
        migrated.empty()


# What must hold whichever page comes first.
_NEVER = {
    "a key leads nowhere": "user_keys where user_no not in (select user_no from users)",
    "a post has no author": "posts where author not in (select user_no from users)",
    "nobody is mentioned": "post_mentions where user_no not in (select user_no from users)",
    "nobody has the key of a stub": "users u where id like 'mastodon:%' and not exists "
    "(select 1 from user_keys k where k.user_no = u.user_no)",
    "a reply waits for a post that is there": "posts p where exists (select 1 from post_keys k join services s "
    "on s.service = k.service where 'mastodon:' || s.name || '/' || k.key = p.reply_to)",
}


async def _saved(opened: Crawled, page: Page, key: str, service: Service) -> Saved:
    """As a process saves a page. Two that join the same accounts may wait for each other; the server then gives one of them up,
    and it is saved again."""
    return await patiently(lambda: opened.save(page, TIMELINE, key, service=service), RealClock(), lambda _words, _now: None)


async def _save_all(opened: Fleet, pages: list[tuple[Page, str, Service]]) -> None:
    await opened[0].register()
    saved = await asyncio.gather(*(_saved(opened[n % 2], *asked) for n, asked in enumerate(pages)))
    wrong = {what: (await opened[0].row(f"select count(*) as n from {where}"))["n"] for what, where in _NEVER.items()}
    new = {each.id for one in saved for each in one.posts if each.is_new}
    posts = await opened[0].count("posts")
    assert not any(wrong.values()), wrong
    assert sum(each.posts_new for each in saved) == len(new) == posts


async def test_a_shown_account_has_no_stub_left(fleet: Fleet) -> None:
    named = [(Page(posts=(toot(f"1{n}", "u99", mentions=(str(n),)),), results=1), TIMELINE, "99") for n in range(40)]
    shown: list[Asked] = [(Page(users=(person(n),), results=1), PROFILES, str(n)) for n in range(40)]
    await at_once(fleet, [page for pair in zip(named, shown, strict=True) for page in pair])
    assert await fleet[0].count("users", "id like 'mastodon:%'") == 0
    assert await fleet[0].count("users") == 41
