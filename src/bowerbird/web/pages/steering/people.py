"""People found online and in the store, to be added as seeds."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.db.moment import one_moment
from bowerbird.errors import UserError
from bowerbird.model import TRAITS
from bowerbird.model.networks import FIRST
from bowerbird.ports import Database
from bowerbird.reports.reader import Reader
from bowerbird.reports.seeds.looked_up import read_called, read_led_to
from bowerbird.steering.files import CrawlFiles
from bowerbird.steering.lookups import PREFIX, Lookup, is_look_up, look_up
from bowerbird.vocabulary import vocabulary
from bowerbird.web.errors import NotFound
from bowerbird.web.pages.steering.desk import Desk, text
from bowerbird.web.security import Form, Role


def routes(desk: Desk) -> list[BaseRoute]:
    site = desk.site

    def folder() -> CrawlFiles:
        return CrawlFiles(desk.files.folder / "look-ups")

    async def page(request: Request) -> Response:
        word = request.query_params.get("q", "").strip()[:200]
        provider = request.query_params.get("provider", FIRST)
        async with one_moment(site.database) as still, still.reading() as tx:
            found, crawls = await read_called(still, tx, word) if word else (), await _crawls(still)
        bases = {name: TRAITS[name].base for name in vocabulary().providers}
        return desk.page(
            request, "people.html", "Find people", word=word, found=found, crawls=crawls, bases=bases, provider=provider,
            look="",
        )  # fmt: skip

    async def _crawls(still: Database) -> list[str]:
        return [crawl.name for crawl in await Reader(still).crawls() if not is_look_up(crawl.name)]

    async def look(request: Request, form: Form) -> Response:
        made = Lookup(
            words=text(form, "q", 200), provider=text(form, "provider"), base=text(form, "base"), store=desk.store_written()
        )
        _check_free(made.provider)
        known = [crawl.name for crawl in await site.reader.crawls()] + folder().names()
        number = max((int(name.removeprefix(PREFIX)) for name in known if is_look_up(name)), default=0) + 1
        draft = look_up(made, number)

        async def do() -> None:
            desk.processes.check_room()
            path = folder().make(draft)
            desk.processes.ask(draft.name, ["crawl", str(path), "--as", draft.name, "--quiet"], path.with_suffix(".log"))

        await site.act(request, "look up", made.words, do)
        return desk.back(f"/steering/people/{draft.name}?{urlencode({'q': made.words})}")

    async def looked(request: Request) -> Response:
        name = request.path_params["look"]
        if not is_look_up(name) or folder().text(name) is None:
            raise NotFound("there is no such look-up", code="unknown_name")
        word = request.query_params.get("q", "")[:200]
        # First, so that nothing it brought last is missed.
        is_over = await _is_over(name)
        async with one_moment(site.database) as still, still.reading() as tx:
            found, crawls = list(await read_led_to(tx, name)), await _crawls(still)
        bases = {name: TRAITS[name].base for name in vocabulary().providers}
        return desk.page(
            request, "people.html", "Find people", word=word, found=found, crawls=crawls, bases=bases, provider=FIRST, look=name,
            is_over=is_over, log=folder().log(name),
        )  # fmt: skip

    async def _is_over(name: str) -> bool:
        return not desk.processes.is_running(name)

    return [
        Route("/steering/people", page),
        Route("/steering/people/look", site.acting(Role.STEER, look), methods=["POST"]),
        Route("/steering/people/{look}", looked),
    ]


def _check_free(provider: str) -> None:
    """A look-up that costs money is for those who type what it may cost: the command line asks for it."""
    words = vocabulary()
    if provider in words.providers and any(facet.is_paid for facet in words.facets(provider).values()):
        raise UserError(
            f"{provider} charges for each account",
            "look there with `bowerbird users @name --budget 0.10`",
            code="needs_agreement",
        )
