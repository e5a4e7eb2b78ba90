"""Decisions of people about who is a member: they overrule the classifier, and are examples for it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from bowerbird.community.classifier import BY_PERSON
from bowerbird.model import to_micros
from bowerbird.model.subjects.community import JUDGE
from bowerbird.ports import Transaction
from bowerbird.store.judgements.history import keep_former

_VERSION = "person"
_STRENGTH = 1_000
_COLUMNS = "judge, subject, id, value, reason, strength, confidence, evidence, version, decided_by, at, call"
_OF_ACCOUNT = f"judge = '{JUDGE}' and subject = 'user' and id = ?"
_RESTORE = f"""
insert into judgements ({_COLUMNS})
select judge, 'user', id, value, reason, strength, confidence, evidence, version, decided_by, at, call
from judgement_history where entry = ?
"""
_BEFORE = f"select max(entry) as entry from judgement_history where judge = '{JUDGE}' and id = ? and until = ?"
_CURRENT = f"select value, reason, evidence, decided_by, at from judgements where {_OF_ACCOUNT}"
_CLEAR = f"delete from judgements where {_OF_ACCOUNT}"
_SAVE = f"""
insert into judgements ({_COLUMNS})
values ('{JUDGE}', 'user', ?, ?, '{BY_PERSON}', {_STRENGTH}, 1, ?, '{_VERSION}', ?, ?, 0)
"""


async def save_decision(
    tx: Transaction, account: str, value: str, by: str, note: str, now: datetime
) -> str | None:
    """Save a person's decision about an account; return the value before. The history keeps it."""
    earlier = await tx.fetch(_CURRENT, account)
    at = to_micros(now)
    await keep_former(tx, JUDGE, [(account, row["value"]) for row in earlier], at)
    await tx.execute(_CLEAR, account)
    before = {"was": earlier[0]["value"]} if earlier else {}
    evidence = msgspec.json.encode({**before, **({"note": note} if note else {})}).decode()
    await tx.execute(_SAVE, account, value, evidence, by, at)
    return str(earlier[0]["value"]) if earlier else None


async def remove_decision(tx: Transaction, account: str, now: datetime) -> bool:
    """Let the classifier decide again; return False if no person had decided."""
    earlier = [row for row in await tx.fetch(_CURRENT, account) if row["decided_by"] is not None]
    await keep_former(tx, JUDGE, [(account, row["value"]) for row in earlier], to_micros(now))
    if earlier:
        await tx.execute(_CLEAR, account)
    return bool(earlier)


async def undo_decision(tx: Transaction, account: str, by: str, now: datetime) -> bool:
    """Restore what was valid before this person's decision.

    Returns False if no person decided last, or another one. The restored decision keeps its
    strength: the classifier replaces it with a better one only.
    """
    earlier = [row for row in await tx.fetch(_CURRENT, account) if row["decided_by"] == by]
    if not earlier:
        return False
    # Read before the decision that is undone becomes history too.
    before = await tx.fetch_one(_BEFORE, account, earlier[0]["at"])
    await keep_former(tx, JUDGE, [(account, earlier[0]["value"])], to_micros(now))
    await tx.execute(_CLEAR, account)
    if before is not None and before["entry"] is not None:
        await tx.execute(_RESTORE, before["entry"])
    return True
