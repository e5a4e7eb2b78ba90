"""Crawls that could bring nothing say so before they start, in `doctor` as in `crawl`, on every network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from command_errors import refused
from simulated_server import Server, running

from bowerbird import cli
from bowerbird.app import Outside, vocabulary
from bowerbird.cli.checks.services import look
from bowerbird.clock import RealClock
from bowerbird.crawl.access.surveys import survey
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.model import Answer, Request, Service
from bowerbird.providers import provider
from bowerbird.transport import HttpTransport
from failures import json_error
from snapshots import Snapshot

ASKED = {"mastodon": "coffee", "bluesky": "coffee", "x": "12", "twitter_v1": "12", "weibo": "12"}
FLOWS = {"mastodon": "topic", "bluesky": "topic"}
WRONG = {
    "mastodon": ("user", "access_token=wrong"),
    "bluesky": ("user", "identifier=user0\napp_password=wrong"),
    "x": ("app", "bearer_token=wrong"),
    "twitter_v1": ("app", "bearer_token=wrong"),
    "weibo": ("user", "access_token=wrong"),
}
Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(running(dialect=name)) for name in WRONG}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def crawl_file(server: Server, name: str, flow: str = "", seed: str = "") -> str:
    Path("a.toml").write_text(
        f'flow = "{flow or FLOWS.get(name, "timelines")}"\nseeds = ["{seed or ASKED[name]}"]\nstop.calls = 5\n'
        f'[service]\nname = "sim"\nprovider = "{name}"\nbase = "{server.base}"\n'
    )
    return "a.toml"


def add(name: str, server: Server, kind: str, secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for field in secret.split("\n"):
        key, _, value = field.partition("=")
        monkeypatch.setenv(f"BOWERBIRD_SECRET_{key.upper()}", value)
    assert cli.run(["credentials", "add", "mine", "--provider", name, "--kind", kind, "--server", server.base]) == 0


def doctored(file: str, capsys: Capsys) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit code of the doctor, and its findings that are no praise."""
    capsys.readouterr()
    code = cli.run(["doctor", file, "--json"])
    found = json.loads(capsys.readouterr().out)
    return code, {each["name"]: each for each in found["checks"] if each["verdict"] == "problem"}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_without_a_credential_that_is_needed_nothing_is_started(name: str, servers: dict[str, Server], capsys: Capsys) -> None:
    """Mastodon answers a search without a user with an empty list; Bluesky refuses it; the others answer nobody."""
    file = crawl_file(servers[name], name)
    code, problems = doctored(file, capsys)
    assert code == 1
    assert any(f"bowerbird credentials add mine --provider {name}" in each["advice"] for each in problems.values())
    assert f"bowerbird credentials add mine --provider {name}" in refused("crawl", file, code="needs_credential").advice
    assert not Path("a.db").exists()


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_token_is_found_out_with_one_call(
    name: str, servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    server = servers[name]
    add(name, server, *WRONG[name], monkeypatch)
    file = crawl_file(server, name, "timelines", "12" if name != "bluesky" else "@nobody.example")
    code, problems = doctored(file, capsys)
    assert (code, list(problems)) == (1, ["credential mine"])
    error = refused("crawl", file, "--yes", code="credential_refused")
    assert "'mine'" in error.problem
    assert (problems["credential mine"]["found"], problems["credential mine"]["advice"]) == (error.problem, error.advice)


def test_the_token_of_a_user_of_x_is_tried_with_a_call_that_costs_nothing(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """X bills what it returns; of a post that never was there is nothing to return."""
    server = servers["x"]
    add("x", server, "user", "access_token=wrong", monkeypatch)
    file = crawl_file(server, "x")
    _, problems = doctored(file, capsys)
    assert "(401 Unauthorized" in problems["credential mine"]["found"]
    assert cli.run(["credentials", "remove", "mine"]) == 0
    token = next(token.value for token in server.service.tokens if token.kind == "user")
    add("x", server, "user", f"access_token={token}", monkeypatch)
    assert cli.run(["crawl", file, "--yes", "--calls", "1", "--quiet"]) == 0, capsys.readouterr().err
    before = ledgers(capsys)
    code, problems = doctored(file, capsys)
    after = ledgers(capsys)
    assert (code, problems) == (0, {})
    assert {name: after[name] - before[name] for name in after if after[name] != before[name]} == {"sim/mine/posts": 1}
    capsys.readouterr()
    cli.run(["doctor", file])
    assert "✓ credential mine: " in capsys.readouterr().out


def test_a_token_of_another_kind_is_found_out(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """With the token of an application the search would stay empty, and say nothing."""
    server = servers["mastodon"]
    token = next(token.value for token in server.service.tokens if token.kind == "app")
    add("mastodon", server, "user", f"access_token={token}", monkeypatch)
    file = crawl_file(server, "mastodon")
    _, problems = doctored(file, capsys)
    assert "--kind app" in problems["credential mine"]["advice"]
    assert problems["credential mine"]["found"] == refused("crawl", file, code="credential_refused").problem


def test_a_trial_is_booked_like_any_other_call(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    server = servers["mastodon"]
    token = next(token.value for token in server.service.tokens if token.kind == "user")
    add("mastodon", server, "user", f"access_token={token}", monkeypatch)
    file = crawl_file(server, "mastodon")
    assert cli.run(["crawl", file, "--json", "--quiet"]) == 0
    ended = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert ended["calls"] == ended["run"]["calls"] == 5, "this run and all agree on the first run"
    spent = ledgers(capsys)
    assert spent["sim/mine/token"] == 4, "all but the question what the server is"
    assert doctored(file, capsys) == (0, {})
    then = ledgers(capsys)
    assert then["sim/mine/token"] == 5
    assert then["sim/address"] == spent["sim/address"] + 1, "what the server is asked about itself counts like any call"


def status(capsys: Capsys) -> dict[str, Any]:
    capsys.readouterr()
    assert cli.run(["status", "a.toml", "--json"]) == 0
    values: dict[str, Any] = json.loads(capsys.readouterr().out)
    return values


def ledgers(capsys: Capsys) -> dict[str, int]:
    capsys.readouterr()
    cli.run(["status", "a.toml", "--json"])
    return {each["bucket"]: each["spent"] for each in json.loads(capsys.readouterr().out)["ledgers"]}


def test_quotes_that_nobody_may_ask_without_a_token_do_not_hold_up_reposts(servers: dict[str, Server], capsys: Capsys) -> None:
    server = servers["mastodon"]
    file = crawl_file(server, "mastodon", "cascades", server.post_keys(1)[0])
    code, problems = doctored(file, capsys)
    assert (code, problems) == (0, {})
    assert cli.run(["crawl", file]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "sim: " in line and "quotes" in line]
    (crawl,) = status(capsys)["crawls"]
    assert (crawl["state"], crawl["reason"]["code"]) == ("finished", "nothing_left")


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ("timeline.requests = 3", "unknown_key"),
        ("'*'.nonsense.allowance = 3", "unknown_name"),
        ("together.allowance = 3", "missing_value"),
    ],
)
def test_what_a_crawl_refuses_the_check_of_its_file_refuses_too(
    limits: str, code: str, servers: dict[str, Server], capsys: Capsys
) -> None:
    file = crawl_file(servers["mastodon"], "mastodon")
    Path(file).write_text(Path(file).read_text() + f"[service.limits]\n{limits}\n")
    check, crawl = (refused(*command, code=code) for command in (["flow", "check", file], ["crawl", file]))
    assert (check.code, str(check)) == (crawl.code, str(crawl))
    exit_code, problems = doctored(file, capsys)
    assert (exit_code, list(problems)) == (1, ["crawl file"]), "for the doctor it is one problem among others"
    assert "a.toml:" in problems["crawl file"]["found"]
    assert problems["crawl file"]["found"] in str(check).replace("\n", " ")


def moving(to: str) -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=301, headers={"location": f"{to}{request.path}"})

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    return application


@pytest.mark.parametrize("name", sorted(WRONG))
async def test_an_address_that_leads_elsewhere_is_named_with_the_one_to_write(name: str) -> None:
    async with TestServer(moving("https://elsewhere.example")) as server:
        base = f"http://127.0.0.1:{server.port}"
        text = f'flow = "timelines"\nseeds = ["12"]\n[service]\nprovider = "{name}"\nbase = "{base}"\n'
        plan = parse_crawl(text.replace('"12"', '"@a.example"'), Path("a.toml"), vocabulary())
        clock = RealClock()
        transport = HttpTransport(clock, "bowerbird-test")
        found = await look(plan.services[0], Outside(clock=clock, transport=transport, vault=TokenVault(name, [])))
        await transport.close()
    assert found.moved == "https://elsewhere.example"
    assert 'base = "https://elsewhere.example"' in found.advice
    assert base in found.problem


class BrokenTransport:
    """Raises what nobody foresaw."""

    async def send(self, service: Service, request: Request) -> Answer:
        raise RuntimeError("nobody foresaw this")

    async def close(self) -> None:
        """Nothing."""


def test_whatever_breaks_while_a_server_is_asked_what_it_is_the_crawl_goes_on_without() -> None:
    service = Service(name="s", provider="mastodon", base="https://s.example")
    speaks = provider("mastodon")
    found = asyncio.run(survey(speaks, BrokenTransport(), service, RealClock()))
    assert not found.flavour.software
    assert "nobody foresaw this" in found.fault


def with_token(servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch) -> Server:
    token = next(token.value for token in servers["mastodon"].service.tokens if token.kind == "user")
    add("mastodon", servers["mastodon"], "user", f"access_token={token}", monkeypatch)
    return servers["mastodon"]


def without_amounts(summary: str) -> str:
    """A summary without the lines whose words depend on what was found."""
    return "\n".join(line for line in summary.splitlines() if not line.startswith(("  this run", "  stored")))


def test_what_waits_is_said_when_a_crawl_ends_as_told(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys, snapshot: Snapshot
) -> None:
    file = crawl_file(with_token(servers, monkeypatch), "mastodon", seed="coffee")
    capsys.readouterr()
    assert cli.run(["crawl", file, "--quiet"]) == 0
    snapshot("end_of_a_crawl_with_a_limit", without_amounts(capsys.readouterr().out), numbers=False)
    values = status(capsys)
    assert values["crawls"][0]["reason"]["code"] == "limit_reached"
    assert sum(lane["tasks"].get("waiting", {"value": 0})["value"] for lane in values["lanes"]) > 0
    assert cli.run(["status", file]) == 0
    shown = capsys.readouterr().out
    assert "5 calls" in shown
    for word in ("leased", "asleep", "bucket", "frontier", "survey"):
        assert word not in shown, word


def test_with_json_standard_error_holds_nothing_else(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    file = crawl_file(with_token(servers, monkeypatch), "mastodon")
    capsys.readouterr()
    for options in ([], ["--quiet"]):
        assert cli.run(["crawl", file, "--json", *options]) == 0
        captured = capsys.readouterr()
        assert all(json.loads(line) for line in captured.err.splitlines())
        assert len(captured.out.splitlines()) == 1
    assert cli.run(["crawl", "nowhere.toml", "--json"]) == 2
    assert json_error(capsys.readouterr().err).code == "file_not_found"


def test_crawl_of_a_database_is_refused(servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.run(["crawl", crawl_file(with_token(servers, monkeypatch), "mastodon")]) == 0
    assert "a.db" in refused("crawl", "a.db", code="invalid_file").problem


def test_a_search_that_finds_nothing_says_so_in_the_summary(
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys, snapshot: Snapshot
) -> None:
    with running(flavour="gotosocial") as server:
        token = next(token.value for token in server.service.tokens if token.kind == "user")
        add("mastodon", server, "user", f"access_token={token}", monkeypatch)
        capsys.readouterr()
        assert cli.run(["crawl", crawl_file(server, "mastodon"), "--for", "20s", "--quiet"]) == 0
        snapshot("end_of_a_search_that_found_nothing", without_amounts(capsys.readouterr().out), numbers=False)
        assert cli.run(["doctor", "a.toml", "--json"]) == 0
        checks = json.loads(capsys.readouterr().out)["checks"]
        warned = [each["found"] for each in checks if each["verdict"] == "warning" and "search" in each["found"]]
        assert cli.run(["completeness", "a.toml", "--by", "query", "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["query"]["lines"]
    whys = [part["why"] for part in line["missing"] if part["cause"] == "reach"]
    assert line["high"] is None, "nobody knows how much there is"
    assert ["gotosocial" in why and "search" in why for why in whys] == [True], whys
    assert warned


def test_a_stream_is_opened_as_somebody_whom_the_service_takes(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Not as the first in the vault, whatever it is worth; and the doctor tries them all."""
    server = servers["mastodon"]
    good = next(token.value for token in server.service.tokens if token.kind == "user")
    add("mastodon", server, "user", "access_token=wrong", monkeypatch)
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", good)
    assert cli.run(["credentials", "add", "good", "--provider", "mastodon", "--server", server.base]) == 0
    Path("a.toml").write_text(
        f'flow = "listen"\nstop.duration = "6s"\n[service]\nname = "sim"\nprovider = "mastodon"\nbase = "{server.base}"\n'
        '[[streams]]\nchannel = "public"\n'
    )
    _, problems = doctored("a.toml", capsys)
    assert "credential good" not in problems
    assert "(401" in problems["credential mine"]["found"]
    assert cli.run(["crawl", "a.toml"]) == 0, capsys.readouterr()
    capsys.readouterr()
    assert cli.run(["status", "a.toml", "--json"]) == 0
    (stream,) = json.loads(capsys.readouterr().out)["streams"]
    assert stream["connections"] == 1
