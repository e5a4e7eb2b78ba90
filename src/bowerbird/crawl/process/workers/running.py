"""Which processes run a crawl right now."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.crawl.life import registry
from bowerbird.errors import UserError
from bowerbird.ports import Transaction

_WORKERS = "select * from workers where ended_at is null order by worker"
_NOBODY = 0


class Member(Struct, frozen=True, kw_only=True):
    """One process that works on a crawl."""

    worker: int
    crawl: str
    host: str
    pid: int
    started_at: datetime
    seen_at: datetime
    is_namesake: bool = False
    """It has the name of our host and is not to be seen from here: another container, or we before a restart."""


def running_already(crawl: str, member: Member, now: datetime) -> UserError:
    """Return the error for a second process of a crawl that was not started to work beside the first."""
    since = timedelta(seconds=(now - member.started_at) // timedelta(seconds=1))
    return UserError(
        f"the crawl {crawl} is running already: process {member.pid} on {member.host}, for {since}.{_doubt(member, now)}",
        "Stop it first with `bowerbird stop`, or work beside it with --join",
        code="already_running",
    )


def _doubt(member: Member, now: datetime) -> str:
    """What to do if it only seems so."""
    if not member.is_namesake:
        return ""
    left = registry.QUIET - max(timedelta(0), now - member.seen_at)
    seconds = max(1, -(-left // timedelta(seconds=1)))
    return f" If that was this machine or container before it was started anew, try again in {seconds} s."


async def is_lone(tx: Transaction, crawl: str, me: int, now: datetime) -> bool:
    """Whether nobody but this worker works on a crawl."""
    return all(member.worker == me for member in await living(tx, crawl, now))


async def living(tx: Transaction, crawl: str | None, now: datetime) -> list[Member]:
    """The processes that work on a crawl (or on any) with its database, without those that died before they could say so."""
    dead = set(await registry.dead_workers(tx, _NOBODY, now))
    rows = [row for row in await tx.fetch(_WORKERS) if row["worker"] not in dead and crawl in (None, row["name"])]
    rows = [row for row in rows if not registry.is_guest(row)]
    return [
        Member(
            worker=row["worker"],
            crawl=row["name"],
            host=row["host"],
            pid=row["pid"],
            started_at=from_micros(row["started_at"]),
            seen_at=from_micros(row["seen_at"]),
            is_namesake=registry.is_namesake(row),
        )
        for row in rows
    ]
