"""The plan of a crawl in the database: one version holds, and nobody changes it without saying so."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from bowerbird.app import vocabulary
from bowerbird.clock import to_micros
from bowerbird.crawl.life import plan_versions, registry
from bowerbird.crawl.process.workers.enrolment import enrol
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.ports import Database
from failures import raises_code

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
TEXT = 'flow = "timelines"\nseeds = ["1"]\nservice = { provider = "mastodon", base = "https://one.example" }\n'


def plan(more: str = "") -> CrawlPlan:
    return parse_crawl(TEXT + more, Path("c.toml"), vocabulary())


async def agreed(database: Database, wanted: CrawlPlan, *, applies: bool | None) -> int:
    async with database.transaction() as tx:
        crawl = (await registry.enrol_crawl(tx, wanted.name, "{}", "{}", NOW)).crawl
        me = await enrol(tx, wanted.name, NOW, is_alone=False)
        await plan_versions.agree(tx, wanted, crawl, me, NOW, applies=applies)
        assert await plan_versions.version_held(tx, crawl) == me.plan
        await registry.end_workers(tx, [me.number()], NOW)
        return me.plan


async def test_the_same_plan_is_followed_and_another_one_only_when_it_may_be(database: Database) -> None:
    other = plan('[filters]\nlanguages = ["pt"]\n')
    assert [await agreed(database, plan(), applies=applies) for applies in (False, True, None)] == [1, 1, 1]
    with raises_code(UserError, "plan_changed") as caught:
        await agreed(database, other, applies=False)
    assert "--apply" in caught.value.advice
    changes = list(plan_versions.differences(plan_versions.document(plan()), plan_versions.document(other)))
    assert all(change in caught.value.problem for change in (*changes, "filters.languages", "pt"))
    assert await agreed(database, other, applies=True) == 2
    with raises_code(UserError, "plan_changed") as caught:
        await agreed(database, plan(), applies=False)
    undone = list(plan_versions.differences(plan_versions.document(other), plan_versions.document(plan())))
    assert undone != changes
    assert all(change in caught.value.problem for change in (*undone, "filters.languages", "pt"))
    assert await agreed(database, plan(), applies=True) == 3
    async with database.reading() as tx:
        documents = [row["document"] for row in await tx.fetch("select document from plans order by version")]
        held = await plan_versions.held(tx, "c")
    assert documents[0] == documents[2] != documents[1]
    assert held == plan_versions.Held(3, plan_versions.document(plan()))


async def test_what_an_older_bowerbird_did_not_write_down_is_no_change(database: Database) -> None:
    """Nobody could say what differs, and a service that starts again by itself would never run."""
    assert await agreed(database, plan(), applies=False) == 1
    older = {name: value for name, value in plan_versions.document(plan()).items() if name != "media"}
    async with database.transaction() as tx:
        await tx.execute("update plans set document = ?", json.dumps(older))
    assert await agreed(database, plan(), applies=False) == 1


async def test_where_nothing_is_said_another_plan_is_followed_unless_others_follow_the_old_one(database: Database) -> None:
    other = plan('[filters]\nlanguages = ["pt"]\n')
    assert [await agreed(database, each, applies=None) for each in (plan(), other)] == [1, 2]
    async with database.transaction() as tx:
        await tx.execute(
            "insert into workers (name, host, pid, started_at, seen_at) values ('c', 'elsewhere', 1, ?, ?)",
            *(to_micros(NOW), to_micros(NOW)),
        )
    with raises_code(UserError, "plan_changed"):
        await agreed(database, plan(), applies=None)
    assert await agreed(database, plan(), applies=True) == 3
