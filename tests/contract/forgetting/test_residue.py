"""What was deleted is not in the bytes any more: of the database, its log, backups, payloads and dictionaries."""

from __future__ import annotations

import asyncio
import json
import random
import re
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from residue_search import left_in
from store_pages import POSTS, TIMELINE, Crawled, following, post, user

from bowerbird import cli
from bowerbird.clock import RealClock, run_virtual
from bowerbird.db import open_database
from bowerbird.db.files.backup import back_up, restore
from bowerbird.db.files.private import SIDE_FILES
from bowerbird.db.files.rewriting import rewrite
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.errors import StoreError
from bowerbird.model import Broken, Gone, Media, Outcome, Page, PostKind, Subject
from bowerbird.ports import Clock, Database
from bowerbird.store.opening import open_store
from failures import raises_code

PEOPLE = 300
MINUTE = 61


def mark(n: int) -> str:
    """A word that only account n ever wrote."""
    return f"Mark{n:05d}kraM"


GONE = [mark(n) for n in range(PEOPLE) if n % 3 != 0]
LEFT = [mark(n) for n in range(PEOPLE) if n % 3 == 0]


def person(n: int, chance: random.Random) -> Page:
    """One account with all that can hang on it; its posts are passed on and quoted by account 0, who stays."""
    words = " ".join(f"{mark(n)} {chance.random()}" for _ in range(chance.choice((1, 4, 20, 150 if n % 9 == 0 else 2))))
    raw = json.dumps({"id": n, "text": words, "likes": n}).encode()
    profile = user(str(n), handle=f"{chance.random()}{mark(n)}", description=words, raw=raw)
    shown = Media(id=f"{chance.random()}{mark(n)}", kind="photo", url=f"https://{mark(n)}.example/1", description=words)
    own = [post(f"{n}{k}", str(n), text=words, tags=(f"{chance.random()}{mark(n)}",), media=(shown,), raw=raw) for k in range(3)]
    repost = post(f"{n}7", "0", kind=PostKind.REPOST, repost_of=f"x:{n}0", text=words, raw=raw)
    quote = post(f"{n}8", "0", kind=PostKind.QUOTE, quote_of=f"x:{n}0", text="look", raw=raw)
    passed = post(f"{n}9", "0", kind=PostKind.REPOST, repost_of=f"x:{n}8", text="look", raw=raw)
    broken = Broken(Subject.POST, b'{"user":%d,"text":"%s"}' % (n, mark(n).encode()), f"ValueError: '{mark(n)}'")
    return Page(users=(profile,), posts=(*own, repost, quote, passed), broken=(broken,), relations=following("0", str(n)))


async def live(where: str, clock: Clock) -> Crawled:
    """A store in which people wrote and changed what they wrote; then two thirds are gone, each in one of three ways."""
    database = await open_database(where, clock)
    await database.create_tables()
    crawled, chance = await Crawled(database).register(), random.Random(3)
    for n in range(PEOPLE):
        await crawled.save(person(n, chance), TIMELINE, str(n))
        if n > 10:
            await crawled.save(person(n - 10, chance), TIMELINE, str(n - 10))
    return crawled


async def die(crawled: Crawled) -> None:
    for n in (n for n in range(PEOPLE) if n % 3 == 1):
        await crawled.save(Page(gone=(Gone(Subject.USER, str(n), Outcome.SUSPENDED),)))
    for n in (n for n in range(PEOPLE) if n % 3 == 2):
        if n % 2:
            await crawled.save(Page(users=(user(str(n), opts_out=True),)))
        else:
            lost = [f"{n}{k}" for k in range(3)]
            await crawled.save(Page(gone=tuple(Gone(Subject.POST, key, Outcome.NOT_FOUND) for key in lost)), POSTS, *lost)
            await crawled.save(Page(gone=(Gone(Subject.USER, str(n), Outcome.NOT_FOUND),)))


async def bodies(crawled: Crawled) -> list[bytes]:
    return [bytes(row["body"]) for row in await crawled.rows("select body from dictionaries")]


def test_deleted_content_leaves_a_sqlite_file_its_log_and_its_backups(tmp_path: Path) -> None:
    place, backups = tmp_path / "crawl.db", tmp_path / "backups"
    backups.mkdir()

    async def work(clock: Clock) -> tuple[dict[str, list[str]], list[bytes]]:
        crawled = await live(str(place), clock)
        await die(crawled)
        await asyncio.sleep(MINUTE)
        await crawled.save(Page())
        await back_up(str(place), backups / "after.db", clock)
        used = await bodies(crawled)
        left = left_in([place, *(tmp_path / f"crawl.db{ending}" for ending in SIDE_FILES)], GONE, used)
        await crawled.database.close()
        return left, used

    left, used = run_virtual(work)
    assert len(used) == 1
    # What SQLite itself leaves between rows that it moved goes with the next rewriting; nothing else may be there.
    assert set(left) <= {"crawl.db"}
    assert len(left.get("crawl.db", ())) < len(GONE) / 10
    assert left_in(backups.iterdir(), GONE, used) == {}
    asyncio.run(rewrite(str(place), RealClock()))
    assert left_in(tmp_path.iterdir(), GONE, used) == {}
    assert len(left_in([place], LEFT, used)["crawl.db"]) == len(LEFT)
    assert {path.name for path in tmp_path.iterdir()} <= {"crawl.db", "backups"}


def test_what_a_killed_process_left_in_the_log_goes_with_the_next_write(tmp_path: Path) -> None:
    async def killed(clock: Clock) -> Crawled:
        crawled = await live(str(tmp_path / "crawl.db"), clock)
        await asyncio.sleep(MINUTE)
        await crawled.save(Page())
        await die(crawled)
        return crawled

    async def again(clock: Clock) -> None:
        database = await open_database(str(tmp_path / "crawl.db"), clock)
        async with database.transaction() as tx:
            await tx.execute("update residue set is_left = is_left")
        assert left_in([tmp_path / "crawl.db-wal"], GONE) == {}
        await database.close()

    crawled = run_virtual(killed)
    assert left_in([tmp_path / "crawl.db-wal"], GONE) != {}
    run_virtual(again)
    del crawled


@pytest.mark.long
async def test_deleted_content_leaves_the_files_of_postgresql(postgres_server: str, postgres_url: str) -> None:
    """Heap, indexes, TOAST and statistics by `rewrite`; the server's own log as docs/operations.md says."""
    data = Path(re.findall(r"host=([^&]+)", postgres_server)[0]) / "data"
    crawled = await live(postgres_url, RealClock())
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("analyze")
    await die(crawled)
    used = await bodies(crawled)
    await connection.execute("checkpoint")
    assert left_in(_files(data, "base"), GONE, used) != {}
    await rewrite(postgres_url, RealClock())
    await connection.execute("checkpoint")
    assert left_in(_files(data, "base"), GONE, used) == {}
    await connection.execute("alter system set wal_recycle = off")
    await connection.execute("select pg_reload_conf()")
    # The checkpointer hears of the setting a little later: a segment may have been taken for reuse before it did.
    for _ in range(10):
        await connection.execute("select pg_switch_wal()")
        await connection.execute("checkpoint")
        if not left_in(_files(data, "pg_wal"), GONE, used):
            break
    assert left_in(_files(data, "pg_wal"), GONE, used) == {}
    await connection.execute("alter system reset wal_recycle")
    await connection.execute("select pg_reload_conf()")
    await connection.close()
    assert await crawled.count("posts", "text is not null and deleted_at is null") > len(LEFT)
    await crawled.database.close()


def _files(data: Path, part: str) -> list[Path]:
    return [path for path in (data / part).rglob("*") if path.is_file()]


async def small(where: str) -> Crawled:
    database = await open_database(where, RealClock())
    await database.create_tables()
    crawled, chance = await Crawled(database).register(), random.Random(1)
    for n in range(12):
        await crawled.save(person(n, chance), TIMELINE, str(n))
    async with database.transaction() as tx:
        await tx.execute(
            "insert into crawls (name, flow, settings, state, wanted, created_at, updated_at) "
            "values ('c', '{}', '{}', 'stopped', 'stopped', 0, 0)"
        )
    return crawled


def scrubbed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = cli.run(["scrub", *arguments])
    captured = capsys.readouterr()
    return code, captured.err + captured.out


def test_an_older_backup_forgets_what_the_store_learned_to_be_deleted_since(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, old = str(tmp_path / "crawl.db"), tmp_path / "old.backup.db"

    async def work() -> None:
        crawled = await small(place)
        await back_up(place, old, RealClock())
        await crawled.save(Page(gone=(Gone(Subject.USER, "4", Outcome.SUSPENDED),)))
        await crawled.save(Page(gone=(Gone(Subject.POST, "50", Outcome.NOT_FOUND),)), POSTS, "50")
        await crawled.save(Page(users=(user("7", opts_out=True),)))
        await crawled.database.close()

    asyncio.run(work())
    assert len(left_in([old], [mark(4), mark(7)])["old.backup.db"]) == 2
    code, said = scrubbed(capsys, str(old), "--like", place, "--json")
    result = json.loads(said.splitlines()[-1])
    assert (code, result["users"], result["posts"]) == (0, 2, 1)
    assert left_in([old], [mark(4), mark(7)]) == {}
    asyncio.run(restore(old, str(tmp_path / "again.db"), RealClock()))
    connection = sqlite_module().connect(tmp_path / "again.db")
    assert connection.execute("select opts_out from users where id = 'x:7'").fetchone()[0] == 1
    assert connection.execute("select text, deleted_at is null from posts where id = 'x:50'").fetchone() == (None, 0)
    assert connection.execute("select count(*) from deletions").fetchone()[0] == 3
    connection.close()


def test_a_small_store_is_rewritten_by_itself_when_something_was_deleted(tmp_path: Path) -> None:
    place = tmp_path / "crawl.db"

    async def work(clock: Clock) -> None:
        crawled = await live(str(place), clock)
        await die(crawled)
        await crawled.database.close()

    run_virtual(work)
    assert left_in([place], GONE) != {}

    async def start() -> int:
        async with open_store(str(place), RealClock()) as database, database.reading() as tx:
            row = await tx.fetch_one("select is_left from residue")
        return int(row["is_left"]) if row else -1

    assert asyncio.run(start()) == 0
    assert left_in([place], GONE) == {}
    changed = place.stat().st_mtime_ns
    assert asyncio.run(start()) == 0
    assert place.stat().st_mtime_ns == changed


def test_a_store_that_somebody_uses_is_not_rewritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "crawl.db")

    async def work() -> None:
        await (await small(place)).database.close()

    asyncio.run(work())
    reader = sqlite_module().connect(place, isolation_level=None)
    reader.execute("begin")
    reader.execute("select count(*) from posts").fetchone()
    with raises_code(StoreError, "file_unwritable") as caught:
        asyncio.run(rewrite(place, RealClock()))
    assert place in caught.value.problem
    reader.close()
    assert [path.name for path in tmp_path.glob("*.unfinished*")] == []
    code, said = scrubbed(capsys, place, "--json")
    result = json.loads(said.splitlines()[-1])
    assert (code, result["bytes"] > 0) == (0, True)


def test_a_rewriting_that_was_killed_leaves_the_store_as_it_was_and_can_be_done_again(tmp_path: Path) -> None:
    place = str(tmp_path / "crawl.db")

    async def work() -> list[Any]:
        crawled = await small(place)
        rows = [tuple(row) for row in await crawled.rows("select * from posts order by post_no")]
        await crawled.database.close()
        return rows

    before = asyncio.run(work())
    # What a kill leaves: a copy that was not finished, in the way of the next.
    (tmp_path / "crawl.db.scrub.unfinished").write_bytes(b"half of it")
    asyncio.run(rewrite(place, RealClock()))
    connection = sqlite_module().connect(place)
    assert [tuple(row) for row in connection.execute("select * from posts order by post_no")] == before
    assert connection.execute("pragma integrity_check").fetchone()[0] == "ok"
    connection.close()
    assert [path.name for path in tmp_path.glob("*.unfinished*")] == []


async def is_marked(crawled: Crawled) -> bool:
    return bool((await crawled.row("select is_left from residue"))["is_left"])


async def test_a_store_is_rewritten_only_where_something_was_deleted(database: Database) -> None:
    crawled = await Crawled(database).register()
    out = Page(users=(user("1", opts_out=True),))
    await crawled.save(Page(users=(user("2"),), relations=following("2", "1")))
    await crawled.save(out)
    await crawled.save(Page(posts=(post("9", "1", text="words"),)), TIMELINE, "1")
    assert not await is_marked(crawled)
    await crawled.save(Page(users=(user("2", opts_out=True),)))
    assert await is_marked(crawled)


@pytest.mark.parametrize("what", ["post", "quarantined"])
async def test_the_store_of_a_stranger_who_opts_out_is_rewritten_where_something_of_theirs_was_kept(
    database: Database, what: str
) -> None:
    crawled = await Crawled(database).register()
    kept = (
        Page(posts=(post("9", "1", text="words"),))
        if what == "post"
        else Page(broken=(Broken(Subject.POST, b'{"user":"1"}', "no"),))
    )
    await crawled.save(kept, TIMELINE, "1")
    assert not await is_marked(crawled)
    await crawled.save(Page(users=(user("1", opts_out=True),)))
    assert await is_marked(crawled)
