"""Who may still be asked about in a crawl whose size is limited (`[filters] max_users`).

Accounts count that have a task, of whichever facet. Their number is a row of `admissions`, changed in the transaction that adds
the tasks: a kill loses nothing, and workers share it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from bowerbird.crawl.work.lanes import Lane
from bowerbird.model import Arrival, Subject
from bowerbird.ports import Database, Transaction

_Account = tuple[str, str]
"""Service and target."""
_DROP = "delete from admissions where crawl = ?"
_BEGIN = """
insert into admissions (crawl, accounts) select cast(? as bigint), count(*) from (
    select distinct l.service, t.target from tasks t join lanes l on l.lane = t.lane
    where t.lane {lanes} and t.target not like '@%'
) as accounts
where true on conflict (crawl) do nothing
"""
_IS_BEGUN = "select accounts from admissions where crawl = ?"
# An update, not a look: whoever else lets accounts in waits until these are in.
_READ = "update admissions set accounts = accounts where crawl = ? returning accounts"
_COUNT = "update admissions set accounts = accounts + ? where crawl = ?"
_KNOWN = "select target from tasks where lane = ? and target {targets}"


class Admission:
    """Lets accounts into one crawl, up to its limit: those it knows and its seeds always, others while there is room."""

    def __init__(self, database: Database, crawl: int, lanes: Mapping[int, Lane], limit: int | None) -> None:
        self._database = database
        self._crawl = crawl
        self._limit = limit
        self._lanes: defaultdict[str, list[int]] = defaultdict(list)
        for lane in lanes.values():
            if lane.facet.subject is Subject.USER:
                self._lanes[lane.service.name].append(lane.lane)
        self._services = {lane: service for service, own in self._lanes.items() for lane in own}

    async def open(self, tx: Transaction) -> None:
        """At the start of a run: counts once those whom a crawl asked about before it had a limit."""
        if self._limit is None:
            await tx.execute(_DROP, self._crawl)
        elif await tx.fetch_one(_IS_BEGUN, self._crawl) is None:
            statement = _BEGIN.format(lanes=self._database.any("bigint"))
            await tx.execute(statement, self._crawl, self._database.members(list(self._services)))

    async def admitted(self, tx: Transaction, arrivals: Sequence[Arrival]) -> Sequence[Arrival]:
        """The arrivals without those that would be one account too many; those let in are counted."""
        limit = self._limit
        if limit is None or not any(self._account(arrival) and not arrival.is_asked for arrival in arrivals):
            return arrivals
        # The count first: it is the lock under which another worker's accounts are known, or not yet counted.
        count = await self._count(tx)
        new = await self._new(tx, arrivals)
        if not new:
            return arrivals
        seeds = [account for account, depth in new.items() if depth == 0]
        others = [account for account, depth in new.items() if depth > 0]
        room = max(0, limit - count - len(seeds))
        await tx.execute(_COUNT, len(seeds) + min(room, len(others)), self._crawl)
        refused = frozenset(others[room:])
        return [arrival for arrival in arrivals if arrival.is_asked or self._account(arrival) not in refused]

    async def _new(self, tx: Transaction, arrivals: Sequence[Arrival]) -> dict[_Account, int]:
        """The accounts that no task asks about yet, with their depths, in the order in which they come."""
        found: dict[_Account, int] = {}
        for arrival in arrivals:
            account = None if arrival.is_asked else self._account(arrival)
            if account is not None:
                found[account] = min(arrival.depth, found.get(account, arrival.depth))
        for service, lanes in self._lanes.items():
            for lane in lanes:
                targets = [target for each, target in found if each == service]
                for target in await self._known(tx, lane, targets) if targets else ():
                    del found[service, target]
        return found

    async def _known(self, tx: Transaction, lane: int, targets: Sequence[str]) -> list[str]:
        statement = _KNOWN.format(targets=self._database.any("text"))
        return [row["target"] for row in await tx.fetch(statement, lane, self._database.members(targets))]

    async def _count(self, tx: Transaction) -> int:
        (row,) = await tx.fetch(_READ, self._crawl)
        count: int = row["accounts"]
        return count

    def _account(self, arrival: Arrival) -> _Account | None:
        """What is counted; None for a target that is no account."""
        service = self._services.get(arrival.lane)
        return None if service is None else (service, arrival.target)
