"""Killed and stopped crawls: the short version of `bowerbird evaluate crash`, and whether its judge sees what it should.

The exceptions it raises have a file of their own, `test_settle_faults.py`.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from still_world import MASTODON, SHORT, differences, in_laboratory, plan_of, untroubled

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.evaluate.crash import Manner, evaluate_crash
from bowerbird.evaluate.crash.inventory import Differences
from bowerbird.evaluate.laboratory import Laboratory


def test_a_killed_crawl_loses_and_doubles_nothing() -> None:
    said: list[str] = []
    figures = evaluate_crash(1, 0, Manner(seed=10, say=said.append, scenes=(SHORT,), stops=0, fault_rounds=0))
    assert figures["is_clean"], "\n".join(said)
    assert figures["kills"] == 1


@pytest.mark.long
@pytest.mark.timeout(900)
def test_killed_and_stopped_crawls_lose_and_double_nothing_and_stay_within_every_limit(pytestconfig: pytest.Config) -> None:
    kills = pytestconfig.getoption("kills")
    on_postgresql = kills // 3
    said: list[str] = []
    # Of this seed's first six kills four come while calls are made, on both databases.
    figures = evaluate_crash(
        kills - on_postgresql, on_postgresql, Manner(seed=10, say=said.append, scenes=(SHORT,), stops=1, fault_rounds=0)
    )
    assert figures["is_clean"], "\n".join(said)
    assert figures["kills"] == kills
    assert (figures["sqlite"]["kills"], figures["postgresql"]["kills"]) == (kills - on_postgresql, on_postgresql)
    assert figures["stops"] >= 1
    assert {name: figures[name] for name in ("lost", "doubled", "over_limit", "refused", "wedged")} == {
        "wedged": 0,
        "lost": 0,
        "doubled": 0,
        "over_limit": 0,
        "refused": 0,
    }
    assert figures["calls_in_flight"] > 0
    assert any(f"{on_postgresql} kills" in line for line in said)


SETTLED_AGAIN = """
insert into calls
    (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, outcome, results, new_items)
select crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, outcome, results, 0
from calls where facet = 'timeline' limit 1
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a good crawl."""
    store = tmp_path_factory.mktemp("crash") / "finished.db"

    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(plan_of(laboratory, MASTODON, str(store))) as crawl:
            await laboratory.run(crawl)

    in_laboratory(MASTODON, work)
    return store


def judged(finished: Path, tmp_path: Path, sql: str) -> Differences:
    """What the judge says of a good crawl after somebody tampered with its store."""

    async def work() -> Differences:
        database = await open_database(shutil.copy(finished, tmp_path), RealClock())
        try:
            async with database.transaction() as tx:
                await tx.execute(sql)
            return await differences(database, MASTODON)
        finally:
            await database.close()

    untroubled(MASTODON)
    return asyncio.run(work())


def test_the_judge_finds_nothing_wrong_with_a_crawl_that_was_left_alone(finished: Path, tmp_path: Path) -> None:
    assert judged(finished, tmp_path, "select 1").total == 0
    assert sum(untroubled(MASTODON).things["posts"].values()) > 500
    assert sum(untroubled(MASTODON).things["relations"].values()) > 50


_REMOVED = (
    "insert into relation_history (kind, source, target, change, after_at, before_at, call) "
    "select kind, source, target, 'removed', 0, 1, 1 from relations limit 1"
)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("delete from relations where rowid = (select max(rowid) from relations)", "lost"),
        ("delete from post_tags where rowid = (select max(rowid) from post_tags)", "lost"),
        ("delete from calls where call = (select max(call) from calls where facet = 'timeline')", "lost"),
        ("update crawls set items = items + 40", "doubled"),
        (SETTLED_AGAIN, "doubled"),
        ("insert into user_history select user_no, 0, 1, '{}', '{}' from users limit 1", "doubled"),
        (_REMOVED, "extra"),
        ("update posts set likes = likes + 1 where post_no = 1", "differing"),
        ("update relations set removed_at = 1 where rowid = 1", "differing"),
        ("update tasks set visits = visits + 1 where task = 3", "differing"),
        ("update ledgers set in_flight = 1", "loose"),
        ("update tasks set token = 1 where task = 2", "loose"),
    ],
)
def test_the_judge_sees(sql: str, kind: str, finished: Path, tmp_path: Path) -> None:
    found = judged(finished, tmp_path, sql)
    assert getattr(found, kind) > 0
    assert any(name.startswith(kind) for name in found.examples)
