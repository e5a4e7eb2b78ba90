"""What a server repeats of our secrets is never stored nor shown: real servers that echo everything they are sent."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path
from urllib.parse import quote

import pytest
from aiohttp import WSMsgType, web
from recorded import CLOCK, Handler, Scene, scene

from bowerbird import cli
from bowerbird.db import open_database
from bowerbird.evaluate.leaks import file_leaks
from bowerbird.flows.files.crawl_file import CrawlPlan
from marks import long

SECRETS = {
    "bluesky": {"identifier": "ada.example", "app_password": "abcd-efgh-ijkl-mnop"},
    "mastodon": {"access_token": "Zm9v/YmFy+YmF6=token_of_ours"},
    "twitter_v1": {
        "consumer_key": "consumer/key+of=ours",
        "consumer_secret": "consumer/secret+of=ours",
        "access_token": "12345-access/token+of=ours",
        "access_token_secret": "access/token/secret+of=ours",
    },
    "weibo": {"access_token": "2.00/token+of=weibo"},
    "x": {"bearer_token": "AAAAAAAAbearer%2Btokenofours%3D"},
}
STATUSES = (400, 401, 403, 404, 410, 422, 429, 500, 503, 200)
FORMS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: quote(text, safe=""),
    lambda text: b64encode(text.encode()).decode(),
    lambda text: json.dumps(text).replace("/", "\\/").replace("+", "\\u002b"),
)
STORES = ["sqlite", *long("postgresql")]
STREAMS = [("mastodon", "public"), ("mastodon", "public_events"), ("twitter_v1", "sample"), ("x", "sample")]


def told(request: web.Request, body: bytes) -> str:
    """Everything that shows who asks."""
    return " ".join((request.headers.get("Authorization", ""), body.decode(), request.path_qs))


def variants() -> Iterator[tuple[int, Callable[[str], str], str]]:
    """Every status with every spelling, as an error, as a page, as an item, as a header."""
    return cycle([(status, form, kind) for kind in ("error", "html", "item", "header") for form in FORMS for status in STATUSES])


def answered(status: int, text: str, kind: str) -> web.Response:
    headers = {"x-debug": text.replace("\n", " "), "location": f"/again?{quote(text)}"} if kind == "header" else {}
    if kind == "html":
        return web.Response(status=status, text=f"<html><h1>{text}</h1></html>", content_type="text/html", headers=headers)
    if kind == "item":
        item = {"id": text, "uid": text, "did": text, "username": text, "acct": text, "text": text, "content": text, "note": text}
        return web.json_response([item, {"data": [item], "feed": [item], "statuses": [item]}, item], status=status)
    error = {"error": text, "error_description": text, "message": text, "error_code": 21327, "title": text, "detail": text}
    error["errors"] = [{"code": 89, "message": text, "detail": text, "title": text}]
    return web.json_response(error, status=status, headers=headers)


def echoing() -> Handler:
    """Repeats what it is sent in another way each time; opens a session for anybody, and then repeats that."""
    ways, sessions = variants(), count()

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if request.path.endswith("createSession") and next(sessions) % 3 != 1:
            opened = {"accessJwt": "access/session+of=ours", "refreshJwt": "refresh/session+of=ours"}
            return web.json_response({**opened, "did": "did:plc:" + "a" * 24})
        status, form, kind = next(ways)
        return answered(status, form(told(request, body)), kind)

    return answer


def streaming() -> Handler:
    """Opens a stream and repeats in its frames, events, lines and its last words who opened it."""
    turns = count()

    async def answer(request: web.Request) -> web.StreamResponse:
        who, turn = told(request, await request.read()), next(turns)
        if "rules" in request.path:
            return (
                web.json_response({"errors": [{"title": who, "detail": who}]}, status=400) if turn % 2 else web.json_response({})
            )
        if turn % 3 == 2:
            return answered(401, who, "error")
        if request.headers.get("Upgrade"):
            return await _socket(request, who)
        response = web.StreamResponse(headers={"content-type": request.headers["accept"].split(",")[0]})
        await response.prepare(request)
        post = json.dumps({"id": who, "content": who, "text": who, "data": {"id": who, "text": who}})
        for text in (
            f"event: update\ndata: {post}\n\n",
            f"{post}\r\n",
            f'{{"disconnect": {{"code": 6, "reason": "{who}"}}}}\r\n',
        ):
            await response.write(text.encode())
        return response

    return answer


async def _socket(request: web.Request, who: str) -> web.StreamResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    post = json.dumps({"id": who, "content": who, "uri": who})
    for frame in ({"event": "update", "payload": post}, {"event": "update", "payload": who}, {"error": who, "status": 401}):
        await socket.send_str(json.dumps(frame))
    await socket.send_bytes(who.encode())
    await socket.close(code=4000, message=who.encode()[:120])
    async for message in socket:
        assert message.type is not WSMsgType.ERROR
    return socket


async def hidden(store: str) -> int:
    """How many calls and errors tell of something that was hidden."""
    database = await open_database(store, CLOCK)
    try:
        async with database.reading() as tx:
            rows = [*await tx.fetch("select message as words from errors"), *await tx.fetch("select detail as words from calls")]
        return sum("********" in (row["words"] or "") for row in rows)
    finally:
        await database.close()


async def shown(here: Scene, store: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the commands tell of the crawl."""
    capsys.readouterr()
    for more in ([], ["--json"]):
        await asyncio.to_thread(cli.run, ["status", store, *more])
    await asyncio.to_thread(cli.run, ["completeness", store, "--json"])
    found = capsys.readouterr()
    return found.out + found.err


async def check(here: Scene, store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert here.stored == []
    assert file_leaks(here.folder.glob("crawl.db*"), here.vault) == []
    await asyncio.to_thread((here.folder / "shown.txt").write_text, await shown(here, store, capsys), "utf-8")
    assert file_leaks([here.folder / "shown.txt"], here.vault) == []
    assert await hidden(store) > 0, "nothing was repeated, so nothing was proved"


async def repeatedly(here: Scene, store: str, plan: Callable[[], CrawlPlan]) -> None:
    """Runs a crawl twice, and on until the server has repeated something: on a busy machine a short one may not get there."""
    for number in range(10):
        await here.run(plan())
        if number and await hidden(store):
            return


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    return str(request.getfixturevalue("migrated_url")) if request.param == "postgresql" else str(tmp_path / "crawl.db")


@pytest.mark.parametrize("store", STORES, indirect=True)
@pytest.mark.parametrize("provider", sorted(SECRETS))
async def test_a_server_that_repeats_our_secrets_puts_them_nowhere(
    tmp_path: Path, provider: str, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with scene(tmp_path, store) as here:
        base = await here.answering("a", echoing())
        for number in range(6):
            # Several, for a refused one is not used again.
            values = {name: f"{value}{number}" for name, value in SECRETS[provider].items()}
            here.keep(f"mine{number}", provider, values, base, kind="app" if provider == "x" else "user")
        here.seeds["a"] = [f"did:plc:{letter * 24}" for letter in "abcdefgh"] if provider == "bluesky" else list("12345678")
        await repeatedly(here, store, lambda: here.plan(provider, "a", calls=40))
        await check(here, store, capsys)


@pytest.mark.parametrize("store", STORES, indirect=True)
@pytest.mark.parametrize(("provider", "channel"), STREAMS)
async def test_nor_does_a_stream(
    tmp_path: Path, provider: str, channel: str, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with scene(tmp_path, store) as here:
        base = await here.answering("a", streaming())
        here.keep("mine", provider, SECRETS[provider], base, kind="app" if provider == "x" else "user")
        await repeatedly(here, store, lambda: here.plan(provider, "a", "", f'[[streams]]\nchannel = "{channel}"', flow="listen"))
        await check(here, store, capsys)
