"""The dashboard as commands open it: by itself, beside a crawl, and on the port of a coordinator; it never holds a crawl up."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import pytest
from command_errors import refused
from simulated_server import running

from bowerbird.cli.which import is_database
from bowerbird.settings import has_display
from web_site import Crawled

PROGRAM = [sys.executable, "-m", "bowerbird"]


class Command:
    """`bowerbird …` as a process whose lines are read as they come."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
        )

    def until(self, word: str) -> str:
        assert self.process.stdout is not None
        seen = []
        for line in self.process.stdout:
            seen.append(line)
            if word in line:
                return line.strip()
        raise AssertionError(f"{word!r} never came: {seen}")

    def end(self, with_signal: int | None = None) -> tuple[int, str]:
        if with_signal is not None:
            self.process.send_signal(with_signal)
        out, _ = self.process.communicate(timeout=120)
        return self.process.returncode, out


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def started() -> Iterator[list[Command]]:
    commands: list[Command] = []
    yield commands
    for command in commands:
        command.process.kill()
        command.process.communicate()


def browser() -> OpenerDirector:
    return build_opener(HTTPCookieProcessor(CookieJar()))


def address_in(line: str) -> str:
    return next(word for word in line.replace('"', " ").split() if word.startswith("http://"))


def test_a_store_is_shown_until_it_is_enough_and_each_address_lets_one_browser_in(
    home: Path, crawled: Crawled, started: list[Command]
) -> None:
    store = crawled.copy(home)
    started.append(Command("serve", str(store), "--port", "0"))
    address = address_in(started[0].until("/enter"))
    page = browser().open(address).read().decode()
    assert "<h1>Overview</h1>" in page
    assert "laboratory" in page
    other = address_in(started[0].until("/enter"))
    assert other != address
    assert "<h1>Overview</h1>" in browser().open(other).read().decode()
    code, _ = started[0].end(signal.SIGTERM)
    assert code == 0


@pytest.mark.long
def test_a_demo_is_shown_with_an_event_and_a_community_and_ends_as_without(home: Path, started: list[Command]) -> None:
    started.append(Command("demo", "--dashboard", "--no-open", "--port", "0", "--seconds", "300", "--json"))
    told = [started[0].until('"message"') for _ in range(3)]
    address = next(address_in(line) for line in told if "Dashboard:" in line)
    base, visitor = address.partition("/enter")[0], browser()
    visitor.open(address)
    page = visitor.open(f"{base}/crawls").read().decode()
    assert all(f'href="/crawls/{name}"' in page for name in ("demo", "event", "portugal")), "all three are there"
    assert "portugal-1" in visitor.open(f"{base}/steering/credentials").read().decode(), "the vault is the demo's own"
    code, out = started[0].end(signal.SIGINT)
    values = json.loads(out.splitlines()[-1])
    assert (code, values["refused"]) == (130, 0)
    assert values["calls"] > 0
    assert not (home / "home" / "config").exists(), "nobody's own settings and secrets are touched"
    folder = Path(values["database"]).parent
    assert [(folder / f"{name}.log").read_text() for name in ("event", "portugal")] == ["", ""]


@pytest.fixture
def taken_port() -> Iterator[str]:
    """One on which somebody else listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield str(taken.getsockname()[1])


def test_a_dashboard_that_cannot_start_is_told_and_the_crawl_goes_on(home: Path, taken_port: str, started: list[Command]) -> None:
    with running() as server:
        file = server.crawl_file(home / "a.toml", seeds=5)
        started.append(Command("crawl", str(file), "--dashboard", "--port", taken_port, "--json"))
        assert "dashboard" in started[0].until(f"127.0.0.1:{taken_port}")
        started[0].until('"state": "running"')
        code, out = started[0].end(signal.SIGTERM)
    assert code == 0
    assert json.loads(out.splitlines()[-1])["calls"] > 0


@pytest.mark.long
def test_a_demo_goes_on_without_its_dashboard(home: Path, taken_port: str, started: list[Command]) -> None:
    started.append(Command("demo", "--dashboard", "--no-open", "--port", taken_port, "--seconds", "120", "--json"))
    assert "dashboard" in started[0].until(f"127.0.0.1:{taken_port}")
    started[0].until('"state": "running"')
    code, out = started[0].end(signal.SIGINT)
    assert code == 130
    assert json.loads(out.splitlines()[-1])["calls"] > 0


def test_a_coordinator_answers_workers_and_browsers_on_one_port(home: Path, started: list[Command]) -> None:
    file = home / "a.toml"
    file.write_text(
        'flow = "timelines"\nseeds = ["1"]\n[service]\nname = "here"\nprovider = "mastodon"\nbase = "http://127.0.0.1:9"\n'
    )
    started.append(Command("serve", str(file), "--port", "0", "--json"))
    address = address_in(started[0].until("/enter"))
    base = address.partition("/enter")[0]
    visitor = browser()
    assert "<h1>Overview</h1>" in visitor.open(address).read().decode()
    assert json.loads(visitor.open(f"{base}/fleet/v1/openapi.json").read())["openapi"].startswith("3")
    started[0].end(signal.SIGTERM)


def test_what_is_no_store_is_refused_with_advice(home: Path) -> None:
    (home / "other.db").write_bytes(b"")
    assert "other.db" in refused("serve", home / "other.db", "--port", "0", code="not_a_store").problem
    assert "none.db" in refused("serve", "--store", home / "none.db", code="database_not_found").problem


def test_others_are_not_let_in_before_somebody_has_a_password(home: Path, crawled: Crawled) -> None:
    command = ["serve", crawled.copy(home), "--host", "0.0.0.0", "--plain", "--port", "0"]
    assert "bowerbird people add" in refused(*command, code="needs_password").advice


def test_a_database_is_told_from_a_crawl_and_a_screen_from_a_terminal(home: Path) -> None:
    (home / "a.db").touch()
    assert [is_database(each) for each in ("a.db", "vault:mine", "postgresql://h/d", "floods", "a.toml")] == [True] * 3 + [
        False
    ] * 2
    assert has_display({"DISPLAY": ":0"})
