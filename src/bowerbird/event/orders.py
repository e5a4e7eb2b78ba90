"""What users say about keywords: a term is pinned, blocked or left to the methods. It holds at once, also while nobody crawls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from bowerbird.clock import to_micros
from bowerbird.event import rows
from bowerbird.policies.keywords import Change, State, blocked, checked, freed, pinned
from bowerbird.ports import Transaction

SAID: Mapping[str, Callable[[State, str], State]] = {"pin": pinned, "block": blocked, "free": freed}
_RECORD = "insert into keyword_orders (crawl, at, who, term, said, done_at) values (?, ?, ?, ?, ?, ?)"


async def obey(tx: Transaction, crawl: int, said: str, term: str, who: str, now: datetime) -> list[str]:
    """Changes what every method of the crawl follows, and records who wished it; answers the methods that changed. Streams and
    searches follow within seconds where the crawl runs. Raises `UserError` for what is no keyword."""
    form, reason = checked(term), f"{who} said: {said}"
    changed = []
    for row in await rows.read_methods(tx, crawl):
        state = SAID[said](row.state, form)
        if state == row.state:
            continue
        changed.append(row.name)
        await rows.keep_state(tx, row.method, state)
        await rows.leave(tx, row.method, _moved(row.state, state, reason), now)
        await rows.enter(tx, crawl, row.method, _moved(state, row.state, reason), now)
    await tx.execute(_RECORD, crawl, to_micros(now), who, form, said, to_micros(now))
    if changed:
        await rows.bump(tx, crawl)
    return changed


def _moved(of: State, to: State, reason: str) -> list[Change]:
    """The keywords of one state that the other does not have."""
    return [Change(term=term, reason=reason) for term in of.keywords if term not in to.keywords]
