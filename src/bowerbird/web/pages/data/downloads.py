"""What a search finds, as a file: the rows that `bowerbird export` writes with the same conditions, as they are read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response

from bowerbird.export.rows.files import encoding
from bowerbird.export.rows.other_shapes import SHAPES
from bowerbird.export.tables.plain import rows
from bowerbird.ports import Database
from bowerbird.reports.blocks.choosing import conditions
from bowerbird.reports.blocks.reading import BlockReader
from bowerbird.reports.blocks.tables import TABLES
from bowerbird.web.crowd import UnderWay
from bowerbird.web.pages.data.asking import Asked, asked
from bowerbird.web.security.guard import Endpoint
from bowerbird.web.site import Site

MOST = 200_000
"""Rows of one download; the command line writes all of them."""
_BLOCK = 2_000
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
        return under_way.answer(request, _lines(site.database, wanted, format_), TYPES[format_], headers)

    return endpoint


async def _lines(database: Database, wanted: Asked, format_: str) -> AsyncGenerator[bytes, None]:
    shape = SHAPES[wanted.what]
    encoded, left = encoding(format_, shape), MOST
    yield encoded.header()
    # Whoever goes away in the middle leaves nothing open.
    async with aclosing(BlockReader(database, TABLES[wanted.what], wanted.choice, rows=_BLOCK).blocks()) as blocks:
        async for block in blocks:
            told = block.cut(left)[0] if block.rows > left else block
            if told.rows:
                yield encoded.rows(rows(shape, told))
                left -= told.rows
            if not left:
                return
            # Others are served between two blocks.
            await asyncio.sleep(0)
