"""What commands print is said in a researcher's words: no names of our own parts or outcomes, nothing of a library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from simulated_server import Server, running

from bowerbird import cli
from bowerbird.errors import Failure
from bowerbird.model import Outcome
from bowerbird.model.wording import outcome_words, retold, told
from bowerbird.simulated.faults import Faults

Capsys = pytest.CaptureFixture[str]
NAMES = [outcome.value for outcome in Outcome if "_" in outcome.value]
OURS = re.compile(rf"\b(facets?|rankers?|leased?|asleep|buckets?|lanes?|frontier|fenced|flying|{'|'.join(NAMES)})\b")
LIBRARIES = re.compile(r"ssl:|Connect call failed|aiohttp|asyncio|Errno|[A-Z]\w+Error\b")
QUOTED = re.compile(r"`[^`]*`|\[[\w.]+\]|FACET=NAME|--\w+")
"""What a user writes, in files and commands, has the names that files and commands have."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def add_token(server: Server, monkeypatch: pytest.MonkeyPatch, value: str = "") -> None:
    token = next(iter(server.service.tokens)).value
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", value or token)
    assert cli.run(["credentials", "add", "mine", "--provider", "mastodon", "--server", server.base]) == 0


def check(capsys: Capsys, *commands: str) -> str:
    """Runs commands, however they end, and looks at every word."""
    printed = ""
    for command in commands:
        capsys.readouterr()
        cli.run(command.split())
        captured = capsys.readouterr()
        for line in (captured.out + captured.err).splitlines():
            said = QUOTED.sub("", line)
            assert not OURS.search(said), f"{command}: {line}"
            assert not LIBRARIES.search(said), f"{command}: {line}"
        printed += captured.out + captured.err
    return printed


def test_a_crawl_and_all_that_is_told_of_it(server: Server, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    add_token(server, monkeypatch)
    server.crawl_file(Path("a.toml"), seeds=6, more="stop.calls = 12")
    server.crawl_file(Path("s.toml"), flow="sample", seeds=2, more="stop.calls = 12")
    views = [f"completeness a.toml --by {view}" for view in ("user", "query", "stream", "id", "day")]
    told_of_it = ["status", "gone", "dehydrate", "sample", "completeness", "places", "overlap", "history"]
    printed = check(
        capsys,
        *("flow check a.toml", "doctor a.toml", "plan a.toml --seeds 2 --no-variants", "crawl a.toml", "crawl s.toml"),
        *(f"{command} a.toml" for command in told_of_it),
        *views,
        *("status s.toml", "sample s.toml"),
    )
    assert "12 calls" in printed


@pytest.mark.parametrize("fault", ["bad_gateway", "html_200", "bad_token", "reset", "limited_bare"])
def test_a_crawl_of_a_server_in_trouble(fault: str, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    """Half of its answers are bad, so that some of the questions before a crawl are answered and some of its own are not."""
    with running(Faults(rates={fault: 0.5})) as server:
        add_token(server, monkeypatch)
        server.crawl_file(Path("a.toml"), seeds=3)
        check(capsys, *["crawl a.toml --for 0.5s"] * 3, "status a.toml", "completeness a.toml --by user", "doctor a.toml")


def test_nobody_there_and_nothing_to_ask(server: Server, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    file = server.crawl_file(Path("a.toml"), seeds=3)
    file.write_text(file.read_text().replace(server.base, "http://127.0.0.1:9"))
    printed = check(capsys, "crawl a.toml", "doctor a.toml", "status a.toml", "sample a.toml")
    assert "127.0.0.1:9" in printed


def test_lists_and_helps(capsys: Capsys) -> None:
    commands = [*("crawl", "plan", "status", "completeness", "doctor", "sample", "gone"), *("flow", "init", "credentials")]
    check(capsys, "flow list", *(f"flow show {name}" for name in ("timelines", "topic", "sample")), "--help")
    check(capsys, *(f"{name} --help" for name in commands))


def test_every_outcome_has_words() -> None:
    for outcome in Outcome:
        assert "_" not in outcome_words(outcome)
    assert told(Outcome.BAD_TOKEN, "401 Unauthorized") == f"{outcome_words(Outcome.BAD_TOKEN)} (401 Unauthorized)"
    assert retold(Failure("bad_request", "400 what?")) == f"{outcome_words(Outcome.BAD_REQUEST)} (400 what?)"
    assert retold(Failure("something_else", "3")) == "3"
