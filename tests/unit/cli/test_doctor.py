from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bowerbird import cli
from bowerbird.cli.checks.machine import (
    OK,
    PROBLEM,
    WARNING,
    check_clock,
    check_python,
    check_space,
    check_sqlite,
    check_vault,
    check_writing,
)
from bowerbird.cli.checks.reach import check_database, network_checks
from bowerbird.clock import run_virtual
from bowerbird.limits.vault import FileVault
from bowerbird.model import Service
from bowerbird.ports import Clock

GIGABYTE = 1024**3


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path))
    return tmp_path


def answering(status: int, headers: dict[str, str] | None = None) -> TestServer:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status, headers=headers)

    application = web.Application()
    application.router.add_get("/", answer)
    return TestServer(application)


def service(base: str) -> Service:
    return Service(name="s", provider="mastodon", base=base)


def test_a_sound_machine_gets_0_and_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["doctor", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["ok"] is True
    assert {check["name"] for check in shown["checks"]} >= {"Python", "SQLite", "disk space", "vault", "clock", "data folder"}


def test_a_damaged_vault_gets_1_and_says_what_to_do(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "config").mkdir()
    (home / "config" / "vault").write_text("rubbish")
    assert cli.run(["doctor", "--json"]) == 1
    (vault,) = [each for each in json.loads(capsys.readouterr().out)["checks"] if each["verdict"] == PROBLEM]
    assert vault["name"] == "vault"
    assert str(home / "config" / "vault") in vault["found"]
    assert cli.run(["doctor"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert f"→ {vault['advice']}" in shown
    assert re.search(r"\b1 problem\b", shown)


def test_a_crawl_file_that_is_wrong_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["doctor", str(tmp_path / "missing.toml")]) == 2
    assert "missing.toml" in capsys.readouterr().err


def test_what_is_wrong_in_a_crawl_file_is_one_problem_among_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "crawl.toml").write_text('flow = "timelines"\nseeds = ["1"]\nnonsense = 3\n')
    assert cli.run(["doctor", str(tmp_path / "crawl.toml")]) == 1
    shown = capsys.readouterr().out
    assert "crawl.toml:3: " in shown
    assert "✓ clock" in shown
    assert re.search(r"\b1 problem\b", shown)


def test_seeds_that_are_no_text_are_one_problem_among_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "seeds.txt").write_bytes(b"1\n@caf\xe9\n")
    (tmp_path / "crawl.toml").write_text(
        'flow = "timelines"\nseeds.file = "seeds.txt"\n[service]\nprovider = "mastodon"\nbase = "http://127.0.0.1:9"\n'
    )
    assert cli.run(["doctor", str(tmp_path / "crawl.toml"), "--json"]) == 1
    problems = [each for each in json.loads(capsys.readouterr().out)["checks"] if each["verdict"] == "problem"]
    assert "seeds.txt:2: '@caf\ufffd'" in next(each["found"] for each in problems if each["name"] == "seeds")
    assert any(each["name"].startswith("server") for each in problems), "that nobody answers is a problem of its own"
    assert not any("bowerbird doctor" in each["advice"] for each in problems), "who reads this has just run it"


def test_the_services_of_a_crawl_file_are_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text(
        'flow = "timelines"\nseeds = ["1"]\n[service]\nprovider = "mastodon"\nbase = "http://127.0.0.1:9"\nname = "here"\n'
    )
    assert cli.run(["doctor", str(file), "--json"]) == 1
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["service here"]["verdict"] == PROBLEM
    assert "http://127.0.0.1:9" in checks["service here"]["found"]


LISTENING = """
flow = "listen"
[service]
provider = "PROVIDER"
base = "http://127.0.0.1:9"
[[streams]]
STREAM
"""


def doctored(file: Path, provider: str, stream: str, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    file.write_text(LISTENING.replace("PROVIDER", provider).replace("STREAM", stream))
    assert cli.run(["doctor", str(file), "--json"]) == 1
    return {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}


def test_the_streams_of_a_crawl_file_are_looked_at_and_their_hosts_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = 'channel = "jetstream"\nbase = "ws://127.0.0.1:10"\nname = "ears"'
    checks = doctored(tmp_path / "crawl.toml", "bluesky", stream, capsys)
    assert all(value in checks["stream ears"]["found"] for value in ("jetstream", "bluesky", "http://127.0.0.1:10"))
    assert checks["host of stream ears"]["verdict"] == PROBLEM
    assert "http://127.0.0.1:10" in checks["host of stream ears"]["found"]
    assert "provider=bluesky)" in checks["contact"]["found"]


def test_a_stream_that_nobody_in_the_vault_may_open_is_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checks = doctored(tmp_path / "crawl.toml", "x", 'channel = "filter"\nrules = ["cats"]', capsys)
    assert checks["stream filter"]["verdict"] == PROBLEM
    assert "--provider x --kind app" in checks["stream filter"]["advice"]
    assert "host of stream filter" not in checks


async def test_a_service_is_told_which_provider_asks_it() -> None:
    async def answer(request: web.Request) -> web.Response:
        agents.append(request.headers["User-Agent"])
        return web.Response()

    agents: list[str] = []
    application = web.Application()
    application.router.add_get("/", answer)
    async with TestServer(application) as server:
        await network_checks({"s": service(str(server.make_url("")))}, None, "bowerbird (provider={provider})")
    assert agents == ["bowerbird (provider=mastodon)"]


def test_an_old_python_is_a_problem() -> None:
    assert check_python((3, 10, 9)).verdict == PROBLEM
    assert check_python((3, 14, 0)).verdict == OK


def test_the_sqlite_in_use_is_a_safe_one() -> None:
    assert check_sqlite().verdict == OK


@pytest.mark.parametrize(("free", "verdict"), [(50 * GIGABYTE, OK), (GIGABYTE, WARNING), (1000, PROBLEM)])
def test_little_space_is_a_warning_and_none_a_problem(tmp_path: Path, free: int, verdict: str) -> None:
    assert check_space(tmp_path / "not" / "yet", free_at=lambda _: free).verdict == verdict


def test_the_disk_of_the_store_is_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    stream = 'channel = "jetstream"\nbase = "ws://127.0.0.1:10"'
    checks = doctored(tmp_path / "crawl.toml", "bluesky", stream, capsys)
    assert str(tmp_path) in checks["disk of the store"]["found"]
    assert checks["folder of the store"]["verdict"] == OK


def test_a_folder_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check = check_writing("data folder", tmp_path / "file")
    assert check.verdict == PROBLEM
    assert "BOWERBIRD_DATA_FOLDER" in check.advice
    assert check_writing("data folder", tmp_path / "new").verdict == OK


def test_a_vault_that_others_can_read_is_a_warning(tmp_path: Path) -> None:
    vault = FileVault(tmp_path / "vault")
    vault.reseal(None)
    assert check_vault(vault).verdict == OK
    vault.path.chmod(0o644)
    assert "chmod 600" in check_vault(vault).advice


@pytest.mark.parametrize(("year", "verdict"), [(1970, PROBLEM), (2027, OK), (2200, PROBLEM)])
def test_a_clock_that_cannot_be_right_is_a_problem(year: int, verdict: str) -> None:
    async def judge(clock: Clock) -> str:
        return check_clock(clock).verdict

    assert run_virtual(judge, start=datetime(year, 1, 1, tzinfo=UTC)) == verdict


@pytest.mark.parametrize(
    ("status", "headers", "verdict"),
    [
        (200, None, OK),
        (404, None, OK),
        (503, None, WARNING),
        (200, {"Date": "Thu, 01 Jan 1970 00:00:00 GMT"}, WARNING),
        (200, {"Date": "?"}, OK),
    ],
)
async def test_a_service_is_judged_by_its_answer(status: int, headers: dict[str, str] | None, verdict: str) -> None:
    async with answering(status, headers) as server:
        [check] = await network_checks({"service s": service(str(server.make_url("")))}, None, "bowerbird/test")
    assert check.verdict == verdict


async def test_a_database_that_answers_is_ok(database_url: str) -> None:
    assert (await check_database(database_url)).verdict == OK


async def test_a_database_that_does_not_is_a_problem_without_its_password() -> None:
    check = await check_database("postgresql://ada:hush@127.0.0.1:9/x")
    assert check.verdict == PROBLEM
    assert "hush" not in check.found + check.advice
