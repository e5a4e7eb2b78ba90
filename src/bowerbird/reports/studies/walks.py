"""Read the accounts that walks visited: the memory of their tasks, their profiles, and the relations between them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from msgspec import Struct

from bowerbird.model import Facet, RelationKind, Service, Side
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.people.names import has_local_keys, id_for

_BATCH = 2_000
_LANES = """
select l.lane, l.service as service_no, l.facet, c.name as crawl, c.flow, s.name as service, s.network
from lanes l join crawls c on c.crawl = l.crawl join services s on s.service = l.service order by l.lane
"""
_TASKS = "select target, memory from tasks where lane = ? and target > ? and memory is not null order by target limit ?"
_USER = (
    "u.id, u.handle, u.language, u.followers, u.following, u.posts, u.is_bot, u.is_verified, u.is_protected, u.opts_out, "
    "exists (select 1 from unavailable a where a.user_no = u.user_no and a.until is null) as is_gone"
)


class WalkLane(Struct, frozen=True, kw_only=True):
    """A lane with its service and crawl; `flow` is JSON."""

    lane: int
    facet: str
    crawl: str
    flow: str
    service: str
    service_no: int
    network: str


async def read_lanes(database: Database) -> list[WalkLane]:
    """Return all lanes, oldest first."""
    async with database.reading() as tx:
        return [WalkLane(**{name: row[name] for name in WalkLane.__struct_fields__}) for row in await tx.fetch(_LANES)]


async def read_walk(database: Database, lane: WalkLane) -> AsyncIterator[tuple[str, bytes]]:
    """Return target and memory of each task with a memory."""
    last = ""
    while True:
        async with database.reading() as tx:
            tasks = await tx.fetch(_TASKS, lane.lane, last, _BATCH)
        for task in tasks:
            yield task["target"], task["memory"]
        if not tasks:
            return
        last = tasks[-1]["target"]


async def read_users(database: Database, lane: WalkLane, keys: Sequence[str]) -> dict[str, Row]:
    """Return the stored profiles of accounts, by key."""
    found: dict[str, Row] = {}
    for first in range(0, len(keys), _BATCH):
        async with database.reading() as tx:
            found |= await _users(database, tx, lane, keys[first : first + _BATCH])
    return found


async def _users(database: Database, tx: Transaction, lane: WalkLane, keys: Sequence[str]) -> Mapping[str, Row]:
    text = database.any("text")
    if has_local_keys(lane.network):
        known = "from user_keys k join users u on u.user_no = k.user_no"
        by_key = f"select k.key, {_USER} {known} where k.service = ? and k.key {text}"
        return {row["key"]: row for row in await tx.fetch(by_key, lane.service_no, database.members(keys))}
    ids = {id_for(lane.network, lane.service, key): key for key in keys}
    by_id = f"select {_USER} from users u where u.id {text}"
    return {ids[row["id"]]: row for row in await tx.fetch(by_id, database.members(list(ids)))}


class StoredLinks:
    """Reads links between accounts from the stored relations; implements `ports.Links`."""

    def __init__(self, service: Service, number: int, network: str, side: Side) -> None:
        """`side`: the side of the relation that the lane lists; this class reads the opposite one."""
        self._service, self._number, self._network = service, number, network
        ours, theirs = ("target", "source") if side is Side.FOLLOWING else ("source", "target")
        known = f"from relations r join users u on u.user_no = r.{theirs} "
        live = f"where r.kind = '{RelationKind.FOLLOW}' and r.removed_at is null and r.{ours} = "
        self._by_id = (
            f"select t.target {known} join tasks t on t.lane = ? and t.target = substr(u.id, ?) "
            f"{live}(select user_no from users where id = ?) order by t.target"
        )
        self._by_key = (
            f"select t.target {known} join user_keys k on k.user_no = u.user_no and k.service = ? "
            f"join tasks t on t.lane = ? and t.target = k.key "
            f"{live}(select user_no from user_keys where service = ? and key = ?) order by t.target"
        )

    async def to(self, tx: Transaction, lane: int, target: str) -> Sequence[str]:
        if has_local_keys(self._network):
            rows = await tx.fetch(self._by_key, self._number, lane, self._number, target)
        else:
            name = id_for(self._network, self._service.name, target)
            rows = await tx.fetch(self._by_id, lane, len(name) - len(target) + 1, name)
        return [row["target"] for row in rows]


def stored_links(service: Service, number: int, network: str, facet: Facet | None) -> StoredLinks | None:
    """Return the links for a facet that lists one side of relations."""
    return StoredLinks(service, number, network, facet.side) if facet is not None and facet.side is not None else None
