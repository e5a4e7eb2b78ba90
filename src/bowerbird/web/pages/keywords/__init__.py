"""Keywords: claimed precision, posts and reasons, entries and exits, candidates, methods; pinning and blocking."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.errors import UserError
from bowerbird.keywords.keyword_set import parse_keyword
from bowerbird.keywords.methods import ABOUT
from bowerbird.keywords.rows import ORDERS, apply_order
from bowerbird.ports import Transaction
from bowerbird.reports.keywords.courses import read_moves
from bowerbird.reports.keywords.explaining import RELATED_FRAMES, explain, read_decided, related_terms
from bowerbird.reports.keywords.figures import FIGURES, VERDICTS, name_figure
from bowerbird.reports.keywords.reading import (
    FrameLine,
    count_masks,
    find_event,
    read_candidates,
    read_events,
    read_frames,
    read_keywords,
    read_methods,
    read_thresholds,
)
from bowerbird.reports.keywords.silence import read_silence
from bowerbird.store.prepared_reports import read_prepared
from bowerbird.web.answers.kept import Kept
from bowerbird.web.answers.preparing import Preparing
from bowerbird.web.errors import NotFound
from bowerbird.web.formats import in_path
from bowerbird.web.pages.keywords.drawn import bars_svg
from bowerbird.web.ranges import plotted
from bowerbird.web.security import Form, Role
from bowerbird.web.site import Site

_FRAMES = 288
"""A day of frames of five minutes."""
_LASTS = timedelta(seconds=30)


def routes(site: Site) -> list[BaseRoute]:
    pages = _Pages(site)
    return [
        Route("/keywords", pages.index),
        Route("/keywords/{name}", pages.event),
        Route("/keywords/{name}/posts.json", pages.posts),
        Route("/keywords/{name}/sizes.json", pages.sizes),
        Route("/keywords/{name}/term", pages.term),
        Route("/keywords/{name}/traffic.json", pages.traffic),
        Route("/keywords/{name}/order", site.acting(Role.STEER, pages.order), methods=["POST"]),
        Route("/keywords/{name}/refresh", site.acting(Role.READ, pages.refresh), methods=["POST"]),
    ]


class _Pages:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._preparing = Preparing(site.database, site.clock)
        self._frames: Kept[list[FrameLine]] = Kept(site.clock, timedelta(seconds=15), self._read_frames)

    async def index(self, request: Request) -> Response:
        async with self._site.database.reading() as tx:
            events = await read_events(tx)
        if len(events) == 1:
            return RedirectResponse(f"/keywords/{in_path(next(iter(events)))}", 303)
        return self._site.page(request, "keywords/index.html", title="Keywords", events=list(events))

    async def _event(self, request: Request) -> tuple[int, str]:
        """For those who read nothing else."""
        async with self._site.database.reading() as tx:
            return await _event_of(tx, request)

    async def _read_frames(self, about: str) -> list[FrameLine]:
        async with self._site.database.reading() as tx:
            return await read_frames(tx, int(about), _FRAMES)

    async def _count(self, crawl: int) -> str:
        async with self._site.database.reading() as tx:
            return msgspec.json.encode(await count_masks(tx, crawl)).decode()

    async def event(self, request: Request) -> Response:
        now = self._site.clock.now()
        async with self._site.database.reading() as tx:
            crawl, name = await _event_of(tx, request)
            # Posts are counted in the background; before the first count, the page shows no methods.
            counted = await read_prepared(tx, f"posts of {name}")
            masks = msgspec.json.decode(counted.document, type=dict[int, int]) if counted else {}
            methods = await read_methods(tx, crawl, masks) if counted else []
            lines, silence = await read_keywords(tx, crawl), await read_silence(tx, crawl)
            bars, moves = await read_moves(tx, crawl)
            candidates, thresholds = await read_candidates(tx, crawl), await read_thresholds(tx, crawl)
            decided, frames = await read_decided(tx, crawl), await read_frames(tx, crawl, 1)
        prepared = await self._preparing.fresh(f"posts of {name}", lambda: self._count(crawl), _LASTS)
        names = list(dict.fromkeys([*(each.name for each in methods), *(line.method for line in lines)]))
        values: dict[str, Any] = {
            "root": f"/keywords/{in_path(name)}",
            "prepared": prepared,
            "methods": methods,
            "names": names,
            "about": ABOUT,
            "lines": sorted(lines, key=lambda line: (-(line.posts_collected or 0), line.term)),
            "terms": {line.term for line in lines},
            "figures": FIGURES,
            "name_figure": name_figure,
            "verdicts": VERDICTS,
            "thresholds": thresholds,
            "frames": frames,
            "moves": moves[:60],
            "candidates": candidates,
            "silence": silence,
            "decided": decided,
            # A keyword that is still followed has a bar up to the last frame that was decided.
            "drawing": bars_svg(bars, names, frames[-1].ends if frames else now),
        }
        return self._site.page(request, "keywords/event.html", title=f"Keywords of {name}", name=name, at=now, **values)

    async def posts(self, request: Request) -> Response:
        crawl, _ = await self._event(request)
        kept = await self._frames.get(str(crawl))
        series = [{"label": each, "values": [frame.posts.get(each) for frame in kept.value]} for each in _methods_in(kept.value)]
        heard = [frame.heard for frame in kept.value]
        series += [{"label": "received", "values": heard}] if any(heard) else []
        return plotted(
            request, _plot(kept.value, series, "posts per frame", "posts", kept.at.isoformat()), self._site.clock.now()
        )

    async def sizes(self, request: Request) -> Response:
        crawl, _ = await self._event(request)
        kept = await self._frames.get(str(crawl))
        series = [
            {"label": each, "values": [frame.keywords.get(each) for frame in kept.value]} for each in _methods_in(kept.value)
        ]
        return plotted(request, _plot(kept.value, series, "keywords", "keywords", kept.at.isoformat()), self._site.clock.now())

    async def term(self, request: Request) -> Response:
        typed = request.query_params.get("term", "").strip()[:200]
        form = parse_keyword(typed)
        async with self._site.database.reading() as tx:
            crawl, name = await _event_of(tx, request)
            told, related = await explain(tx, crawl, form), await related_terms(tx, crawl, form)
            thresholds = await read_thresholds(tx, crawl)
        root = f"/keywords/{in_path(name)}"
        return self._site.page(
            request, "keywords/term.html", title=f"{form} in {name}", term=form, typed=typed, told=told, related=related[:20],
            root=root, name=name, about=ABOUT, figures=FIGURES, name_figure=name_figure, verdicts=VERDICTS, thresholds=thresholds,
            related_frames=RELATED_FRAMES,
            names=sorted({line.method for line in told.entries} | {each.method for each in told.looked_at}),
        )  # fmt: skip

    async def traffic(self, request: Request) -> Response:
        form = parse_keyword(request.query_params.get("term", "")[:200])
        async with self._site.database.reading() as tx:
            crawl, _ = await _event_of(tx, request)
            looked = (await explain(tx, crawl, form, most=_FRAMES)).looked_at
        times = sorted({each.began for each in looked})
        counts = {(each.method, each.began): sum(each.counts) for each in looked}
        names = list(dict.fromkeys(each.method for each in looked))
        return JSONResponse(
            {
                "kind": "lines",
                "x": "time",
                "x_label": "frame (UTC)",
                "y_label": "posts per frame",
                "unit": "posts",
                "xs": [at.isoformat() for at in times],
                "series": [{"label": each, "values": [counts.get((each, at)) for at in times]} for each in names],
                "as_of": self._site.clock.now().isoformat(),
            }
        )

    async def order(self, request: Request, form: Form) -> Response:
        """Pins a term, blocks it, or leaves it to the methods again."""
        crawl, name = await self._event(request)
        said, typed = str(form.get("said", "")), str(form.get("term", "")).strip()[:200]
        term = parse_keyword(typed)
        if said not in ORDERS:
            raise UserError(f"Unknown order {said!r}.", f"Use one of: {', '.join(ORDERS)}", code="unknown_name")
        person = self._site.guard.person(request)
        who = person.name if person is not None else "dashboard"

        async def do() -> list[str]:
            async with self._site.database.transaction() as tx:
                return await apply_order(tx, crawl, said, term, who, self._site.clock.now())

        await self._site.act(request, f"{said} keyword", f"{term} of {name}", do)
        return RedirectResponse(f"/keywords/{in_path(name)}/term?term={in_path(typed)}", 303)

    async def refresh(self, request: Request, form: Form) -> Response:
        crawl, name = await self._event(request)
        self._preparing.begin(f"posts of {name}", lambda: self._count(crawl))
        return RedirectResponse(f"/keywords/{in_path(name)}", 303)


async def _event_of(tx: Transaction, request: Request) -> tuple[int, str]:
    """The crawl that an address names: its number and name."""
    name = request.path_params["name"]
    if name not in await read_events(tx):
        raise NotFound(f"there is no crawl {name!r} with keywords in this store", code="unknown_crawl")
    return await find_event(tx, name)


def _methods_in(frames: list[FrameLine]) -> list[str]:
    return list(dict.fromkeys(name for frame in frames for name in frame.posts))


def _plot(frames: list[FrameLine], series: list[dict[str, Any]], label: str, unit: str, at: str) -> dict[str, Any]:
    return {
        "kind": "lines",
        "x": "time",
        "x_label": "frame (UTC)",
        "y_label": label,
        "unit": unit,
        "xs": [frame.began.isoformat() for frame in frames],
        "series": series,
        "as_of": at,
    }
