"""What an audit's own crawl leaves behind is held against the schema: nothing, but what becomes the audited crawl's."""

from __future__ import annotations

from bowerbird.clock import EPOCH
from bowerbird.crawl.life import registry
from bowerbird.model import Service
from bowerbird.ports import Database
from bowerbird.studies.audits import CRAWL_TABLES, LANE_TABLES, MOVED_TABLES, remove_audit_crawl

_COLUMNS = {
    "sqlite": "select m.name as t, p.name as c from sqlite_master m, pragma_table_info(m.name) p where m.type = 'table'",
    "postgresql": "select table_name as t, column_name as c from information_schema.columns "
    "where table_schema = current_schema() and table_name in (select tablename from pg_tables)",
}
_CALL = """
insert into calls (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at)
values (?, ?, 'timeline', 1, 'settled', '[]', 1, '[]', 1, 1)
"""


async def test_every_table_that_names_a_crawl_or_lane_is_tidied(database: Database) -> None:
    async with database.reading() as tx:
        rows = await tx.fetch(_COLUMNS[database.dialect])
    naming = {name: {row["t"] for row in rows if row["c"] == name} for name in ("crawl", "lane", "task")}
    # The audit itself belongs to the crawl that was audited.
    assert naming["crawl"] == {*CRAWL_TABLES, *MOVED_TABLES, "audits"}
    assert naming["lane"] - {"lanes"} == {*LANE_TABLES, "calls"}
    assert naming["task"] == {"tasks", "paging"}
    assert not {*CRAWL_TABLES, *LANE_TABLES} & {*MOVED_TABLES}


async def test_what_was_agreed_for_an_audit_does_not_hold_for_the_next_crawl(database: Database) -> None:
    service = Service(name="s", provider="x", base="https://s.example")
    async with database.transaction() as tx:
        whole = (await registry.enrol_crawl(tx, "c", "{}", "{}", EPOCH)).crawl
        await tx.execute("insert into audits (crawl, at, newest) values (?, 1, 1)", whole)
        own = (await registry.enrol_crawl(tx, "audit 1 of c", "{}", "{}", EPOCH)).crawl
        number = await registry.enrol_service(tx, service, "x")
        await tx.execute("insert into lanes (crawl, service, facet) values (?, ?, 'timeline')", own, number)
        (lane,) = await tx.fetch("select lane from lanes")
        await tx.execute(_CALL, own, lane["lane"])
        await tx.execute("insert into consents (crawl, in_all, a_month, agreed_at) values (?, 5, 5, 1)", own)
        await remove_audit_crawl(tx, 1)
        assert await tx.fetch("select crawl from consents") == []
        assert [row["name"] for row in await tx.fetch("select name from crawls")] == ["c"]
        assert [row["crawl"] for row in await tx.fetch("select crawl from calls")] == [whole]
