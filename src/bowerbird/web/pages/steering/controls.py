"""The crawls of the store with their controls: pause, resume and stop, of a crawl, a facet or a worker."""

from __future__ import annotations

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.crawl.life.controls import ControlState, Kind, Part, ask_for, check_unchanged
from bowerbird.errors import UserError
from bowerbird.model import CrawlState
from bowerbird.reports.status.steered import SteeredCrawl, read_steered
from bowerbird.steering.lookups import is_look_up
from bowerbird.web.formats import in_path
from bowerbird.web.pages.steering.desk import Desk, text
from bowerbird.web.security import Form, Role

VERBS = {"pause": CrawlState.PAUSED, "resume": CrawlState.RUNNING, "stop": CrawlState.STOPPED}
_DONE = {
    "pause": "{what} is asked to pause: what is in flight is finished first.",
    "resume": "{what} is asked to go on.",
    "stop": "{what} is asked to stop: what is in flight is finished first, and nothing is lost.",
}


def routes(desk: Desk) -> list[BaseRoute]:
    site = desk.site

    async def index(request: Request) -> Response:
        crawls = await read_steered(site.database, site.clock.now())
        known = {each.crawl.name for each in crawls}
        # Of look-ups only those are of interest that run.
        crawls = [each for each in crawls if each.is_running or not is_look_up(each.crawl.name)]
        fresh = [name for name in desk.made() if name not in known]
        return desk.page(
            request, "index.html", "Steering", crawls=crawls, fresh=fresh,
            starting=[name for name in fresh if desk.processes.is_running(name)], as_of=site.clock.now(),
        )  # fmt: skip

    async def control(request: Request, form: Form) -> Response:
        name, verb, part = text(form, "crawl"), text(form, "verb"), _part(form)
        if verb not in VERBS:
            raise UserError(f"a crawl can be paused, resumed or stopped, not {verb!r:.20}")
        what = f"{part.shown} of {name}" if part else name
        seen = ControlState.told(text(form, "state"), text(form, "wanted"))

        async def do() -> None:
            async with site.database.transaction() as tx:
                await check_unchanged(tx, name, part, seen)
                await ask_for(tx, name, part, VERBS[verb], site.clock.now())

        await site.act(request, verb, what, do)
        return desk.back("/steering", _DONE[verb].format(what=what))

    async def state(argument: str) -> str:
        """How one crawl stands now, beside what the page says: `NAME/run or rest/wanted` as it was shown."""
        name, runs, wanted, where = (*argument.split("/", 3), "", "", "")[:4]
        found = [each for each in await read_steered(site.database, site.clock.now()) if each.crawl.name == name]
        shown = Shown(wanted, is_running=runs == "run", is_starting=where == "starting")
        return site.fragment(
            "steering/state.html",
            each=found[0] if found else None,
            is_elsewhere=bool(found) and shown.is_overtaken(found[0]),
            is_followed=bool(found) and shown.is_followed(found[0]),
            at=f"/steering/crawls/{in_path(name)}" if where else "",
        )

    site.live.add("steering", state)
    return [Route("/steering", index), Route("/steering/control", site.acting(Role.STEER, control), methods=["POST"])]


class Shown(Struct, frozen=True):
    """What a page said of a crawl when it was made."""

    wanted: str
    is_running: bool
    is_starting: bool = False
    """Whoever looks has just started it."""

    def is_overtaken(self, now: SteeredCrawl) -> bool:
        """Somebody else wants something else of it."""
        return not self.is_starting and str(now.crawl.wanted) != self.wanted

    def is_followed(self, now: SteeredCrawl) -> bool:
        """It came to what was wanted when the page was made, and has other controls for that."""
        return not self.is_overtaken(now) and self.is_running != now.is_running


def _part(form: Form) -> Part | None:
    kind, name = text(form, "kind"), text(form, "name")
    if not kind:
        return None
    if kind not in list(Kind):
        raise UserError(f"a part of a crawl is a facet or a worker, not {kind!r:.20}")
    return Part(Kind(kind), name)
