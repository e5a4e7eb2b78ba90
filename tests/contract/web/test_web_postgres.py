"""The dashboard of a store on a PostgreSQL server: crawls are started from it, and a server that dies comes back."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.evaluate.postgres import Server, run_postgres
from bowerbird.limits.vault import FileVault
from bowerbird.simulated.service import Setup, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.world import WorldSettings
from bowerbird.web.site import Site
from failures import page_error
from web_site import CHEAP, Client

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
PASSWORD = "p@ss/word"
_AT_MOST = 300


@pytest.fixture
async def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Client, Server]]:
    monkeypatch.setenv("BOWERBIRD_DATA_FOLDER", str(tmp_path / "data"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with run_postgres({"fsync": "off", "listen_addresses": "'127.0.0.1'", "port": str(port)}) as server:
        store = f"postgresql://postgres:p%40ss%2Fword@127.0.0.1:{port}/postgres"
        database = await open_database(store, RealClock())
        await database.create_tables()
        made = Client(Site(database, RealClock(), "store", store=store, vault=FileVault(tmp_path / "vault"), cost=CHEAP))
        await made.enter()
        yield made, server
        await database.close()


async def test_a_crawl_of_a_store_with_a_password_is_started_with_the_password_in_the_vault_alone(
    client: tuple[Client, Server], tmp_path: Path
) -> None:
    browser, clock = client[0], RealClock()
    world = WorldSettings(accounts=30, start=clock.now() - timedelta(days=2), longest_history=10, since=clock.now())
    service = simulate(Setup(dialect="mastodon", world=world))
    async with serve(service, clock) as base:
        someone = next(each for each in range(len(service.world)) if service.truth.is_collectable(each, clock.now()))
        form = {
            "name": "trial", "flow": "timelines", "provider": "mastodon", "base": base, "calls": "4", "start": "yes",
            "seeds": f"@{service.dialect.handle_of(someone, clock.now())}",
        }  # fmt: skip
        refused = await browser.post("/steering/new/make", form)
        assert (refused.status, page_error(refused).code) == (400, "insecure_address")
        port = browser.site.store.rpartition(":")[2].partition("/")[0]
        entry = {"name": "main", "host": "127.0.0.1", "port": port, "database": "postgres", "user": "postgres"}
        assert (await browser.post("/steering/credentials/database", {**entry, "password": PASSWORD})).status == 303
        started = await browser.post("/steering/new/make", form)
        assert started.status == 303, started.text
        page = (await browser.get(started.headers["location"])).text
        told = re.search(r'<p class="message[^"]*" role="status">[^<]*?\b(\d+)\b', page)
        assert told is not None, "the number of the process is shown"
        await asyncio.to_thread(psutil.Process(int(told[1])).wait, _AT_MOST)
    crawl = await browser.site.reader.crawl("trial")
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    said = "".join(path.read_text() for path in files)
    assert {path.parent.name for path in files} == {f"127-0-0-1-{port}-postgres"}
    assert 'store = "vault:main"' in said
    assert "p@ss" not in said
    assert "p%40ss" not in said
    assert crawl is not None, said
    assert crawl.calls >= 4


async def test_a_server_that_dies_under_open_pages_is_told_calmly_and_comes_back(client: tuple[Client, Server]) -> None:
    browser, server = client
    assert (await browser.get("/machine/statements")).status == 200
    await asyncio.to_thread(server.stop)
    for path in ("/", "/data/posts", "/machine/statements", "/steering"):
        away = await browser.get(path)
        assert (away.status, page_error(away).code) == (503, "database_busy"), path
    await asyncio.to_thread(server.again)
    for path in ("/", "/data/posts", "/machine/statements", "/steering"):
        assert (await browser.get(path)).status == 200, path
