"""Decisions of people about who is a member: they overrule the classifier, and are examples for it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from bowerbird.community.classifier import BY_PERSON
from bowerbird.errors import UserError
from bowerbird.model import to_micros
from bowerbird.model.subjects.community import JUDGE
from bowerbird.model.subjects.telling import may_be_told
from bowerbird.ports import Transaction
from bowerbird.store.judgements.history import keep_former

_OF_ACCOUNT = f"judge = '{JUDGE}' and subject = 'user' and id = ?"
_CURRENT = f"select value from judgements where {_OF_ACCOUNT} order by decided_by is null"
_CLEAR = f"delete from judgements where {_OF_ACCOUNT}"
_MAY_BE_TOLD = f"select 1 as found from users u where u.id = ? and {may_be_told('u')}"
_COLUMNS = "judge, subject, id, value, reason, strength, confidence, evidence, version, decided_by, at, call"
_SAVE = f"""
insert into judgements ({_COLUMNS})
values ('{JUDGE}', 'user', ?, ?, '{BY_PERSON}', 1000, 1, ?, 'person', ?, ?, 0)
"""
# `before`: the entry of the history that the decision replaced.
_BY_PERSON = f"""
select decided_by, (
    select max(h.entry) from judgement_history h
    where h.judge = judgements.judge and h.id = judgements.id and h.until = judgements.at
) as before from judgements where {_OF_ACCOUNT} and decided_by is not null
"""
_RESTORE = f"""
insert into judgements ({_COLUMNS})
select {_COLUMNS.replace("subject", "'user'")} from judgement_history where entry = ?
"""


async def save_decision(
    tx: Transaction, account: str, value: str, by: str, note: str, now: datetime
) -> str | None:
    """Save a person's decision about an account; return the value before. The history keeps it.

    Raises `UserError` if nothing may be stored about the account.
    """
    if await tx.fetch_one(_MAY_BE_TOLD, account) is None:
        raise UserError(
            f"{account} asked not to be collected, or is no longer public: no decision was stored",
            code="refused",
        )
    before = await _move_to_history(tx, account, now)
    evidence = msgspec.json.encode({"was": before, "note": note}).decode()
    await tx.execute(_SAVE, account, value, evidence, by, to_micros(now))
    return before


async def remove_decision(tx: Transaction, account: str, now: datetime) -> bool:
    """Let the classifier decide again; return False if no person had decided."""
    if await tx.fetch_one(_BY_PERSON, account) is None:
        return False
    await _move_to_history(tx, account, now)
    return True


async def undo_decision(tx: Transaction, account: str, by: str, now: datetime) -> bool:
    """Restore what was valid before this person's decision.

    Returns False if no person decided last, or another one. The restored decision keeps its
    strength: the classifier replaces it with a better one only.
    """
    last = await tx.fetch_one(_BY_PERSON, account)
    if last is None or last["decided_by"] != by:
        return False
    await _move_to_history(tx, account, now)
    await tx.execute(_RESTORE, last["before"])
    return True


async def _move_to_history(tx: Transaction, account: str, now: datetime) -> str | None:
    """Remove what is said of an account, into its history; return the value."""
    values = [row["value"] for row in await tx.fetch(_CURRENT, account)]
    await keep_former(tx, JUDGE, [(account, value) for value in values], to_micros(now))
    await tx.execute(_CLEAR, account)
    return values[0] if values else None
