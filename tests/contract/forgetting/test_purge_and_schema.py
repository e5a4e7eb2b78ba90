"""The purge is held against the schema: no column of text or bytes is forgotten, on either database."""

from __future__ import annotations

from collections import Counter

import pytest
from store_pages import POSTS, TIMELINE, Crawled, post, user

from bowerbird.clock import EPOCH
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.db.sqlite.short_columns import read
from bowerbird.model import Broken, Gone, Media, Outcome, Page, Poll, PollOption, PostKind, Subject
from bowerbird.modules.media.rows import MediaFileRows
from bowerbird.ports import Database
from bowerbird.store.absences.content import PURGED, WITHOUT_CONTENT

_COLUMNS = {
    "sqlite": "select m.name as t, p.name as c, p.type as kind from sqlite_master m, pragma_table_xinfo(m.name) p "
    "where m.type = 'table' and m.name not like 'sqlite_%'",
    "postgresql": "select table_name as t, column_name as c, data_type as kind from information_schema.columns "
    "where table_schema = current_schema() and table_name in (select tablename from pg_tables)",
}
MARK = "MarkedkraM"
_USER = "(select user_no from users where id = 'x:1')"
_POST = "(select post_no from posts where id = 'x:10')"
_LIST = f"values ('l', 'x', {_USER}, ?, ?, 1, 1, 1)"
_JUDGED = "insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, at, call)"
_BESIDE = (
    f"insert into user_tags (user_no, tag, name, found_at, found_by, seen_at) values ({_USER}, ?, ?, 1, 1, 1)",
    f"insert into post_versions (post_no, at, text, warning, links, call) values ({_POST}, 1, ?, ?, ?, 1)",
    f"insert into lists (id, network, owner, name, description, found_at, found_by, seen_at) {_LIST}",
    f"{_JUDGED} values ('place', 'user', 'x:1', ?, ?, 1, 1, ?, '1', 1, 1)",
    f"{_JUDGED} values ('place', 'post', 'x:10', ?, ?, 1, 1, ?, '1', 1, 1)",
    "insert into media_files (id, kind, url, state, type, error, due, found_at) values (?, 'photo', ?, 'given_up', ?, ?, 1, 1)",
)
"""Rows that hang on account 1 or its post and come from elsewhere than a page."""


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def columns(crawled: Crawled) -> set[tuple[str, str]]:
    """Every column of the migrated schema that can hold more than a number."""
    rows = await crawled.rows(_COLUMNS[crawled.database.dialect])
    return {(row["t"], read(row["c"])) for row in rows if row["kind"].lower() in ("text", "blob", "bytea")}


def declared() -> list[tuple[str, str]]:
    purged = [(table, column) for table, names in PURGED.items() for column in names]
    return purged + [
        (table, column) for tables in WITHOUT_CONTENT.values() for table, names in tables.items() for column in names
    ]


async def test_every_column_of_the_schema_is_purged_or_has_a_reason_not_to_be(crawled: Crawled) -> None:
    there, said = await columns(crawled), Counter(declared())
    assert sorted(there - said.keys()) == []
    assert sorted(said.keys() - there) == []
    assert [column for column, times in said.items() if times > 1] == []


async def fill(crawled: Crawled) -> None:
    """Account 1 with everything that can hang on an account, and account 2 who passed it on."""
    words = f"{MARK} {MARK}"
    raw = b'{"text":"%s"}' % MARK.encode()
    one = user("1", handle=MARK, name=words, description=words, location=words, url=words, language=MARK, avatar=words,
               labels=(MARK,), raw=raw)  # fmt: skip
    shown = Media(id=MARK, kind="photo", url=words, description=words)
    asked = Poll(options=(PollOption(words, 1),))
    own = post("10", text=words, tags=(MARK,), media=(shown,), url=words, source=words, warning=words, links=(words,), raw=raw,
               poll=asked, emoji={MARK: 1}, cashtags=(MARK,), via=MARK, edit_of=MARK)  # fmt: skip
    copies = (
        post("11", "2", kind=PostKind.REPOST, repost_of="x:10", text=words, poll=asked, raw=raw),
        post("12", "2", kind=PostKind.QUOTE, quote_of="x:10", text="look", raw=raw),
        post("13", "2", kind=PostKind.REPOST, repost_of="x:12", text="look", raw=raw),
    )
    named = b'{"id":1,"text":"%s"}' % MARK.encode()
    await crawled.save(Page(users=(one,), posts=(own, *copies), broken=(Broken(Subject.USER, named, f"ValueError: '{MARK}'"),)))
    again = post("11", "2", kind=PostKind.REPOST, repost_of="x:10", text=f"{words}!", raw=raw)
    edited = post("10", text=f"{words}!", tags=(MARK,), cashtags=(MARK,), media=(shown,), raw=raw)
    await crawled.save(Page(users=(user("1", description=f"{words}!", raw=raw),), posts=(edited, again)), TIMELINE, "1")
    async with crawled.database.transaction() as tx:
        for statement in _BESIDE:
            await tx.execute(statement, *[MARK] * statement.count("?"))


async def marked(crawled: Crawled) -> set[tuple[str, str]]:
    """The columns in which the mark stands; payloads count as marked when they are there at all."""
    found = set()
    for table, column in await columns(crawled):
        rows = await crawled.rows(f"select {column} as value from {table} where {column} is not null")
        if any(_is_marked(column, row["value"]) for row in rows):
            found.add((table, column))
    return found


def _is_marked(column: str, value: object) -> bool:
    body = value if isinstance(value, bytes | memoryview) else str(value).encode()
    return MARK.lower().encode() in bytes(body).lower() or (column == "raw" and bytes(body)[:4] == b"\x28\xb5\x2f\xfd")


@pytest.mark.parametrize("way", ["suspended", "opted out"])
async def test_what_can_hold_content_is_purged(crawled: Crawled, way: str) -> None:
    await fill(crawled)
    before = await marked(crawled)
    assert {"users", "user_history", "former_handles", "user_tags", "posts", "post_history", "post_versions", "post_tags",
            "lists", "post_cashtags", "media", "media_files", "judgements",
            "quarantine"} <= {table for table, _ in before}  # fmt: skip
    page = Page(users=(user("1", opts_out=True),)) if way == "opted out" else Page(
        gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED),)
    )  # fmt: skip
    await crawled.save(page)
    await _tidy_media(crawled)
    # The id of a picture stays, as all ids do: the file's row says that it was there.
    assert await marked(crawled) == {("media_files", "id")}


@pytest.mark.parametrize("way", ["suspended", "opted out"])
async def test_what_people_said_of_an_account_goes_with_it(crawled: Crawled, way: str) -> None:
    await fill(crawled)
    async with crawled.database.transaction() as tx:
        crawl = (await registry.enrol_crawl(tx, "c", "{}", "{}", EPOCH)).crawl
        for number, known in enumerate(("x:1", "x:2")):
            user_no = f"(select user_no from users where id = '{known}')"
            await tx.execute(f"insert into labels values ({crawl}, 'community', {user_no}, 'ada', 'yes', 1)")
            await tx.execute(f"insert into label_samples values ({crawl}, 'community', 'yes', {number}, {user_no}, 1)")
    gone = Page(gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED),))
    await crawled.save(Page(users=(user("1", opts_out=True),)) if way == "opted out" else gone)
    for table in ("labels", "label_samples"):
        left = await crawled.rows(f"select u.id from {table} t join users u on u.user_no = t.user_no")
        assert [row["id"] for row in left] == ["x:2"]


async def test_a_deleted_post_leaves_nothing_but_its_authors_profile(crawled: Crawled) -> None:
    await fill(crawled)
    await crawled.save(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND),)), POSTS, "10")
    await _tidy_media(crawled)
    left = {table for table, _ in await marked(crawled)}
    assert left <= {"users", "user_history", "former_handles", "user_tags", "lists", "judgements", "quarantine", "media_files"}
    assert await crawled.count("judgements", "subject = 'post'") == 0


async def _tidy_media(crawled: Crawled) -> None:
    """What the collector does when it next looks."""
    book = MediaFileRows(crawled.database, WorkerClaims(lambda: 1), ("photo",))
    async with crawled.database.transaction() as tx:
        await book.resolve(tx, await book.doubts(tx))
