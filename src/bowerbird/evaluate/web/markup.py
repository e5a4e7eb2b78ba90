"""Looks at every page of a store full of markup: as a parser reads it, and as Chromium shows it."""

from __future__ import annotations

from collections import Counter
from urllib.parse import quote, urlencode

from bowerbird.evaluate.web.counting import Tally
from bowerbird.evaluate.web.marking import TEXTS
from bowerbird.evaluate.web.pages import Page, parameters, path_of
from bowerbird.evaluate.web.stage import Stage
from bowerbird.web.security import Role

_MOST_OF_A_KIND = 4
_HARMLESS = ("application/json", "text/plain", "text/css", "text/javascript", "image/")
_FILES = ("/assets/", "/logout", "/favicon.ico")


async def read_pages(stage: Stage, tally: Tally, most: int = _MOST_OF_A_KIND) -> list[str]:
    """Follows every link from page to page, a few of each kind, and each page once more with markup in all its parameters;
    answers the addresses of pages that a browser can show."""
    waiting = [route.path for route in stage.routes if "GET" in (route.methods or ()) and "{" not in route.path]
    seen, kinds, shown, asked = set(waiting), Counter[str](), list[str](), dict[str, set[str]]()
    while waiting:
        address = waiting.pop(0)
        page = await _read(stage, tally, address, shown)
        kind = _kind(stage, address)
        asked.setdefault(kind, set()).update(page.fields | parameters({address}))
        for link in sorted(page.links):
            if link not in seen and kinds[_kind(stage, link)] < most and not link.startswith(_FILES):
                seen.add(link)
                kinds[_kind(stage, link)] += 1
                waiting.append(link)
    for address in list(shown):
        for number, text in enumerate(TEXTS[:3]):
            fields = asked.get(_kind(stage, address), set()) | {"q", "next", "sort", "after"}
            if number < 1 or "{" not in _kind(stage, address):
                await _read(stage, tally, f"{address.partition('?')[0]}?{urlencode(dict.fromkeys(sorted(fields), text))}", None)
    for text in TEXTS:
        await _read(stage, tally, f"/{quote(text, safe='')}", None)
    return shown


async def _read(stage: Stage, tally: Tally, address: str, shown: list[str] | None) -> Page:
    got = await stage.ask("GET", address, visit=stage.visits[Role.ADMIN], headers={"Accept": "text/html"})
    if got.status >= 500:
        tally.failed.append(f"{address[:120]} gave {got.status}")
    manner = got.headers.get("content-type", "")
    is_shown = manner.startswith(("text/html", "text/event-stream"))
    page = Page(got.text if is_shown else "")
    if is_shown or "xml" in manner:
        tally.look("markup in pages", address[:120], page.alive)
        tally.marked |= {address} if page.shows_marks and shown is not None else set()
    elif got.body:
        is_file = "attachment" in got.headers.get("content-disposition", "")
        is_safe = is_file or manner.startswith(_HARMLESS)
        tally.look("kinds of answers", f"{address[:120]} is {manner}", [] if is_safe else [manner or "no type"])
    if shown is not None and manner.startswith("text/html") and got.status == 200:
        shown.append(address)
    return page


def _kind(stage: Stage, address: str) -> str:
    """The route that an address belongs to."""
    path = path_of(address)
    return next((route.path for route in stage.routes if route.path_regex.match(path)), path)
