"""Names of places that members write and no table knew: what is proposed, and what a person said of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.errors import UserError
from bowerbird.modules.judging.place_names import folded
from bowerbird.ports import Transaction

_READ = """
select name, written, members, others, said, who, at from place_names where crawl = ?
order by case said when 'proposed' then 0 when 'confirmed' then 1 else 2 end, members desc, name
"""
_SAY = "update place_names set said = ?, who = ?, at = ? where crawl = ? and name = ?"


class ProposedName(Struct, frozen=True, kw_only=True):
    """One name, as most members write it."""

    name: str
    members: int
    others: int
    said: str
    """`proposed`, `confirmed` or `refused`."""
    who: str | None
    at: datetime


async def read_names(tx: Transaction, crawl: int) -> Sequence[ProposedName]:
    """Proposals first, then what was confirmed, then what was refused; the most written first."""
    return [
        ProposedName(
            name=row["written"],
            members=row["members"],
            others=row["others"],
            said=row["said"],
            who=row["who"],
            at=from_micros(row["at"]),
        )
        for row in await tx.fetch(_READ, crawl)
    ]


async def say(tx: Transaction, crawl: int, name: str, said: str, who: str, now: datetime) -> None:
    """Keeps what a person says of a name; raises `UserError` for one that nobody proposed."""
    if not await tx.execute(_SAY, said, who, to_micros(now), crawl, folded(name)):
        raise UserError(f"nobody proposed {name!r}", "`bowerbird modules names` shows what was", code="unknown_account")
