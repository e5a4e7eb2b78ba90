"""A person's word on who belongs: it stands above the judge's, with who said it, and teaches how neighbours count."""

from __future__ import annotations

from datetime import datetime

import msgspec

from bowerbird.analysis.community.judge import BY_PERSON
from bowerbird.model import to_micros
from bowerbird.model.subjects.community import JUDGE
from bowerbird.ports import Transaction
from bowerbird.store.judgements.history import keep_former

_VERSION = "person"
_STRENGTH = 1_000
_RESTORE = """
insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, decided_by, at, call)
select judge, 'user', id, value, reason, strength, confidence, evidence, version, decided_by, at, call from judgement_history
where entry = ?
"""
_BEFORE = f"select max(entry) as entry from judgement_history where judge = '{JUDGE}' and id = ? and until = ?"
_CURRENT = (
    f"select value, reason, evidence, decided_by, at from judgements where judge = '{JUDGE}' and subject = 'user' and id = ?"
)
_CLEAR = f"delete from judgements where judge = '{JUDGE}' and subject = 'user' and id = ?"
_SAY = f"""
insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, decided_by, at, call)
values ('{JUDGE}', 'user', ?, ?, '{BY_PERSON}', {_STRENGTH}, 1, ?, '{_VERSION}', ?, ?, 0)
"""


async def say(tx: Transaction, known: str, value: str, by: str, note: str, now: datetime) -> str | None:
    """Writes down what a person says of an account; answers what stood before. What it was is kept in the history."""
    earlier = await tx.fetch(_CURRENT, known)
    at = to_micros(now)
    await keep_former(tx, JUDGE, [(known, row["value"]) for row in earlier], at)
    await tx.execute(_CLEAR, known)
    told = {"was": earlier[0]["value"]} if earlier else {}
    evidence = msgspec.json.encode({**told, **({"note": note} if note else {})}).decode()
    await tx.execute(_SAY, known, value, evidence, by, at)
    return str(earlier[0]["value"]) if earlier else None


async def take_back(tx: Transaction, known: str, now: datetime) -> bool:
    """Lets the judge decide again; False where no person said anything."""
    earlier = [row for row in await tx.fetch(_CURRENT, known) if row["decided_by"] is not None]
    await keep_former(tx, JUDGE, [(known, row["value"]) for row in earlier], to_micros(now))
    if earlier:
        await tx.execute(_CLEAR, known)
    return bool(earlier)


async def undo(tx: Transaction, known: str, by: str, now: datetime) -> bool:
    """Takes back what this person said last of an account, and lets stand again what stood before; False where somebody else has
    spoken since, or nobody. It stands as it did, with as good a reason: the judge replaces it with a better one alone."""
    earlier = [row for row in await tx.fetch(_CURRENT, known) if row["decided_by"] == by]
    if not earlier:
        return False
    # What was replaced when this was said; looked for first, for what is taken back becomes history too.
    before = await tx.fetch_one(_BEFORE, known, earlier[0]["at"])
    await keep_former(tx, JUDGE, [(known, earlier[0]["value"])], to_micros(now))
    await tx.execute(_CLEAR, known)
    if before is not None and before["entry"] is not None:
        await tx.execute(_RESTORE, before["entry"])
    return True
