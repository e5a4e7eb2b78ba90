"""How much neighbours count: read, and estimated anew from accounts judged by what they say of themselves, or by people."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct

from bowerbird.analysis.community.judge import is_by_neighbours
from bowerbird.analysis.community.relations import PERSONS, Example, RelationModel, estimated
from bowerbird.model import to_micros
from bowerbird.model.subjects.community import JUDGE, NO, NOBODY, YES
from bowerbird.ports import Database, Transaction
from bowerbird.store.judgements.neighbours import neighbours_of

_FEW, _SHARE = 100, 0.05
"""The weights are estimated anew when so many more are decided, and this share of all: of many, a hundred change nothing."""
_MOST = 4_000
"""Examples, the newest."""
_CHUNK = 500
_NEWEST = "select weights, decided from relation_weights where judge = ? order by entry desc limit 1"
_ADD = "insert into relation_weights (judge, weights, examples, persons, decided, at) values (?, ?, ?, ?, ?, ?)"
_DECIDED = f"select count(*) as n from judgements where judge = '{JUDGE}' and subject = 'user' and value in ('{YES}', '{NO}')"
_EXAMPLES = f"""
select u.user_no, j.value, j.evidence, j.decided_by from judgements j join users u on u.id = j.id
where j.judge = '{JUDGE}' and j.subject = 'user' and j.value in ('{YES}', '{NO}')
order by case when j.decided_by is null then 1 else 0 end, j.at desc limit {_MOST}
"""


class Trained(Struct, frozen=True):
    """Weights as they were estimated."""

    model: RelationModel
    examples: int
    persons: int


async def read_model(tx: Transaction) -> RelationModel:
    """The newest weights; those that are roughly right anywhere where none were estimated yet."""
    row = await tx.fetch_one(_NEWEST, JUDGE)
    return RelationModel(msgspec.json.decode(row["weights"]) if row is not None else None)


async def is_due(tx: Transaction) -> bool:
    """Whether so many were decided since the last time that it is worth while."""
    row, counted = await tx.fetch_one(_NEWEST, JUDGE), await tx.fetch_one(_DECIDED)
    before, now = int(row["decided"]) if row is not None else 0, int(counted["n"]) if counted is not None else 0
    return now - before >= max(_FEW, before * _SHARE)


async def train(tx: Transaction, database: Database, now: datetime) -> Trained:
    """Estimates the weights anew and keeps them."""
    examples, persons = await _examples(tx, database)
    model = estimated(examples)
    decided = await tx.fetch_one(_DECIDED)
    weights = msgspec.json.encode({name: round(weight, 4) for name, weight in model.weights.items()}).decode()
    await tx.execute(_ADD, JUDGE, weights, len(examples), persons, decided["n"] if decided else 0, to_micros(now))
    return Trained(model, len(examples), persons)


async def _examples(tx: Transaction, database: Database) -> tuple[list[Example], int]:
    rows = [row for row in await tx.fetch(_EXAMPLES) if row["decided_by"] or not _is_by_neighbours(row["evidence"])]
    found: list[Example] = []
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        around = await neighbours_of(tx, database, [row["user_no"] for row in part])
        for row in part:
            weight = PERSONS if row["decided_by"] else 1.0
            found.append(Example(around.get(row["user_no"], NOBODY), row["value"] == YES, weight))
    return found, sum(bool(row["decided_by"]) for row in rows)


def _is_by_neighbours(evidence: str) -> bool:
    return is_by_neighbours(msgspec.json.decode(evidence))
