"""Cursors that the host does not take: one that lies before what it still has, and one ahead of it."""

from __future__ import annotations

import msgspec
from compare import Comparison, take_stock
from expected import moment
from history import changes
from listening import Listening
from network import Network
from written import Record

from bowerbird.app import open_store
from bowerbird.ports import Clock

_AHEAD = 1_000_000


async def outdated(network: Network, listening: Listening, comparison: Comparison, clock: Clock) -> None:
    """A host that forgets at once: what was said while nobody listened is lost, and lies in a recorded gap."""
    await network.command("forget", millis=0)
    missed = _records(await network.command("speak"))
    connections = (await listening.standing()).connections
    await listening.start()
    await listening.until_connected(connections)
    answer = await network.command("speak")
    await listening.until_heard(answer["head"])
    await listening.stop()
    known = (await take_stock(listening.store, clock)).posts
    gaps = (await changes(listening.store, clock)).gaps
    comparison.compared += len(missed) + len(_records(answer))
    if [gap.cause for gap in gaps] != ["outdated"]:
        comparison.differs("gaps", f"{gaps} instead of one that says the cursor was outdated")
    for record in missed:
        if record.uri not in known and not any(gap.holds(moment(record.record["createdAt"])) for gap in gaps):
            comparison.differs("missing post outside of every gap", record)
    for record in _records(answer):
        if record.uri not in known:
            comparison.differs("missing post", record)


async def ahead(listening: Listening, comparison: Comparison, clock: Clock) -> None:
    """A cursor the host has never come to (its numbers began anew, or it lied): the stream goes on from the oldest it has."""
    cursor = str(int(((await listening.standing()).cursor or "0").partition(" ")[0]) + _AHEAD)
    async with open_store(listening.store, clock) as database, database.transaction() as tx:
        await tx.execute("update streams set cursor = ?", cursor)
    await listening.start()
    await listening.until_at_oldest()
    await listening.stop()
    comparison.compared += 1


def _records(answer: object) -> list[Record]:
    return msgspec.convert(answer["records"], list[Record])  # type: ignore[index]
