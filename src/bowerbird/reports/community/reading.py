"""How a community stands: how many belong and for which reasons, what people said, and who may be missed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from bowerbird.analysis.agreement import wilson_share
from bowerbird.model import from_micros
from bowerbird.model.subjects.community import JUDGE, NO, VALUES, YES, Neighbours
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.judgements.neighbours import neighbours_of

_COUNTS = f"""
select value, reason, version, count(*) as n from judgements where judge = '{JUDGE}' and subject = 'user'
group by value, reason, version
"""
_STANDING = f"""
select value, reason, confidence, evidence, version, decided_by, at, null as until from judgements
where judge = '{JUDGE}' and subject = 'user' and id = ?
"""
_FORMER = f"""
select value, reason, confidence, evidence, version, decided_by, at, until from judgement_history
where judge = '{JUDGE}' and id = ? order by entry
"""
_FIRST_BYTE = {
    "sqlite": "cast(substr(t.memory, 1, 1) as text)",
    "postgresql": "convert_from(substring(t.memory from 1 for 1), 'UTF8')",
}
_QUEUE = """
select {kind} as kind, case when t.visits > 0 then 1 else 0 end as seen, count(*) as n
from tasks t join lanes l on l.lane = t.lane
where l.facet = 'profiles' and t.memory is not null and {kind} in ('c', 'u', 'n', 'm', 'C', 'U', 'N', 'M')
group by 1, 2
"""
_MENTIONED = f"""
select coalesce(j.value, '') as value, count(distinct m.user_no) as n
from post_mentions m join posts p on p.post_no = m.post_no join users a on a.user_no = p.author
join judgements b on b.judge = '{JUDGE}' and b.subject = 'user' and b.id = a.id and b.value = '{YES}'
join users u on u.user_no = m.user_no and u.user_no <> p.author
left join judgements j on j.judge = '{JUDGE}' and j.subject = 'user' and j.id = u.id
group by 1
"""
_LEARNED = "select learned, examples, persons, at from community_models where judge = ?"


class Said(Struct, frozen=True, kw_only=True):
    """What was said of an account at one time."""

    value: str
    reason: str
    confidence: float
    evidence: Mapping[str, object]
    version: str
    decided_by: str | None
    at: datetime
    until: datetime | None = None


class Missed(Struct, frozen=True, kw_only=True):
    """What the candidates that chance chose say of all who wait."""

    looked_at: int
    belong: int
    low: float
    high: float
    """The share that belongs lies between these, with 95 %."""
    waiting: int
    """Candidates that nobody looked at yet."""

    @property
    def expected(self) -> tuple[int, int]:
        """How many members there are among them."""
        return round(self.low * self.waiting), round(self.high * self.waiting)


class CommunityCounts(Struct, frozen=True, kw_only=True):
    """How a community stands."""

    values: Mapping[str, int]
    reasons: Mapping[str, Mapping[str, int]]
    """By value and reason."""
    versions: Mapping[str, int]
    mentioned: Mapping[str, int]
    """Who is mentioned by members, by what is said of them; `""`: nothing yet."""
    missed: Missed | None
    learned: Mapping[str, object] | None
    """Prior, weights of neighbours and words, and the examples they were estimated from."""


async def read_community(tx: Transaction, database: Database) -> CommunityCounts:
    rows = await tx.fetch(_COUNTS)
    reasons: dict[str, dict[str, int]] = {value: {} for value in VALUES}
    versions: dict[str, int] = {}
    for row in rows:
        told = reasons.setdefault(row["value"], {})
        told[row["reason"]] = told.get(row["reason"], 0) + row["n"]
        versions[row["version"]] = versions.get(row["version"], 0) + row["n"]
    learned = await tx.fetch_one(_LEARNED, JUDGE)
    return CommunityCounts(
        values={value: sum(told.values()) for value, told in reasons.items()},
        reasons=reasons,
        versions=versions,
        mentioned={row["value"]: row["n"] for row in await tx.fetch(_MENTIONED)},
        missed=await _missed(tx, database),
        learned=None
        if learned is None
        else {**msgspec.json.decode(learned["learned"]), "examples": learned["examples"], "persons": learned["persons"]},
    )


def share_of_mentioned(mentioned: Mapping[str, int]) -> float | None:
    """Of those mentioned by members and judged yes or no, how many belong."""
    decided = mentioned.get(YES, 0) + mentioned.get(NO, 0)
    return round(mentioned.get(YES, 0) / decided, 4) if decided else None


async def read_why(
    tx: Transaction, database: Database, known: str, number: int
) -> tuple[Sequence[Said], Sequence[Said], Neighbours | None]:
    """What stands of an account, what was said before, and who is around it."""
    around = await neighbours_of(tx, database, [number])
    now = [_said(row) for row in await tx.fetch(_STANDING, known)]
    return now, [_said(row) for row in await tx.fetch(_FORMER, known)], around.get(number)


async def _missed(tx: Transaction, database: Database) -> Missed | None:
    rows = await tx.fetch(_QUEUE.format(kind=_FIRST_BYTE[database.dialect]))
    looked = sum(row["n"] for row in rows if row["kind"].isupper() and row["kind"] != "C")
    belong = sum(row["n"] for row in rows if row["kind"] == "M")
    waiting = sum(row["n"] for row in rows if row["kind"] in "cC")
    if not rows:
        return None
    share = wilson_share(belong, looked)
    return Missed(looked_at=looked, belong=belong, low=share.low, high=share.high, waiting=waiting)


def _said(row: Row) -> Said:
    values = {
        **row,
        "evidence": msgspec.json.decode(row["evidence"]),
        "at": from_micros(row["at"]),
        "until": None if row["until"] is None else from_micros(row["until"]),
    }
    return Said(**values)
