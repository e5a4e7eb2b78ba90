"""What accounts were said to be before."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.ports import Transaction

_COLUMNS = "judge, id, value, reason, strength, confidence, evidence, version, decided_by, at, call"
_KEEP = f"""
insert into judgement_history ({_COLUMNS}, until)
select {_COLUMNS}, cast(? as bigint) from judgements where judge = ? and subject = 'user' and id = ? and value = ?
"""


async def keep_former(tx: Transaction, judge: str, said: Sequence[tuple[str, str]], until: int) -> None:
    """Writes down what stands now of these accounts, each with its value, before it goes or is replaced."""
    if said:
        await tx.execute_many(_KEEP, [(until, judge, known, value) for known, value in sorted(said)])
