"""The ledger by id on both databases: a post that is here is found by whatever its network calls it."""

from __future__ import annotations

import pytest

from bowerbird.db.sqlite.short_columns import written
from bowerbird.model import Facet, Subject
from bowerbird.ports import Database
from bowerbird.providers import provider
from bowerbird.reports.completeness import read_ids
from bowerbird.reports.completeness_entries import Queue


@pytest.mark.parametrize(
    ("name", "key", "known"),
    [
        ("mastodon", "7", "https://one.example/users/ada/statuses/7"),
        ("x", "7", "x:7"),
        ("weibo", "7", "weibo:7"),
        ("bluesky", "at://did:plc:ada/app.bsky.feed.post/7", "at://did:plc:ada/app.bsky.feed.post/7"),
    ],
)
async def test_a_post_that_is_here_counts_as_captured(database: Database, name: str, key: str, known: str) -> None:
    speaks = provider(name)
    facet: Facet = speaks.facets["posts"]
    assert facet.subject is Subject.POST
    queue = Queue(lane=1, crawl="c", service=1, service_name="s", network=speaks.network, facet=facet, as_of=0)
    names = ("post_no", "id", "network", "author", "kind", "found_at", "found_by", "seen_at", "seen_by")
    columns = ", ".join(written(database.dialect, name) for name in names)
    async with database.transaction() as tx:
        await tx.execute("insert into users (user_no, id, network, found_at) values (1, 'u', ?, 0)", speaks.network)
        await tx.execute(
            f"insert into posts ({columns}) values (1, ?, ?, 1, 'post', 0, 1, 0, 1)",
            *(known, speaks.network),
        )
        if name == "mastodon":
            await tx.execute("insert into post_keys (service, key, post_no) values (1, ?, 1)", key)
        for target in (key, "8"):
            await tx.execute(
                "insert into tasks (lane, target, ready, priority, state, added_at, visits) values (1, ?, 0, 0, 'asleep', 0, 1)",
                target,
            )
    (entry,) = [entry async for entry in read_ids(database, [queue], None)]
    assert (entry.captured, entry.likely) == (1, 1)
