"""The first page: what it says of an empty store, of one that was crawled, and how often it counts what is slow."""

from __future__ import annotations

import json
import shlex
from datetime import datetime, timedelta

from bowerbird.clock import RealClock
from bowerbird.ports import Database
from bowerbird.reports.overview.course import read_incoming
from bowerbird.reports.overview.reading import OverviewReader
from web_site import CRAWL, START, dashboard

LATER = START + timedelta(hours=4)


class _Then(RealClock):
    """Half an hour after the crawl began."""

    def now(self) -> datetime:
        return START + timedelta(minutes=30)


async def test_an_empty_store_says_what_to_do(database: Database) -> None:
    client = await dashboard(database)
    assert "bowerbird demo --dashboard" in (await client.get("/")).text
    assert (await client.get("/overview/incoming.json")).json()["series"] == []


async def test_the_crawl_is_told_with_its_numbers_and_what_goes_on(crawled_database: Database) -> None:
    seen = await OverviewReader(crawled_database).read(LATER)
    (line,) = seen.lines
    assert (line.crawl.name, line.flow, line.state, line.processes) == (CRAWL, "topic", "finished", 0)
    assert line.crawl.items == 384
    assert seen.running == 0
    assert [limit.share for limit in seen.limits] == [1.0] * 4, "all windows have passed"
    assert [need.command for need in seen.needs] == ["bowerbird crawl FILE"]
    text = (await (await dashboard(crawled_database)).get("/")).text
    assert f'href="/crawls/{CRAWL}"' in text
    assert "bowerbird crawl FILE" in text


async def test_what_is_slow_to_count_is_kept_for_a_while_and_says_how_old_it_is(crawled_database: Database) -> None:
    reader = OverviewReader(crawled_database)
    assert (await reader.read(LATER)).health_at == LATER
    soon = await reader.read(LATER + timedelta(seconds=5))
    assert (soon.health_at, soon.status.now) == (LATER, LATER + timedelta(seconds=5))
    assert (await reader.read(LATER + timedelta(minutes=1))).health_at == LATER + timedelta(minutes=1)


async def test_what_came_in_is_told_by_the_minute_of_the_last_hour_and_else_over_the_whole_life(
    crawled_database: Database,
) -> None:
    lately = await read_incoming(crawled_database, START + timedelta(minutes=30))
    assert lately.is_lately
    assert len(lately.at) == 30, "the minute that is not over is left out"
    assert {name: sum(rates) for name, rates in lately.rates.items()} == {"hashtag": 102, "followers": 141, "following": 139}
    whole = await read_incoming(crawled_database, LATER + timedelta(days=9))
    assert not whole.is_lately
    assert whole.rates.keys() == {"hashtag", "following", "followers"}


async def test_need_of_a_resting_crawl_has_the_command_it_was_run_with(crawled_database: Database) -> None:
    called = {"file": "/srv/my crawls/a.toml", "name": "b", "vault": "/srv/keys", "seeds": ["@ada"], "skips_bad": True}
    async with crawled_database.transaction() as tx:
        await tx.execute("update crawls set settings = ?", json.dumps({"called": called}))
    (need,) = (await OverviewReader(crawled_database).read(LATER)).needs
    assert shlex.split(need.command) == [
        *("bowerbird", "crawl", "/srv/my crawls/a.toml", "--as", "b", "--seed", "@ada", "--skip-bad", "--vault", "/srv/keys")
    ]


async def test_a_plot_says_how_many_minutes_it_shows(crawled_database: Database) -> None:
    told = (await (await dashboard(crawled_database, _Then())).get("/overview/incoming.json")).json()
    assert (told["x_label"], told["place"], len(told["xs"])) == ("last 30 minutes, UTC", "first", 30)
