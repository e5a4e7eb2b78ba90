"""`crawl`, `status`, `pause`, `resume` and `stop` against a simulated service over real HTTP."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from command_errors import refused
from simulated_server import Server, running

from bowerbird import cli
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.simulated.faults import Faults
from failures import json_error
from snapshots import Snapshot

PROGRAM = [sys.executable, "-c", "from bowerbird.cli import main; main()"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


class Deafness(Faults, frozen=True, kw_only=True):
    """Calls are answered until so many were; those after them never are."""

    answered: int

    def at(self, serial: int, now: datetime) -> str | None:
        return "lost_after" if serial >= self.answered else None


@pytest.fixture
def deaf_server() -> Iterator[Server]:
    """Says what it is, and then never answers again."""
    with running(Deafness(answered=3)) as started:
        yield started


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def token(server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", next(iter(server.service.tokens)).value)
    assert cli.run(["credentials", "add", "mine", "--provider", "mastodon", "--server", server.base]) == 0
    capsys.readouterr()


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return values


def shown_crawl(file: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The only crawl in the JSON of `status`."""
    capsys.readouterr()
    assert cli.run(["status", str(file), "--json"]) == 0
    (crawl,) = result(capsys)["crawls"]
    assert isinstance(crawl, dict)
    return crawl


def told(verb: str, file: Path, state: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What a control says; returns when the crawl has followed, on a busy machine after the control has lost its patience."""
    capsys.readouterr()
    assert cli.run([verb, str(file), "--json"]) == 0
    said = result(capsys)
    assert said["is_followed"] == (said["state"] == state)
    found = said["state"]
    while found != state:
        assert cli.run(["status", str(file), "--json"]) == 0
        found = result(capsys)["crawls"][0]["state"]
    return said


class Child:
    """`bowerbird crawl FILE --json` as a process of its own."""

    def __init__(self, file: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [*PROGRAM, "crawl", str(file), "--json", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def wait_for(self, word: str) -> None:
        assert self.process.stderr is not None
        seen = []
        for line in self.process.stderr:
            seen.append(line)
            if re.search(word, line):
                return
        raise AssertionError(f"{word!r} never came: {seen}")

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=240)
        return self.process.returncode, out, err


@pytest.fixture
def children() -> Iterator[list[Child]]:
    started: list[Child] = []
    yield started
    for child in started:
        child.process.kill()
        child.process.communicate()


@pytest.mark.usefixtures("token")
def test_a_crawl_ends_when_it_was_told_to_and_goes_on_later(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = server.crawl_file(folder / "a.toml")
    assert cli.run(["crawl", str(file), "--calls", "4", "--quiet", "--json"]) == 0
    first = result(capsys)
    assert (first["state"], first["calls"] <= 4, first["users"] > 10) == ("finished", True, True)
    assert cli.run(["crawl", str(file), "--calls", "6", "--quiet", "--json"]) == 0
    second = result(capsys)
    assert second["calls"] == first["calls"] + second["run"]["calls"] <= 10
    assert second["posts"] > first["posts"]
    assert server.service.limiter.refused == 0


@pytest.mark.usefixtures("token")
def test_a_crawl_that_can_end_ends_and_says_how_to_look(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str], snapshot: Snapshot
) -> None:
    file = server.crawl_file(folder / "a.toml", flow="hydrate", seeds=3)
    file.write_text(file.read_text().replace('seeds = ["', f'seeds = ["{server.post_keys(1)[0]}", "'))
    assert cli.run(["crawl", "a.toml", "--quiet"]) == 0
    shown = capsys.readouterr().out
    (_, *accounts) = tomllib.loads(file.read_text())["seeds"]
    assert len(accounts) == 3
    assert all(account in shown for account in accounts), "none of them is a post"
    assert "bowerbird status a.toml" in shown
    assert "\x1b" not in shown
    snapshot("end_of_a_crawl", shown, numbers=False)
    crawl = shown_crawl(file, capsys)
    assert (crawl["state"], crawl["reason"]["code"]) == ("finished", "nothing_left")


@pytest.mark.usefixtures("token")
def test_a_short_crawl_also_fetches_the_pictures_of_its_last_posts(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = server.crawl_file(folder / "a.toml", seeds=5, more="media.private_addresses = true")
    assert cli.run(["crawl", str(file), "--calls", "4", "--quiet"]) == 0
    capsys.readouterr()
    assert cli.run(["status", str(file), "--json"]) == 0
    media = result(capsys)["media"]
    assert list(media) == ["kept"]
    assert sum(path.is_file() for path in (folder / "media").rglob("*")) == media["kept"]["value"] > 0


@pytest.mark.usefixtures("token")
def test_status_tells_what_is_there(server: Server, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = server.crawl_file(folder / "a.toml")
    cli.run(["crawl", str(file), "--calls", "6", "--quiet"])
    capsys.readouterr()
    assert cli.run(["status", str(folder / "a.db")]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("a (", "timelines", "6 calls", "sim", "account mine"))
    assert cli.run(["status", str(file), "--json"]) == 0
    values = result(capsys)
    assert values["stored"]["users_seen"]["value"] > 10
    assert values["pace"]["calls"] == values["crawls"][0]["calls"]
    assert values["size"] > 10_000
    assert values["processes"] == []
    assert (values["crawls"][0]["state"], values["crawls"][0]["reason"]["code"]) == ("finished", "limit_reached")


def test_a_wrong_token_is_refused_before_the_crawl_with_what_to_do(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", "wrong")
    cli.run(["credentials", "add", "mine", "--provider", "mastodon", "--server", server.base])
    before = server.service.calls
    file = server.crawl_file(folder / "a.toml")
    error = refused("crawl", file, "--quiet", code="credential_refused")
    assert all(value in error.problem for value in ("sim", "'mine'", "401 The access token is invalid"))
    assert "bowerbird credentials add mine --provider mastodon --replace" in error.advice
    assert server.service.calls - before == 2, "what the server is, and whether it takes the token"
    assert shown_crawl(file, capsys)["calls"] == 2
    assert cli.run(["status", str(folder / "a.db"), "--json"]) == 0
    assert [refusal["credential"] for refusal in result(capsys)["refusals"]] == ["mine"]


@pytest.mark.usefixtures("token")
def test_listening_to_nobody_fails_with_words_and_3(server: Server, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stream = '[[streams]]\nchannel = "public"\nbase = "ws://127.0.0.1:9"'
    file = server.crawl_file(folder / "a.toml", flow="listen", seeds=0, more=stream)
    assert cli.run(["crawl", str(file), "--for", "1s", "--quiet", "--json"]) == 2
    error = json_error(capsys.readouterr().err)
    assert error.code == "credential_of_other_server"
    bind = re.search(r"bowerbird (credentials bind .*)", error.advice)
    assert bind is not None
    assert cli.run(bind[1].split()) == 0, "the command that the refusal names"
    capsys.readouterr()
    assert cli.run(["crawl", str(file), "--for", "3s", "--quiet", "--json"]) == 3
    ended = result(capsys)
    assert ended["state"] == "failed"
    assert ended["reason"]["code"] == "stream_refused"
    assert "127.0.0.1:9" in ended["reason"]["problem"]


def test_a_service_out_of_reach_is_named_before_anything_is_made(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = server.crawl_file(folder / "a.toml")
    file.write_text(file.read_text().replace(server.base, "http://127.0.0.1:9"))
    assert "127.0.0.1:9" in refused("crawl", file, code="server_unreachable").problem
    assert not (folder / "a.db").exists()


def test_an_empty_seeds_file_is_refused(server: Server, folder: Path) -> None:
    (folder / "seeds.txt").write_text("\n")
    file = server.crawl_file(folder / "a.toml", seeds=1)
    lines = [line if not line.startswith("seeds") else 'seeds.file = "seeds.txt"' for line in file.read_text().splitlines()]
    file.write_text("\n".join(lines))
    refused("crawl", file, code="no_seeds")


@pytest.mark.usefixtures("token")
def test_seeds_that_nobody_understands_are_named_with_their_lines(server: Server, folder: Path) -> None:
    file = server.crawl_file(folder / "a.toml", flow="hydrate", seeds=3)
    file.write_text(file.read_text().replace("seeds = [", "seeds.file = 'ids.txt'\nseeds.list = ["))
    (folder / "ids.txt").write_text("123\n" + "".join(f"what? {number}\n" for number in range(7)))
    told = str(refused("crawl", "a.toml", code="bad_seeds"))
    assert [line for line in told.splitlines() if "ids.txt:2" in line and "'what? 0'" in line]
    assert told.count("ids.txt:") == 5
    assert "and 2 more" in told
    assert not (folder / "a.db").exists(), "a start that is refused leaves nothing behind"
    assert str(refused("flow", "check", "a.toml", code="bad_seeds")) == told, "one check for both"


@pytest.mark.usefixtures("token")
def test_bad_seeds_can_be_skipped_with_a_report_unless_there_are_no_others(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = server.crawl_file(folder / "a.toml", flow="hydrate", seeds=3)
    file.write_text(file.read_text().replace("seeds = [", "seeds.file = 'ids.txt'\nnothing = [").replace("nothing", "# n"))
    (folder / "ids.txt").write_text("123\nwhat? 1\n124\n")
    assert "--skip-bad" in str(refused("crawl", "a.toml", code="bad_seeds"))
    assert cli.run(["crawl", "a.toml", "--skip-bad"]) == 0, "that posts are gone is an answer"
    shown = capsys.readouterr().out
    assert "1 of 3 seeds" in shown
    assert [line for line in shown.splitlines() if "ids.txt:2" in line and "'what? 1'" in line]
    assert [line for line in shown.splitlines() if "2 seeds" in line and "123" in line and "124" in line]
    (folder / "ids.txt").write_text("what? 1\n")
    assert "--skip-bad" not in str(refused("crawl", "a.toml", "--skip-bad", code="bad_seeds"))


def test_a_service_that_needs_a_credential_says_so(server: Server, folder: Path) -> None:
    file = server.crawl_file(folder / "a.toml")
    file.write_text(file.read_text().replace('"mastodon"', '"twitter_v1"'))
    advice = refused("crawl", file, code="needs_credential").advice
    assert "bowerbird credentials add mine --provider twitter_v1" in advice


@pytest.mark.usefixtures("token")
def test_a_running_crawl_can_be_paused_resumed_and_stopped(
    server: Server, folder: Path, children: list[Child], capsys: pytest.CaptureFixture[str]
) -> None:
    file = server.crawl_file(folder / "a.toml")
    children.append(Child(file))
    children[0].wait_for('"state": "running"')
    assert "--join" in refused("crawl", file, code="already_running").advice
    for verb, is_changed in (("pause", True), ("pause", False), ("resume", True), ("resume", False)):
        capsys.readouterr()
        assert cli.run([verb, str(file), "--facet", "timeline", "--json"]) == 0
        assert result(capsys)["is_new"] is is_changed
    for verb, state in (("pause", "paused"), ("resume", "running"), ("stop", "stopped")):
        assert told(verb, file, state, capsys)["processes"] == 1
    code, out, _ = children[0].end()
    assert (code, json.loads(out)["reason"]["code"]) == (0, "stopped")


@pytest.mark.usefixtures("token")
def test_who_joins_a_paused_crawl_is_told_so_and_waits_with_the_others(
    server: Server, folder: Path, children: list[Child], capsys: pytest.CaptureFixture[str]
) -> None:
    file = server.crawl_file(folder / "a.toml")
    children.append(Child(file))
    children[0].wait_for('"state": "running"')
    assert cli.run(["pause", str(file)]) == 0
    children.append(Child(file, "--join"))
    children[1].wait_for("bowerbird resume")
    children[1].wait_for('"state": "paused"')
    capsys.readouterr()
    for verb, state in (("resume", "running"), ("stop", "stopped")):
        assert told(verb, file, state, capsys)["processes"] == 2
    ends = [child.end() for child in children]
    assert [code for code, _, _ in ends] == [0, 0]
    assert {json.loads(out)["reason"]["code"] for _, out, _ in ends} == {"stopped"}


def versions(folder: Path) -> list[int]:
    with closing(sqlite_module().connect(folder / "a.db")) as store:
        return [version for (version,) in store.execute("select version from plans order by version")]


@pytest.mark.usefixtures("token")
def test_a_changed_file_is_shown_and_applied_when_the_user_says_so(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = server.crawl_file(folder / "a.toml")
    run = ["crawl", str(file), "--calls", "2", "--quiet", "--json"]
    assert [cli.run(run), cli.run(run)] == [0, 0]
    assert versions(folder) == [1]
    file.write_text(file.read_text() + '\n[filters]\nlanguages = ["pt"]\n')
    capsys.readouterr()
    error = refused(*run[:2], code="plan_changed")
    assert [line for line in error.problem.splitlines() if "filters.languages" in line and "pt" in line]
    assert f"`bowerbird crawl {file} --apply`" in str(error)
    assert cli.run([*run, "--apply"]) == 0
    assert [line for line in capsys.readouterr().err.splitlines() if "filters.languages" in line and "pt" in line]
    assert cli.run(run) == 0
    assert versions(folder) == [1, 2]


@pytest.mark.usefixtures("token")
def test_a_second_process_with_another_file_is_refused_and_if_it_insists_the_first_one_ends_in_order(
    server: Server, folder: Path, children: list[Child]
) -> None:
    file = server.crawl_file(folder / "a.toml")
    children.append(Child(file))
    children[0].wait_for('"state": "running"')
    children[0].wait_for('"posts": ')
    file.write_text(file.read_text() + '\n[filters]\nlanguages = ["pt"]\n')
    told = str(refused("crawl", file, "--join", code="plan_changed"))
    assert [line for line in told.splitlines() if "filters.languages" in line and "pt" in line]
    assert f"process {children[0].process.pid} on " in told
    assert children[0].process.poll() is None
    children.append(Child(file, "--join", "--apply"))
    code, out, _ = children[0].end()
    assert (code, json.loads(out)["state"]) == (0, "stopped")
    assert json.loads(out)["reason"]["code"] == "plan_outdated"
    assert cli.run(["stop", str(file)]) == 0
    assert (children[1].end()[0], versions(folder)) == (0, [1, 2])


@pytest.mark.usefixtures("token")
def test_ctrl_c_finishes_what_is_in_flight(server: Server, folder: Path, children: list[Child]) -> None:
    file = server.crawl_file(folder / "a.toml")
    children.append(Child(file))
    children[0].wait_for('"state": "running"')
    children[0].process.send_signal(signal.SIGINT)
    code, out, err = children[0].end()
    last = json.loads(out)
    assert (code, last["was_interrupted"], last["state"]) == (130, True, "stopped")
    assert "Ctrl-C" in err
    assert "Traceback" not in err


@pytest.mark.usefixtures("token")
def test_sigterm_ends_in_order_with_0(server: Server, folder: Path, children: list[Child]) -> None:
    children.append(Child(server.crawl_file(folder / "a.toml")))
    children[0].wait_for('"state": "running"')
    children[0].process.terminate()
    code, out, _ = children[0].end()
    assert (code, json.loads(out)["state"]) == (0, "stopped")


def test_a_second_ctrl_c_leaves_at_once_and_nothing_is_lost(
    deaf_server: Server, folder: Path, children: list[Child], capsys: pytest.CaptureFixture[str]
) -> None:
    file = deaf_server.crawl_file(folder / "a.toml", seeds=4)
    children.append(Child(file))
    children[0].wait_for('"state": "running"')
    while not deaf_server.service.met["lost_after"]:
        children[0].wait_for('"state": "running"')
    children[0].process.send_signal(signal.SIGINT)
    children[0].wait_for("Ctrl-C")
    children[0].process.send_signal(signal.SIGINT)
    code, _, err = children[0].end()
    assert (code, "Traceback" in err) == (130, False)
    capsys.readouterr()
    assert cli.run(["status", str(file), "--json"]) == 0
    status = result(capsys)
    assert (status["crawls"][0]["state"], status["processes"]) == ("running", []), "cut off"


def make_old(database: Path, file: Path) -> None:
    """Makes the crawl look as if it had called before."""
    import asyncio

    from bowerbird.app import open_store
    from bowerbird.clock import RealClock
    from bowerbird.crawl.life import registry
    from bowerbird.crawl.work.bookkeeping import count_call

    async def write() -> None:
        clock = RealClock()
        async with open_store(str(database), clock) as opened, opened.transaction() as tx:
            row = await registry.enrol_crawl(tx, file.stem, "{}", "{}", clock.now())
            await count_call(tx, row.crawl)

    asyncio.run(write())


def test_commands_say_when_no_process_runs(server: Server, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = server.crawl_file(folder / "crawl.toml")
    make_old(folder / "crawl.db", file)
    for verb, code in (("pause", 1), ("resume", 1), ("stop", 0)):
        assert cli.run([verb, "--json"]) == code
        assert result(capsys)["processes"] == 0
    error = refused("pause", "--crawl", "other", code="unknown_crawl")
    assert ("'other'" in error.problem, "crawl" in error.advice) == (True, True)


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ([], "ambiguous"),
        (["nowhere.db"], "database_not_found"),
        (["nowhere.toml"], "file_not_found"),
        (["text.db"], "database_failed"),
    ],
)
def test_a_place_without_a_crawl_is_named(place: list[str], code: str, folder: Path) -> None:
    (folder / "text.db").write_text("not a database, but long enough to look at " * 20)
    (folder / "other.db").touch()
    assert "".join(place) in refused("status", *place, code=code).problem
    assert (folder / "other.db").stat().st_size == 0


@pytest.mark.usefixtures("token")
def test_a_crawl_whose_database_is_deleted_ends_at_once_and_says_so(server: Server, folder: Path, children: list[Child]) -> None:
    child = Child(server.crawl_file(folder / "a.toml"))
    children.append(child)
    child.wait_for('"state": "running"')
    for file in folder.glob("*.db*"):
        file.unlink()
    code, _, shown = child.end()
    assert code != 0
    assert json_error(shown).code == "file_changed"
    assert "Traceback" not in shown
    assert not list(folder.glob("*.db"))
