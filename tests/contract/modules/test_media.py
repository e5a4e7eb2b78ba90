"""Media of stored posts on disk: each id once, tried again after trouble, and gone when its posts are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from store_pages import POSTS, START, TIMELINE, Crawled, post, user

from bowerbird.clock import RealClock
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.model import Fetched, Gone, Media, Outcome, Page, Subject
from bowerbird.modules.media import Collector, MediaPlan
from bowerbird.modules.media.files import MediaFolder, StoredFile
from bowerbird.modules.media.rows import MOST_ATTEMPTS, RETRIES, MediaFileRows
from bowerbird.ports import Clock, Database, MediaTransport
from bowerbird.reports.status.health import read_health
from bowerbird.simulated.serving.pictures import Pictures, picture

HOST = "https://pbs.simulated.example/media"


class Calendar(RealClock):
    """A clock that is set by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.at = START

    def now(self) -> Any:
        return self.at


class Moody:
    """Fails as it is told, then gives what every other host gives."""

    def __init__(self, *failures: Fetched) -> None:
        self._failures = list(failures)
        self.asked = 0

    async def fetch(self, url: str, most: int, take: Callable[[bytes], object]) -> Fetched:
        self.asked += 1
        take(b"half")
        if self._failures:
            return self._failures.pop(0)
        take(b" whole")
        return Fetched(status=200, type="image/jpeg")

    async def close(self) -> None:
        """Nothing is held open."""


def image(name: str, kind: str = "photo") -> Media:
    return Media(id=f"x:{name}", kind=kind, url=f"{HOST}/{name}.jpg")


async def crawled(database: Database, **posts: tuple[Media, ...]) -> Crawled:
    store = await Crawled(database).register()
    async with database.transaction() as tx:
        for _ in range(2):
            await registry.enrol_worker(tx, "a", START)
    written = tuple(post(key.removeprefix("p"), media=media) for key, media in posts.items())
    await store.save(Page(users=(user("1"),), posts=written), TIMELINE, "1")
    return store


def claims(worker: int) -> WorkerClaims:
    return WorkerClaims(lambda: worker)


def collector(
    database: Database, clock: Clock, transport: MediaTransport, folder: Path, worker: int = 1, **plan: Any
) -> Collector:
    return Collector(database, clock, transport, MediaPlan(folder=str(folder), **plan), claims(worker))


async def fetch_due(database: Database, clock: Clock, one: Collector, worker: int = 1) -> int:
    """Takes in what is new and fetches what is due, one after the other; says how many."""
    await one.look()
    book = MediaFileRows(database, claims(worker), ("photo", "image"))
    async with database.transaction() as tx:
        wanted = await book.claim(tx, 100, clock.now())
    for each in wanted:
        await one.fetch(each)
    return len(wanted)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


async def test_a_picture_in_many_posts_is_fetched_once_and_known_by_its_hash(database: Database, tmp_path: Path) -> None:
    store, pictures, clock = (
        await crawled(database, p1=(image("a"),), p2=(image("a"), image("b"))),
        Pictures(RealClock()),
        Calendar(),
    )
    one = collector(database, clock, pictures, tmp_path)
    assert await fetch_due(database, clock, one) == 2
    await store.save(Page(posts=(post("3", media=(image("a"), image("c", "video"))),)), TIMELINE, "1")
    assert await fetch_due(database, clock, one) == 0
    rows = {row["id"]: row for row in await store.rows("select * from media_files where state = 'kept'")}
    assert set(rows) == {"x:a", "x:b"}
    body = picture(f"{HOST}/a.jpg")
    assert (tmp_path / rows["x:a"]["path"]).read_bytes() == body
    assert (rows["x:a"]["sha256"], rows["x:a"]["bytes"], rows["x:a"]["attempts"]) == (sha256(body).hexdigest(), len(body), 1)
    assert set(pictures.given.values()) == {1}


async def test_after_the_last_call_what_is_due_is_fetched_and_what_must_wait_is_left(database: Database, tmp_path: Path) -> None:
    store, clock = await crawled(database, p1=tuple(image(name) for name in "abcdefg")), Calendar()
    one = collector(database, clock, Moody(Fetched(status=503, failure="HTTP 503")), tmp_path)
    one.finish()
    async with asyncio.timeout(120):
        await one.run()
    states = await store.rows("select state, count(*) as files from media_files group by state order by state")
    assert [(row["state"], row["files"]) for row in states] == [("kept", 6), ("waiting", 1)]
    health = await read_health(database)
    assert health.media_trouble == "HTTP 503"


async def test_trouble_is_waited_out_and_hopeless_files_are_given_up(database: Database, tmp_path: Path) -> None:
    store, clock = await crawled(database, p1=(image("a"),)), Calendar()
    moody = Moody(
        Fetched(status=503, failure="HTTP 503"), Fetched(status=429, failure="HTTP 429", retry_after=timedelta(hours=1))
    )
    one = collector(database, clock, moody, tmp_path)
    waits = []
    for _ in range(3):
        assert await fetch_due(database, clock, one) == 1
        assert await fetch_due(database, clock, one) == 0
        row = await store.row("select state, attempts, error, due from media_files")
        waits.append((row["state"], row["attempts"], row["error"]))
        clock.at += timedelta(hours=1)
    assert waits == [("waiting", 1, "HTTP 503"), ("waiting", 2, "HTTP 429"), ("kept", 3, None)]
    (kept,) = files(tmp_path)
    assert (kept.suffix, kept.read_bytes()) == (".jpg", b"half whole")


async def test_what_can_never_be_had_is_not_asked_for_again(database: Database, tmp_path: Path) -> None:
    store, clock = await crawled(database, p1=(image("a"),)), Calendar()
    moody = Moody(Fetched(failure="larger than 5 bytes", is_final=True))
    assert await fetch_due(database, clock, collector(database, clock, moody, tmp_path)) == 1
    assert (await store.row("select state from media_files"))["state"] == "given_up"
    assert files(tmp_path) == []


async def test_tries_end_and_wait_longer_each_time(database: Database, tmp_path: Path) -> None:
    store, clock = await crawled(database, p1=(image("a"),)), Calendar()
    moody = Moody(*[Fetched(failure="no connection")] * 50)
    one = collector(database, clock, moody, tmp_path)
    for _ in range(MOST_ATTEMPTS + 3):
        await fetch_due(database, clock, one)
        clock.at += timedelta(hours=7)
    assert moody.asked == MOST_ATTEMPTS
    assert (await store.row("select state from media_files"))["state"] == "given_up"
    assert [RETRIES.wait(n) for n in (1, 2, 3, 30)] == [
        timedelta(minutes=1),
        timedelta(minutes=2),
        timedelta(minutes=4),
        timedelta(hours=6),
    ]


async def test_a_file_leaves_the_disk_with_the_last_post_that_shows_it(database: Database, tmp_path: Path) -> None:
    store, clock = await crawled(database, p1=(image("a"), image("b")), p2=(image("a"),)), Calendar()
    one = collector(database, clock, Pictures(RealClock()), tmp_path)
    await fetch_due(database, clock, one)
    assert len(files(tmp_path)) == 2
    await store.save(Page(gone=(Gone(Subject.POST, "1", Outcome.NOT_FOUND),)), POSTS, "1")
    await one.look()
    states = {row["id"]: row["state"] for row in await store.rows("select id, state from media_files")}
    assert states == {"x:a": "kept", "x:b": "removed"}
    assert len(files(tmp_path)) == 1
    await store.save(Page(gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED),)))
    await one.look()
    assert files(tmp_path) == []
    assert await store.count("media_files", "state = 'removed' and url = '' and sha256 is null and path is null") == 2


class Held(Pictures):
    """Begins a download, and ends it when it is let go."""

    def __init__(self) -> None:
        super().__init__(RealClock())
        self.is_begun, self.is_free = asyncio.Event(), asyncio.Event()

    async def fetch(self, url: str, most: int, take: Callable[[bytes], object]) -> Fetched:
        self.is_begun.set()
        await self.is_free.wait()
        return await super().fetch(url, most, take)


async def test_what_is_taken_back_during_the_download_is_not_kept(database: Database, tmp_path: Path) -> None:
    store, clock, pictures = await crawled(database, p1=(image("a"),)), Calendar(), Held()
    one = collector(database, clock, pictures, tmp_path)
    await one.look()
    book = MediaFileRows(database, claims(1), ("photo",))
    async with database.transaction() as tx:
        (wanted,) = await book.claim(tx, 1, clock.now())
    fetching = asyncio.create_task(one.fetch(wanted))
    await pictures.is_begun.wait()
    await store.save(Page(gone=(Gone(Subject.POST, "1", Outcome.NOT_FOUND),)), POSTS, "1")
    pictures.is_free.set()
    await fetching
    assert files(tmp_path) == []
    await one.look()
    assert (await store.row("select state from media_files"))["state"] == "removed"


@pytest.mark.parametrize("way", ["deleted", "rewritten"])
async def test_the_next_picture_after_one_that_went_is_looked_for(database: Database, way: str) -> None:
    store, book = await crawled(database, p10=(image("a"),)), MediaFileRows(database, claims(1), ("photo",))
    async with database.transaction() as tx:
        await book.take_in(tx, store.now)
    if way == "deleted":
        await store.save(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND),)), POSTS, "10")
        await store.save(Page(posts=(post("11", media=(image("b"),)),)), TIMELINE, "1")
    else:
        await store.save(Page(posts=(post("10", text="another", media=(image("b"),)),)), TIMELINE, "1")
    async with database.transaction() as tx:
        assert await book.has_news(tx)
        await book.take_in(tx, store.now)
    assert await store.count("media_files", "id = 'x:b'") == 1


async def test_what_was_forgotten_during_the_download_is_not_kept_as_another_file(database: Database) -> None:
    store, book = await crawled(database, p10=(image("a"),)), MediaFileRows(database, claims(1), ("photo",))
    async with database.transaction() as tx:
        await book.take_in(tx, store.now)
        (wanted,) = await book.claim(tx, 1, store.now)
    async with database.transaction() as tx:
        # As the next picture would be written on SQLite, which gives the last number again.
        await tx.execute("delete from media_files")
        await tx.execute(
            "insert into media_files (file, id, kind, url, state, due, found_at) "
            "values (?, 'x:b', 'photo', 'b', 'waiting', 1, 1)",
            wanted.file,
        )
        assert await book.is_unwanted(tx, wanted)
        assert not await book.keep(tx, wanted, StoredFile("a.jpg", "0" * 64, 3), "image/jpeg", store.now)
    assert await store.count("media_files", "id = 'x:b' and state = 'waiting' and path is null") == 1


async def test_two_workers_never_fetch_the_same_file_and_a_dead_one_is_succeeded(database: Database, tmp_path: Path) -> None:
    await crawled(database, p1=(image("a"), image("b")))
    clock = Calendar()
    await collector(database, clock, Moody(), tmp_path).look()
    first, second = (MediaFileRows(database, claims(worker), ("photo",)) for worker in (1, 2))
    async with database.transaction() as tx:
        mine = await first.claim(tx, 1, clock.now())
    async with database.transaction() as tx:
        others = await second.claim(tx, 9, clock.now())
    assert {each.media for each in mine + others} == {"x:a", "x:b"}
    async with database.transaction() as tx:
        await registry.end_workers(tx, [1], clock.now())
        again = await second.claim(tx, 9, clock.now())
    assert [each.media for each in again] == [each.media for each in mine]
    assert again[0].attempts == 2


async def test_a_whole_file_that_the_database_was_not_told_of_is_not_fetched_again(database: Database, tmp_path: Path) -> None:
    store, clock, pictures = await crawled(database, p1=(image("a"),)), Calendar(), Pictures(RealClock())
    one = collector(database, clock, pictures, tmp_path)
    await fetch_due(database, clock, one)
    async with database.transaction() as tx:
        await tx.execute("update media_files set state = 'waiting', path = null, sha256 = null, due = 0")
    await fetch_due(database, clock, one)
    row = await store.row("select state, sha256 from media_files")
    assert (row["state"], row["sha256"]) == ("kept", sha256(picture(f"{HOST}/a.jpg")).hexdigest())
    assert pictures.asked.total() == 1


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b\\c", "x" * 5000, "\ud800", ""])
async def test_no_id_chooses_a_path(name: str, tmp_path: Path) -> None:
    from bowerbird.modules.media.files import MediaFolder

    writing = MediaFolder(str(tmp_path / "media")).begin(name)
    writing.add(b"content")
    shelved = writing.keep("../x")
    assert Path(shelved.path).suffix == ".bin"
    assert files(tmp_path) == [tmp_path / "media" / shelved.path]


def test_of_two_that_fetch_the_same_file_each_writes_its_own_part_and_one_whole_file_stays(tmp_path: Path) -> None:
    shelf = MediaFolder(str(tmp_path))
    first = shelf.begin("a")
    first.add(b"half of")
    second = shelf.begin("a")
    second.add(b"the whole")
    first.add(b" another")
    kept = second.keep("image/png")
    assert kept is not None
    assert first.keep("image/png") == kept
    first.drop()
    second.drop()
    assert [path.read_bytes() for path in files(tmp_path)] == [b"the whole"]


def test_who_was_taken_for_dead_keeps_nothing_while_another_fetches(tmp_path: Path) -> None:
    shelf = MediaFolder(str(tmp_path))
    woken, other = shelf.begin("a"), shelf.begin("a")
    woken.add(b"old")
    assert woken.keep("image/png") is None
    woken.drop()
    other.add(b"new")
    assert other.keep("image/png") is not None
    assert [path.read_bytes() for path in files(tmp_path)] == [b"new"]
