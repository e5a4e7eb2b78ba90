"""Whatever a server sent, no command writes anything to a terminal that steers it, and no id file gets lines that are no ids."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from store_pages import FEDIVERSE, TIMELINE, Crawled, federated, toot

from bowerbird import cli
from bowerbird.cli.screens.output import printable
from bowerbird.clock import RealClock
from bowerbird.crawl.life import registry
from bowerbird.db import open_database
from bowerbird.model import Gone, Outcome, Page, PostKind, Subject

NASTY = "a\x1b]0;owned\x07\x1b[2J\u202eb\x9bc\rd"
COMMANDS = {
    "status": (),
    "completeness": (),
    "gone": (),
    "history": (),
    "cascade": (),
    "places": (),
    "overlap": (),
    "sample": (),
    "dehydrate": (),
}
_TOLD = {
    "errors": "insert into errors (at, crawl, part, message) values (1, 1, ?, ?)",
    "credentials": "insert into credentials (service, credential, state, reason, since) values (1, ?, 'refused', ?, 1)",
    "quarantine_sources": "insert into quarantine_sources (service, facet, why, items, bytes, first_at, last_at) "
    "values (1, ?, ?, 9, 9, 1, 1)",
    "outages": "insert into outages (service, began_at, calls, reason) values (?, 1, 3, ?)",
    "shortfalls": "insert into shortfalls (lane, target, cause, detail, at, call) values (1, ?, 'unknown', ?, 1, 1)",
    "judgements": (
        "insert into judgements (judge, value, subject, id, reason, strength, confidence, evidence, version, at, call) "
        "values ('place', ?, 'post', ?, 'text', 1, 1, '{}', '1', 1, 1)"
    ),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store in which everything that comes from a server is hostile."""
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    asyncio.run(_fill(str(tmp_path / "crawl.db")))
    return str(tmp_path / "crawl.db")


async def _fill(where: str) -> None:
    database = await open_database(where, RealClock())
    await database.create_tables()
    crawled = await Crawled(database).register()
    async with database.transaction() as tx:
        row = await registry.enrol_crawl(tx, "c", '{"name": "timelines"}', "{}", crawled.now)
        for facet in ("search", "timeline"):
            await registry.enrol_lane(tx, row.crawl, await registry.enrol_service(tx, FEDIVERSE, "mastodon"), facet)
        for statement in _TOLD.values():
            await tx.execute(statement, NASTY, NASTY)
    people = (federated("ada", "1", handle=NASTY, location=NASTY, description=NASTY), federated("bob", "2"))
    posts = (
        toot(f"5{NASTY}", "ada", text=NASTY),
        toot("6", "ada", text=NASTY),
        toot("8\n9", "ada", text=NASTY),
        toot("7", "bob", kind=PostKind.REPOST, repost_of="https://home.example/users/ada/statuses/6"),
    )
    await crawled.save(Page(users=people, posts=posts), TIMELINE, "1", service=FEDIVERSE)
    changed = federated("ada", "1", handle=f"{NASTY}2", location="x", description=NASTY)
    await crawled.save(Page(users=(changed,)), service=FEDIVERSE)
    await crawled.save(Page(gone=(Gone(Subject.USER, f"9{NASTY}", Outcome.SUSPENDED),)), service=FEDIVERSE)
    await database.close()


def arguments(command: str, place: str) -> list[str]:
    if command == "history":
        return ["history", "https://home.example/users/ada", place]
    return [command, place, *(("--service", "mammoth") if command == "dehydrate" else ())]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_what_steers_a_terminal(command: str, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.run(arguments(command, place))
    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert said.strip()
    assert said == printable(said)
    assert "unexpected" not in said
    if command in ("status", "history"):
        assert "owned" in said


def test_a_post_whose_id_cannot_be_real_is_not_dehydrated(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["dehydrate", place, "--service", "mammoth"]) == 0
    assert capsys.readouterr().out.split() == ["6", "7"]
    for ending in ("txt", "csv", "jsonl"):
        assert cli.run(["dehydrate", place, "--service", "mammoth", "--out", str(tmp_path / f"ids.{ending}")]) == 0
        written = (tmp_path / f"ids.{ending}").read_text()
        assert "owned" not in written
        assert len(written.splitlines()) == 2 + (ending == "csv")
    assert "2 whose id cannot be real" in capsys.readouterr().out


def test_an_error_that_quotes_a_server_is_printed_without_what_steers_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.toml").write_text('flow = "timelines"\nseeds = ["\\u001b[2J"]\n\n[service]\nname = "\\u001b[2J"\n')
    assert cli.run(["crawl", str(tmp_path / "c.toml")]) == 2
    said = capsys.readouterr().err
    assert said == printable(said)
