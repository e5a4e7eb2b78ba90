"""The rows of an audit: begun with whom it asks about, ended with what it found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import structs

from bowerbird.clock import to_micros
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.ports import Database
from bowerbird.reports.audits import Audited, read_audited
from bowerbird.studies.audits.choosing import Chosen, Wish, choose
from bowerbird.studies.audits.own_crawl import tidy

_BEGIN = "insert into audits (crawl, at, newest) values (?, ?, ?) returning audit"
_ASK = "insert into audit_accounts (audit, user_no, since, until, state) values (?, ?, ?, ?, 'asked')"
_END = "update audits set ended_at = ?, result = ? where audit = ?"


async def begin_audit(database: Database, plan: CrawlPlan, wish: Wish, now: datetime) -> tuple[int, Sequence[Chosen]]:
    """Writes down who is asked about; raises `UserError` where nobody can be."""
    async with database.transaction() as tx:
        row = await tx.fetch_one("select crawl from crawls where name = ?", plan.name)
        if row is None:
            raise UserError(f"there is no crawl {plan.name!r} in its store yet: run it first with `bowerbird crawl`")
        chosen = await choose(tx, database, plan, row["crawl"], wish)
        begun = await tx.fetch_one(_BEGIN, row["crawl"], to_micros(now), wish.newest)
        audit = int(begun["audit"]) if begun is not None else 0
        rows = [(audit, each.number, to_micros(each.since), to_micros(each.until)) for each in chosen]
        await tx.execute_many(_ASK, rows)
    return audit, chosen


async def end_audit(database: Database, audit: int, reason: str, now: datetime) -> Audited:
    """What was found, written down; nothing is left of the crawl that asked."""
    async with database.transaction() as tx:
        result = await read_audited(tx, audit)
        told: dict[str, Any] = msgspec.to_builtins(result)
        await tx.execute(_END, to_micros(now), msgspec.json.encode(told | {"reason": reason}).decode(), audit)
        await tidy(tx, audit)
    return structs.replace(result, reason=reason)
