"""What a page tells of an account's past, asked for at once."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.ports import Database
from bowerbird.reports.histories.changes import Change, profile_changes, profile_questions
from bowerbird.reports.sheets.accounts import Hours, hours, times_written
from bowerbird.reports.sheets.ties import Tie, last_changes, ties


class Past(Struct, frozen=True, kw_only=True):
    """How an account changed, when it writes, and who came and went last."""

    changes: tuple[Change, ...]
    """The earliest first, ties left out."""
    hours: Hours
    ties: tuple[Tie, ...]


async def read_past(database: Database, number: int, id_: str, most_ties: int) -> Past:
    async with database.reading() as tx:
        written, last, *profile = await tx.fetch_all(
            [times_written(number), last_changes(database, number, most_ties), *profile_questions(number, id_)]
        )
    return Past(changes=profile_changes(profile), hours=hours(written), ties=ties(last))
