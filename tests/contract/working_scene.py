"""A store in which somebody has worked: what tests of reports and pages about work share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from bowerbird.clock import to_micros
from bowerbird.crawl.life import registry
from bowerbird.flows.flow import Edge, FacetUse, Flow
from bowerbird.keywords.values import Keyword, State
from bowerbird.model import Service
from bowerbird.ports import Database

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
FLOW = Flow(
    name="small",
    facets=(FacetUse("profiles", ranker="echo"), FacetUse("timeline")),
    edges=(Edge("profiles", "timeline", take="asked"),),
    seeds=("profiles",),
)
CALL = """
insert into calls (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, settled_at, outcome,
    results, new_items, call_micros, rank_micros, detail) values (?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?, 10, ?)
"""
_TASK = """
insert into tasks (lane, target, ready, priority, state, visits, visited_at, depth, added_at, added_by)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ERROR = "insert into errors (at, crawl, part, outcome, call, message) values (?, ?, ?, ?, ?, ?)"


def at(minutes: float) -> int:
    """So many minutes before now, as it is stored."""
    return to_micros(NOW - minutes * MINUTE)


async def fill(database: Database) -> None:
    """A crawl of two lanes: thirty good calls in ten minutes, one that failed, one under way, and an open connection."""
    async with database.transaction() as tx:
        crawl = (await registry.enrol_crawl(tx, "small", msgspec.json.encode(FLOW).decode(), "{}", NOW)).crawl
        service = await registry.enrol_service(tx, Service(name="here", provider="bluesky", base="http://x"), "bluesky")
        profiles, timeline, stream = [
            await registry.enrol_lane(tx, crawl, service, facet) for facet in ("profiles", "timeline", "jetstream")
        ]
        worker = await registry.enrol_worker(tx, "small", NOW, "mine")
        good = [
            (crawl, profiles, "profiles", worker, "settled", 25, f"did:{n}", at(10 - n / 3), 0, at(10 - n / 3 - 0.1), "ok", 25, n,
             1_000 * (n + 1), None)
            for n in range(30)
        ]  # fmt: skip
        await tx.execute_many(CALL, good)
        others = [
            (crawl, timeline, "timeline", worker, "settled", 1, "Did:Odd_One", at(0.5), 0, at(0.4), "server_error", 0, 0, 5_000,
             "502 bad gateway"),
            (crawl, timeline, "timeline", worker, "flying", 1, "did:7", at(0.1), 0, None, None, None, None, None, None),
        ]  # fmt: skip
        await tx.execute_many(CALL, others)
        await tx.execute_many(
            "insert into calls (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, sent_at, "
            "results, new_items) values (?, ?, 'jetstream', ?, 'flying', '', 1, 'all', ?, 0, ?, 90, 60)",
            [(crawl, stream, worker, at(20), at(20))],
        )
        tasks = [
            (profiles, "did:1", 1, 81.0, "waiting", 0, None, 0, at(9), None),
            (profiles, "did:2", 1, 100.0, "waiting", 1, at(30), 0, at(9), None),
            (profiles, "did:3", 0, 0.0, "asleep", 1, at(60 * 24 * 40), 0, at(9), None),
            (timeline, "did:1", 1, 0.0, "waiting", 0, None, 1, at(5), 1),
            (timeline, "did:2", 1, 0.0, "waiting", 0, None, 1, at(5), 2),
        ]
        await tx.execute_many(_TASK, tasks)
        await tx.execute_many(
            _ERROR,
            [
                (at(90), crawl, "here/timeline", "server_error", 31, "502 Bad Gateway"),
                (at(1), crawl, "module growth", None, None, "100% odd_one"),
            ],
        )


async def followed(database: Database) -> None:
    """A crawl with one keyword, for which its methods have decided nothing yet."""
    async with database.transaction() as tx:
        crawl = (await registry.enrol_crawl(tx, "event", msgspec.json.encode(FLOW).decode(), "{}", NOW)).crawl
        await registry.enrol_service(tx, Service(name="here", provider="bluesky", base="http://x"), "bluesky")
        state = msgspec.json.encode(State(seeds=("#flood",), keywords={"#flood": Keyword(posts=7)})).decode()
        await tx.execute(
            "insert into keyword_methods (crawl, name, bit, state, since) values (?, 'skwa', 0, ?, ?)",
            *(crawl, state, to_micros(NOW)),
        )
        await tx.execute(
            "insert into keyword_progress (crawl, version, decided, share, watched_at) values (?, 0, 0, 0, 0)",
            crawl,
        )
        await tx.execute(
            "insert into keywords (crawl, method, term, since, why, numbers) values (?, 1, '#flood', ?, 'a seed', '{}')",
            *(crawl, to_micros(NOW)),
        )
