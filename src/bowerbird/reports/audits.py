"""What audits found: which part of what members wrote is stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from bowerbird.analysis.capture_rate import AccountPosts, Captured, capture_rates
from bowerbird.clock import from_micros
from bowerbird.ports import Transaction

_AUDIT = "select a.audit, a.at, a.newest, w.name from audits a join crawls w on w.crawl = a.crawl where a.audit = ?"
_ACCOUNTS = "select since, until, wrote, had, asked, state from audit_accounts where audit = ? order by user_no"
_LATEST = """
select a.result from audits a where a.result is not null and a.audit = (
    select max(o.audit) from audits o where o.crawl = a.crawl and o.result is not null) order by a.crawl
"""
_HOUR = 3_600_000_000


class Audited(Struct, frozen=True, kw_only=True):
    """One audit."""

    audit: int
    crawl: str
    at: datetime
    newest: int
    """Posts of each account that were asked for at most."""
    accounts: int
    """That were drawn."""
    shown: int
    absent: int
    """That are not there any more."""
    silent: int
    """That wrote nothing which counts."""
    found: tuple[Captured, ...]
    """Of all first, then by activity; none where nobody wrote anything."""
    reason: str = ""
    """How it ended."""


async def read_audited(tx: Transaction, audit: int) -> Audited:
    """An audit by what was noted of its accounts."""
    row = await tx.fetch_one(_AUDIT, audit)
    if row is None:
        raise LookupError(f"the audit {audit} is gone from the database")
    accounts = await tx.fetch(_ACCOUNTS, audit)
    wrote = [AccountPosts(each["wrote"], each["had"], _hours(each["since"], each["until"])) for each in accounts]
    return Audited(
        audit=audit,
        crawl=row["name"],
        at=from_micros(row["at"]),
        newest=row["newest"],
        accounts=len(accounts),
        shown=sum(each["state"] == "shown" for each in accounts),
        absent=sum(each["state"] == "absent" for each in accounts),
        silent=sum(each["state"] == "shown" and not each["wrote"] for each in accounts),
        found=capture_rates(wrote),
    )


def _hours(since: int, until: int) -> float:
    return max((until - since) / _HOUR, 1e-6)


async def latest_audits(tx: Transaction) -> Sequence[Audited]:
    """The last audit of each crawl."""
    return [msgspec.json.decode(row["result"], type=Audited) for row in await tx.fetch(_LATEST)]
