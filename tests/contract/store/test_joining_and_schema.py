"""Two rows of one person become one: every table that names users is carried along, whatever the schema has."""

from __future__ import annotations

import re

import pytest
from store_pages import Crawled

from bowerbird.clock import EPOCH
from bowerbird.crawl.life import registry
from bowerbird.db.tables import schema_statements
from bowerbird.ports import Database, Transaction
from bowerbird.store.context import Origin, SaveContext
from bowerbird.store.numbers import MARKS, numbered_by
from bowerbird.store.people import joining

_COLUMNS = {
    "sqlite": "select m.name as t, p.name as c, p.type as kind from sqlite_master m, pragma_table_info(m.name) p "
    "where m.type = 'table' and m.name not like 'sqlite_%'",
    "postgresql": "select table_name as t, column_name as c, data_type as kind from information_schema.columns "
    "where table_schema = current_schema() and table_name in (select tablename from pg_tables)",
}
_ENDINGS = ("_at", "_micros")
"""Of names of times and durations."""
_OTHER_NAMES = (
    # times, places in time
    "at since until due day ends backoff_since backoff_until held_until first_found last_seen last_written process_started "
    "seen_in seen_out offset_high offset_low "
    # numbers of calls and other rows of ours
    "added_by found_by seen_by short_seen_by raw_dictionary told_by coordinator fence frame_place token version plan one pid bit "
    "slot sweep sweeping swept step place rank base "
    # how many, how much, whether
    "a_month accounts allowance asked attempts backoff_step barren busiest bytes calls cap changed checked_posts collected "
    "connections decided deleted depth empty events examples failures finished followed_by_no followed_by_yes followers "
    "following follows_no follows_yes had heard in_all in_flight items keywords likes listed lost media members "
    "mentioned_by_no mentioned_by_yes mentions methods missing n names new_items newest objects opts_out others paged pages "
    "persons posts probing quotes ready refused relations remaining replies reposts results rows sampled seeds_left_alone size "
    "span spent status stored strength tries unread users visits volume weight woken wrote"
)
_OTHER_NUMBERS = frozenset(_OTHER_NAMES.split())
"""Columns of these names hold no number of an account or post, in whatever table."""
_ALONE = frozenset(
    {
        ("inputs", "number"),
        ("quarantine_names", "name"),
        ("quarantine", "source"),
        ("quarantine_sources", "source"),
    }
)
"""Nor do these: a count, a line of a file, a hash, what items could not be read of. In other tables their names say nothing."""
_JUDGED = """
insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, at, call)
values ('place', 'user', ?, ?, 'profile', 1, 1, '{}', '1', 1, 1)
"""
_CANDIDATE = "insert into candidates (crawl, user_no, source, state, found_at) values (?, ?, 'neighbours', ?, ?)"
_OF_CANDIDATES = (
    "asked_at", "posts_asked_at", "mentions", "replies", "reposts", "listed", "votes_at", "followed_by_yes", "followed_by_no",
    "follows_yes", "follows_no", "mentioned_by_yes", "mentioned_by_no",
)  # fmt: skip


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def context(crawled: Crawled, tx: Transaction) -> SaveContext:
    return SaveContext(tx=tx, database=crawled.database, origin=Origin(number=1, name="home", network="mastodon"), call=1, at=1)


async def columns(crawled: Crawled) -> list[tuple[str, str, bool]]:
    """Every column of the schema, and whether it holds whole numbers."""
    rows = await crawled.rows(_COLUMNS[crawled.database.dialect])
    return [(row["t"], row["c"], "int" in row["kind"].lower()) for row in rows]


async def test_it_is_decided_of_every_number_whether_it_is_that_of_an_account_or_post(crawled: Crawled) -> None:
    own = {name for text in schema_statements("sqlite") for name in re.findall(r"(\w+) integer primary key", text)} - {"source"}
    there = {(table, column) for table, column, is_number in await columns(crawled) if is_number}
    marks = {(table, column) for table, names in MARKS.items() for column in names}
    undecided = [
        (table, column)
        for table, column in sorted(there - marks - _ALONE)
        if numbered_by(table, column) is None
        and not (column in own | _OTHER_NUMBERS or column.endswith(_ENDINGS) or column.startswith("is_"))
    ]
    assert undecided == []
    assert sorted(_OTHER_NUMBERS - {column for _, column in there} - {"short_seen_by"}) == [], "no such column is there any more"
    assert sorted(_ALONE - there) == []


async def test_every_column_that_names_a_user_is_joined(crawled: Crawled) -> None:
    naming = {(table, column) for table, column, _ in await columns(crawled) if numbered_by(table, column) == "users"}
    said = "\n".join(" ".join(statement.split()) for statement in joining._JOINS)
    forgotten = [
        (table, column)
        for table, column in sorted(naming - joining.COUNTED_ANEW)
        if table != "users" and not re.search(rf"\b{table}\b[^\n]*\b{column} = ", said)
    ]
    assert forgotten == []
    assert naming >= joining.COUNTED_ANEW


async def test_a_row_that_is_moved_keeps_all_its_columns(crawled: Crawled) -> None:
    moved = [" ".join(each.split()) for each in joining._JOINS if each.strip().startswith("insert into")]
    assert len(moved) == 12
    there = await columns(crawled)
    for statement in moved:
        table, told, read = re.findall(r"^insert into (\w+) \((.*?)\) select (.*?) from \1 where", statement)[0]
        assert set(told.split(", ")) == {column for where, column, _ in there if where == table}, table
        # One is that of the row that stays; the others are read from where they are written to.
        carried = re.sub(r"cast\(\? as bigint\)|\(select .*?\)", "?", read).replace("-place", "place").split(", ")
        assert [(new, old) for new, old in zip(told.split(", "), carried, strict=True) if new != old and old != "?"] == []
        assert carried.count("?") == 1, table


async def test_a_candidate_that_waits_for_an_answer_goes_on_waiting_for_it(crawled: Crawled) -> None:
    async with crawled.database.transaction() as tx:
        guessed, known = await _two_rows(tx)
        crawl = (await registry.enrol_crawl(tx, "c", "{}", "{}", EPOCH)).crawl
        values = ", ".join(f"{name} = {number}" for number, name in enumerate(_OF_CANDIDATES, 1))
        await tx.execute(_CANDIDATE, crawl, guessed, "asked", 5)
        await tx.execute(f"update candidates set {values}")
        await joining.merge_users(context(crawled, tx), guessed, known)
    row = await crawled.row(f"select user_no, state, found_at, {', '.join(_OF_CANDIDATES)} from candidates")
    assert tuple(row) == (known, "asked", 5, *range(1, len(_OF_CANDIDATES) + 1))


async def test_two_rows_of_one_candidate_are_joined(crawled: Crawled) -> None:
    async with crawled.database.transaction() as tx:
        guessed, known = await _two_rows(tx)
        crawl = (await registry.enrol_crawl(tx, "c", "{}", "{}", EPOCH)).crawl
        await tx.execute(_CANDIDATE, crawl, known, "valid", 5)
        await tx.execute(_CANDIDATE, crawl, guessed, "asked", 4)
        await tx.execute("update candidates set votes_at = 1, mentions = 2, posts_asked_at = user_no")
        await tx.execute("update candidates set is_mined = 1, source = 'mentions' where user_no = ?", guessed)
        await joining.merge_users(context(crawled, tx), guessed, known)
    row = await crawled.row(
        "select user_no, state, source, found_at, is_mined, mentions, votes_at, posts_asked_at from candidates"
    )
    assert tuple(row) == (known, "valid", "mentions", 4, 1, 4, None, guessed)


async def _two_rows(tx: Transaction) -> tuple[int, int]:
    """The one that was guessed, the last of all, and the one that is known."""
    add = "insert into users (id, network, found_at, found_by) values (?, 'mastodon', 1, 1) returning user_no"
    known, guessed = [await tx.fetch_one(add, each) for each in ("https://home.example/users/ada", "mastodon:home/1")]
    assert known is not None
    assert guessed is not None
    return int(guessed["user_no"]), int(known["user_no"])


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
