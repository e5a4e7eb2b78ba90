"""The record of what people did on the dashboard, or were refused."""

from __future__ import annotations

from datetime import datetime

from bowerbird.clock import from_micros, to_micros
from bowerbird.errors import UserError
from bowerbird.ports import Transaction
from bowerbird.web.security.sessions import Visitor

BEGUN, DONE, FAILED, REFUSED = "begun", "done", "failed", "refused"
_MOST_TEXT = 500
_ADD = """
insert into actions (at, who, role, what, subject, detail, outcome) values (?, ?, ?, ?, ?, ?, ?) returning action
"""
_END = "update actions set outcome = ?, detail = ? where action = ?"
_NEWER = """
select who, what, at from actions where subject = ? and at > ? and who <> ? and outcome = 'done' order by action desc limit 1
"""


class Overtaken(UserError):
    """Somebody else has acted on the same meanwhile; answered with 409."""

    default_code = "changed_meanwhile"


async def begin(tx: Transaction, visitor: Visitor, what: str, subject: str, now: datetime) -> int:
    """Writes down that somebody does something, before it is done; answers its number."""
    return await note(tx, (visitor.name, visitor.role.word), (what, subject), (BEGUN, ""), now)


async def end(tx: Transaction, action: int, outcome: str, detail: str = "") -> None:
    await tx.execute(_END, outcome, _cut(detail), action)


async def note(tx: Transaction, who: tuple[str, str], what: tuple[str, str], ended: tuple[str, str], now: datetime) -> int:
    """Writes down an action as a whole: name and role, what and on what, outcome and why."""
    rows = await tx.fetch(_ADD, to_micros(now), who[0], who[1], _cut(what[0]), _cut(what[1]), _cut(ended[1]), ended[0])
    return int(rows[0]["action"])


async def check_seen(tx: Transaction, visitor: Visitor, subject: str, seen: str) -> None:
    """Raises `Overtaken` where somebody else did something with the subject after the page of this visitor was made."""
    if not seen.isascii() or not seen.isdecimal() or len(seen) > 18:
        return
    row = await tx.fetch_one(_NEWER, _cut(subject), int(seen), visitor.name)
    if row is not None:
        when = f"{from_micros(row['at']):%H:%M:%S}"
        raise Overtaken(
            f"{row['who']} was faster ({row['what']}, {when} UTC)",
            "look at the page again, and then decide",
            code="changed_meanwhile",
        )


def _cut(text: str) -> str:
    # Nothing that a database refuses, and no more than somebody reads.
    return text.replace("\0", "")[:_MOST_TEXT].encode(errors="replace").decode()
