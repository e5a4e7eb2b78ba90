"""Every page that a link leads to answers, on both databases, over a store that a crawl has filled."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.routing import Route

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.evaluate.web.pages import Page, path_of
from bowerbird.limits.vault import FileVault
from bowerbird.modules.statistics.preparing import Preparing
from bowerbird.web.site import Site
from marks import long
from web_site import CHEAP, Answer, Client, Crawled, crawl_into

_OF_A_KIND = 2
_NO_PAGES = ("/assets/", "/live/", "/logout", "/favicon.ico", "/login", "/enter")

_ABOUT_SOMEBODY = ("/figures/around/ties",)
"""What is not there before somebody says about whom."""


@pytest.fixture(params=["sqlite", *long("postgresql")])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a crawl has brought some hundred accounts and some thousand posts."""
    if request.param == "sqlite":
        crawled: Crawled = request.getfixturevalue("crawled")
        return str(crawled.copy(tmp_path))
    url = str(request.getfixturevalue("postgres_url"))
    with ThreadPoolExecutor(1) as thread:
        thread.submit(crawl_into, url).result()
    return url


@pytest.fixture
async def client(store: str, tmp_path: Path) -> AsyncIterator[Client]:
    database = await open_database(store, RealClock())
    await database.create_tables()
    vault = FileVault(tmp_path / "vault")
    entered = Client(Site(database, RealClock(), "test store", store=store, vault=vault, cost=CHEAP))
    await entered.enter()
    await Preparing(database, RealClock(), rest=0).run()
    yield entered
    await database.close()


def _leads(answer: Answer) -> set[str]:
    if "location" in answer.headers:
        return {answer.headers["location"]}
    return Page(answer.text).links if answer.headers.get("content-type", "").startswith("text/html") else set()


async def test_every_page_that_a_link_leads_to_answers(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    routes = [route for route in client.routes if isinstance(route, Route) and "GET" in (route.methods or ())]
    waiting = [route.path for route in routes if "{" not in route.path and not route.path.startswith(_NO_PAGES)]
    seen, kinds, wrong = set(waiting), Counter[str](), list[str]()

    actions = [route for route in client.routes if isinstance(route, Route) and "POST" in (route.methods or ())]

    def kind(address: str) -> str:
        """The route of an address; empty: none, or what a form is sent to."""
        is_action = any(route.path_regex.match(path_of(address)) for route in actions)
        return "" if is_action else next((route.path for route in routes if route.path_regex.match(path_of(address))), "")

    while waiting:
        address = waiting.pop(0)
        answer = await client.get(address)
        kinds[kind(address)] += 1
        if answer.status not in (200, 303, 307) and address not in _ABOUT_SOMEBODY:
            wrong.append(f"{address} gave {answer.status}")
        for link in sorted(_leads(answer) - seen):
            if kind(link) and kinds[kind(link)] < _OF_A_KIND and not link.startswith(_NO_PAGES):
                seen.add(link)
                waiting.append(link)
    assert not wrong, wrong
    assert len(kinds) > 60
    # Downloads were left in the middle, and closed what they had open.
    assert caplog.text == ""
