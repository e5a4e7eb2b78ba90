"""Pages and reports that look several times tell of one moment, whatever a crawl writes between two looks."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route
from working_scene import followed

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.evaluate.web.pages import Page
from bowerbird.ports import Database, Transaction
from bowerbird.reports.browsing.matching import how_many
from bowerbird.reports.browsing.searching import Search
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.overview.course import read_incoming
from bowerbird.reports.overview.reading import OverviewReader
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.steered import read_steered
from bowerbird.reports.words.looking import Wanted
from bowerbird.studies.word_studies import create_study
from bowerbird.web.pages import completeness
from bowerbird.web.pages.crawl.seen import Crawls
from bowerbird.web.site import Site
from web_site import CHEAP, CRAWL, Client, Crawled

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


class StillClock(RealClock):
    """What was kept of a page stays as good as new."""

    def now(self) -> datetime:
        return NOW


class Changing:
    """A store to which a crawl brings something whenever a moment has passed; it stands in the place of the one it is given."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.moments = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        self.moments += 1
        async with self.database.reading() as tx:
            yield tx
        async with self.database.transaction() as tx:
            await tx.execute("update crawls set items = items + 1")


@pytest.fixture
async def changing(crawled: Crawled, tmp_path: Path) -> AsyncIterator[Changing]:
    database = await open_database(str(crawled.copy(tmp_path)), StillClock())
    await database.create_tables()
    yield Changing(database)
    await database.close()


@pytest.fixture
async def client(changing: Changing, tmp_path: Path) -> Client:
    site = Site(changing.database, StillClock(), "test store", store=str(tmp_path / "crawled.db"), cost=CHEAP)
    # Who asks is looked up beside: only what the pages read is counted.
    site.database, site.reader = changing, Reader(changing)  # type: ignore[assignment, arg-type]
    entered = Client(site)
    await entered.enter()
    return entered


async def moments(client: Client, changing: Changing, address: str) -> int:
    """How many moments a page tells of; what it keeps for others is there already, with its own time."""
    for _ in range(2):
        changing.moments = 0
        answer = await client.get(address)
        assert answer.status == 200, (address, answer.text[:500])
    return changing.moments


@pytest.mark.parametrize(
    ("address", "most"),
    [
        (f"/crawls/{CRAWL}", 0),
        # The sums were worked out before, and say when.
        (f"/completeness/{CRAWL}", 2),
        ("/steering", 1),
        ("/data/posts/count", 0),
    ],
)
async def test_a_page_tells_of_one_moment(client: Client, changing: Changing, address: str, most: int) -> None:
    assert await moments(client, changing, address) <= most


async def shown(client: Client, kind: str) -> str:
    """The address of an account or a post that may be told of."""
    links = sorted(Page((await client.get(f"/data/{kind}")).text).links)
    return next(link for link in links if link.startswith(f"/{kind}/"))


@pytest.mark.parametrize("kind", ["users", "posts"])
async def test_the_sheet_of_an_account_or_a_post_tells_of_one_moment(client: Client, changing: Changing, kind: str) -> None:
    assert await moments(client, changing, await shown(client, kind)) == 1


PREPARED = {
    "/completeness/{name}",
    "/completeness/{name}/days.json",
    "/crawls/{name}/plan",
    "/crawls/{name}/plan.json",
    "/keywords/{name}",
}
"""They look up what was worked out before besides, which says when that was."""
NO_PAGES = ("/assets/", "/live/", "/login", "/enter", "/favicon.ico", "/steering/people/{look}")
"""The last is there only beside a process that looks people up."""
ASKED = {"/figures/around": "account", "/figures/around/ties": "account", "/data/find": "q", "/steering/people": "q"}
"""What such a page is asked for."""


async def addresses(client: Client, changing: Changing) -> dict[str, str]:
    """By route an address of every page that there is."""
    await followed(changing.database)
    user, post = [(await shown(client, kind)).removeprefix(f"/{kind}/") for kind in ("users", "posts")]
    async with changing.database.transaction() as tx:
        study = await create_study(tx, "", Wanted(words=["music"], unit=Unit.DAY), "ada", NOW)
    of_posts = ("/posts/", "/media/", "/data/plots/counters/", "/data/cascades/", "/data/graphs/cascade/")
    known = {
        "crawl": CRAWL,
        "module": "growth",
        "table": "posts",
        "what": "posts",
        "said": "yes",
        "which": "members",
        "study": study,
    }

    def filled(route: str) -> str:
        name = "event" if route.startswith("/keywords/") else CRAWL
        values = {"name": name, "id": post if route.startswith(of_posts) else user, **known}
        asked = f"?{ASKED[route]}={user}" if route in ASKED else "?term=music" if "/keywords/" in route else ""
        return re.sub(r"{(\w+)[^}]*}", lambda found: str(values[found[1]]), route) + asked

    paths = [each.path for each in client.routes if isinstance(each, Route) and "GET" in (each.methods or ())]
    return {path: filled(path) for path in paths if not path.startswith(NO_PAGES)}


async def test_every_page_tells_of_one_moment(client: Client, changing: Changing) -> None:
    told = {}
    for route, address in (await addresses(client, changing)).items():
        for _ in range(2):
            changing.moments = 0
            answer = await client.get(address)
        assert answer.status in (200, 303, 307) or route.startswith("/media/"), (address, answer.text[:500])
        told[route] = changing.moments
    assert len(told) > 80
    assert {route: count for route, count in told.items() if count > 1 + (route in PREPARED)} == {}


async def test_what_is_kept_of_a_crawl_agrees_with_itself(client: Client, changing: Changing) -> None:
    crawls = Crawls(client.site)
    for each in (crawls.course, crawls._loads, crawls._led, crawls.seen):
        changing.moments = 0
        await each.get(CRAWL)
        assert changing.moments == 1


async def test_the_days_of_a_completeness_are_worked_out_of_one_moment(client: Client, changing: Changing) -> None:
    pages = completeness._Pages(client.site)
    changing.moments = 0
    await pages._compute(CRAWL)
    assert changing.moments == 1


async def test_reports_tell_of_one_moment(changing: Changing) -> None:
    async def taken(report: Any) -> int:
        changing.moments = 0
        await report
        return changing.moments

    database: Any = changing
    assert await taken(read_steered(database, NOW)) == 1
    assert await taken(read_incoming(database, NOW)) == 1
    assert await taken(OverviewReader(database).read(NOW)) == 1
    assert await taken(how_many(database, Search(what="posts"))) == 1
