"""A `base` that is no API of the network is found out before anything is believed of it, and mending it asks again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from command_errors import refused
from msgspec import structs
from simulated_server import Server, running
from small_fediverse import MASTODON_45, crawled, secretive, serving

from bowerbird import cli
from bowerbird.app import Outside, vocabulary
from bowerbird.cli.checks.services import Look, look
from bowerbird.clock import RealClock
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.transport import HttpTransport

Capsys = pytest.CaptureFixture[str]
DIALECTS = ("bluesky", "mastodon", "twitter_v1", "weibo", "x")


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(running(dialect=name)) for name in DIALECTS}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_file(base: str, provider: str = "mastodon", seed: str = "@alice") -> str:
    Path("a.toml").write_text(
        f'flow = "timelines"\nseeds = ["{seed}"]\nstop.calls = 5\n'
        f'[service]\nname = "sim"\nprovider = "{provider}"\nbase = "{base}"\n'
    )
    return "a.toml"


@pytest.mark.parametrize("path", ["/@alice", "/about", "/users/alice", "/profile/a.example", "/api/v1", "/xrpc", "/2", "/u?x=1"])
@pytest.mark.parametrize("command", [["flow", "check"], ["crawl"], ["doctor"]])
def test_the_address_of_a_page_is_no_base(path: str, command: list[str], capsys: Capsys) -> None:
    assert cli.run([*command, write_file(f"https://server.example{path}")]) in (1, 2)
    said = capsys.readouterr()
    assert 'base = "https://server.example"' in f"{said.out} {said.err}"


def test_whatever_else_a_base_leads_to_is_no_api_of_the_network(servers: dict[str, Server], capsys: Capsys) -> None:
    root = servers["mastodon"].base
    file = write_file(f"{root}/garden")
    assert cli.run(["doctor", file, "--json"]) == 1
    checks = {each["found"]: each["advice"] for each in json.loads(capsys.readouterr().out)["checks"]}
    error = refused("crawl", file, code="wrong_server")
    assert f"{root}/garden" in error.problem
    assert f'base = "{root}"' in error.advice
    assert checks[error.problem] == error.advice
    assert not Path("a.db").exists()


async def looked(provider: str, base: str) -> Look:
    text = f'flow = "timelines"\nseeds = ["@a.example"]\n[service]\nprovider = "{provider}"\nbase = "{base}"\n'
    plan = parse_crawl(text, Path("a.toml"), vocabulary())
    clock = RealClock()
    transport = HttpTransport(clock, "bowerbird-test")
    try:
        return await look(plan.services[0], Outside(clock=clock, transport=transport, vault=TokenVault(provider, [])))
    finally:
        await transport.close()


@pytest.mark.parametrize("provider", DIALECTS)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_server_of_another_network_is_told_by_its_answers(
    provider: str, dialect: str, servers: dict[str, Server]
) -> None:
    found = await looked(provider, servers[dialect].base)
    if {provider, dialect} <= {"x", "twitter_v1"}:
        # Both are to be had at the same address.
        return
    # Without a credential these two refuse whatever they are asked.
    assert found.is_foreign is (provider != dialect and dialect not in ("x", "weibo")), found
    if found.is_foreign:
        assert f'provider = "{"x" if dialect == "twitter_v1" else dialect}"' in found.advice


def pages(status: int) -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status, text="<!doctype html><title>Hello</title>", content_type="text/html")

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    return application


@pytest.mark.parametrize("provider", DIALECTS)
@pytest.mark.parametrize(("status", "is_foreign"), [(200, True), (404, True), (403, False), (503, False)])
async def test_a_site_for_people_is_no_api_and_a_guard_says_nothing(provider: str, status: int, is_foreign: bool) -> None:
    async with TestServer(pages(status)) as server:
        found = await looked(provider, f"http://127.0.0.1:{server.port}")
    assert found.is_foreign is is_foreign
    assert ("https://" in found.advice) is is_foreign


async def test_a_server_that_does_not_say_what_it_is_is_still_one() -> None:
    async with serving(secretive(MASTODON_45)) as server:
        assert not (await looked("mastodon", server.base)).problem


PROFILES = 'flow.name = "who"\nflow.seeds = ["profile", "profiles"]\nflow.facets.profile = {}\nflow.facets.profiles = {}'


@pytest.mark.parametrize("was_right", [False, True])
async def test_who_was_not_found_at_an_address_that_never_answered_is_asked_for_again(
    tmp_path: Path, was_right: bool, database_url: str
) -> None:
    store = database_url if "://" in database_url else str(tmp_path / "a.db")
    async with serving(structs.replace(MASTODON_45, no_route=MASTODON_45.missing)) as server:
        home, server.absent = server.base, {"1", "2", "3"}
        seeds = ["1", "2", "3", *(["4"] if was_right else [])]
        if not was_right:
            server.base += "/garden"
        async with crawled(server, PROFILES, seeds, store=store) as first:
            assert await first.count("users where seen_at is not null") == was_right
            assert await first.count("unavailable") == await first.count("deletions") == 3
        # The same name, another address.
        server.base, server.absent = home.replace("127.0.0.1", "localhost"), set()
        async with crawled(server, PROFILES, seeds, store=store) as second:
            assert await second.count("users where seen_at is not null") == (1 if was_right else 3)
            assert await second.count("unavailable where until is null") == (3 if was_right else 0)
