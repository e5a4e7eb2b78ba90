"""Two rows of one person become one: every table that names users is carried along, whatever the schema has."""

from __future__ import annotations

import re

import pytest
from store_pages import Crawled

from bowerbird.ports import Database, Transaction
from bowerbird.store.context import SaveContext
from bowerbird.store.people import joining

_COLUMNS = {
    "sqlite": "select m.name as t, p.name as c from sqlite_master m, pragma_table_info(m.name) p where m.type = 'table'",
    "postgresql": "select table_name as t, column_name as c from information_schema.columns "
    "where table_schema = current_schema() and table_name in (select tablename from pg_tables)",
}
_NAMING = frozenset({"user_no", "author", "owner"})
_ENDS = frozenset(
    {("relations", "source"), ("relations", "target"), ("relation_history", "source"), ("relation_history", "target")}
)
_JUDGED = """
insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, at, call)
values ('place', 'user', ?, ?, 'profile', 1, 1, '{}', '1', 1, 1)
"""


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def context(crawled: Crawled, tx: Transaction) -> SaveContext:
    return SaveContext(tx=tx, database=crawled.database, service=1, service_name="home", network="mastodon", call=1, at=1)


async def test_every_column_that_names_a_user_is_joined(crawled: Crawled) -> None:
    rows = await crawled.rows(_COLUMNS[crawled.database.dialect])
    naming = {(row["t"], row["c"]) for row in rows if row["c"] in _NAMING} | _ENDS
    said = "\n".join(" ".join(statement.split()) for statement in joining._JOINS)
    forgotten = [
        (table, column)
        for table, column in sorted(naming)
        if table != "users" and not re.search(rf"\b{table}\b[^\n]*\b{column} = ", said)
    ]
    assert forgotten == []


async def test_what_was_judged_of_both_rows_is_judged_of_the_one_that_stays(crawled: Crawled) -> None:
    add = "insert into users (id, network, found_at, found_by) values (?, 'mastodon', 1, 1)"
    async with crawled.database.transaction() as tx:
        for known in ("mastodon:home/1", "https://home.example/users/ada"):
            await tx.execute(add, known)
            await tx.execute(_JUDGED, known, "Lisbon")
        await tx.execute(_JUDGED, "mastodon:home/1", "Portugal")
        numbers = {row["id"]: row["user_no"] for row in await tx.fetch("select id, user_no from users")}
        await joining.merge_users(context(crawled, tx), numbers["mastodon:home/1"], numbers["https://home.example/users/ada"])
    rows = await crawled.rows("select id, value from judgements order by value")
    assert [tuple(row) for row in rows] == [("https://home.example/users/ada", place) for place in ("Lisbon", "Portugal")]


async def test_what_was_judged_of_a_guessed_id_follows_the_real_one(crawled: Crawled) -> None:
    async with crawled.database.transaction() as tx:
        await tx.execute("insert into users (id, network, found_at, found_by) values ('mastodon:home/1', 'mastodon', 1, 1)")
        await tx.execute(_JUDGED, "mastodon:home/1", "Lisbon")
        (row,) = await tx.fetch("select user_no from users")
        await joining.name_user(context(crawled, tx), row["user_no"], "https://home.example/users/ada")
    assert [row["id"] for row in await crawled.rows("select id from judgements")] == ["https://home.example/users/ada"]
