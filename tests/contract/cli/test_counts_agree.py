"""Every screen and its JSON say the same numbers of one crawl, or one line says why not: on every network, over real HTTP."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from simulated_server import Server, running

from bowerbird import cli
from bowerbird.clock import RealClock
from marks import long

Capsys = pytest.CaptureFixture[str]
SECRETS = {
    "bluesky": "identifier={account}\napp_password={secret}",
    "mastodon": "access_token={value}",
    "weibo": "access_token={value}",
    "x": "bearer_token={value}",
    "twitter_v1": "bearer_token={value}",
}
SHY = {"bluesky": 1, "mastodon": 2}
"""How many of the seeds asked not to be collected, as these networks show it."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def add_credential(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    name = server.service.dialect.name
    kind = "app" if name in ("x", "twitter_v1") else "user"
    token = next(token for token in server.service.tokens if token.kind == kind)
    for field in SECRETS[name].format(account=token.account, secret=token.secret, value=token.value).split("\n"):
        key, _, value = field.partition("=")
        monkeypatch.setenv(f"BOWERBIRD_SECRET_{key.upper()}", value)
    assert cli.run(["credentials", "add", "mine", "--provider", name, "--kind", kind, "--server", server.base]) == 0


def write(server: Server, flow: str, seeds: list[str], more: str = "") -> None:
    dialect = server.service.dialect
    Path("a.toml").write_text(
        f'flow = "{flow}"\nseeds = {json.dumps(seeds)}\n{more}\n'
        f'[service]\nname = "sim"\nprovider = "{dialect.name}"\nbase = "{server.base}"\n'
    )


def some_seeds(server: Server) -> list[str]:
    """Open accounts that write, and two that asked not to be collected, one of them by handle."""
    service, now = server.service, RealClock().now()
    truth, key_of = service.truth, service.dialect.account_key
    there = [each for each in range(len(service.world)) if truth.is_available(each, now)]
    shy = [each for each in there if not truth.is_collectable(each, now)]
    handle = f"@{service.dialect.handle_of(shy[0], now).removeprefix('@')}"
    return [handle, key_of(shy[1]), *(key_of(each) for each in there if truth.is_collectable(each, now))][:12]


def told(capsys: Capsys, *words: str, code: int = 0) -> tuple[str, dict[str, Any]]:
    """What a command shows to people, and to machines."""
    capsys.readouterr()
    assert cli.run(list(words)) == code
    shown = capsys.readouterr().out
    assert cli.run([*words, "--json"]) == code
    return shown, json.loads(capsys.readouterr().out.splitlines()[-1])


def check_agreement(capsys: Capsys, summary: str, ended: dict[str, Any]) -> dict[str, Any]:
    """Holds the summary of a run, `status` and `completeness` against each other, and answers the last."""
    status_shown, status = told(capsys, "status", "a.toml")
    shown, whole = told(capsys, "completeness", "a.toml")
    posts = whole["posts"]
    (crawl,) = status["crawls"]
    assert ended["posts"] == crawl["posts"] == posts["stored"] == status["stored"]["posts"]["value"]
    assert (ended["users"], ended["items"]) == (crawl["users"], crawl["items"])
    assert ended["posts_stored"] == {name: posts[name] for name in ("stored", "kept", "opted_out", "deleted")}
    assert {fate: count["value"] for fate, count in status["posts"].items()}.items() <= posts.items()
    days = whole["day"]["totals"]["posts"]
    assert (days["captured"], days["causes"]["opted_out"]) == (posts["kept"], posts["opted_out"])
    for view, rest in posts["others"].items():
        assert whole[view]["totals"]["posts"]["captured"] + rest == posts["kept"]
        assert rest >= 0, view
        assert re.search(rf"\b{posts['kept']:,}\b.*\b{posts['captured'][view]:,}\b.*\b{rest:,}\b", shown), shown
    (sentence,) = re.findall(r"^  ([\d,]+ posts(?:: .*)?)$", shown, re.MULTILINE)
    assert sentence in summary
    assert sentence in status_shown
    assert ended["seeds_left_alone_in_all"] == crawl["seeds_left_alone"]
    return whole


@pytest.mark.parametrize("dialect", ["bluesky", "mastodon", *long("twitter_v1", "weibo", "x")])
def test_summary_status_and_completeness_agree(dialect: str, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    with running(dialect=dialect) as server:
        add_credential(server, monkeypatch)
        write(server, "timelines", some_seeds(server), "stop.calls = 12")
        capsys.readouterr()
        assert cli.run(["crawl", "a.toml", "--quiet", "--yes"]) == 0
        first = capsys.readouterr().out
        summary, ended = told(capsys, "crawl", "a.toml", "--quiet", "--yes")
    shy = ended["seeds_left_alone_in_all"]
    assert shy == SHY.get(dialect, 0), "not every network lets one ask"
    counted = f"{shy} seed{'s' * (shy > 1)} "
    assert shy == 0 or counted in first
    assert shy == 0 or counted in summary
    whole = check_agreement(capsys, summary, ended)
    assert set(whole["posts"]["captured"]) == {"user", "day"}
    shown, values = told(capsys, "status", "a.toml")
    assert (values["errors"], values["refusals"]) == ([], []), "the trial of a token is no trouble"
    authors = values["completeness"]["users"]
    assert authors <= 10
    assert authors < 2 or f"{authors} authors" in shown
    assert shy == 0 or counted in shown


def test_posts_by_id_agree_too(monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    with running() as server:
        add_credential(server, monkeypatch)
        write(server, "hydrate", [*server.post_keys(4), "123"])
        capsys.readouterr()
        assert cli.run(["crawl", "a.toml", "--quiet"]) == 0
        summary, ended = told(capsys, "crawl", "a.toml", "--quiet")
    _, status = told(capsys, "status", "a.toml", "--json")
    _, whole = told(capsys, "completeness", "a.toml", "--json")
    assert ended["posts"] == status["crawls"][0]["posts"] == whole["posts"]["stored"]
    assert whole["posts"]["captured"]["id"] + whole["posts"]["others"]["id"] == whole["posts"]["kept"]
    assert re.search(rf"\b{ended['posts']} posts\b", summary)


@pytest.mark.parametrize("flow", ["graph", "timelines"])
@pytest.mark.parametrize("seeds", [["@nobody_here"], ["@nobody_here", "123456"]])
def test_a_crawl_none_of_whose_seeds_is_there_has_failed_and_says_so(
    flow: str, seeds: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    with running() as server:
        add_credential(server, monkeypatch)
        write(server, flow, seeds)
        shown, ended = told(capsys, "crawl", "a.toml", "--quiet", code=3)
    assert ended["reason"]["problem"] in shown
    assert (ended["state"], ended["reason"]["code"]) == ("failed", "no_seed_found")
    assert ended["reason"]["problem"] in told(capsys, "status", "a.toml")[0]


def test_two_crawls_in_one_store_say_whose_posts_are_whose(monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    with running() as server:
        add_credential(server, monkeypatch)
        write(server, "timelines", some_seeds(server))
        assert cli.run(["crawl", "a.toml", "--calls", "6", "--quiet"]) == 0
        Path("b.toml").write_text('store = "a.db"\n' + Path("a.toml").read_text())
        capsys.readouterr()
        assert cli.run(["crawl", "b.toml", "--as", "b", "--calls", "6", "--quiet"]) == 0
        summary = capsys.readouterr().out
    _, status = told(capsys, "status", "a.toml")
    own = {each["name"]: each["posts"] for each in status["crawls"]}
    assert re.search(rf"\b{own['b']:,}\b", next(line for line in summary.splitlines() if "stored" in line)), summary
    assert sum(own.values()) == status["stored"]["posts"]["value"]
    authors = status["completeness"]["users"]
    assert 0 < authors <= 10, "each author once, whoever listed it"
