"""Killed crawls: the short version of `bowerbird evaluate crash`, and whether its judge sees what it should."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from still_world import MASTODON, SHORT, differences, in_trouble, plan_of, untroubled

from bowerbird.evaluate.crash import Manner, evaluate_crash
from bowerbird.evaluate.crash.inventory import Differences
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.ports import Transaction


@pytest.mark.timeout(240)
def test_killed_crawls_lose_and_double_nothing_and_stay_within_every_limit() -> None:
    said: list[str] = []
    figures = evaluate_crash(8, 3, Manner(seed=3, say=said.append, scenes=(SHORT,)))
    assert figures["is_clean"], said
    assert (figures["kills"], figures["sqlite"]["kills"], figures["postgresql"]["kills"]) == (11, 8, 3)
    assert {name: figures[name] for name in ("lost", "doubled", "over_limit", "refused")} == {
        "lost": 0,
        "doubled": 0,
        "over_limit": 0,
        "refused": 0,
    }
    assert figures["calls_in_flight"] > 0
    assert "11 kills" in said[-1] or "3 kills" in said[-1]


SETTLED_AGAIN = """
insert into calls
    (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, outcome, results, new_items)
select crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, outcome, results, 0
from calls where facet = 'timeline' limit 1
"""


def judged(tamper: Callable[[Transaction], Awaitable[object]]) -> Differences:
    """What the judge says of a good crawl after somebody tampered with its store."""

    async def work(laboratory: Laboratory) -> Differences:
        async with laboratory.crawl(plan_of(laboratory, MASTODON)) as crawl:
            await laboratory.run(crawl)
            async with crawl.database.transaction() as tx:
                await tamper(tx)
            return await differences(crawl.database, MASTODON)

    found: Differences = in_trouble(MASTODON, work)
    return found


def test_the_judge_finds_nothing_wrong_with_a_crawl_that_was_left_alone() -> None:
    assert judged(lambda tx: tx.execute("select 1")).total == 0
    assert sum(untroubled(MASTODON).things["posts"].values()) > 500
    assert sum(untroubled(MASTODON).things["relations"].values()) > 50


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("delete from relations where rowid = (select max(rowid) from relations)", "lost"),
        ("delete from post_tags where rowid = (select max(rowid) from post_tags)", "lost"),
        ("delete from calls where call = (select max(call) from calls where facet = 'timeline')", "lost"),
        ("update crawls set items = items + 40", "doubled"),
        (SETTLED_AGAIN, "doubled"),
        ("insert into user_history select user_no, 0, 1, '{}', '{}' from users limit 1", "doubled"),
        ("insert into relation_history select kind, source, target, 'removed', 0, 1, 1 from relations limit 1", "extra"),
        ("update posts set likes = likes + 1 where post_no = 1", "differing"),
        ("update relations set removed_at = 1 where rowid = 1", "differing"),
        ("update tasks set visits = visits + 1 where task = 3", "differing"),
        ("update ledgers set in_flight = 1", "loose"),
        ("update tasks set token = 1 where task = 2", "loose"),
    ],
)
def test_the_judge_sees(sql: str, kind: str) -> None:
    found = judged(lambda tx: tx.execute(sql))
    assert getattr(found, kind) > 0
    assert any(name.startswith(kind) for name in found.examples)
