"""An export to standard output: rows as they come, without a manifest."""

from __future__ import annotations

import os
import sys

from bowerbird.errors import UserError
from bowerbird.export.jobs.request import Request, sampled, shape_of
from bowerbird.export.rows.files import encoding
from bowerbird.export.rows.files import format_of as format_of_lines
from bowerbird.export.tables.plain import rows
from bowerbird.ports import Database


async def stream(database: Database, request: Request) -> None:
    """Ends quietly when nobody reads any more, as `head` does."""
    if request.only_new:
        raise UserError("--new needs a folder with --out: what was exported before is written down there", code="needs_option")
    shape = shape_of(request)
    encoded = encoding(format_of_lines(None, request.format), shape)
    reader = await sampled(database, request, request.choice)
    out = sys.stdout.buffer
    try:
        out.write(b"" if request.raw else encoded.header())
        async for block in reader.blocks(raw=request.raw):
            if request.raw:
                out.writelines(each.replace(b"\n", b" ") + b"\n" for each in block.values("raw") if each)
            elif block.rows:
                if request.pseudonyms is not None:
                    request.pseudonyms.change(request.what, block)
                out.write(encoded.rows(rows(shape, block)))
        out.flush()
    except BrokenPipeError:
        # Python would complain at its end that it cannot write what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
