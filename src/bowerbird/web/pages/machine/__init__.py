"""Machine and database: load, memory, disk and when it is full; tables and indexes with their growth; statements and locks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.modules.tending.growth import DATABASE
from bowerbird.reports.database.activity import Activity, Totals, read_activity
from bowerbird.reports.database.tables import Point, Sizes, filling, read_before, read_log, read_sizes, read_structure
from bowerbird.reports.database.writes import WriteActivity, is_here, read_claims, read_writes, store_file
from bowerbird.reports.working.workers import read_workers
from bowerbird.web.answers.kept import Kept
from bowerbird.web.pages.machine.measured import look
from bowerbird.web.ranges import plotted
from bowerbird.web.site import Site

_PARTS = {"": "Machine", "tables": "Tables", "statements": "Statements and locks"}
_EVERYTHING = "all"
_DAY, _WEEK = timedelta(days=1), timedelta(days=7)


def routes(site: Site) -> list[BaseRoute]:
    pages = _Pages(site)
    site.live.add("machine", pages.live_machine)
    site.live.add("statements", pages.live_statements)
    return [
        Route("/machine", pages.machine),
        Route("/machine/growth.json", pages.growth),
        Route("/machine/tables", pages.tables),
        Route("/machine/tables/{table}", pages.table),
        Route("/machine/statements", pages.statements),
    ]


class _Pages:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._sizes: Kept[Sizes] = Kept(site.clock, timedelta(seconds=20), self._read_sizes)
        self._writes: Kept[WriteActivity] = Kept(site.clock, timedelta(seconds=5), self._read_writes)
        self._seen: Kept[dict[str, Any]] = Kept(site.clock, timedelta(seconds=1), self._look)
        self._last: Totals | None = None

    def _page(self, request: Request, part: str, template: str = "", **values: Any) -> Response:
        tabs = [(label, f"/machine/{key}" if key else "/machine", key == part) for key, label in _PARTS.items()]
        title = "Machine and database"
        return self._site.page(request, f"machine/{template or part or 'machine'}.html", title=title, tabs=tabs, **values)

    async def _look(self, about: str) -> dict[str, Any]:
        database, now = self._site.database, self._site.clock.now()
        async with database.reading() as tx:
            place, log = await store_file(tx, database.dialect), await read_log(tx)
            seen, is_ours = look(place, await read_workers(tx, now)), await is_here(tx, database.dialect)
        whole = (await self._sizes.get(_EVERYTHING)).value.whole
        told = filling([*log, Point(now, 0, True, whole)], seen.disk.free if is_ours else None, now)
        return {
            "machine": seen,
            "filling": told,
            "is_here": is_ours,
            "whole": whole,
            "dialect": database.dialect,
            "place": place,
            "at": now,
            "log": log,
        }

    async def machine(self, request: Request) -> Response:
        seen = (await self._seen.at_once(_EVERYTHING)).value
        async with self._site.database.reading() as tx:
            # Whoever has just let the growth be written down sees it, however old the rest may be.
            is_written_down = bool(seen["log"]) or bool(await read_log(tx))
        return self._page(request, "", **seen, is_written_down=is_written_down)

    async def live_machine(self, argument: str) -> str:
        return self._site.fragment("machine/look.html", **(await self._seen.get(_EVERYTHING)).value)

    async def _read_sizes(self, about: str) -> Sizes:
        return await read_sizes(self._site.database)

    async def tables(self, request: Request) -> Response:
        now, kept = self._site.clock.now(), await self._sizes.at_once(_EVERYTHING)
        async with self._site.database.reading() as tx:
            day, week = await read_before(tx, now - _DAY), await read_before(tx, now - _WEEK)
        found = [each for each in kept.value.tables if each.of is None]
        indexes: dict[str, list[Any]] = {}
        for each in kept.value.tables:
            if each.of is not None:
                indexes.setdefault(each.of, []).append(each)
        is_estimated = self._site.database.dialect == "sqlite"
        return self._page(
            request, "tables", tables=found, indexes=indexes, whole=kept.value.whole, day=day, week=week, at=kept.at,
            is_estimated=is_estimated,
        )  # fmt: skip

    async def table(self, request: Request) -> Response:
        name = request.path_params["table"]
        async with self._site.database.reading() as tx:
            told = await read_structure(tx, self._site.database.dialect, name)
            log = await read_log(tx, name)
        kept = await self._sizes.at_once(_EVERYTHING)
        sizes = {each.name: each for each in kept.value.tables}
        return self._page(request, "tables", "table", told=told, log=log, sizes=sizes, at=kept.at)

    async def growth(self, request: Request) -> Response:
        """Of one table or index, or of the whole database: bytes, and rows where it has any."""
        name = request.query_params.get("of", DATABASE)
        async with self._site.database.reading() as tx:
            log = await read_log(tx, name)
        is_whole = name == DATABASE
        values = (
            [None if point.bytes is None else round(point.bytes / 2**20, 3) for point in log]
            if is_whole
            else [p.rows for p in log]
        )
        return plotted(
            request,
            {
                "kind": "lines",
                "x": "time",
                "x_label": "time (UTC)",
                "y_label": "megabytes" if is_whole else "rows",
                "unit": "MB" if is_whole else "rows",
                "xs": [point.at.isoformat() for point in log],
                "series": [{"label": name, "values": values}],
                "as_of": self._site.clock.now().isoformat(),
            },
            self._site.clock.now(),
        )

    async def _statements(self) -> dict[str, Any]:
        database, now = self._site.database, self._site.clock.now()
        async with database.reading() as tx:
            activity = await read_activity(tx, now) if database.dialect == "postgresql" else None
            claims = await read_claims(tx)
        # The oldest of these figures says how old the page is.
        writes = await self._writes.at_once(_EVERYTHING)
        return {"writes": writes.value, "claims": claims, "activity": activity, "rates": self._rates(activity), "at": writes.at}

    async def _read_writes(self, about: str) -> WriteActivity:
        async with self._site.database.reading() as tx:
            return await read_writes(tx, self._site.clock.now())

    def _rates(self, activity: Activity | None) -> dict[str, float]:
        """What happened per second between the last two looks."""
        if activity is None or activity.totals is None:
            return {}
        before, after = self._last, activity.totals
        self._last = after
        if before is None or after.at <= before.at:
            return {}
        seconds = (after.at - before.at).total_seconds()
        names = ("commits", "rollbacks", "read", "inserted", "changed", "deleted")
        return {name: (getattr(after, name) - getattr(before, name)) / seconds for name in names}

    async def statements(self, request: Request) -> Response:
        return self._page(request, "statements", **await self._statements())

    async def live_statements(self, argument: str) -> str:
        return self._site.fragment("machine/running.html", **await self._statements())
