"""What people did on the dashboard, or were refused, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.ports import Transaction

_HOLDS = "lower(who || ' ' || what || ' ' || subject || ' ' || detail || ' ' || outcome) like ? escape '!'"
_COLUMNS = "action, at, who, role, what, subject, detail, outcome"


class Action(Struct, frozen=True):
    """One thing that somebody did, wanted to do, or may not do."""

    action: int
    at: datetime
    who: str
    role: str
    """At that time; empty: a stranger."""
    what: str
    subject: str
    detail: str
    """Why it failed or was refused."""
    outcome: str
    """begun, done, failed, refused; one that stays begun was cut off, and may or may not have happened."""


async def read_actions(
    tx: Transaction, *, most: int = 50, before: int | None = None, who: str = "", subject: str = "", word: str = ""
) -> Sequence[Action]:
    """The last actions, of everybody or one person, on everything or one subject; `before`: those older than this number;
    `word`: those that have it in who, what, the subject or the outcome."""
    held = f"%{''.join(f'!{mark}' if mark in '!%_' else mark for mark in word.lower())}%" if word else None
    wanted = {"action < ?": before, "who = ?": who or None, "subject = ?": subject or None, _HOLDS: held}
    given = {name: value for name, value in wanted.items() if value is not None}
    where = "where " + " and ".join(given) if given else ""
    rows = await tx.fetch(f"select {_COLUMNS} from actions {where} order by action desc limit ?", *given.values(), most)
    return [
        Action(
            action=row["action"],
            at=from_micros(row["at"]),
            who=row["who"],
            role=row["role"],
            what=row["what"],
            subject=row["subject"],
            detail=row["detail"],
            outcome=row["outcome"],
        )
        for row in rows
    ]
