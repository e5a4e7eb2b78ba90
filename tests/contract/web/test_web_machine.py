"""What a page may reach of the machine and of the networks around it: no program, no file, no place in turn that is kept."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bowerbird.analysis.series import read_series
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.errors import UserError
from bowerbird.evaluate.web.file_attacks import REACHES
from bowerbird.limits.vault import FileVault
from bowerbird.steering.processes import MOST_CRAWLS, MOST_QUESTIONS, Processes
from bowerbird.web.answers.crowd import AT_ONCE
from bowerbird.web.pages.data.downloads import MOST_OF_ONE
from bowerbird.web.site import Site
from failures import page_error, raises_code
from web_site import CHEAP, Client

PASTED = 'flow = "timelines"\nseeds = ["@alice"]\n[service]\nprovider = "mastodon"\nbase = "https://m.example"\n'


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    file = tmp_path / "empty.db"
    database = await open_database(str(file), RealClock())
    await database.create_tables()
    entered = Client(Site(database, RealClock(), "store", store=str(file), vault=FileVault(tmp_path / "vault"), cost=CHEAP))
    await entered.enter()
    yield entered
    await database.close()


@pytest.mark.parametrize("text", REACHES)
async def test_a_pasted_file_runs_no_program_and_reaches_nothing_but_servers_of_networks(client: Client, text: str) -> None:
    checked = await client.post("/steering/new/check", {"name": "pasted", "text": text})
    made = await client.post("/steering/new/make", {"name": "pasted", "text": text, "start": "yes"})
    assert made.status == 400
    assert page_error(made).code == page_error(checked).code
    assert not list(client.site.store and Path(client.site.store).parent.glob("*-crawls/*.toml"))


async def test_people_are_told_by_ways_that_an_admin_put_into_the_vault(client: Client) -> None:
    text = f'{PASTED}[modules.notification]\nwebhook = "vault:chat"\nmail = ["a@b.example"]\nserver = "vault:mail"\n'
    checked = await client.post("/steering/new/check", {"name": "pasted", "text": text})
    assert 'class="message good"' in checked.text, checked.text
    assert "data-error" not in checked.text


async def test_the_host_of_a_database_brings_no_options(client: Client) -> None:
    form = {"name": "archive", "host": "h.example/db?sslkey=/etc/ssl/private/key.pem&x=", "database": "posts", "user": "ada"}
    assert (await client.post("/steering/credentials/database", form)).status == 400


async def test_nobody_is_looked_up_where_a_machine_is_told_its_secrets(client: Client) -> None:
    asked = {"q": "@alice", "provider": "mastodon", "base": "http://169.254.169.254"}
    assert (await client.post("/steering/people/look", asked)).status == 400


def asked(method: str, path: str, cookies: dict[str, str] | None = None) -> dict[str, Any]:
    """A request as the server hands it over."""
    cookie = "; ".join(f"{name}={value}" for name, value in (cookies or {}).items()).encode()
    headers = [(b"host", b"127.0.0.1"), (b"origin", b"http://127.0.0.1"), (b"content-length", b"100"), (b"cookie", cookie)]
    return {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "scheme": "http", "http_version": "1.1",
    }  # fmt: skip


async def nothing(*_: Any) -> Any:
    """Neither sends nor takes anything, for ever."""
    await asyncio.Event().wait()


async def ended(tasks: list[asyncio.Task[None]]) -> None:
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_strangers_who_send_slowly_keep_nobody_waiting(client: Client) -> None:
    strangers = [asyncio.create_task(client.app(asked("POST", "/login"), nothing, nothing)) for _ in range(AT_ONCE + 1)]
    async with asyncio.timeout(20):
        assert (await client.get("/help")).status == 200
    await ended(strangers)


async def test_people_who_do_not_read_their_downloads_keep_nobody_waiting_and_nothing_open(client: Client) -> None:
    begun = asyncio.Semaphore(0)

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            begun.release()
            await nothing()

    def idle(path: str) -> asyncio.Task[None]:
        came = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Any:
            return came.pop() if came else await nothing()

        return asyncio.create_task(client.app(asked("GET", path, client.cookies), receive, send))

    readers = [idle("/data/posts.csv") for _ in range(MOST_OF_ONE)]
    async with asyncio.timeout(20):
        for _ in readers:
            await begun.acquire()
        refused = await client.get("/data/users.csv")
        assert (refused.status, refused.headers["retry-after"]) == (429, "2")
        assert (await client.get("/help")).status == 200
        await ended(readers)
        assert (await client.get("/data/users.csv")).status == 200
        client.site.guard.patience = 0.05
        await idle("/data/posts.csv")


async def test_a_cell_that_is_longer_than_any_number_is_a_mistake_of_the_file() -> None:
    with raises_code(UserError, "invalid") as caught:
        read_series(b"2026-03-01,1\n2026-03-02," + b"9" * 200_000)
    assert re.search(r"\b2\b", caught.value.problem), "the line is named"


def test_only_so_many_crawls_are_started_from_a_browser(tmp_path: Path) -> None:
    processes, begun = Processes(), []
    try:
        for number in range(MOST_CRAWLS):
            begun.append(processes.crawl(f"crawl {number}", ["--help"], tmp_path / f"{number}.log"))
            os.kill(begun[-1], signal.SIGSTOP)
        with raises_code(UserError, "too_many"):
            processes.crawl("one more", ["--help"], tmp_path / "more.log")
        os.kill(processes.ask("a question", ["--help"], tmp_path / "question.log"), signal.SIGCONT)
    finally:
        for number, pid in enumerate(begun):
            os.kill(pid, signal.SIGCONT)
            processes.end(f"crawl {number}")
        processes.end("a question")


def test_only_a_few_plans_and_look_ups_are_under_way_at_once(tmp_path: Path) -> None:
    processes, begun = Processes(), []
    try:
        for number in range(MOST_QUESTIONS):
            begun.append(processes.ask(f"question {number}", ["--help"], tmp_path / f"{number}.log"))
            os.kill(begun[-1], signal.SIGSTOP)
        with raises_code(UserError, "too_many"):
            processes.ask("one more", ["--help"], tmp_path / "more.log")
    finally:
        for number, pid in enumerate(begun):
            os.kill(pid, signal.SIGCONT)
            processes.end(f"question {number}")
    processes.check_room()
