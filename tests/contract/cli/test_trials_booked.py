"""The trial of a token is charged and in the query log before it is sent: a server that never answers has its request by then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from bowerbird.app import Outside, open_crawl
from bowerbird.cli.checks.trials import check_tokens
from bowerbird.clock import RealClock
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.model import Credential, Secret
from bowerbird.transport import HttpTransport
from bowerbird.vocabulary import vocabulary

KINDS = {"bluesky": "user", "mastodon": "user", "twitter_v1": "app", "weibo": "user", "x": "app"}
SECRET = dict.fromkeys(("access_token", "bearer_token", "access_jwt"), "sesame")
TRIAL = b"verify_credentials"
"""On Mastodon a server is asked about itself first, and that is answered."""


class OneToken:
    """Implements `ports.Vault`."""

    def __init__(self, provider: str, base: str) -> None:
        self._credential = Credential(
            name="mine", provider=provider, kind=KINDS[provider], account="me", app="me", servers=(base,)
        )

    def credentials(self) -> list[Credential]:
        return [self._credential]

    def secret(self, name: str) -> Secret:
        return Secret(name=name, values=SECRET)

    def keep(self, secret: Secret) -> None:
        raise AssertionError("nothing opens a session")


@asynccontextmanager
async def silent_server(dialect: str) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A server that never answers a trial, and what it has heard of one."""
    heard = asyncio.Event()

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await reader.readuntil(b"\r\n\r\n"):
            if dialect != "mastodon" or TRIAL in request:
                heard.set()
                await reader.read()
                break
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async def bearing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await hear(reader, writer)

    server = await asyncio.start_server(bearing, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heard


@pytest.mark.parametrize("dialect", sorted(KINDS))
async def test_a_trial_is_charged_and_logged_before_it_is_sent(dialect: str, tmp_path: Path) -> None:
    clock = RealClock()
    transport = HttpTransport(clock, "test")
    async with silent_server(dialect) as (base, heard):
        text = f'flow = "timelines"\nseeds = ["12"]\n[service]\nname = "sim"\nprovider = "{dialect}"\nbase = "{base}"\n'
        text = text.replace('"12"', '"did:plc:kz5e2cisic3qa4hx5p7622eu"') if dialect == "bluesky" else text
        file = tmp_path / "a.toml"
        file.write_text(text)
        outside = Outside(clock=clock, transport=transport, vault=OneToken(dialect, base))
        async with open_crawl(parse_crawl(text, file, vocabulary()), outside) as crawl:
            trying = asyncio.create_task(check_tokens(crawl, outside))
            async with asyncio.timeout(120):
                await heard.wait()
            async with crawl.database.reading() as tx:
                calls = await tx.fetch("select state, credential, charges from calls where credential is not null")
                held = await tx.fetch("select bucket from ledgers where in_flight > 0")
            assert not trying.done()
            trying.cancel()
            with suppress(asyncio.CancelledError):
                await trying
    await transport.close()
    (call,) = calls
    assert (call["state"], call["credential"]) == ("flying", "mine")
    assert call["charges"]
    assert bool(held) is (dialect != "weibo"), "its limits hold it as a call under way; on Weibo it is free"
