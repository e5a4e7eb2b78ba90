"""The table `judgements`: what was said of whom, kept, withdrawn and read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

import msgspec

from bowerbird.model import EarlierJudgement, Judged, Judgement, Ruling, Subject, to_micros
from bowerbird.ports import Database, Judge, Row, Transaction
from bowerbird.store.judgements.history import keep_former

_READ = "judge, subject, id, value, reason, strength, confidence, evidence, version, decided_by, at"
_COLUMNS = "judge, subject, id, value, reason, strength, confidence, evidence, version, at, call"
# What a newer version of the same judge says replaces what an older one said for as good a reason.
_KEEP = f"""
insert into judgements ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (judge, subject, id, value) do update set reason = excluded.reason, strength = excluded.strength,
    confidence = excluded.confidence, evidence = excluded.evidence, version = excluded.version, at = excluded.at,
    call = excluded.call, decided_by = null
where judgements.decided_by is null and (excluded.strength > judgements.strength
    or (excluded.strength = judgements.strength and excluded.version <> judgements.version))
"""
_WITHDRAW = "delete from judgements where judge = ? and subject = ? and id = ? and value = ? and decided_by is null"
# Posts that were stored before this was known of their author; those with a place of their own speak for themselves.
_THEIR_POSTS = f"""
insert into judgements ({_COLUMNS})
select ?, 'post', p.id, ?, ?, ?, ?, ?, ?, ?, ? from posts p join users u on u.user_no = p.author
where u.id = ? and p.place is null and p.kind <> 'repost' and p.deleted_at is null
on conflict (judge, subject, id, value) do nothing
"""

Known = Sequence[Row]
Items = Iterable[tuple[Subject, str]]


async def read_judgements(tx: Transaction, database: Database, items: Items) -> Known:
    """Everything that was ever said of these accounts and posts and still stands."""
    ids = sorted({known for _, known in items})
    sql = f"select {_READ} from judgements where id {database.any('text')}"
    return await tx.fetch(sql, database.members(ids)) if ids else ()


def current_values(rows: Known) -> Mapping[tuple[Subject, str], frozenset[Judged]]:
    """By account or post the values that were said of it, as conditions ask for them."""
    found: dict[tuple[Subject, str], set[Judged]] = {}
    for row in rows:
        found.setdefault((Subject(row["subject"]), row["id"]), set()).add(Judged(row["judge"], row["value"]))
    return {item: frozenset(values) for item, values in found.items()}


def earlier_judgements(rows: Known) -> Mapping[tuple[Subject, str], tuple[EarlierJudgement, ...]]:
    """The same as judges see it."""
    found: dict[tuple[Subject, str], list[EarlierJudgement]] = {}
    for row in rows:
        earlier = EarlierJudgement(
            judge=row["judge"],
            value=row["value"],
            reason=row["reason"],
            evidence=row["evidence"],
            version=row["version"],
            strength=row["strength"],
            decided_by=row["decided_by"],
        )
        found.setdefault((Subject(row["subject"]), row["id"]), []).append(earlier)
    return {item: tuple(each) for item, each in found.items()}


class RulingWriter:
    """Writes what one judge says of one page into the transaction that saves it."""

    def __init__(self, judge: Judge, call: int, now: datetime) -> None:
        self._judge = judge
        self._call = call
        self._at = to_micros(now)

    async def write(self, tx: Transaction, ruling: Ruling, before: Known) -> None:
        said = {(each.subject, each.id, each.value) for each in ruling.judgements}
        known = {(Subject(row["subject"]), row["id"], row["value"]): row for row in before if self._is_mine(row)}
        gone = [
            item
            for item, row in known.items()
            if item not in said and row["reason"] in ruling.reviewed.get(item[:2], frozenset())
        ]
        renewed = [(each.subject, each.id, each.value) for each in ruling.judgements if self._is_renewed(each, known)]
        former = [(known_id, value) for subject, known_id, value in (*gone, *renewed) if subject is Subject.USER]
        await keep_former(tx, self._judge.name, former, self._at)
        if gone:
            await tx.execute_many(_WITHDRAW, [(self._judge.name, *item) for item in sorted(gone)])
        if ruling.judgements:
            # In one order, so that two workers never wait for each other.
            await tx.execute_many(_KEEP, sorted(map(self._row, ruling.judgements), key=itemgetter(0, 1, 2, 3)))
        for each in ruling.judgements:
            if each.holds_for_posts and (each.subject, each.id, each.value) not in known:
                await tx.execute(_THEIR_POSTS, self._judge.name, *self._row(each)[3:], each.id)

    def _is_renewed(self, each: Judgement, known: Mapping[tuple[Subject, str, str], Row]) -> bool:
        """Whether another version said the same before, for as good a reason or a weaker one."""
        row = known.get((each.subject, each.id, each.value))
        return row is not None and row["version"] != self._judge.version and row["strength"] <= each.strength

    def _is_mine(self, row: Row) -> bool:
        return bool(row["judge"] == self._judge.name)

    def _row(self, each: Judgement) -> tuple[Any, ...]:
        evidence = msgspec.json.encode(each.evidence).decode()
        why = (each.value, each.reason, each.strength, each.confidence, evidence)
        return (self._judge.name, each.subject.value, each.id, *why, self._judge.version, self._at, self._call)
