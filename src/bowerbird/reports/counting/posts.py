"""How many posts are stored, and what became of them: the same figures for every screen, page and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowerbird.model import PostFate
from bowerbird.ports import Database, Transaction
from bowerbird.reports.counting.counts import Count, Counter

# Few accounts opt out: a set of them is cheaper than the author of every post.
_FATE = f"""
case when deleted_at is not null then '{PostFate.DELETED}'
when author in (select user_no from users where opts_out = 1) then '{PostFate.OPTED_OUT}' else '{PostFate.KEPT}' end
"""


async def read_fates(tx: Transaction, database: Database) -> dict[PostFate, Count]:
    """What became of the stored posts: those deleted, or of authors who opted out, are kept by id and time only."""
    found = await Counter(database).by(tx, "posts", "post_no", {"fate": _FATE})
    return {PostFate(str(fate)): count for (fate,), count in found.items()}


def total(fates: Mapping[PostFate, Count]) -> Count:
    return Count(sum(count.value for count in fates.values()), all(count.is_exact for count in fates.values()))


def fate_values(fates: Mapping[PostFate, Count]) -> dict[str, Any]:
    """The same for machines, with those that are not there."""
    return {"stored": total(fates).value, **{fate.value: fates.get(fate, Count(0)).value for fate in PostFate}}
