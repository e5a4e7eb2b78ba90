"""One account after the other: what is known of it, and a key for what is right."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.community.decisions import save_decision, undo_decision
from bowerbird.crawl.life.controls import Changed
from bowerbird.db.moment import one_moment
from bowerbird.errors import UserError
from bowerbird.model.subjects.community import NO, UNDECIDED, YES
from bowerbird.ports import Database, Transaction
from bowerbird.reports.community.people import Person, Which, read_people, read_person, read_written
from bowerbird.reports.community.reading import read_why
from bowerbird.reports.status.summary import CrawlReport
from bowerbird.web.errors import NotFound
from bowerbird.web.formats import in_path
from bowerbird.web.pages.community.frame import LISTS, WORDS, crawl_of, shown, who
from bowerbird.web.pages.community.people import which_of
from bowerbird.web.security import Form, Role
from bowerbird.web.site import Site

_KEYS = {"y": YES, "n": NO, "u": UNDECIDED}
_POSTS = 8
_FIRST, _END = "first", "end"
"""Places in a list that have no token."""


class Card(Struct, frozen=True, kw_only=True):
    """An account that is asked about, and where its list goes on."""

    person: Person
    posts: tuple[Any, ...]
    around: Any
    start: str
    """Where the list was asked for it."""
    after: str
    """Where the next one begins."""
    last: int = 0
    """The account before, to go back to."""


async def card_of(tx: Transaction, database: Database, person: Person, places: tuple[str, str], last: int) -> Card:
    start, after = places
    posts = await read_written(tx, person.number, _POSTS)
    _, _, around = await read_why(tx, database, person.id, person.number)
    return Card(person=person, posts=tuple(posts), around=around, start=start, after=after, last=last)


def routes(site: Site) -> list[BaseRoute]:
    async def page(request: Request) -> Response:
        which = which_of(request)
        async with one_moment(site.database) as still:
            crawl = await crawl_of(still, request)
            card = await _next(still, crawl, which, request.query_params.get("after") or _FIRST, 0)
        here = f"/community/{in_path(crawl.name)}/decide/{which}"
        return shown(
            site, request, "decide.html", crawl, f"/{which}", card=card, which=which, about=LISTS[which], asked_at=here, told="",
            is_sample=False,
        )  # fmt: skip

    async def decide(request: Request, form: Form) -> Response:
        crawl, which = await crawl_of(site.database, request), which_of(request)
        key, number = str(form.get("key") or ""), _number(form, "number")
        if key == "back":
            return await _back(site, request, (crawl, which), str(form.get("start") or _FIRST), _number(form, "last"))
        if key in _KEYS:
            told = await _say(site, request, number, _KEYS[key], str(form.get("stood") or ""))
        elif key == "skip":
            told = "Skipped."
        else:
            raise UserError("press y, n, u, s for skip, or z to undo")
        card = await _next(site.database, crawl, which, str(form.get("after") or _FIRST), number)
        return _part(site, request, (crawl, which), card, told)

    return [
        Route("/community/{name}/decide/{which}", page),
        Route("/community/{name}/decide/{which}/say", site.acting(Role.STEER, decide), methods=["POST"]),
    ]


async def _next(database: Database, crawl: CrawlReport, which: Which, start: str, last: int) -> Card | None:
    """The next of a list that no person has decided; a list of what people decided is gone through as it is."""
    async with database.reading() as tx:
        while start != _END:
            page = await read_people(tx, crawl.crawl, which, None if start == _FIRST else start, 1)
            after = page.after or _END
            if page.lines and (page.lines[0].decided_by is None or which is Which.PERSONS):
                return await card_of(tx, database, page.lines[0], (start, after), last)
            start = after
    return None


async def _say(site: Site, request: Request, number: int, value: str, seen: str) -> str:
    async with site.database.reading() as tx:
        person = await read_person(tx, number)
    if person is None:
        raise NotFound("this account is gone, or asked not to be collected", code="unknown_account")
    name = f"@{person.handle}" if person.handle else person.id

    async def do() -> None:
        async with site.database.transaction() as tx:
            now = await read_person(tx, number)
            if now is None or now.seen != seen:
                by = f" by {now.decided_by}" if now and now.decided_by else ""
                raise Changed(
                    f"{name} was judged anew{by} since you saw it: nothing was done.", "Look again", code="changed_meanwhile"
                )
            await save_decision(tx, person.id, value, who(site, request), "", site.clock.now())

    await site.act(request, "judge", f"{name}: {value}", do)
    return f"{name}: {WORDS['value_words'][value]}."


async def _back(site: Site, request: Request, where: tuple[CrawlReport, Which], start: str, last: int) -> Response:
    """The account before once more, as it stood before; the one that is shown comes after it again."""
    async with site.database.reading() as tx:
        person = await read_person(tx, last)
    if person is None:
        raise UserError("there is nothing to take back on this page")

    async def do() -> bool:
        async with site.database.transaction() as tx:
            return await undo_decision(tx, person.id, who(site, request), site.clock.now())

    name = f"@{person.handle}" if person.handle else person.id
    is_undone = await site.act(request, "take back", name, do)
    async with site.database.reading() as tx:
        again = await read_person(tx, last)
        card = await card_of(tx, site.database, again or person, (start, start), 0)
    return _part(site, request, where, card, f"{name} is as it was." if is_undone else "")


def _part(site: Site, request: Request, where: tuple[CrawlReport, Which], card: Card | None, told: str) -> Response:
    crawl, which = where
    here = f"/community/{in_path(crawl.name)}/decide/{which}"
    if "hx-request" not in request.headers:
        # Where scripts do not run, the next one is a page of its own.
        return RedirectResponse(f"{here}?after={card.start if card else _END}", status_code=303)
    return site.part(request, "community/card.html", card=card, told=told, asked_at=here, which=which, is_sample=False, **WORDS)


def _number(form: Form, name: str) -> int:
    text = str(form.get(name) or "0")
    return int(text) if text.isdecimal() and len(text) < 19 else 0
