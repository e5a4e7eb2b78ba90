"""A store with one of everything that a server may send or do wrong, with texts that would steer a terminal."""

from __future__ import annotations

from store_pages import FEDIVERSE, TIMELINE, Crawled, federated, toot

from bowerbird.clock import RealClock
from bowerbird.crawl.life import registry
from bowerbird.db import open_database
from bowerbird.model import Gone, Outcome, Page, PostKind, Subject

NASTY = "a\x1b]0;owned\x07\x1b[2J\u202eb\x9bc\rd"
_TOLD = {
    "errors": "insert into errors (at, crawl, part, message) values (1, 1, ?, ?)",
    "credentials": "insert into credentials (service, credential, state, reason, since) values (1, ?, 'refused', ?, 1)",
    "quarantine_sources": "insert into quarantine_sources (service, facet, why, items, bytes, first_at, last_at) "
    "values (1, ?, ?, 9, 9, 1, 1)",
    "outages": "insert into outages (service, began_at, calls, reason) values (?, 1, 3, ?)",
    "shortfalls": "insert into shortfalls (lane, target, cause, detail, at, call) values (1, ?, 'unknown', ?, 1, 1)",
    "judgements": (
        "insert into judgements (judge, value, subject, id, reason, strength, confidence, evidence, version, at, call) "
        "values ('place', ?, 'post', ?, 'text', 1, 1, '{}', '1', 1, 1)"
    ),
}


async def fill_hostile(where: str) -> None:
    """Make the store."""
    database = await open_database(where, RealClock())
    await database.create_tables()
    crawled = await Crawled(database).register()
    async with database.transaction() as tx:
        row = await registry.enrol_crawl(tx, "c", '{"name": "timelines"}', "{}", crawled.now)
        for facet in ("search", "timeline"):
            await registry.enrol_lane(tx, row.crawl, await registry.enrol_service(tx, FEDIVERSE, "mastodon"), facet)
        for statement in _TOLD.values():
            await tx.execute(statement, NASTY, NASTY)
    people = (
        federated("ada", "1", handle=NASTY, location=NASTY, description=NASTY),
        federated("bob", "2"),
    )
    posts = (
        toot(f"5{NASTY}", "ada", text=NASTY),
        toot("6", "ada", text=NASTY),
        toot("8\n9", "ada", text=NASTY),
        toot("7", "bob", kind=PostKind.REPOST, repost_of="https://home.example/users/ada/statuses/6"),
    )
    await crawled.save(Page(users=people, posts=posts), TIMELINE, "1", service=FEDIVERSE)
    changed = federated("ada", "1", handle=f"{NASTY}2", location="x", description=NASTY)
    await crawled.save(Page(users=(changed,)), service=FEDIVERSE)
    await crawled.save(Page(gone=(Gone(Subject.USER, f"9{NASTY}", Outcome.SUSPENDED),)), service=FEDIVERSE)
    await database.close()
