"""Searching what is stored, on either database: the same rows as an export with the same conditions, page by page."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, cast

import pytest
from msgspec import structs
from store_pages import FOLLOWERS, START, TIMELINE, Crawled, followers, post, user

from bowerbird.errors import UserError
from bowerbird.model import Gone, Media, Outcome, Page, Subject
from bowerbird.model.items import Judged
from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.reading import BlockReader
from bowerbird.reports.blocks.selection.choosing import Choice, at_least
from bowerbird.reports.blocks.tables import TABLES
from bowerbird.reports.browsing.follows import count_follows, search_follows
from bowerbird.reports.browsing.matching import how_many
from bowerbird.reports.browsing.pages import token
from bowerbird.reports.browsing.searching import Matching, Search, count_matching, search
from failures import raises_code

_JUDGED = (
    "insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, at, call) "
    "values (?, ?, ?, ?, 'profile', 1, 0.9, '{}', '1', 1, 1)"
)
_WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in "Flood") + " in full width"


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    """Twelve posts of three accounts; the ninth is deleted, and the third account opted out."""
    crawled = await Crawled(database).register()
    picture = Media(id="m1", kind="image", url="https://pictures.example/1.png", description="A Bower of blue things")
    posts = [
        post("10", text="the flood in Lisbon", likes=3, language="pt"),
        post("11", text=_WIDE, likes=9, tags=("porto",)),
        post("12", "2", text="100% sure_thing", likes=None),
        post("13", "2", text="STRASSE", media=(picture,), likes=5),
        *(post(str(key), "2", text=f"number {key}", likes=key % 4) for key in range(14, 20)),
        post("20", "3", text="flood of one who opts out"),
        post("21", "2", text="flood, but deleted"),
    ]
    people = (user("1", followers=5), user("2", name="Flo Wer", followers=50), user("3", followers=7))
    await crawled.save(Page(users=people, posts=tuple(posts)), TIMELINE, "1")
    await crawled.save(
        Page(users=(user("3", opts_out=True),), gone=(Gone(Subject.POST, "21", Outcome.NOT_FOUND, is_stated=True),))
    )
    async with database.transaction() as tx:
        await tx.execute(_JUDGED, "place", "user", "x:2", "Lisbon")
    return crawled


async def ids(crawled: Crawled, size: int = 50, what: str = "posts", order: str = "newest", **choice: Any) -> list[str]:
    return await all_ids(crawled, Search(what=what, choice=Choice(**choice), order=order, size=size))


async def all_ids(crawled: Crawled, wanted: Search) -> list[str]:
    found: list[str] = []
    after: str | None = None
    while True:
        page = await search(crawled.database, structs.replace(wanted, after=after))
        assert len(page.rows) <= wanted.size
        found += [row["id"] for row in page.rows]
        after = page.after
        if after is None:
            return found


async def exported(crawled: Crawled, what: str, choice: Choice) -> list[str]:
    reader = BlockReader(crawled.database, TABLES[what], choice)
    return [
        str(each.decode() if isinstance(each, bytes) else each) async for block in reader.blocks() for each in block.values("id")
    ]


@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"words": ("flood",)},
        {"words": ("FLOOD", "#Porto")},
        {"words": ("#porto",)},
        {"words": ("100%",)},
        {"words": ("e_t",)},
        {"words": ("straße",)},
        {"languages": ("pt",)},
        {"users": ("@u2",)},
        {"networks": ("bluesky",)},
        {"networks": ("x", "bluesky")},
        {"kinds": ("repost",)},
        {"has_media": True},
        {"at_least": (("likes", 3),)},
        {"places": ("Lisbon",)},
        {"judged": (Judged("place"),), "words": ("number",)},
        {"since": START, "until": START + timedelta(days=90)},
        {"since": START + timedelta(days=365)},
        {"crawls": ("none",)},
    ],
)
async def test_a_search_finds_what_an_export_writes(crawled: Crawled, choice: dict[str, Any]) -> None:
    wanted = await exported(crawled, "posts", Choice(**choice))
    for size in (1, 4, 50):
        assert await ids(crawled, size, **choice) == wanted[::-1]
        assert await ids(crawled, size, order="oldest", **choice) == wanted


async def test_words_conditions_find_what_they_say(crawled: Crawled) -> None:
    assert await ids(crawled, words=("flood",)) == ["x:11", "x:10"]
    assert await ids(crawled, words=("straße",)) == ["x:13"]
    assert await ids(crawled, words=("sure_",)) == ["x:12"]
    assert await ids(crawled, at_least=(at_least("likes=5"),)) == ["x:13", "x:11"]
    assert await ids(crawled, has_media=True) == ["x:13"]


async def test_a_search_that_looks_through_little_goes_on_where_it_stopped(crawled: Crawled) -> None:
    async def found(*words: str, order: str = "newest") -> list[str]:
        return await all_ids(crawled, Search(what="posts", choice=Choice(words=words), order=order, stretch=3))

    assert await found("flood") == ["x:11", "x:10"]
    assert await found("#porto") == ["x:11"]
    assert await found("flood", "number", order="oldest") == ["x:10", "x:11", *(f"x:{n}" for n in range(14, 20))]
    first = await search(crawled.database, Search(what="posts", choice=Choice(words=("flood",)), stretch=3))
    assert (first.rows, first.is_cut, first.looked, first.after is not None) == ((), True, 3, True)
    assert first.reached == START + timedelta(hours=1)


async def test_rows_are_sorted_by_a_counter_and_every_one_is_shown_once(crawled: Crawled) -> None:
    likes = {"x:11": 9, "x:13": 5, "x:10": 3, "x:15": 3, "x:19": 3}
    for size in (1, 3, 50):
        found = await ids(crawled, size, order="likes")
        assert found[:5] == ["x:11", "x:13", "x:19", "x:15", "x:10"]
        assert (len(found), found[-1]) == (len(set(found)), "x:12")
    assert set(likes) == set(found[:5])
    assert await ids(crawled, 1, "users", "followers") == ["x:2", "x:1"]


@pytest.mark.parametrize("order", ["newest", "oldest", "likes"])
@pytest.mark.parametrize("stretch", [3, 200])
async def test_pages_lead_back_over_the_same_rows_to_the_first(crawled: Crawled, order: str, stretch: int) -> None:
    wanted = Search(what="posts", order=order, size=2, stretch=stretch)
    pages = [await search(crawled.database, wanted)]
    assert pages[0].before is None
    while pages[-1].after is not None:
        pages.append(await search(crawled.database, structs.replace(wanted, after=pages[-1].after)))
    forwards = [row["id"] for page in pages for row in page.rows]
    page, back = pages[-1], [row["id"] for row in pages[-1].rows]
    first: list[str] = []
    while page.before is not None:
        page = await search(crawled.database, structs.replace(wanted, before=page.before))
        first = [row["id"] for row in page.rows]
        back = [*(each for each in first if each not in back), *back]
    assert back == forwards
    assert first == [row["id"] for row in pages[0].rows]
    assert page.after == pages[0].after


async def test_the_page_after_one_that_was_reached_backwards_is_where_one_came_from(crawled: Crawled) -> None:
    for order in ("newest", "oldest", "likes"):
        wanted = Search(what="posts", order=order, size=2)
        second = await search(crawled.database, structs.replace(wanted, after=(await search(crawled.database, wanted)).after))
        third = await search(crawled.database, structs.replace(wanted, after=second.after))
        again = await search(crawled.database, structs.replace(wanted, before=third.before))
        assert (again.rows, again.after) == (second.rows, second.after)


async def test_what_matches_is_counted_up_to_a_bound_and_as_far_as_a_page_looks(crawled: Crawled) -> None:
    async def counted(most: int = 100, stretch: int = 100, what: str = "posts", **choice: Any) -> Matching:
        return await count_matching(crawled.database, Search(what=what, choice=Choice(**choice), stretch=stretch), most)

    assert await counted(words=("flood",)) == Matching(count=2)
    assert await counted(words=("number",), most=6) == Matching(count=6)
    assert await counted(words=("number",), most=5) == Matching(count=5, is_more=True)
    assert await counted(words=("number", "flood"), stretch=4) == Matching(count=2, among=4)
    assert await counted(what="users") == Matching(count=2)
    assert await how_many(crawled.database, Search(what="users")) == Matching(count=2)


async def test_follows_are_counted_and_lead_back(crawled: Crawled) -> None:
    people = tuple(user(str(key)) for key in range(4, 9))
    await crawled.save(Page(users=people, relations=followers("4", "5", "6", "7", "8")), FOLLOWERS, "4")
    await crawled.save(Page(relations=followers("5", "6")), FOLLOWERS, "5")
    everyone = Search(what="follows", size=2)
    assert await how_many(crawled.database, everyone) == Matching(count=5)
    assert await count_follows(crawled.database, everyone, most=4) == Matching(count=4, is_more=True)
    pages = [await search_follows(crawled.database, everyone)]
    while pages[-1].after is not None:
        pages.append(await search_follows(crawled.database, structs.replace(everyone, after=pages[-1].after)))
    middle = await search_follows(crawled.database, structs.replace(everyone, before=pages[2].before))
    first = await search_follows(crawled.database, structs.replace(everyone, before=middle.before))
    assert (middle.rows, middle.after) == (pages[1].rows, pages[1].after)
    assert first.rows == pages[0].rows


async def test_accounts_and_media_are_found_by_their_words(crawled: Crawled) -> None:
    assert await ids(crawled, what="users", words=("flo",)) == ["x:2"]
    assert await ids(crawled, what="users", words=("U1",)) == ["x:1"]
    assert await ids(crawled, what="media", words=("bower",)) == ["m1"]
    assert await ids(crawled, what="media", kinds=("video",)) == []
    (row,) = (await search(crawled.database, Search(what="media"))).rows
    assert (row["post_id"], row["author_handle"]) == ("x:13", "u2")


async def test_a_hashtag_is_a_word_where_rows_have_no_tags(crawled: Crawled) -> None:
    people = (user("7", description="São Paulo, #Porto"), user("8", description="São Paulo"))
    await crawled.save(Page(users=people), TIMELINE, "1")
    for words in (("#porto",), ("#porto", "nothing")):
        assert await ids(crawled, what="users", words=words) == ["x:7"]
        assert await exported(crawled, "users", Choice(words=words)) == ["x:7"]
    assert await ids(crawled, what="media", words=("#porto",)) == []


async def test_a_row_tells_what_an_export_would(crawled: Crawled) -> None:
    (row,) = (await search(crawled.database, Search(what="posts", choice=Choice(words=("#porto",))))).rows
    assert (row["author_id"], row["author_handle"], row["tags"], row["likes"]) == ("x:1", "u1", ["porto"], 9)
    assert row["found_at"] == START + timedelta(hours=1)


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (Search(what="posts", after="no token"), "invalid"),
        (Search(what="posts", after="gA"), "invalid"),
        (Search(what="posts", after=token([5, 1, 2])), "invalid"),
        (Search(what="posts", order="likes", after=token([5, 1])), "invalid"),
        (Search(what="posts", before=token([1 << 63])), "invalid"),
        (Search(what="posts", before=token([0.5])), "invalid"),
        (Search(what="posts", size=0), "invalid"),
        (Search(what="posts", order="followers"), "unknown_name"),
        (Search(what="users", choice=Choice(at_least=(("likes", 1),))), "unknown_name"),
        (Search(what="users", choice=Choice(has_media=True)), "unsupported"),
        (Search(what="posts", choice=Choice(users=("nobody",))), "unknown_account"),
    ],
)
async def test_a_search_that_cannot_be_is_refused_in_words(crawled: Crawled, wanted: Search, code: str) -> None:
    with raises_code(UserError, code):
        await search(crawled.database, wanted)


@pytest.mark.parametrize("written", ["likes", "likes=", "=3", "likes=many", "likes=-1"])
def test_a_counter_needs_its_number(written: str) -> None:
    with raises_code(UserError, "invalid") as caught:
        at_least(written)
    assert repr(written) in str(caught.value)


async def test_follows_are_searched_by_either_end(crawled: Crawled) -> None:
    people = tuple(user(str(key)) for key in range(4, 9))
    await crawled.save(Page(users=people, relations=followers("4", "5", "6", "7", "8")), FOLLOWERS, "4")
    await crawled.save(Page(relations=followers("5", "6")), FOLLOWERS, "5")
    everyone = await pairs(crawled, 2)
    assert everyone == [("x:8", "x:4"), ("x:7", "x:4"), ("x:6", "x:5"), ("x:6", "x:4"), ("x:5", "x:4")]
    assert await pairs(crawled, 2, followed=("@u4",)) == [(f"x:{n}", "x:4") for n in (8, 7, 6, 5)]
    assert await pairs(crawled, 1, users=("@u6",)) == [("x:6", "x:5"), ("x:6", "x:4")]
    assert await pairs(crawled, 1, networks=("bluesky",)) == []


async def pairs(crawled: Crawled, size: int, **choice: Any) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    after = None
    while True:
        page = await search_follows(crawled.database, Search(what="follows", choice=Choice(**choice), after=after, size=size))
        found += [(row["source_id"], row["target_id"]) for row in page.rows]
        after = page.after
        if after is None:
            return found


class _Noted:
    """A database of which every question is noted."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.dialect, self.any, self.members = database.dialect, database.any, database.members
        self.asked: list[tuple[str, tuple[Any, ...]]] = []

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Any]:
        async with self._database.reading() as tx:
            yield _NotedReading(tx, self.asked)


class _NotedReading:
    def __init__(self, tx: Transaction, asked: list[tuple[str, tuple[Any, ...]]]) -> None:
        self._tx = tx
        self._asked = asked

    async def fetch_all(self, questions: Sequence[tuple[str, Sequence[Any]]]) -> Any:
        self._asked += [(sql, tuple(values)) for sql, values in questions]
        return await self._tx.fetch_all(questions)

    def __getattr__(self, name: str) -> Any:
        async def ask(sql: str, *values: Any) -> Any:
            self._asked.append((sql, values))
            return await getattr(self._tx, name)(sql, *values)

        return ask


_EXPLAINED = {"sqlite": "explain query plan", "postgresql": "explain"}
_WALKED = {"sqlite": r"SCAN (?:[pumr]|posts|users|media|relations|post_tags)\b(?! USING)", "postgresql": r"Seq Scan on \w+"}
_FEW = "services|lanes|crawls|json_each|media_files"
"""Tables of few rows, or not of the store's."""


async def plans(database: Database, asked: Sequence[tuple[str, tuple[Any, ...]]]) -> list[str]:
    """What walks through a whole table, of statements of which nothing else is to be expected in a large one."""
    found = []
    async with database.transaction() as tx:
        if database.dialect == "postgresql":
            # A table of a page is read as a whole otherwise, whatever indexes it has.
            await tx.execute("set local enable_seqscan = off")
        for sql, values in asked:
            rows = await tx.fetch(f"{_EXPLAINED[database.dialect]} {sql}", *values)
            lines = [str(row["detail"] if database.dialect == "sqlite" else row["QUERY PLAN"]) for row in rows]
            found += [line for line in lines if re.search(_WALKED[database.dialect], line) and not re.search(_FEW, line)]
    return found


@pytest.mark.parametrize(
    "wanted",
    [
        Search(what="posts"),
        Search(what="posts", order="oldest", choice=Choice(words=("number",))),
        Search(what="posts", choice=Choice(users=("@u2",))),
        Search(what="posts", choice=Choice(words=("#porto",))),
        Search(what="posts", order="likes", choice=Choice(has_media=True, places=("Lisbon",))),
        Search(what="users", order="followers"),
        Search(what="media"),
        Search(what="follows"),
        Search(what="follows", choice=Choice(followed=("@u1",))),
    ],
)
async def test_no_page_walks_through_a_whole_table(crawled: Crawled, wanted: Search) -> None:
    await crawled.save(Page(relations=followers("1", "2")), FOLLOWERS, "1")
    noted = _Noted(crawled.database)
    found = await (search_follows if wanted.what == "follows" else search)(cast("Database", noted), wanted)
    assert found.rows
    assert await plans(crawled.database, noted.asked) == []
