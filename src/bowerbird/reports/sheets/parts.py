"""What the sheets of accounts and posts have in common, as questions and what their answers mean: which call brought something,
and what is said of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.ports import Row

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
Question = tuple[str, Sequence[Any]]
"""In SQL, with its values: a sheet asks several at once."""


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


class Deletion(Struct, frozen=True):
    """Why and since when something is gone."""

    reason: str
    at: datetime


def call_of(call: int | None) -> Question:
    """Asks for the call that brought something."""
    return _CALL, (call,)


def brought_by(rows: Sequence[Row]) -> Brought | None:
    """What `call_of` found; None: the call is no longer in the log."""
    if not rows:
        return None
    (row,) = rows
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


def judged(subject: str, id_: str) -> Question:
    """Asks what is said of an account or post."""
    return _JUDGED, (id_, subject)


def said_of(rows: Sequence[Row]) -> tuple[Said, ...]:
    """What `judged` found."""
    return tuple(_said(row) for row in rows)


def deletion(subject: str, id_: str) -> Question:
    """Asks whether and why something was deleted."""
    return _BURIED, (subject, id_)


def deletion_of(rows: Sequence[Row]) -> Deletion | None:
    """What `deletion` found."""
    return Deletion(rows[0]["reason"], from_micros(rows[0]["at"])) if rows else None


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
