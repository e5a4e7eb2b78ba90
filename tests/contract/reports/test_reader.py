"""What readers see, on both databases."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from store_pages import FOLLOWING, START, TIMELINE, Crawled, following, micros, post, user

from bowerbird.model import Page
from bowerbird.ports import Database
from bowerbird.reports.counting.counts import Count, Counter
from bowerbird.reports.counting.hours import posts_by_hour
from bowerbird.reports.reader import Reader
from bowerbird.store import record_error


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def _state(crawled: Crawled) -> None:
    """One crawl with a lane, tasks, calls, a ledger and an error."""
    at = micros(START)
    async with crawled.database.transaction() as tx:
        await tx.execute(
            "insert into crawls (crawl, name, flow, settings, state, wanted, created_at, updated_at) "
            "values (?, ?, ?, ?, ?, ?, ?, ?)",
            1, "mine", "timelines", "{}", "running", "paused", at, at,
        )  # fmt: skip
        await tx.execute("insert into lanes (lane, crawl, service, facet) values (?, ?, ?, ?)", 1, 1, 1, "timeline")
        for n, state in enumerate(["waiting", "waiting", "asleep"]):
            await tx.execute(
                "insert into tasks (lane, target, ready, priority, state, added_at) values (?, ?, ?, ?, ?, ?)",
                1, str(n), 1, 0.0, state, at,
            )  # fmt: skip
        for outcome, micro in (("ok", 10), ("ok", 30), ("overloaded", 20), (None, None)):
            await tx.execute(
                "insert into calls (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, "
                "outcome, rank_micros) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                1, 1, "timeline", 1, "settled" if outcome else "flying", "[]", 1, "[]", at, at, outcome, micro,
            )  # fmt: skip
        await tx.execute(
            "insert into ledgers (bucket, allowance, window_micros, kind, remaining, in_flight, finished, reset_at, updated_at) "
            "values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            "bird/app", 15, 900_000_000, "aligned", 3, 1, 11, at, at,
        )  # fmt: skip
        await record_error(tx, START, "worker", "no answer\0 " + "x" * 5_000, crawl=1, outcome="unanswered")


async def test_posts_are_counted_by_the_hour_at_which_they_were_written(crawled: Crawled) -> None:
    assert await posts_by_hour(crawled.database) == [0] * 24
    times = {"10": START, "11": START + timedelta(days=1, minutes=1), "12": START - timedelta(hours=25)}
    posts = tuple(msgspec.structs.replace(post(key), created_at=at) for key, at in times.items())
    await crawled.save(Page(users=(user("1"),), posts=posts), TIMELINE, "1")
    found = await posts_by_hour(crawled.database)
    assert {hour: count for hour, count in enumerate(found) if count} == {START.hour: 2, (START.hour - 1) % 24: 1}


async def test_a_summary_tells_the_state_of_everything_and_is_json(crawled: Crawled) -> None:
    await _state(crawled)
    await crawled.save(Page(users=(user("1"),), posts=(post("10", mentions=("2",)),)), TIMELINE, "1")
    summary = await Reader(crawled.database).summary()
    assert (summary.stored.users_seen, summary.stored.users_stubs, summary.stored.posts) == (Count(1), Count(1), Count(1))
    assert [(c.name, c.state, c.wanted, c.created_at) for c in summary.crawls] == [("mine", "running", "paused", START)]
    assert [(lane.crawl, lane.service, lane.facet, lane.tasks) for lane in summary.lanes] == [
        ("mine", "bird", "timeline", {"asleep": Count(1), "waiting": Count(2)})
    ]
    assert summary.calls == {"ok": Count(2), "overloaded": Count(1), "flying": Count(1)}
    assert (summary.timings.calls, summary.timings.rank_micros, summary.timings.seed_micros) == (3, 20.0, None)
    assert [(x.bucket, x.remaining, x.reset_at) for x in summary.ledgers] == [("bird/app", 3, START)]
    assert [(e.part, len(e.message), e.message[:10]) for e in summary.errors] == [("worker", 1_999, "no answer ")]
    assert msgspec.json.decode(msgspec.json.encode(summary))["stored"]["posts"] == {"value": 1, "is_exact": True}


async def test_an_empty_store_reads_as_nothing(crawled: Crawled) -> None:
    reader = Reader(crawled.database)
    summary = await reader.summary()
    assert (summary.stored.users_seen, summary.stored.relations, summary.calls) == (Count(0), Count(0), {})
    assert [item async for item in reader.posts()] == []
    assert await reader.crawl("nobody") is None


async def test_large_tables_are_estimated_from_a_sample_instead_of_counted(crawled: Crawled) -> None:
    for begin in range(0, 1_000, 500):
        await crawled.save(
            Page(
                users=tuple(user(str(n)) for n in range(begin, begin + 250)),
                relations=following("1", *(str(n) for n in range(begin + 250, begin + 500))),
            )
        )
    counter = Counter(crawled.database, exact=640)
    async with crawled.database.reading() as tx:
        counts = await counter.by(tx, "users", "user_no", {"is_stub": "case when seen_at is null then 1 else 0 end"})
        small = await counter.total(tx, "quarantine")
    assert all(not count.is_exact and abs(count.value - 500) < 100 for count in counts.values())
    assert small == Count(0)


async def test_relations_and_users_are_walked_in_batches_without_end_or_loss(crawled: Crawled) -> None:
    targets = [str(n) for n in range(2, 2_503)]
    await crawled.save(Page(users=(user("1"),), relations=following("1", *targets)), FOLLOWING, "1")
    reader = Reader(crawled.database)
    edges = [edge async for edge in reader.relations()]
    assert sorted(edge["target"] for edge in edges) == sorted(f"x:{n}" for n in targets)
    assert (edges[0]["source"], edges[0]["kind"], edges[0]["seen_at"], edges[0]["removed_at"]) == (
        "x:1",
        "follow",
        crawled.now,
        None,
    )
    assert len({item["id"] async for item in reader.users()}) == 2_502


async def test_a_user_is_found_by_handle_with_the_history_of_the_profile(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", handle="ada", name="Ada", is_bot=False),)))
    await crawled.save(Page(users=(user("1", handle="ada", name="Countess"),)), after=timedelta(days=2))
    reader = Reader(crawled.database)
    (found,) = await reader.users_by_handle("@ada")
    assert (found["id"], found["name"], found["is_bot"], found["seen_at"]) == ("x:1", "Countess", False, crawled.now)
    (change,) = await reader.user_history("x:1")
    assert (change["at"], change["before"], change["after"]) == (crawled.now, {"name": "Ada"}, {"name": "Countess"})
