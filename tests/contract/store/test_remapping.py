"""Stored payloads read again, on either database: what that changes, what it never changes, and how it goes on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from store_pages import POSTS, START, TIMELINE, Crawled, post, user

from bowerbird.clock import RealClock
from bowerbird.flows.consent import Consent
from bowerbird.model import Gone, KeptItem, Outcome, Page, Post, Subject, User
from bowerbird.ports import Database
from bowerbird.providers import remap as read_again
from bowerbird.reports.reader import Reader
from bowerbird.store.forgetting.names import user_name
from bowerbird.store.forgetting.tombstones import Tombstones
from bowerbird.store.remapping.reading import ReadAgain
from bowerbird.store.remapping.remapper import Remapper
from bowerbird.store.remapping.runs import Run, begin

NEW = "9.9.9"
FRAMED = 20
"""Payloads of one page: enough of them are kept in a frame."""


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def tweet(key: str, text: str = "the truth, #Porto $ABC", **fields: Any) -> bytes:
    entities = {
        "hashtags": [{"text": "Porto"}],
        "symbols": [{"text": "ABC"}],
        "user_mentions": [{"id_str": "2"}, {"id_str": "777"}],
        "urls": [{"expanded_url": "https://example.org/a"}],
    }
    told = {"id_str": key, "full_text": text, "lang": "pt", "favorite_count": 1, "entities": entities}
    return json.dumps(told | {"source": "<a>web</a>", "user": {"id_str": "1"}} | fields).encode()


def account(key: str, **fields: Any) -> bytes:
    told = {"id_str": key, "screen_name": f"u{key}", "name": "Ada", "description": "Knits", "followers_count": 1}
    return json.dumps(told | fields).encode()


def old(key: str, author: str = "1", **fields: Any) -> Post:
    """A post as an older parser would have stored it: without language, links and tags, and with half of its text."""
    return post(key, author, **{"text": "the truth", "raw": tweet(key), "likes": 7} | fields)


async def remap(database: Database, reader: ReadAgain = read_again) -> Run:
    run, _ = await begin(database, NEW, START)
    remapper = Remapper(database, RealClock(), reader, 5)
    while not run.is_ended:
        run = await remapper.step(run.remap)
    return run


async def stored(crawled: Crawled, key: str) -> dict[str, Any]:
    return dict(await crawled.row("select * from posts where id = ?", f"x:{key}"))


async def test_posts_say_what_todays_parser_reads_and_their_payloads_stay_as_they_came(crawled: Crawled) -> None:
    posts = tuple(old(str(n)) for n in range(100, 100 + FRAMED))
    await crawled.save(Page(users=(user("1"), user("2")), posts=posts), TIMELINE, "1")
    assert await crawled.count("posts", "frame is not null") == FRAMED
    run = await remap(crawled.database)
    row = await stored(crawled, "105")
    assert (row["text"], row["language"], row["links"]) == ("the truth, #Porto $ABC", "pt", '["https://example.org/a"]')
    assert run.fields["posts.text"] == run.fields["posts.tags"] == run.fields["posts.mentions"] == FRAMED
    assert (await crawled.row("select count(*) as n from post_tags where tag = 'porto'"))["n"] == FRAMED
    assert await crawled.count("post_cashtags") == await crawled.count("post_mentions") == FRAMED
    raws = {item["id"]: item["raw"] async for item in Reader(crawled.database).posts(with_raw=True)}
    assert raws == {f"x:{n}": tweet(str(n)) for n in range(100, 100 + FRAMED)}
    again = await remap(crawled.database)
    assert (again.items, again.changed, again.fields) == (run.items, 0, {})


async def test_profiles_are_completed_and_their_names_and_counters_stay(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", handle="renamed", name="A", followers=50, raw=account("1")),)))
    run = await remap(crawled.database)
    row = await crawled.row("select * from users where id = 'x:1'")
    assert (row["name"], row["description"], row["handle"], row["followers"]) == ("Ada", "Knits", "renamed", 50)
    assert (run.items, run.changed, dict(run.fields)) == (1, 1, {"users.name": 1, "users.description": 1})


async def test_counters_times_references_and_history_stay_as_they_are(crawled: Crawled) -> None:
    told = tweet("5", created_at="Wed Mar 04 10:00:00 +0000 2026", in_reply_to_status_id_str="4", coordinates=None)
    await crawled.save(Page(users=(user("1"),), posts=(old("5", raw=told),)), TIMELINE, "1")
    before = await stored(crawled, "5")
    assert (await remap(crawled.database)).changed == 1
    after = await stored(crawled, "5")
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"text", "language", "links", "source"}
    assert await crawled.count("post_history") == 0


async def test_a_payload_that_is_older_than_its_row_changes_nothing(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1"),), posts=(old("5", text="the truth, #Porto $ABC"),)), TIMELINE, "1")
    await crawled.save(Page(users=(user("1"),), posts=(old("5", text="reconsidered", raw=b""),)), TIMELINE, "1")
    await crawled.save(Page(users=(user("2", name="Ada", raw=account("2")),)))
    await crawled.save(Page(users=(user("2", name="Ada L.", raw=b""),)))
    run = await remap(crawled.database)
    assert (run.items, run.changed) == (3, 0)
    assert (await stored(crawled, "5"))["text"] == "reconsidered"
    assert await crawled.count("post_tags") == 0
    assert (await crawled.row("select name from users where id = 'x:2'"))["name"] == "Ada L."


async def test_what_was_deleted_or_opted_out_stays_empty(crawled: Crawled) -> None:
    people = (user("1"), user("2"), user("3", raw=account("3")))
    await crawled.save(Page(users=people, posts=(old("5"), old("6", "2"), old("7", "3"))), TIMELINE, "1")
    await crawled.save(Page(gone=(Gone(Subject.POST, "5", Outcome.NOT_FOUND, is_stated=True),)), POSTS, "5")
    await crawled.save(Page(users=(user("2", opts_out=True),), gone=(Gone(Subject.USER, "3", Outcome.SUSPENDED),)))
    run = await remap(crawled.database)
    assert run.changed == 0
    assert await crawled.count("posts", "text is not null or language is not null or links is not null") == 0
    assert await crawled.count("users", "name is not null or description is not null") == 0
    assert await crawled.count("post_tags") == 0


async def test_remap_leaves_deleted_post_that_is_kept_as_it_was(database: Database) -> None:
    crawled = await Crawled(database, Consent(deleted="keep", reason="a mandate")).register()
    await crawled.save(Page(users=(user("1"),), posts=(old("5"),)), TIMELINE, "1")
    gone = Page(gone=(Gone(Subject.POST, "5", Outcome.NOT_FOUND, is_stated=True),))
    await crawled.save(gone, POSTS, "5")
    before = await stored(crawled, "5")
    run = await remap(database)
    assert before["text"] == "the truth"
    assert (run.changed, await stored(crawled, "5")) == (0, before)
    assert await crawled.count("post_tags") == 0


async def test_a_payload_that_names_the_forgotten_is_not_read(crawled: Crawled) -> None:
    posts = (old("5"), old("6", raw=tweet("6", in_reply_to_user_id_str="999")))
    await crawled.save(Page(users=(user("1"),), posts=posts), TIMELINE, "1")
    async with crawled.database.transaction() as tx:
        tombstones = Tombstones()
        await tombstones.load(tx)
        await tombstones.add(tx, {user_name("x:999")})
    run = await remap(crawled.database)
    assert run.unread == 1
    assert ((await stored(crawled, "5"))["language"], (await stored(crawled, "6"))["language"]) == ("pt", None)


async def test_an_account_that_todays_parser_finds_to_opt_out_gets_no_more_content(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", raw=b"{}"),)))

    def finds_a_wish(kept: KeptItem) -> User:
        return User(id=kept.id, key="1", description="#nobot", opts_out=True, raw=kept.raw)

    run, _ = await begin(crawled.database, NEW, START)
    run = await Remapper(crawled.database, RealClock(), finds_a_wish).step(run.remap)
    assert (run.changed, run.unread) == (0, 1)
    assert (await crawled.row("select description from users"))["description"] is None


async def test_what_no_parser_reads_is_counted_and_left(crawled: Crawled) -> None:
    posts = (old("5"), old("6", raw=b'{"id": 6}'), old("7", raw=b"no json"), old("8", raw=tweet("9")))
    await crawled.save(Page(users=(user("1", raw=b""),), posts=posts), TIMELINE, "1")
    run = await remap(crawled.database)
    assert (run.items, run.changed, run.unread) == (4, 1, 2)


class _KilledError(Exception):
    """Stands for a process that ends in the middle of a batch."""


async def test_a_remap_that_was_killed_goes_on_where_it_was(crawled: Crawled) -> None:
    posts = tuple(old(str(n)) for n in range(100, 100 + FRAMED))
    await crawled.save(Page(users=(user("1", raw=b""),), posts=posts), TIMELINE, "1")

    def dies(kept: KeptItem) -> User | Post | None:
        if kept.id == "x:112":
            raise _KilledError
        return read_again(kept)

    with pytest.raises(_KilledError):
        await remap(crawled.database, dies)
    assert await crawled.count("posts", "language = 'pt'") == 10
    run, is_resumed = await begin(crawled.database, NEW, START)
    assert is_resumed
    assert run.items == 10
    run = await remap(crawled.database)
    assert (run.items, run.changed) == (FRAMED, FRAMED)
    assert await crawled.count("posts", "language = 'pt'") == FRAMED
    assert await crawled.count("remaps", "ended_at is not null") == 1


async def test_another_version_begins_anew(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", raw=b""),), posts=(old("5"),)), TIMELINE, "1")
    first, _ = await begin(crawled.database, "1.0.0", START)
    second, is_resumed = await begin(crawled.database, NEW, START)
    assert (is_resumed, second.remap > first.remap) == (False, True)


async def test_two_at_once_share_the_work(crawled: Crawled) -> None:
    posts = tuple(old(str(n)) for n in range(100, 100 + FRAMED))
    await crawled.save(Page(users=(user("1", raw=b""),), posts=posts), TIMELINE, "1")
    run, _ = await begin(crawled.database, NEW, START)
    await asyncio.gather(remap(crawled.database), remap(crawled.database))
    row = await crawled.row("select items, changed from remaps where remap = ?", run.remap)
    assert (row["items"], row["changed"]) == (FRAMED, FRAMED)


async def test_beside_pages_that_are_saved_meanwhile_the_newer_words_stay(crawled: Crawled) -> None:
    keys = [str(n) for n in range(100, 100 + FRAMED)]
    await crawled.save(Page(users=(user("1", raw=b""),), posts=tuple(old(key) for key in keys)), TIMELINE, "1")

    async def go_on() -> None:
        for key in keys:
            newer = old(key, text="newer words", language="en", raw=tweet(key, "newer words", lang="en"))
            await crawled.save(Page(posts=(newer,)), TIMELINE, "1")

    run, _ = await asyncio.gather(remap(crawled.database), go_on())
    assert run.items == FRAMED
    assert await crawled.count("posts", "text = 'newer words' and language = 'en'") == FRAMED
    raws = {item["id"]: item["raw"] async for item in Reader(crawled.database).posts(with_raw=True)}
    assert raws == {f"x:{key}": tweet(key, "newer words", lang="en") for key in keys}
