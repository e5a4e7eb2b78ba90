"""What two listeners to the same stream have stored, and where they differ."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.ports import Database, Transaction

_REPEATED = "select coalesce(sum(times - 1), 0) as count from (select count(*) as times from {}) as repeated"


class Window(Struct, frozen=True, kw_only=True):
    """The stretch that both have heard: by the network's time, and by ours."""

    after: datetime
    until: datetime
    heard_after: datetime
    heard_until: datetime


class Heard(Struct, frozen=True, kw_only=True):
    """The events of a window as one store has them; each event is a name and the time that places it in a gap."""

    posts: dict[str, datetime]
    """By the network's time."""
    changes: dict[str, datetime]
    """Deletions, follows and account events, by our time."""
    doubled: int
    """Rows that say what another row says already."""


class Gap(Struct, frozen=True):
    """Network's time and ours; what is not known is unbounded."""

    after: datetime | None
    before: datetime | None
    began_at: datetime
    ended_at: datetime | None


async def heard(database: Database, window: Window) -> Heard:
    async with database.reading() as tx:
        return Heard(posts=await _posts(tx, window), changes=await _changes(tx, window), doubled=await _doubled(tx))


async def gaps(database: Database) -> list[Gap]:
    async with database.reading() as tx:
        rows = await tx.fetch("select after_at, before_at, began_at, ended_at from gaps")
    names = ("after_at", "before_at", "began_at", "ended_at")
    return [Gap(*(None if row[name] is None else from_micros(row[name]) for name in names)) for row in rows]  # type: ignore[arg-type]


def is_recorded(at: datetime, known: list[Gap], *, is_ours: bool, slack: timedelta) -> bool:
    """Whether an event of that time lies in one of the gaps."""
    for gap in known:
        after, before = (gap.began_at, gap.ended_at) if is_ours else (gap.after, gap.before)
        if (after is None or at >= after - slack) and (before is None or at <= before + slack):
            return True
    return False


async def referring(database: Database) -> dict[str, set[str]]:
    """By post, the posts that reply to it, quote it or repost it: a network sends it along with each of them."""
    found: dict[str, set[str]] = {}
    async with database.reading() as tx:
        for row in await tx.fetch("select id, reply_to, quote_of, repost_of from posts"):
            for name in (row["reply_to"], row["quote_of"], row["repost_of"]):
                if name is not None:
                    found.setdefault(name, set()).add(row["id"])
    return found


async def _posts(tx: Transaction, window: Window) -> dict[str, datetime]:
    """Posts and their newest edits: whoever hears of a post only after an edit has no earlier version to keep."""
    bounds = (to_micros(window.after), to_micros(window.until))
    written = "select id as name, coalesce(listed_at, created_at) as at from posts"
    edited = "select id || ' edited ' || edited_at as name, edited_at as at from posts"
    found: dict[str, datetime] = {}
    for statement in (written, edited):
        rows = await tx.fetch(f"select name, at from ({statement}) as told where at > ? and at <= ?", *bounds)
        found |= {row["name"]: from_micros(row["at"]) for row in rows}
    return found


async def _changes(tx: Transaction, window: Window) -> dict[str, datetime]:
    bounds = (to_micros(window.heard_after), to_micros(window.heard_until))
    asked = {
        "deleted": "select id, at from deletions where at > ? and at <= ?",
        "gone": "select u.id || ' ' || g.reason as id, g.since as at from unavailable g join users u on u.user_no = g.user_no "
        "where g.since > ? and g.since <= ?",
        "followed": "select s.id || ' ' || t.id as id, r.found_at as at from relations r join users s on s.user_no = r.source "
        "join users t on t.user_no = r.target where r.found_at > ? and r.found_at <= ?",
    }
    found: dict[str, datetime] = {}
    for kind, statement in asked.items():
        found |= {f"{kind} {row['id']}": from_micros(row["at"]) for row in await tx.fetch(statement, *bounds)}
    return found


async def _doubled(tx: Transaction) -> int:
    """Posts counted as new more often than there are, history without a change, relations added twice."""
    statements = (
        "select (select sum(posts) from crawls) - (select count(*) from posts) as count",
        "select count(*) as count from post_history where before = after",
        _REPEATED.format("relation_history where change = 'added' group by kind, source, target, before_at"),
        _REPEATED.format("unavailable where until is null group by user_no"),
    )
    rows = [await tx.fetch_one(statement) for statement in statements]
    return sum(max(0, int(row["count"] or 0)) for row in rows if row is not None)
