"""A random sample of judged accounts, labelled by several people: how good the judge is, and how far people agree."""

from __future__ import annotations

from random import SystemRandom

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.analysis.agreement import NO, UNSURE, YES
from bowerbird.db.moment import one_moment
from bowerbird.errors import UserError
from bowerbird.model.subjects.community import JUDGE, VALUES
from bowerbird.ports import Transaction
from bowerbird.reports.community.people import Person, Written, read_person, read_written
from bowerbird.reports.labels import Labelled, read_drawn_accounts, read_labelled, read_labels
from bowerbird.reports.status.summary import CrawlReport
from bowerbird.store.judgements.labels import Group, Label, draw, keep_label
from bowerbird.web.errors import NotFound
from bowerbird.web.formats import in_path
from bowerbird.web.pages.community.frame import WORDS, crawl_of, shown, who
from bowerbird.web.security import Form, Role
from bowerbird.web.site import Site

_KEYS = {"y": YES, "n": NO, "u": UNSURE}
_POSTS = 8
_MOST = 1_000


class Asked(Struct, frozen=True, kw_only=True):
    """An account of a sample that somebody has not labelled yet."""

    person: Person
    posts: tuple[Written, ...]
    place: int
    of: int
    last: int = 0
    """The account labelled before, to go back to."""


def routes(site: Site) -> list[BaseRoute]:
    async def index(request: Request) -> Response:
        async with one_moment(site.database) as still, still.reading() as tx:
            crawl = await crawl_of(still, request)
            samples = [await read_labelled(tx, crawl.crawl, JUDGE, said) for said in VALUES]
        return shown(site, request, "samples.html", crawl, "/sample", samples=samples, me=who(site, request))

    async def drawn(request: Request, form: Form) -> Response:
        crawl, said, size = await crawl_of(site.database, request), _said(form.get("said")), _size(form)

        async def do() -> None:
            async with site.database.transaction() as tx:
                await draw(tx, Group(crawl.crawl, JUDGE, said), size, SystemRandom(), site.clock.now())

        await site.act(request, "draw a sample", f"{size:,} judged {said} of {crawl.name}", do)
        return RedirectResponse(f"/community/{in_path(crawl.name)}/sample/{said}", status_code=303)

    async def page(request: Request) -> Response:
        said = _said(request.path_params["said"])
        async with one_moment(site.database) as still, still.reading() as tx:
            crawl = await crawl_of(still, request)
            asked = await _next(tx, crawl, said, who(site, request))
            labelled = await read_labelled(tx, crawl.crawl, JUDGE, said)
        return shown(site, request, "sample.html", crawl, "/sample", **_values(crawl, said, asked, labelled))

    async def label(request: Request, form: Form) -> Response:
        crawl, said, me = await crawl_of(site.database, request), _said(request.path_params["said"]), who(site, request)
        key, number = str(form.get("key") or ""), _whole(form.get("number"))
        if key == "back":
            return await _again(site, request, (crawl, said), _whole(form.get("last")))
        told, skipped = "", {int(each) for each in str(form.get("skipped") or "").split() if each.isdecimal() and len(each) < 19}
        if key in _KEYS:
            told = await _kept(site, request, (crawl, said), number, _KEYS[key])
        elif key == "skip":
            skipped.add(number)
        else:
            raise UserError("press y, n, u, s for skip, or z to go back")
        if "hx-request" not in request.headers:
            return RedirectResponse(f"/community/{in_path(crawl.name)}/sample/{said}", status_code=303)
        async with site.database.reading() as tx:
            asked = await _next(tx, crawl, said, me, skipped, number)
            labelled = await read_labelled(tx, crawl.crawl, JUDGE, said)
        return site.part(request, "community/asked.html", told=told, **_values(crawl, said, asked, labelled, skipped), **WORDS)

    return [
        Route("/community/{name}/sample", index),
        Route("/community/{name}/sample/draw", site.acting(Role.STEER, drawn), methods=["POST"]),
        Route("/community/{name}/sample/{said}", page),
        Route("/community/{name}/sample/{said}/label", site.acting(Role.STEER, label), methods=["POST"]),
    ]


def _values(
    crawl: CrawlReport, said: str, asked: Asked | None, labelled: Labelled, skipped: set[int] | None = None
) -> dict[str, object]:
    here = f"/community/{in_path(crawl.name)}/sample/{said}"
    kept = " ".join(map(str, sorted(skipped or ())))
    return {"asked": asked, "labelled": labelled, "value": said, "asked_at": here, "skipped": kept}


async def _next(
    tx: Transaction, crawl: CrawlReport, said: str, me: str, skipped: set[int] | None = None, last: int = 0
) -> Asked | None:
    """The first account of a sample that this person has neither labelled nor skipped."""
    sample = await read_drawn_accounts(tx, crawl.crawl, JUDGE, said)
    labels = await read_labels(tx, crawl.crawl, JUDGE, said)
    for place, each in enumerate(sample, 1):
        if me in labels.get(each.number, {}) or each.number in (skipped or ()):
            continue
        person = await read_person(tx, each.number)
        if person is not None:
            posts = tuple(await read_written(tx, each.number, _POSTS))
            return Asked(person=person, posts=posts, place=place, of=len(sample), last=last)
    return None


async def _kept(site: Site, request: Request, where: tuple[CrawlReport, str], number: int, word: str) -> str:
    (crawl, said), me = where, who(site, request)

    async def do() -> str:
        async with site.database.transaction() as tx:
            sample = {each.number: each for each in await read_drawn_accounts(tx, crawl.crawl, JUDGE, said)}
            if number not in sample:
                raise NotFound("this account is in no sample, or gone", code="unknown_account")
            await keep_label(tx, Group(crawl.crawl, JUDGE, said), Label(number, me, word), site.clock.now())
            return f"@{sample[number].handle}" if sample[number].handle else sample[number].id

    name = await site.act(request, "label", f"{number}: {word}", do)
    return f"{name}: {word}."


async def _again(site: Site, request: Request, where: tuple[CrawlReport, str], last: int) -> Response:
    """The account before once more; another key replaces what was said of it."""
    crawl, said = where
    async with site.database.reading() as tx:
        person = await read_person(tx, last)
        if person is None:
            raise UserError("there is nothing to go back to on this page")
        sample = [each.number for each in await read_drawn_accounts(tx, crawl.crawl, JUDGE, said)]
        place = sample.index(last) + 1 if last in sample else 0
        asked = Asked(person=person, posts=tuple(await read_written(tx, last, _POSTS)), place=place, of=len(sample))
        labelled = await read_labelled(tx, crawl.crawl, JUDGE, said)
    values = _values(crawl, said, asked, labelled)
    return site.part(request, "community/asked.html", told="Say it again.", **values, **WORDS)


def _said(value: object) -> str:
    if value not in VALUES:
        raise NotFound(f"a judge says yes, no or undecided, not {value!r:.20}")
    return str(value)


def _size(form: Form) -> int:
    size = _whole(form.get("size"))
    if not 1 <= size <= _MOST:
        raise UserError(f"a sample has 1 to {_MOST:,} accounts")
    return size


def _whole(value: object) -> int:
    text = str(value or "0")
    return int(text) if text.isdecimal() and len(text) < 19 else 0
