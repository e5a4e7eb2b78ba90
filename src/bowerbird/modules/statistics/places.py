"""Where judged accounts and posts are, in cells of a tenth of a degree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.ports import Database

_NEXT = """
select j.id, j.value, j.evidence from judgements j
where j.judge = 'place' and j.subject = ? and (j.id > ? or (j.id = ? and j.value > ?)) order by j.id, j.value limit ?
"""
_BATCH = 5_000
MOST = 500_000
"""Judgements of one kind that are looked at."""
_CELLS = 3_000


class _Point(Struct):
    longitude: float | None = None
    latitude: float | None = None


async def read_cells(database: Database, most: int = MOST) -> Mapping[str, Any]:
    """Latitude and longitude in tenths of a degree, accounts, posts; the fullest cells, how many are left out, and whether more
    than so many judgements of accounts or posts were there to be looked at."""
    (users, all_users), (posts, all_posts) = [await _counted(database, subject, most) for subject in ("user", "post")]
    cells = sorted({*users, *posts}, key=lambda cell: (-users[cell] - posts[cell], cell))
    shown = [[*cell, users[cell], posts[cell]] for cell in cells[:_CELLS]]
    return {"cells": shown, "left_out": len(cells) - len(shown), "is_cut": not (all_users and all_posts)}


async def _counted(database: Database, subject: str, most: int) -> tuple[Counter[tuple[int, int]], bool]:
    """By cell; and whether these are all."""
    found: Counter[tuple[int, int]] = Counter()
    last, seen, batch = ("", ""), 0, min(_BATCH, most)
    while seen < most:
        async with database.reading() as tx:
            rows = await tx.fetch(_NEXT, subject, last[0], last[0], last[1], batch)
        for row in rows:
            point = msgspec.json.decode(row["evidence"], type=_Point)
            if point.longitude is not None and point.latitude is not None:
                found[round(point.latitude * 10), round(point.longitude * 10)] += 1
        if len(rows) < batch:
            return found, True
        last, seen = (rows[-1]["id"], rows[-1]["value"]), seen + len(rows)
    return found, False
