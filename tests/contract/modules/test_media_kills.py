"""A process that fetches media and is killed with SIGKILL again and again: in the end every file is there, and whole."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import Process, create_subprocess_exec
from collections import Counter
from hashlib import sha256
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestServer
from store_pages import TIMELINE, Crawled, post, user

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.model import Media, Page
from bowerbird.modules.media.collector import AT_ONCE
from bowerbird.ports import Database

FILES, KILLS = 60, 4
CHILD = """
import asyncio, sys
from datetime import timedelta
from bowerbird.clock import RealClock
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.db import open_database
from bowerbird.modules.media import Collector, MediaPlan
from bowerbird.transport.media import HttpMedia

async def main(store, folder):
    clock = RealClock()
    database = await open_database(store, clock)
    async with database.transaction() as tx:
        worker = await registry.enrol_worker(tx, "media", clock.now())
        await registry.end_workers(tx, await registry.dead_workers(tx, worker, clock.now()), clock.now())
    media = HttpMedia("test", allows_private=True)
    claims = WorkerClaims(lambda: worker)
    collector = Collector(database, clock, media, MediaPlan(folder=folder, allows_private=True), claims)
    running = asyncio.create_task(collector.run())
    while await left(database):
        await clock.sleep_until(clock.now() + timedelta(milliseconds=50))
    collector.end()
    await running
    await media.close()
    await database.close()

async def left(database):
    async with database.reading() as tx:
        row = await tx.fetch_one("select count(*) as kept from media_files where state = 'kept'")
    return row["kept"] < FILES

asyncio.run(main(*sys.argv[1:]))
""".replace("FILES", str(FILES))


def body(name: str) -> bytes:
    return sha256(name.encode()).digest() * 2_000


class Host:
    """Gives pictures out in two halves, so that there is a middle to be killed in; counts those given whole."""

    def __init__(self) -> None:
        self.given: Counter[str] = Counter()
        self._changed = asyncio.Condition()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        response = web.StreamResponse(headers={"content-type": "image/jpeg", "content-length": str(len(body(name)))})
        await response.prepare(request)
        await response.write(body(name)[:30_000])
        await asyncio.sleep(0)
        await response.write(body(name)[30_000:])
        await response.write_eof()
        self.given[name] += 1
        async with self._changed:
            self._changed.notify_all()
        return response

    async def has_given(self, more: int) -> None:
        goal = self.given.total() + more
        async with self._changed, asyncio.timeout(240):
            await self._changed.wait_for(lambda: self.given.total() >= goal)


async def kept(database: Database) -> dict[str, str]:
    async with database.reading() as tx:
        rows = await tx.fetch("select id, sha256 from media_files where state = 'kept'")
    return {row["id"]: row["sha256"] for row in rows}


async def killed(process: Process) -> None:
    process.kill()
    await process.wait()


async def test_files_survive_kills_and_none_that_is_kept_is_fetched_again(tmp_path: Path) -> None:
    host, store, folder = Host(), str(tmp_path / "media.db"), tmp_path / "media"
    app = web.Application()
    app.router.add_get("/{name}", host.answer)
    async with TestServer(app) as server:
        database = await open_database(store, RealClock())
        await database.create_tables()
        names = [f"n{number}" for number in range(FILES)]
        media = tuple(Media(id=name, kind="photo", url=f"http://127.0.0.1:{server.port}/{name}") for name in names)
        written = tuple(post(str(number), media=media[number::10]) for number in range(10))
        await (await Crawled(database).register()).save(Page(users=(user("1"),), posts=written), TIMELINE, "1")
        for _ in range(KILLS):
            process = await create_subprocess_exec(sys.executable, "-c", CHILD, store, str(folder))
            before, given = await kept(database), Counter(host.given)
            try:
                await host.has_given(12)
            finally:
                await killed(process)
            assert before.items() <= (await kept(database)).items()
            assert all(host.given[name] == given[name] for name in before)
        process = await create_subprocess_exec(sys.executable, "-c", CHILD, store, str(folder))
        try:
            async with asyncio.timeout(240):
                assert await process.wait() == 0
        finally:
            if process.returncode is None:
                await killed(process)
        assert await kept(database) == {name: sha256(body(name)).hexdigest() for name in names}
        # A kill may fall between the last byte and the file's name, at most once for each download under way.
        assert host.given.total() <= FILES + KILLS * AT_ONCE
        await database.close()
    assert whole_files(folder) == sorted(sha256(body(name)).hexdigest() for name in names)


def whole_files(folder: Path) -> list[str]:
    return sorted(sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file())
