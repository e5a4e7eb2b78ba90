"""What the sheets of accounts and posts have in common: which call brought something, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.ports import Row, Transaction

_CALL = """
select c.call, c.facet, c.state, c.outcome, c.results, c.new_items, c.targets, c.leased_at, w.name as crawl, s.name as service
from calls c left join crawls w on w.crawl = c.crawl left join lanes l on l.lane = c.lane
left join services s on s.service = l.service where c.call = ?
"""
_JUDGED = """
select judge, value, reason, confidence, evidence, decided_by, version, at from judgements
where id = ? and subject = ? order by judge, at desc
"""
_BURIED = "select reason, at from deletions where subject = ? and id = ?"
_LONGEST = 200


class Brought(Struct, frozen=True, kw_only=True):
    """The call that brought something first."""

    call: int
    facet: str
    crawl: str | None
    service: str | None
    at: datetime
    outcome: str | None
    results: int | None
    new_items: int | None
    targets: str
    """Whom or what it asked about, cut short."""


class Said(Struct, frozen=True, kw_only=True):
    """What a judge or a person says of an account or post."""

    judge: str
    value: str
    reason: str
    confidence: float
    evidence: Mapping[str, Any]
    decided_by: str | None
    version: str
    at: datetime


class Burial(Struct, frozen=True):
    """Why and since when something is gone."""

    reason: str
    at: datetime


async def brought_by(tx: Transaction, call: int | None) -> Brought | None:
    row = await tx.fetch_one(_CALL, call) if call is not None else None
    if row is None:
        return None
    return Brought(
        call=row["call"],
        facet=row["facet"],
        crawl=row["crawl"],
        service=row["service"],
        at=from_micros(row["leased_at"]),
        outcome=row["outcome"] or row["state"],
        results=row["results"],
        new_items=row["new_items"],
        targets=row["targets"][:_LONGEST],
    )


async def said_of(tx: Transaction, subject: str, id_: str) -> tuple[Said, ...]:
    return tuple(_said(row) for row in await tx.fetch(_JUDGED, id_, subject))


async def buried(tx: Transaction, subject: str, id_: str) -> Burial | None:
    row = await tx.fetch_one(_BURIED, subject, id_)
    return None if row is None else Burial(row["reason"], from_micros(row["at"]))


def _said(row: Row) -> Said:
    return Said(
        judge=row["judge"],
        value=row["value"],
        reason=row["reason"],
        confidence=row["confidence"],
        evidence=msgspec.json.decode(row["evidence"] or "{}"),
        decided_by=row["decided_by"],
        version=row["version"],
        at=from_micros(row["at"]),
    )
