"""Forms: none that is asked with GET carries the token of a session, and none is offered to somebody who may not send it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from pathlib import Path

import pytest
from starlette.routing import Route
from test_web_work import followed

from bowerbird.clock import RealClock
from bowerbird.ports import Database
from bowerbird.web.security import Role, people
from bowerbird.web.site import Site
from bowerbird.web.templating import HERE
from web_site import CHEAP, CRAWL, Client

_FORM = re.compile(r"<form\b(?P<start>[^>]*)>(?P<inside>.*?)</form>", re.DOTALL)
_TEMPLATES = sorted((HERE / "templates").rglob("*.html"))
_OF_ONE = (
    *(f"/crawls/{CRAWL}{part}" for part in ("", "/limits", "/frontier", "/messages", "/plan")),
    *(f"/completeness/{CRAWL}", f"/steering/crawls/{CRAWL}", "/steering/people?q=a"),
)
_OF_KEYWORDS = ("/keywords/event", "/keywords/event/term?term=Flood")
_NO_PAGES = ("/assets/", "/live/", "/logout", "/login", "/enter", "/figures/around/ties")


@pytest.mark.parametrize("file", _TEMPLATES, ids=lambda file: file.name)
def test_no_form_that_is_asked_with_get_carries_the_token(file: Path) -> None:
    text = file.read_text()
    assert "formmethod" not in text, "a button that sends a POST form with GET puts its token into the address"
    asked = [each["inside"] for each in _FORM.finditer(text) if 'method="post"' not in each["start"]]
    assert [each for each in asked if "token" in each or 'name="seen"' in each] == []


async def _logged_in(database: Database, role: Role) -> Client:
    site = Site(database, RealClock(), "test store", cost=CHEAP)
    hash_ = await site.guard.entrance.passwords.hash("a long password")
    async with database.transaction() as tx:
        await people.add(tx, "ada", hash_, Role.ADMIN, site.clock.now())
        await people.add(tx, "rita", hash_, role, site.clock.now())
    client = Client(site)
    assert (await client.log_in("rita", "a long password")).status == 303
    return client


async def _refused(client: Client, pages: Iterable[str], role: Role) -> dict[str, list[str]]:
    """The addresses of forms on each page that somebody of this role may not send."""
    found = {}
    for page in pages:
        answer = await client.get(page)
        assert answer.status in (200, 303, 307), (page, answer.status)
        sent = re.findall(r'(?:hx-post|action)="([^"]+)"', answer.text)
        found[page] = [address for address in sent if client.site.guard.role_for(unescape(address)) > role]
    return {page: refused for page, refused in found.items() if refused}


@pytest.mark.parametrize("role", [Role.READ, Role.STEER])
async def test_nobody_is_offered_a_form_that_would_be_refused(crawled_database: Database, role: Role) -> None:
    client = await _logged_in(crawled_database, role)
    plain = [route.path for route in client.routes if isinstance(route, Route) and "GET" in (route.methods or ())]
    hidden = _NO_PAGES if role is Role.STEER else (*_NO_PAGES, "/steering/credentials")
    pages = [path for path in plain if "{" not in path and not path.startswith(hidden)]
    assert await _refused(client, (*pages, *_OF_ONE), role) == {}
    await followed(crawled_database)
    assert await _refused(client, _OF_KEYWORDS, role) == {}


async def test_a_reader_is_told_calmly_who_may_do_more(crawled_database: Database) -> None:
    client = await _logged_in(crawled_database, Role.READ)
    for page in ("/steering/new", "/figures/words", "/steering/seeds"):
        notes = re.findall(r'<p class="message">(.*?)</p>', (await client.get(page)).text, re.DOTALL)
        assert any(re.search(r"\bsteer\b", note) for note in notes), page
    shown = (await client.get("/steering")).text
    assert ('href="/steering/credentials"' in shown, 'href="/steering/new"' in shown, "Start …" in shown) == (False, False, False)
