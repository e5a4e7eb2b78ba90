"""A new crawl, from a form or from a file: checked while it is typed, planned, written down, and started."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.community.countries import code_of, description
from bowerbird.errors import Failure, UserError
from bowerbird.flows.files.flow_file import built_in_flow
from bowerbird.flows.files.written import CrawlForm, written
from bowerbird.flows.flow import Flow, Vocabulary
from bowerbird.flows.language.spelling import duration
from bowerbird.model import TRAITS
from bowerbird.model.money import DEFAULT_DOLLARS
from bowerbird.model.networks import FIRST
from bowerbird.reports.working.services import read_name
from bowerbird.steering.checking import Checked, check, stored_here
from bowerbird.steering.files import LARGEST, NAME, Draft, seeds_in
from bowerbird.vocabulary import vocabulary
from bowerbird.web.errors import NotFound
from bowerbird.web.formats import in_path
from bowerbird.web.pages.steering.desk import Desk, text
from bowerbird.web.pages.steering.starting import agreement, run, start_of
from bowerbird.web.security import Form, Role

_NUMBERS = {"calls": "calls", "posts": "posts", "users": "accounts", "max_users": "accounts asked about", "max_depth": "steps"}
_UNNAMED = "name"
_AT_FIRST = {"flow": "timelines", "provider": FIRST, "name": "", "duration": "7d"}


_INCOMPLETE = "missing_value"


def routes(desk: Desk) -> list[BaseRoute]:
    site = desk.site

    async def page(request: Request) -> Response:
        given = {**_AT_FIRST, **request.query_params}
        values = {"flow": given["flow"], "provider": given["provider"]}
        return desk.page(request, "new.html", "New crawl", given=given, choices=_choices(values), mode="form", most=LARGEST)

    async def from_file(request: Request) -> Response:
        return desk.page(
            request, "new.html", "New crawl", given=_AT_FIRST, choices=_choices(_AT_FIRST), mode="file", most=LARGEST
        )

    async def checked(request: Request, form: Form) -> Response:
        draft, problem = await _drafted(desk, form)
        found = Checked(problem=problem) if draft is None else await asyncio.to_thread(check, draft, desk.vault)
        choices = _choices(form)
        if draft is not None and (problem or found.problem):
            missing = _in_form_words(form, draft, choices)
            found = Checked(problem=Failure(_INCOMPLETE, missing) if missing else found.problem or problem)
        is_begun = any(text(form, each, LARGEST) for each in ("name", "seeds", "text"))
        return site.part(request, "steering/checked.html", draft=draft, checked=found, is_begun=is_begun)

    async def planned(request: Request, form: Form) -> Response:
        draft = await _right(desk, form)
        path = desk.files.plan_of(draft)
        key = f"plan of {draft.name}"
        await asyncio.to_thread(desk.processes.end, key)
        words = ["plan", str(path), "--json", "--jobs", "1", "--no-variants"]
        desk.processes.ask(key, words, path.with_suffix(".log"), path.with_suffix(".plan.json"))
        return site.part(request, "steering/planning.html", name=draft.name, **_progress(desk, draft.name))

    async def make(request: Request, form: Form) -> Response:
        draft = await _right(desk, form)
        is_begun = bool(form.get("start"))

        async def do() -> None:
            if await site.reader.crawl(draft.name) is not None:
                raise UserError(
                    f"there is a crawl called {draft.name} in this store already", "choose another name", code="already_exists"
                )
            await asyncio.to_thread(desk.files.make, draft)

        if is_begun:
            _agreed(await asyncio.to_thread(check, draft, desk.vault), draft, text(form, "dollars"))
        await site.act(request, "make", draft.name, do)
        if not is_begun:
            return desk.back(f"/steering/crawls/{draft.name}", f"{draft.name} is written. Nothing is asked before it is started.")
        return await _begun(desk, request, form, draft.name)

    async def progress(name: str) -> str:
        return site.fragment("steering/planned.html", name=name, **_progress(desk, name))

    site.live.add("plan", progress)
    return [
        Route("/steering/new", page),
        Route("/steering/new/file", from_file),
        Route("/steering/new/check", site.acting(Role.STEER, checked), methods=["POST"]),
        Route("/steering/new/plan", site.acting(Role.STEER, planned), methods=["POST"]),
        Route("/steering/new/make", site.acting(Role.STEER, make), methods=["POST"]),
    ]


async def _begun(desk: Desk, request: Request, form: Form, name: str) -> Response:
    found = await start_of(desk, name)
    agreed = agreement(found, text(form, "dollars"))

    async def do() -> int:
        return run(desk, found, agreed)

    number = await desk.site.act(request, "start", name, do)
    return desk.back(f"/steering/crawls/{in_path(name)}", f"{name} is written, and started as process {number}.")


def _agreed(found: Checked, draft: Draft, dollars: str) -> None:
    """Refuses before the file is written what would be refused when it is started."""
    if (missing := found.missing) is not None:
        raise UserError(f"{draft.name} cannot be started yet: {missing.problem}", missing.advice, code=missing.code)
    if found.wish is not None and not dollars:
        raise UserError(
            f"{draft.name} costs money: {found.may}.", "Agree by typing what it may spend a month", code="needs_agreement"
        )


async def _right(desk: Desk, form: Form) -> Draft:
    """The draft of a form if it can be used; raises `UserError` otherwise."""
    draft, problem = await _drafted(desk, form)
    if draft is None or problem is not None:
        why = problem or Failure(_INCOMPLETE, "it is not complete")
        raise UserError(why.problem, why.advice, code=why.code)
    found = await asyncio.to_thread(check, draft, desk.vault)
    if (wrong := found.problem) is not None:
        raise UserError(wrong.problem, wrong.advice, code=wrong.code)
    return draft


async def _drafted(desk: Desk, form: Form) -> tuple[Draft | None, Failure | None]:
    """The crawl file that a form comes to, if it comes to one yet, and what is missing; without a name it can be shown."""
    try:
        name = text(form, "name") or _UNNAMED
        desk.files.check_free(name)
        problem = Failure(_INCOMPLETE, "give it a name") if name == _UNNAMED else None
        seeds = tuple(seeds_in(text(form, "seeds", LARGEST)))
        if "text" in form:
            return Draft(name=name, text=stored_here(await _pasted(form), desk.store_written()), seeds=seeds), problem
        return await _formed(desk, form, name, seeds), problem
    except UserError as error:
        return None, error.failure


def _in_form_words(form: Form, draft: Draft, choices: Mapping[str, Any]) -> str:
    """What is missing, as a form says it rather than a file; empty: neither name nor seeds."""
    if "text" in form or draft.seeds or not choices["flow"].seeds:
        return ""
    if draft.name == _UNNAMED:
        return f"give it a name, and at least one seed such as {choices['seed']}"
    return f"write at least one seed, such as {choices['seed']}"


async def _pasted(form: Form) -> str:
    pasted, uploaded = text(form, "text", LARGEST), form.get("file")
    if pasted or not isinstance(uploaded, UploadFile) or not uploaded.size:
        return pasted
    if uploaded.size > LARGEST:
        raise UserError(f"the file is larger than {LARGEST // 1024:,} KB", code="too_large")
    try:
        return (await uploaded.read()).decode("utf-8")
    except UnicodeDecodeError:
        raise UserError("the file is no text in UTF-8: a crawl file is written in TOML", code="file_unreadable") from None


async def _formed(desk: Desk, form: Form, name: str, seeds: tuple[str, ...]) -> Draft:
    words = _words()
    flow, provider = _flow(text(form, "flow"), words), _provider(text(form, "provider"), words)
    country = code_of(text(form, "country")) if flow.needs_community and text(form, "country") else ""
    if flow.needs_community and not country:
        raise UserError("say whose community it is: a country by two letters or its name, such as PT", code="needs_option")
    base = text(form, "base") or _base(flow, provider)
    async with desk.site.database.reading() as tx:
        known = await read_name(tx, provider, base.rstrip("/"))
    made = CrawlForm(
        name=name,
        flow=flow.name,
        provider=provider,
        base=base,
        service=known if known != urlsplit(base).netloc else "",
        store=desk.store_written(),
        seeds=seeds,
        credentials=tuple(str(each) for each in form.getlist("credentials") if each),
        contact=text(form, "contact"),
        duration=_span(text(form, "duration")),
        dollars=_dollars(text(form, "in_all"), "dollars in all"),
        dollars_a_month=_dollars(text(form, "a_month"), "dollars a month") if _is_paid(provider, words) else None,
        country=country,
        places=tuple(seeds_in(text(form, "places", 4_000))) if flow.needs_places else (),
        **{key: _count(text(form, key), word) for key, word in _NUMBERS.items()},
    )
    shown = written(made, flow, seeds_file=f"{name}.seeds.txt")
    return Draft(name=name, text=shown, seeds=seeds, community=description(country) if country else "")


def _flow(name: str, words: Vocabulary) -> Flow:
    if name not in words.flows:
        raise UserError(f"there is no built-in flow {name!r:.40}", code="unknown_flow")
    return _built_in(name)


# What bowerbird carries stays as it is while it runs: a form that is checked as it is typed need not read it again and again.
_words = cache(vocabulary)


@cache
def _built_in(name: str) -> Flow:
    return built_in_flow(name, _words())


def _provider(name: str, words: Vocabulary) -> str:
    if name not in words.providers:
        raise UserError(f"there is no network {name!r:.40}", code="unknown_network")
    return name


def _base(flow: Flow, provider: str) -> str:
    """Where to ask; what takes a login is asked where one can log in."""
    is_search = bool(flow.seeds) and flow.seeds[0] in ("search", "hashtag")
    return (TRAITS[provider].login if is_search else "") or TRAITS[provider].base


def _is_paid(provider: str, words: Vocabulary) -> bool:
    return any(facet.is_paid for facet in words.facets(provider).values())


def _count(written_as: str, what: str) -> int | None:
    if not written_as:
        return None
    plain = written_as.replace(",", "").replace("_", "")
    if not plain.isdecimal():
        raise UserError(f"{what}: write a whole number, not {written_as!r:.30}")
    return int(plain)


def _dollars(written_as: str, what: str) -> float | None:
    if not written_as:
        return None
    try:
        found = float(written_as.removeprefix("$").replace(",", ""))
    except ValueError:
        found = 0.0
    if not 0 < found < 1e6:
        raise UserError(f"{what}: write an amount such as 5 or 2.50, not {written_as!r:.30}")
    return found


def _span(written_as: str) -> Any:
    try:
        return duration(written_as) if written_as else None
    except ValueError as error:
        raise UserError(f"how long: {error}") from None


def _choices(given: Form | Mapping[str, Any]) -> dict[str, Any]:
    """What the form offers for a flow and a network."""
    words = _words()
    flow_name, provider = str(given.get("flow") or "timelines"), str(given.get("provider") or FIRST)
    flow = _built_in(flow_name if flow_name in words.flows else "timelines")
    provider = provider if provider in words.providers else FIRST
    begin = TRAITS[provider].example
    is_word = bool(flow.seeds) and flow.seeds[0] in ("search", "hashtag")
    is_post = bool(flow.seeds) and flow.seeds[0] in ("posts", "post", "thread")
    return {
        "flows": [(name, _built_in(name).about) for name in words.flows],
        "providers": list(words.providers),
        "flow": flow,
        "provider": provider,
        "base": _base(flow, provider),
        "is_paid": _is_paid(provider, words),
        "dollars": DEFAULT_DOLLARS,
        "seed": begin.word if is_word else begin.post if is_post else begin.user,
        "seeds_are": begin.words_are if is_word else "ids or addresses of posts" if is_post else "accounts: handles or ids",
    }


def _progress(desk: Desk, name: str) -> dict[str, Any]:
    """What a plan says so far, and what it came to."""
    if not NAME.fullmatch(name):
        raise NotFound("there is no such plan", code="unknown_name")
    folder = desk.files.folder / "drafts"
    log, out = folder / f"{name}.log", folder / f"{name}.plan.json"
    said = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []
    answer = out.read_bytes() if out.is_file() else b""
    try:
        found = msgspec.json.decode(answer) if answer.strip() else None
    except msgspec.DecodeError:
        found = None
    return {"said": said[-6:], "plan": found}
