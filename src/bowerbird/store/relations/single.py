"""Relations told one by one, outside a listing: that they are there, under which record, and that they have ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bowerbird.db.texts import Checked
from bowerbird.model import Relation, RelationEnd
from bowerbird.ports import Database, Row
from bowerbird.store.context import SaveContext, as_table, tabled
from bowerbird.store.people.identities import PagePeople, PeopleStatements, known_people

Edge = tuple[str, int, int]
"""Kind, source and target."""

_SAVE = """
insert into relations (kind, source, target, found_at, found_by, seen_at, record) values (?, ?, ?, ?, ?, ?, ?)
on conflict (kind, source, target) do update set seen_at = excluded.seen_at,
    record = coalesce(excluded.record, relations.record), removed_at = null
"""
_NAME = "update relations set record = ? where kind = ? and source = ? and target = ? and record is distinct from ?"
HISTORY = """
insert into relation_history (kind, source, target, change, after_at, before_at, call) values (?, ?, ?, ?, ?, ?, ?)
"""


class EdgeStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        self.people = PeopleStatements(database)
        self.known = (
            f"select r.kind, r.source, r.target, r.removed_at, r.record from {tabled(database)} join relations r "
            "on r.kind = value ->> 0 and r.source = cast(value ->> 1 as bigint) and r.target = cast(value ->> 2 as bigint)"
        )
        ended = (
            "update relations set removed_at = ? from (select value ->> 0 as kind, cast(value ->> 1 as bigint) as source, "
            f"{{}} from {tabled(database)}) as ended "
            "where relations.kind = ended.kind and relations.source = ended.source and {} and relations.removed_at is null "
            "returning relations.kind, relations.source, relations.target, relations.seen_at"
        )
        self.end_record = ended.format("value ->> 2 as record", "relations.record = ended.record")
        # The edge may have been made anew since, under another record.
        self.end_target = ended.format(
            "value ->> 2 as record, cast(value ->> 3 as bigint) as target",
            "relations.target = ended.target "
            "and (ended.record is null or coalesce(relations.record, ended.record) = ended.record)",
        )


async def save_edges(
    s: SaveContext, sql: EdgeStatements, relations: Sequence[Relation], people: PagePeople, *, only_new: bool = False
) -> int:
    """Writes edges that came outside a listing; answers how many are new or back. `only_new`: what is known already stays as it
    is, because others know it better."""
    keys = people.keys
    edges: dict[Edge, str | None] = {(r.kind.value, keys[r.source], keys[r.target]): r.record for r in relations}
    known = {_edge(row): row for row in await s.tx.fetch(sql.known, as_table(list(edges)))} if edges else {}
    if only_new:
        edges = {edge: record for edge, record in edges.items() if edge not in known}
    if s.is_live:
        edges = {edge: record for edge, record in edges.items() if not _is_repeated(s, known.get(edge), record)}
    await s.execute_many(_SAVE, Checked((*edge, s.at, s.call, s.at, edges[edge]) for edge in sorted(edges)))
    # A listing tells when an edge came only if one before it lacked the edge; a stream tells it by itself.
    since: dict[Edge, int | None] = {edge: None for edge in edges if s.is_live and edge not in known}
    since |= {edge: row["removed_at"] for edge, row in known.items() if edge in edges and row["removed_at"] is not None}
    await s.execute_many(HISTORY, Checked((*edge, "added", since[edge], s.at, s.call) for edge in sorted(since)))
    return len(edges.keys() - known.keys() | since.keys())


def _edge(row: Row) -> Edge:
    return row["kind"], row["source"], row["target"]


def _is_repeated(s: SaveContext, known: Row | None, record: str | None) -> bool:
    """Whether a stream tells again of a record whose end it has told before; within one batch the order is to be trusted."""
    if known is None or record is None or known["record"] != record:
        return False
    return known["removed_at"] is not None and bool(known["removed_at"] < s.at)


async def name_edges(s: SaveContext, relations: Iterable[Relation], people: PagePeople) -> None:
    """Notes the records of edges that a listing has shown."""
    named = ((r.kind.value, people.keys[r.source], people.keys[r.target], r.record) for r in relations if r.record is not None)
    await s.execute_many(_NAME, [(record, *edge, record) for *edge, record in sorted(named)])


async def end_edges(s: SaveContext, sql: EdgeStatements, ended: Sequence[RelationEnd]) -> int:
    """Marks edges removed whose end the service told; what nobody knew of stays unknown."""
    if not ended:
        return 0
    keys = {end.source for end in ended} | {end.target for end in ended if end.target is not None}
    people = await known_people(s, sql.people, keys)
    known = [end for end in ended if end.source in people]
    records = [(end.kind.value, people[end.source], end.record) for end in known if end.record is not None]
    targets = [(end.kind.value, people[end.source], end.record, people[end.target]) for end in known if end.target in people]
    gone: list[Row] = []
    for statement, told in ((sql.end_record, records), (sql.end_target, targets)):
        gone += await s.tx.fetch(statement, s.at, as_table(told)) if told else ()
    rows = [(*_edge(row), "removed", row["seen_at"], s.at, s.call) for row in gone]
    await s.execute_many(HISTORY, sorted(rows))
    return len(rows)
