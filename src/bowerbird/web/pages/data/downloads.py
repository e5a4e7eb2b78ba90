"""What a search finds, as a file: the rows that `bowerbird export` writes with the same conditions, in the order of the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from bowerbird.export.rows.files import encoding
from bowerbird.export.rows.other_shapes import SHAPES
from bowerbird.export.rows.shapes import Shape
from bowerbird.ports import Database
from bowerbird.reports.blocks.selection.choosing import conditions
from bowerbird.reports.blocks.tables import TABLES
from bowerbird.reports.browsing.follows import search_follows
from bowerbird.reports.browsing.pages import LARGEST
from bowerbird.reports.browsing.searching import search
from bowerbird.web.answers.crowd import UnderWay
from bowerbird.web.pages.data.asking import Asked, asked
from bowerbird.web.security.guard import Endpoint
from bowerbird.web.site import Site

MOST = 200_000
"""Rows of one download; the command line writes all of them."""
MOST_SORTED = 20_000
"""Rows of one that is sorted by a counter: for every thousand of them a whole stretch is looked through again."""
MOST_OF_ONE, MOST_AT_ONCE = 3, 12
"""Downloads under way, of one person and of all: each reads the store until whoever asked has taken it in."""
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


def download(site: Site, under_way: UnderWay, what: str, format_: str) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        wanted = asked(what, request.query_params)
        async with site.database.reading() as tx:
            # What cannot be understood is said before the first row goes out.
            await conditions(site.database, tx, TABLES[what], wanted.choice)
        name = f"{what}-{site.clock.now():%Y%m%d-%H%M}.{format_}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
        lines = _lines(site.database, wanted, format_, _shape(wanted, request.query_params.get("only")))
        return under_way.answer(request, lines, TYPES[format_], headers)

    return endpoint


async def _lines(database: Database, wanted: Asked, format_: str, shape: Shape) -> AsyncGenerator[bytes, None]:
    encoded, left = encoding(format_, shape), most_of(wanted)
    yield encoded.header()
    find = search_follows if wanted.what == "follows" else search
    asked_for = structs.replace(wanted.search, after=None, before=None, size=LARGEST, columns=frozenset(shape.names))
    while left:
        found = await find(database, asked_for)
        if found.rows:
            told = found.rows[:left]
            yield encoded.rows([tuple(row[name] for name in shape.names) for row in told])
            left -= len(told)
        if found.after is None:
            return
        asked_for = structs.replace(asked_for, after=found.after)
        # Others are served between two pages.
        await asyncio.sleep(0)


def most_of(wanted: Asked) -> int:
    """Rows that a download of this search has at most."""
    return MOST if wanted.what == "follows" or wanted.search.is_by_number else MOST_SORTED


def _shape(wanted: Asked, told: str | None) -> Shape:
    """All columns of an export, or those that the page shows."""
    whole = SHAPES[wanted.what]
    if told != "shown":
        return whole
    by_name = {column.name: column for column in whole.columns}
    return structs.replace(whole, columns=tuple(by_name[name] for name in wanted.columns))
