"""People and posts that are forgotten on request: nothing of them is left, and nothing brings them back."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg
import pytest
from store_pages import FEDIVERSE, FOLLOWERS, HOME, SKY, TIMELINE, Crawled, X, federated, followers, post, toot, user

from bowerbird.clock import RealClock
from bowerbird.crawl.life import registry
from bowerbird.db import open_database
from bowerbird.db.sqlite.short_columns import read
from bowerbird.errors import Busy
from bowerbird.model import Broken, Gone, Media, Outcome, Page, Post, PostKind, Service, Subject, User
from bowerbird.ports import Database
from bowerbird.store import Store
from bowerbird.store.forgetting.erasing import COUNTED_ANEW, EraseStatements
from bowerbird.store.forgetting.requests import Forgetter, Request, Wish, read_requests
from bowerbird.store.forgetting.searched_tables import ELSEWHERE, SEARCHED_TABLES
from bowerbird.store.numbers import numbered_by
from bowerbird.store.payloads.frames import Frames
from bowerbird.store.payloads.raw import Unpacker
from recounting import counted_accounts

ALICE = "did:plc:alicealicealicealicealic"
BOB = "did:plc:bobbobbobbobbobbobbobbob"
_COLUMNS = {
    "sqlite": "select m.name as t, p.name as c, p.type as kind from sqlite_master m, pragma_table_info(m.name) p "
    "where m.type = 'table' and m.name not like 'sqlite_%'",
    "postgresql": "select table_name as t, column_name as c, data_type as kind from information_schema.columns "
    "where table_schema = current_schema() and table_name in (select tablename from pg_tables)",
}


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def save(crawled: Crawled, page: Page, *targets: str, service: Service = X) -> None:
    """As a crawl does it: looked over, then saved, and all over again when somebody was forgotten meanwhile."""
    try:
        await crawled.save(await allowed(crawled, page, service), TIMELINE, *targets, service=service)
    except Busy:
        await crawled.save(await allowed(crawled, page, service), TIMELINE, *targets, service=service)


async def allowed(crawled: Crawled, page: Page, service: Service = SKY) -> Page:
    async with crawled.database.transaction() as tx:
        return await crawled.store.allowed(tx, crawled.store.clean(page), service)


async def columns(crawled: Crawled) -> set[tuple[str, str]]:
    rows = await crawled.rows(_COLUMNS[crawled.database.dialect])
    return {(row["t"], read(row["c"])) for row in rows if row["kind"].lower() in ("text", "blob", "bytea")}


@pytest.mark.parametrize("domain", ["home.example", "social.example"])
async def test_who_was_asked_for_by_a_handle_of_their_own_server_is_not_left_in_what_was_asked(
    crawled: Crawled, domain: str
) -> None:
    people = [federated("wanda", "7", handle=f"wanda@{domain}"), federated("bob", "8", handle=f"bob@{domain}")]
    await save(crawled, Page(users=tuple(people)), "@wanda", service=HOME)
    async with crawled.database.transaction() as tx:
        await registry.enrol_crawl(tx, "c", "{}", "{}", crawled.now)
        (home,) = await tx.fetch("select service from services where name = 'home'")
        await tx.execute("insert into lanes (lane, crawl, service, facet) values (1, 1, ?, 'profiles')", home["service"])
        # On another server, and on another network, somebody else is called so.
        for lane, name in ((2, "mammoth"), (3, "bird")):
            (other,) = await tx.fetch("select service from services where name = ?", name)
            await tx.execute(
                "insert into lanes (lane, crawl, service, facet) values (?, 1, ?, 'profiles')", lane, other["service"]
            )
            await tx.execute(
                "insert into tasks (lane, target, state, ready, priority, added_at) values (?, '@wanda', 'asleep', 0, 0, 0)", lane
            )
        for target in ("@wanda", "@bob", "@Wanda"):
            await tx.execute(
                "insert into tasks (lane, target, state, ready, priority, added_at) values (1, ?, 'asleep', 0, 0, 0)", target
            )
        await tx.execute(
            "insert into calls (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at) "
            "values (1, 1, 'profiles', 1, 'settled', '[]', 2, '@wanda, @bob', 1, 2)"
        )
    wanda = await number(crawled, people[0].id)
    await Forgetter(crawled.database, RealClock()).forget(Wish(who="she", why="asked", users=frozenset({wanda})))
    assert await found(crawled, ["wanda"]) == {("wanda", "tasks", "target")}
    left = await crawled.rows("select lane, target from tasks where state <> 'retired' order by lane, task")
    assert [tuple(row.values() if isinstance(row, dict) else row) for row in left] == [(1, "@bob"), (2, "@wanda"), (3, "@wanda")]
    assert [row["targets"] for row in await crawled.rows("select targets from calls")] == ["[forgotten], @bob"]
    async with crawled.database.transaction() as tx:
        store = Store(crawled.database)
        asked = await store.allowed_targets(tx, HOME, ["@wanda", "@bob", "@WANDA"])
        elsewhere = await store.allowed_targets(tx, FEDIVERSE, ["@wanda", f"@wanda@{domain}"])
    assert (asked, elsewhere) == ({"@bob"}, {"@wanda"})


async def found(crawled: Crawled, words: Sequence[str]) -> set[tuple[str, str, str]]:
    """Which of the words stand in which columns, payloads unpacked."""
    left, unpacker, frames, there = set(), Unpacker(), Frames(crawled.database), await columns(crawled)
    async with crawled.database.reading() as tx:
        for table, column in there:
            extra = ", raw_dictionary" if column == "raw" and table != "quarantine" else ""
            for row in await tx.fetch(f"select {column} as value{extra} from {table} where {column} is not null"):
                body = str(row["value"])
                if extra:
                    body = str(await unpacker.unpack(tx, row["value"], row["raw_dictionary"]))
                elif column == "body" and table == "frames":
                    body = str(frames.unpacked(row["value"]))
                elif not isinstance(row["value"], str):
                    body = str(bytes(row["value"]))
                left |= {(word, table, column) for word in words if word.lower() in body.lower()}
    return left


async def number(crawled: Crawled, known_id: str) -> int:
    return int((await crawled.row("select user_no from users where id = ?", known_id))["user_no"])


async def forget(crawled: Crawled, *ids: str, names: frozenset[str] = frozenset()) -> None:
    users = frozenset([await number(crawled, each) for each in ids])
    await Forgetter(crawled.database, RealClock()).forget(Wish(who="the account", why="asked", users=users, names=names))


def sky(did: str, handle: str, **fields: object) -> User:
    return User(id=did, key=did, handle=handle, raw=f'{{"did":"{did}","handle":"{handle}"}}'.encode(), **fields)  # type: ignore[arg-type]


def skeet(did: str, key: str, **fields: object) -> Post:
    known = f"at://{did}/app.bsky.feed.post/{key}"
    return Post(id=known, key=known, author=did, **{"text": f"words {key}", "raw": f'{{"uri":"{known}"}}'.encode()} | fields)  # type: ignore[arg-type]


def sky_page() -> Page:
    """Alice with a post, and Bob who follows, answers, quotes, passes on and mentions her."""
    own = skeet(ALICE, "3a", text="alicesecret", media=(Media(id="https://cdn/alicepicture", kind="photo", url="https://cdn/1"),))
    told = f"hello @alice.bsky.social, see https://bsky.app/profile/{ALICE}/post/3a"
    others = (
        skeet(BOB, "3b", text="answer", reply_to=own.id, root=own.id, raw=f'{{"parent":"{own.id}"}}'.encode()),
        skeet(BOB, "3c", kind=PostKind.QUOTE, text="look", quote_of=own.id, raw=b'{"quoted":"alicesecret"}'),
        skeet(BOB, "3d", kind=PostKind.REPOST, text="alicesecret", repost_of=own.id),
        skeet(BOB, "3e", text=told, mentions=(ALICE,), links=(f"https://bsky.app/profile/{ALICE}",), raw=told.encode()),
        skeet(BOB, "3f", text="Bob of bsky.app", raw=b'{"text":"nothing of hers"}'),
    )
    broken = Broken(Subject.POST, f'{{"by":"{ALICE}"}}'.encode(), f"ValueError: '{ALICE}'")
    people = (
        sky(ALICE, "alice.bsky.social", description="alicesecret"),
        sky(BOB, "bob.example", description="with @alice.bsky.social"),
    )
    return Page(users=people, posts=(own, *others), broken=(broken,))


HERS = ("alicesecret", "alice.bsky.social", ALICE, "alicepicture")


async def test_a_person_leaves_every_table_and_what_others_wrote_of_them(crawled: Crawled) -> None:
    await save(crawled, sky_page(), ALICE, service=SKY)
    await crawled.save(Page(relations=followers(ALICE, BOB)), FOLLOWERS, ALICE, service=SKY)
    assert {word for word, *_ in await found(crawled, HERS)} == set(HERS)
    await forget(crawled, ALICE)
    assert await found(crawled, HERS) == set()
    assert await crawled.count("posts", "text = 'Bob of bsky.app'") == 1
    kept = await crawled.row("select text, reply_to, links from posts where id like '%3e'")
    assert kept["text"] == "hello [forgotten], see [forgotten]"
    await counted_accounts(crawled.database)
    (request,) = await tx_requests(crawled)
    assert (request.users, request.posts, request.relations, request.media) == (1, 1, 1, 1)
    assert request.mentions >= 3
    assert request.done_at is not None


async def tx_requests(crawled: Crawled) -> list[Request]:
    async with crawled.database.reading() as tx:
        return await read_requests(tx)


async def test_nothing_brings_a_forgotten_person_back(crawled: Crawled) -> None:
    await save(crawled, sky_page(), ALICE, service=SKY)
    await forget(crawled, ALICE)
    await save(crawled, sky_page(), ALICE, service=SKY)
    await crawled.hear(await allowed(crawled, sky_page()))
    await crawled.hear(await allowed(crawled, Page(gone=(Gone(Subject.USER, ALICE, Outcome.NOT_FOUND),))))
    assert await found(crawled, HERS) == set()
    assert await crawled.count("posts", f"id like '%{BOB}%'") == 5


async def test_a_name_nobody_bears_yet_keeps_its_bearer_out_under_every_other_name(crawled: Crawled) -> None:
    await forget(crawled, names=frozenset({"handle bluesky alice.bsky.social"}))
    await save(crawled, sky_page(), ALICE, service=SKY)
    assert await found(crawled, HERS) == set()
    renamed = Page(users=(sky(ALICE, "elsewhere.example"),), posts=(skeet(ALICE, "3z", text="alicesecret"),))
    await save(crawled, renamed, ALICE, service=SKY)
    assert await found(crawled, (*HERS, "elsewhere.example")) == set()


async def test_on_mastodon_a_person_is_kept_out_by_every_server_and_key(crawled: Crawled) -> None:
    name = "https://home.example/users/alice"
    alice = federated("alice", "7", handle="alice@home.example", url="https://home.example/@alice")
    mention = toot("12", "bob", text="@alice and @alice@home.example", mentions=("7",), raw=b'{"account_id":"7"}')
    page = Page(users=(alice, federated("bob", "8", handle="bob@home.example")), posts=(toot("11", "alice"), mention))
    await save(crawled, page, "7", service=HOME)
    await forget(crawled, name)
    assert await found(crawled, ("alice", '"7"')) == set()
    stranger = Page(users=(federated("alice", "99", handle="alice@home.example"),), posts=(toot("11", "alice"),))
    await save(crawled, stranger, service=FEDIVERSE)
    answer = toot("13", "bob", text="yes", reply_to="mastodon:home/11")
    await save(crawled, Page(posts=(answer,)), service=HOME)
    assert await found(crawled, ("alice", "home/11")) == set()
    assert (await crawled.row("select text from posts where id like '%12'"))["text"] == "[forgotten] and [forgotten]"


async def test_a_post_is_forgotten_alone(crawled: Crawled) -> None:
    page = Page(users=(user("1"), user("2")), posts=(post("101"), post("102"), post("103", "2", reply_to="x:101")))
    await save(crawled, page)
    row = await crawled.row("select post_no from posts where id = 'x:101'")
    await Forgetter(crawled.database, RealClock()).forget(Wish(who="its author", why="asked", posts=frozenset({row["post_no"]})))
    await save(crawled, page)
    assert await found(crawled, ("x:101", "text 101")) == set()
    assert await crawled.count("posts") == 2


async def test_words_that_were_passed_on_by_hand_go_with_their_author(crawled: Crawled) -> None:
    said = post("201", "2", text="RT @alice: alicesecret", raw=b"{}")
    await save(
        crawled,
        Page(users=(user("1", handle="alice"), user("2", handle="bob")), posts=(said, post("202", "2", text="I am alice"))),
    )
    await forget(crawled, "x:1")
    await save(crawled, Page(posts=(post("203", "2", text="\u56de\u590d@alice:so be it"),)))
    rows = await crawled.rows("select text from posts order by post_no")
    assert [row["text"] for row in rows] == ["RT [forgotten]", "I am alice", "\u56de\u590d[forgotten]:so be it"]


async def test_a_name_is_found_where_another_script_follows_without_a_blank(crawled: Crawled) -> None:
    page = Page(users=(user("1", handle="alice"), user("2", handle="bob")), posts=(post("201", "2", text="@alice\u3055\u3093"),))
    await save(crawled, page)
    await forget(crawled, "x:1")
    more = (
        post("202", "2", text="\u898b\u3066@alice\u3055\u3093\u3001@alicia\u3055\u3093"),
        post("203", "2", text="https://x.com/alice\u3055\u3093"),
    )
    await save(crawled, Page(posts=more))
    assert await found(crawled, ("alice",)) == set()
    rows = await crawled.rows("select text from posts order by post_no")
    texts = ["[forgotten]\u3055\u3093", "\u898b\u3066[forgotten]\u3055\u3093\u3001@alicia\u3055\u3093", "[forgotten]"]
    assert [row["text"] for row in rows] == texts


async def test_a_page_looked_over_before_somebody_was_forgotten_is_refused(crawled: Crawled) -> None:
    await save(crawled, sky_page(), ALICE, service=SKY)
    page = await allowed(crawled, sky_page())
    await forget(crawled, ALICE)
    with pytest.raises(Busy):
        await crawled.save(page, TIMELINE, ALICE, service=SKY)
    assert await found(crawled, HERS) == set()


async def test_a_sweep_that_was_broken_off_goes_on_with_the_next_request(crawled: Crawled) -> None:
    await save(crawled, sky_page(), ALICE, service=SKY)
    forgetter = Forgetter(crawled.database, RealClock())
    await forgetter.erase(Wish(who="a", why="b", users=frozenset({await number(crawled, ALICE)})))
    assert await found(crawled, HERS) != set()
    await forgetter.forget(Wish(who="a", why="b"))
    assert await found(crawled, HERS) == set()
    assert [each.done_at is not None for each in await tx_requests(crawled)] == [True]


async def test_a_row_that_moves_while_the_sweep_is_under_way_is_looked_through(migrated_url: str) -> None:
    """PostgreSQL writes a changed row anew, where there is room: perhaps where the sweep has been."""

    class Stopped(Exception): ...

    def stop(table: str, rows: int) -> None:
        if table == "posts":
            raise Stopped

    database = await open_database(migrated_url, RealClock())
    crawled = await Crawled(database).register()
    people = (user("1", handle="alice"), user("2", handle="bob"))
    texts = [("with @alice " if n == 1_900 else "") + str(n) * 200 for n in range(1_000, 2_500)]
    await save(crawled, Page(users=people, posts=tuple(post(str(n), "2", text=text) for n, text in enumerate(texts))))
    forgetter = Forgetter(database, RealClock())
    await forgetter.erase(Wish(who="a", why="b", users=frozenset({await number(crawled, "x:1")})))
    connection = await asyncpg.connect(migrated_url)
    await connection.execute("delete from posts where post_no <= (select min(post_no) + 100 from posts)")
    await connection.execute("vacuum posts")
    with pytest.raises(Stopped):
        await forgetter.sweep(stop)
    moved = await connection.fetchval("update posts set seen_at = seen_at + 1 where text like '%@alice%' returning ctid::text")
    assert int(moved.strip("()").partition(",")[0]) < 64
    await connection.close()
    await forgetter.sweep()
    assert await found(crawled, ("alice",)) == set()
    await database.close()


async def test_a_row_without_a_number_that_moves_meanwhile_is_looked_through_by_its_key(migrated_url: str) -> None:
    class Stopped(Exception): ...

    def stop(table: str, rows: int) -> None:
        if table == "judgements":
            raise Stopped

    database = await open_database(migrated_url, RealClock())
    crawled = await Crawled(database).register()
    await save(crawled, Page(users=(user("1", handle="alice"),)))
    rows = [(f"x:{n:05d}", "near @alice" if n == 3_500 else "words " * 40) for n in range(4_000)]
    async with database.transaction() as tx:
        insert = "insert into judgements (judge, version, subject, id, value, reason, strength, confidence, evidence, at, call) "
        await tx.execute_many(f"{insert} values ('place', '1', 'user', ?, 'Rome', 'said', 1, 1.0, ?, 0, 1)", rows)
    forgetter = Forgetter(database, RealClock())
    await forgetter.erase(Wish(who="a", why="b", users=frozenset({await number(crawled, "x:1")})))
    connection = await asyncpg.connect(migrated_url)
    await connection.execute("delete from judgements where id < 'x:00100'")
    await connection.execute("vacuum judgements")
    with pytest.raises(Stopped):
        await forgetter.sweep(stop)
    longer = "evidence || ' ' || (select string_agg(md5(n::text), '') from generate_series(1, 40) n)"
    moved = await connection.fetchval(f"update judgements set evidence = {longer} where id = 'x:03500' returning ctid::text")
    assert int(moved.strip("()").partition(",")[0]) < 30
    await connection.close()
    await forgetter.sweep()
    assert await found(crawled, ("alice",)) == set()
    assert await crawled.count("judgements") == 3_900
    await database.close()


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("with \uff20alice", "with [forgotten]"),
        ("@alice-san", "[forgotten]-san"),
        ("@alice.", "[forgotten]."),
        ("@alice@b.c", None),
    ],
)
async def test_a_handle_on_x_ends_where_x_says_and_may_have_a_wide_sign(crawled: Crawled, written: str, left: str | None) -> None:
    page = Page(users=(user("1", handle="alice"), user("2", handle="bob")), posts=(post("201", "2", text=written),))
    await save(crawled, page)
    await forget(crawled, "x:1")
    await save(crawled, Page(posts=(post("202", "2", text=written),)))
    assert {row["text"] for row in await crawled.rows("select text from posts")} == {left or written}


async def test_to_forget_again_changes_and_records_nothing(crawled: Crawled) -> None:
    await save(crawled, sky_page(), ALICE, service=SKY)
    await forget(crawled, ALICE)
    await forget(crawled, names=frozenset({f"user {ALICE}"}))
    assert len(await tx_requests(crawled)) == 1


async def test_every_column_is_looked_through_or_cannot_name_anybody(crawled: Crawled) -> None:
    said = {(place.table, column) for place in SEARCHED_TABLES for column in place.columns}
    said |= {(table, column) for tables in ELSEWHERE.values() for table, names in tables.items() for column in names}
    assert sorted(await columns(crawled) - said) == []
    assert sorted(said - await columns(crawled)) == []


async def test_every_table_that_names_people_or_posts_by_number_is_erased(crawled: Crawled) -> None:
    sql = EraseStatements(crawled.database)
    statements = " ".join((*sql.of_users, *sql.of_posts, *sql.relations, *sql.of_lists))
    rows = await crawled.rows(_COLUMNS[crawled.database.dialect])
    numbered = {row["t"] for row in rows if numbered_by(row["t"], row["c"]) is not None}
    assert sorted(table for table in numbered - COUNTED_ANEW if f"delete from {table} " not in statements) == []
    assert numbered >= COUNTED_ANEW
