"""The seeds of a crawl: what its queues hold of them, more of them, and fewer."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.db.moment import one_moment
from bowerbird.errors import UserError
from bowerbird.model import Reason
from bowerbird.reports.browsing.pages import Ask
from bowerbird.reports.reader import Reader
from bowerbird.reports.seeds.listed import read_seeds
from bowerbird.reports.sheets.names import read_names
from bowerbird.reports.subjects import subject_of
from bowerbird.steering.files import LARGEST, seeds_in
from bowerbird.steering.lookups import is_look_up
from bowerbird.steering.seeds import add_seeds, retire_seeds
from bowerbird.web.pages.steering.desk import Desk, text
from bowerbird.web.security import Form, Role

_ROWS = 30
"""Of a page: each has a form of its own, which takes longest to write."""


def routes(desk: Desk) -> list[BaseRoute]:
    site = desk.site

    async def page(request: Request) -> Response:
        asked = request.query_params
        word = asked.get("q", "")[:100]
        async with one_moment(site.database) as still, still.reading() as tx:
            crawls = [crawl.name for crawl in await Reader(still).crawls()]
            names = [each for each in crawls if not is_look_up(each)]
            name = asked.get("crawl") or (names[0] if names else "")
            if name:
                desk.known(name, crawls)
            found = await read_seeds(tx, name, Ask(after=asked.get("after"), size=_ROWS, newest_first=False), word)
            known = await read_names(still, tx, [(seed.service, subject_of(seed.facet), seed.target) for seed in found.lines])
        more = urlencode({"crawl": name, "q": word, "after": found.after}) if found.after else ""
        return desk.page(
            request, "seeds.html", "Seeds", names=names, name=name, page=found, word=word, known=known,
            next=f"/steering/seeds?{more}" if more else None, is_ours=name in desk.made(),
        )  # fmt: skip

    async def add(request: Request, form: Form) -> Response:
        name = await desk.named(text(form, "crawl"))
        seeds = seeds_in(text(form, "seeds", LARGEST))
        if not seeds:
            raise UserError("write at least one seed, one in a line", code="no_seeds")

        async def do() -> str:
            is_started = await site.reader.crawl(name) is not None
            sown = await add_seeds(site.database, site.clock, name, seeds) if is_started else None
            is_kept = name in desk.made() and desk.files.change_seeds(name, seeds, ())
            return _told(name, len(seeds) if sown is None else sown.added, sown.problems if sown else (), is_kept=is_kept)

        return desk.back(f"/steering/seeds?{urlencode({'crawl': name})}", await site.act(request, "add seeds", name, do))

    async def retire(request: Request, form: Form) -> Response:
        name, service, target = text(form, "crawl"), text(form, "service"), text(form, "target", 4_000)
        person = site.guard.person(request)
        reason = Reason(person.name if person else "user", "taken out of the seeds in the browser")

        async def do() -> int:
            found = await retire_seeds(site.database, site.clock, name, [(service, target)], reason)
            if name in desk.made():
                desk.files.change_seeds(name, (), [target, f"@{target.removeprefix('@')}"])
            return found

        tasks = await site.act(request, "retire seed", f"{target} of {name}", do)
        said = f"{target} is asked about no more ({tasks:,} task{'s' * (tasks != 1)}); what was collected stays."
        return desk.back(f"/steering/seeds?{urlencode({'crawl': name})}", said)

    return [
        Route("/steering/seeds", page),
        Route("/steering/seeds/add", site.acting(Role.STEER, add), methods=["POST"]),
        Route("/steering/seeds/retire", site.acting(Role.STEER, retire), methods=["POST"]),
    ]


def _told(name: str, added: int, problems: tuple[str, ...], *, is_kept: bool) -> str:
    kept = "" if is_kept else f" The crawl file of {name} was not made here and does not name them: add them there too."
    bad = f" Not understood: {'; '.join(problems)}." if problems else ""
    return f"{added:,} seed{'s' * (added != 1)} added to {name}.{bad}{kept if added else ''}"
