"""What becomes of a service whose address was changed: what was believed of the old one, if that never answered, is forgotten."""

from __future__ import annotations

from bowerbird.model import Service, TaskState
from bowerbird.ports import Transaction

_OLD = "select service, base from services where name = ?"
GOOD_ANSWER = """
select 1 as proved from calls c join lanes l on l.lane = c.lane
where l.service = ? and l.facet <> 'survey' and c.outcome = 'ok' limit 1
"""
_ANEW = "update services set flavour = null, surveyed_at = null, provider = ?, network = ? where service = ?"
_MOVED = "update services set flavour = null, surveyed_at = null where service = ?"
_CALLS = "(select c.call from calls c join lanes l on l.lane = c.lane where l.service = ?)"
_ABSENT = f"delete from unavailable where call in {_CALLS}"
_GONE = f"delete from deletions where call in {_CALLS}"
_ASK_AGAIN = f"""
update tasks set ready = 1, due = added_at, state = '{TaskState.WAITING}', cursor = null, attempts = 0, pages = 0, visits = 0,
    visited_at = null, failure = null
where lane in (select lane from lanes where service = ?) and token is null
"""


async def mend(tx: Transaction, service: Service, network: str) -> None:
    """Brings what the store believes of a service in line with the address it has from now on.

    Another address may be another server, which is asked anew what it is. If the old one never gave a good answer, nothing that
    it said of anybody is believed: who was not found there is asked for again.
    """
    row = await tx.fetch_one(_OLD, service.name)
    if row is None or row["base"] == service.base:
        return
    number = row["service"]
    if await tx.fetch_one(GOOD_ANSWER, number) is not None:
        await tx.execute(_MOVED, number)
        return
    await tx.execute(_ANEW, service.provider, network, number)
    for statement in (_ABSENT, _GONE, _ASK_AGAIN):
        await tx.execute(statement, number)


async def proved(tx: Transaction) -> frozenset[tuple[str, str]]:
    """The services that gave a good answer, each with the address it has in the store."""
    rows = await tx.fetch("select service, name, base from services")
    good = [row for row in rows if await tx.fetch_one(GOOD_ANSWER, row["service"]) is not None]
    return frozenset((row["name"], row["base"]) for row in good)
