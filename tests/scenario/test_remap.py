"""Whole crawls of every network, whose rows are as older parsers would have stored them, remapped."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bowerbird import cli
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.providers import PROVIDERS
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from marks import long

START = datetime(2026, 1, 5, tzinfo=UTC)
WORLD = WorldSettings(accounts=25, seed=5, following=8.0, longest_history=60)
FLOW = """
flow.seeds = ["profiles"]
flow.facets.profiles.ranker = "fifo"
flow.facets.timeline.ranker = "fifo"
flow.edges = [{from = "profiles", to = "timeline", take = "asked", when = "news"}]
"""
TABLES = {
    "users": "select * from users order by user_no",
    "posts": "select * from posts order by post_no",
    "tags": "select * from post_tags order by 1, 2",
    "mentions": "select * from post_mentions order by 1, 2",
    "media": "select * from media order by post_no, place",
    "history": "select * from post_history order by 1, 2",
    "profiles": "select * from user_history order by 1, 2",
}
OLDER_PARSER = """
update posts set language = null, links = null where raw is not null or frame is not null;
update posts set source = 'unknown' where source is not null;
update users set location = null, url = null where raw is not null;
update users set description = 'cut' where description is not null;
delete from post_tags where post_no % 2 = 0
and post_no in (select post_no from posts where raw is not null or frame is not null);
"""
"""What a version that read less would have stored."""


def crawled(dialect: str, path: Path) -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect=dialect, world=WORLD), clock)
        async with laboratory.crawl(laboratory.plan(FLOW, laboratory.keys(), store=str(path))) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"

    run_virtual(main, start=START)


def contents(path: Path) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(path)) as connection:
        return {name: connection.execute(sql).fetchall() for name, sql in TABLES.items()}


def last_run(path: Path) -> tuple[int, int, int]:
    with closing(sqlite3.connect(path)) as connection:
        row: tuple[int, int, int] = connection.execute(
            "select items, changed, unread from remaps order by remap desc limit 1"
        ).fetchone()
    return row


@pytest.mark.parametrize("dialect", ["mastodon", "x", *long(*sorted(PROVIDERS.keys() - {"mastodon", "x"}))])
def test_the_store_of_an_older_parser_comes_to_say_what_todays_would_have(dialect: str, tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    crawled(dialect, path)
    truth = contents(path)
    assert cli.run(["remap", str(path)]) == 0
    items, changed, unread = last_run(path)
    assert (changed, unread) == (0, 0)
    assert items > 100
    assert contents(path) == truth
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(OLDER_PARSER)
    assert contents(path) != truth
    assert cli.run(["remap", str(path)]) == 0
    assert last_run(path)[1] > 20
    assert contents(path) == truth
    assert cli.run(["remap", str(path)]) == 0
    assert last_run(path) == (items, 0, 0)
