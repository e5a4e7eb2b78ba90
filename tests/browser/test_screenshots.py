"""The pictures of the documentation: `make screenshots`. Without a folder to put them in, none are made.

They are of a demo that runs, by its own dashboard. None says whose machine made it: names of hosts and folders are replaced.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from PIL import Image
from playwright.sync_api import Page, expect
from running_demo import running_demo
from served import Served

PICTURES = {
    "overview": "/",
    "crawl": "/crawls/portugal",
    "limits": "/crawls/portugal/limits",
    "frontier": "/crawls/portugal/frontier",
    "messages": "/crawls/portugal/messages",
    "plan": "/crawls/portugal/plan",
    "workers": "/work",
    "calls": "/work/calls",
    "timings": "/work/timings",
    "errors": "/work/errors",
    "modules": "/work/modules",
    "module": "/work/modules/portugal/growth",
    "machine": "/machine",
    "tables": "/machine/tables",
    "table": "/machine/tables/posts",
    "statements": "/machine/statements",
    "posts": "/data/posts",
    "users": "/data/users",
    "relations": "/data/relations",
    "media": "/data/media",
    "saved": "/data/saved",
    "user": "a user",
    "post": "a post",
    "figures": "/figures?unit=day",
    "figures-top": "/figures/top",
    "influence": "/figures/influence",
    "figures-accounts": "/figures/accounts",
    "languages": "/figures/languages",
    "map": "/figures/map",
    "friends": "/figures/friends",
    "around": "around a user",
    "words": "a study",
    "community": "/community/portugal",
    "deciding": "/community/portugal/decide/undecided",
    "keywords": "/keywords/event",
    "completeness": "/completeness/demo",
    "steering": "/steering",
    "new-crawl": "/steering/new",
    "seeds": "/steering/seeds",
    "find-people": "/steering/people",
    "credentials": "/steering/credentials",
    "actions": "/steering/actions",
    "people": "/people",
    "help": "/help",
    "login": "/login",
}
"""By the name of its picture, each page that is shown; what is no address is looked for."""
ON_A_PHONE = ("overview", "crawl", "posts", "deciding")
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_COLOURS = 128
pytestmark = pytest.mark.timeout(1_800)
_LONG_ENOUGH = timedelta(minutes=4)
"""How long the demo has run before it is shown: keywords have come, and growth was written down."""
_SHOWN_AS = {socket.gethostname(): "crawler-1"}
_UNDRAWN = ".plot .canvas:not(:has(*))"
_REPLACE = """(names) => {
  const say = (text) => Object.entries(names).reduce((told, [from, to]) => told.replaceAll(from, to), text);
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const told = say(walk.currentNode.data);
    if (told !== walk.currentNode.data) walk.currentNode.data = told;
  }
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The dashboard of a demo that runs."""
    home = tmp_path_factory.mktemp("demo")
    _SHOWN_AS[str(home / "data")] = "/srv/bowerbird"
    with running_demo(home, _LONG_ENOUGH) as served:
        yield served


@pytest.mark.parametrize("name", PICTURES)
def test_screenshots(site: Served, page: Page, pytestconfig: pytest.Config, name: str) -> None:
    folder: Path = pytestconfig.getoption("--screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    address = site.address(_found(site, page, PICTURES[name]))
    if name == "login":
        page.context.clear_cookies()
    for scheme in _SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for width, ending in ((1280, ""), (390, "-phone")):
            if width == 1280 or name in ON_A_PHONE:
                page.set_viewport_size({"width": width, "height": 860})
                _open(page, address)
                _keep(page, folder / f"{name}-{scheme}{ending}.png")


def _found(site: Served, page: Page, what: str) -> str:
    """The address of a page: of the account that the most is known around, of a post that was passed on, of a new study."""
    if what.startswith("/"):
        return what
    if what == "a study":
        page.goto(site.address("/figures/words"))
        page.get_by_label("Words and phrases").fill("football\nmusic\nelection")
        page.get_by_role("button", name="Look through the posts").click()
        expect(page.locator(".as-of").first).to_contain_text("Show the newest", timeout=120_000)
        return page.url.removeprefix(site.base)
    if what == "a post":
        page.goto(site.address("/data/posts?sort=reposts&crawl=portugal"))
        return page.locator("td a[href^='/posts/']").first.get_attribute("href") or ""
    page.goto(site.address("/figures/influence"))
    account = page.locator("td a[href^='/users/']").first.get_attribute("href") or ""
    return account if what == "a user" else account.replace("/users/", "/figures/around?account=")


def _open(page: Page, address: str) -> None:
    """Waits until what is worked out after a page has come is there, and plots are drawn."""
    until = time.monotonic() + 60
    while True:
        page.goto(address, wait_until="load")
        expect(page.locator(_UNDRAWN)).to_have_count(0)
        page.wait_for_timeout(1_000)
        if page.get_by_text("being worked out").count() == 0 or time.monotonic() > until:
            return


def _keep(page: Page, file: Path) -> None:
    """As a picture of few colours: a third of the size, and nobody sees the difference."""
    page.evaluate(_REPLACE, _SHOWN_AS)
    page.screenshot(path=file)
    with Image.open(file) as shown:
        shown.convert("RGB").quantize(_COLOURS).save(file, optimize=True)
