"""What services call the accounts and posts of a store: their own keys, and never of those who may not be asked about."""

from __future__ import annotations

from store_pages import FEDIVERSE, OTHER, POSTS, PROFILES, Crawled, X

from bowerbird.model import Page, Post, Service, Subject, User
from bowerbird.ports import Database
from bowerbird.store.people.keys import StoredKeys


async def keys(crawled: Crawled, subject: Subject, service: Service, network: str) -> list[str]:
    async with crawled.database.reading() as tx:
        found = await StoredKeys(crawled.database).of(tx, subject, service, network, range(1, 20))
    return sorted(found.values())


async def test_an_account_is_asked_about_by_what_its_service_calls_it(database: Database) -> None:
    crawled = await Crawled(database).register()
    await crawled.save(Page(users=(User(id="x:7", key="7"), User(id="x:8", key="8"))))
    await crawled.save(Page(users=(User(id="https://mammoth.example/users/a", key="11"),)), PROFILES, service=FEDIVERSE)
    assert await keys(crawled, Subject.USER, X, "x") == ["7", "8"]
    assert await keys(crawled, Subject.USER, FEDIVERSE, "mastodon") == ["11"]
    assert await keys(crawled, Subject.USER, OTHER, "mastodon") == [], "a number means nothing on another server"


async def test_nobody_asks_about_those_who_opted_out_or_what_is_deleted(database: Database) -> None:
    crawled = await Crawled(database).register()
    people = (User(id="x:7", key="7"), User(id="x:8", key="8"))
    await crawled.save(
        Page(users=people, posts=tuple(Post(id=f"x:{n}", key=f"{n}", author="x:7", text="a") for n in (1, 2))), POSTS
    )
    async with database.transaction() as tx:
        await tx.execute("update users set opts_out = 1 where id = 'x:8'")
        await tx.execute("update posts set deleted_at = 1 where id = 'x:2'")
    assert await keys(crawled, Subject.USER, X, "x") == ["7"]
    assert await keys(crawled, Subject.POST, X, "x") == ["1"]
