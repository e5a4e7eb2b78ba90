"""`bowerbird init`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bowerbird import cli
from bowerbird.app import vocabulary
from bowerbird.errors import UserError
from bowerbird.flows.built_in import builtin_flows
from bowerbird.flows.files.crawl_file import read_crawl_file
from bowerbird.providers import PROVIDERS
from failures import command_error


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("flow", "provider"), sorted({(f, p) for f in builtin_flows() for p in PROVIDERS} - {("listen", "weibo")})
)
def test_what_it_writes_can_be_run(folder: Path, flow: str, provider: str) -> None:
    assert cli.run(["init", "mine.toml", "--flow", flow, "--provider", provider]) == 0
    plan = read_crawl_file(folder / "mine.toml", vocabulary())
    assert (plan.flow.name, plan.services[0].service.provider, plan.name) == (flow, provider, "mine")
    assert cli.run(["flow", "check", "mine.toml"]) == 0, "its seeds are such of the network"


def test_a_search_is_written_where_one_can_log_in(folder: Path) -> None:
    assert cli.run(["init", "--flow", "topic", "--provider", "bluesky"]) == 0
    assert 'base = "https://bsky.social"' in (folder / "crawl.toml").read_text()
    assert cli.run(["init", "posts.toml", "--flow", "hydrate", "--provider", "x"]) == 0
    assert '"1212092628029698048"' in (folder / "posts.toml").read_text(), "no id of another network"


def test_a_flow_that_only_listens_needs_a_network_that_speaks(folder: Path) -> None:
    error = command_error("init", "--flow", "listen", "--provider", "weibo", code="unsupported")
    assert "listen" in error.problem
    assert "weibo" in error.problem
    assert "bluesky, mastodon, twitter_v1, x" in error.advice
    assert not (folder / "crawl.toml").exists()


def test_without_a_name_it_is_crawl_toml(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["init", "--base", "https://example.social/"]) == 0
    assert read_crawl_file(folder / "crawl.toml", vocabulary()).services[0].service.base == "https://example.social"
    assert "bowerbird crawl crawl.toml" in capsys.readouterr().out


def test_the_next_steps_are_in_one_column_and_name_the_plan(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["init"]) == 0
    steps = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert len({line.index("$EDITOR" if "$EDITOR" in line else "bowerbird") for line in steps}) == 1
    assert any(line.endswith("bowerbird plan crawl.toml") for line in steps)


def test_only_a_crawl_that_can_end_is_said_to_end_by_itself(folder: Path) -> None:
    said = {}
    for flow in ("timelines", "topic", "listen", "hydrate", "cascades"):
        assert cli.run(["init", f"{flow}.toml", "--flow", flow]) == 0
        said[flow] = "by itself" in (folder / f"{flow}.toml").read_text()
    assert [flow for flow, is_said in said.items() if is_said] == ["hydrate", "cascades"]


def test_nothing_is_overwritten_unless_forced(folder: Path) -> None:
    (folder / "crawl.toml").write_text("precious")
    error = command_error("init", code="already_exists")
    assert (folder / "crawl.toml").read_text() == "precious"
    assert "crawl.toml" in error.problem
    assert "--force" in error.advice
    assert cli.run(["init", "--force"]) == 0
    assert "flow =" in (folder / "crawl.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["--flow", "timeline"], "unknown_flow", ("'timeline'", "'timelines'")),
        (["--provider", "friendster"], "unknown_provider", ("'friendster'", "bluesky, mastodon, twitter_v1")),
        (["--base", "ftp://x"], "invalid_address", ("'ftp://x'",)),
        (["no/such/folder.toml"], "file_unwritable", ("no/such/folder.toml",)),
    ],
)
def test_a_mistake_is_named(folder: Path, arguments: list[str], code: str, named: tuple[str, ...]) -> None:
    error = command_error("init", *arguments, code=code)
    assert isinstance(error, UserError)
    assert all(value in str(error) for value in named)
    assert list(folder.glob("*.toml")) == []


def test_a_machine_learns_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["init", "a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == "a.toml"


def test_what_costs_money_is_said_with_its_price_and_the_cap_stands_in_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["init", "--provider", "x", "--flow", "topic"]) == 0
    said = capsys.readouterr().out
    assert any(line.split()[-2:] == ["$0.005", "$5.00"] for line in said.splitlines())
    assert "$10.00" in said
    text = (folder / "crawl.toml").read_text()
    assert "\ndollars = 10 " in text
    assert "# [flow.facets.followers]\n# on = true" in text
    assert read_crawl_file(folder / "crawl.toml", vocabulary()).services[0].dollars == 10.0


def test_what_costs_nothing_has_no_cap(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["init", "--provider", "mastodon", "--flow", "topic"]) == 0
    assert "$" not in capsys.readouterr().out.replace("$EDITOR", "")
    assert "dollars" not in (folder / "crawl.toml").read_text()
