"""One-line commands against simulated servers over real HTTP: what goes wrong is said, what is interrupted goes on."""

from __future__ import annotations

import csv
import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from command_errors import refused
from simulated_server import Server, running

from bowerbird import cli
from bowerbird.clock import EPOCH, RealClock
from bowerbird.errors import UserError
from bowerbird.settings import load_settings
from bowerbird.simulated.faults import Faults
from bowerbird.simulated.world.hashing import generator
from bowerbird.simulated.world.settings import to_ms
from failures import command_error
from snapshots import Snapshot

Capsys = pytest.CaptureFixture[str]


class Hesitation(Faults, frozen=True, kw_only=True):
    """Calls are answered at once until so many were; from then on each takes its time."""

    since: int

    def at(self, serial: int, now: datetime) -> str | None:
        return "slow" if serial >= self.since else None


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(running(dialect=name)) for name in ("bluesky", "mastodon", "x")}


@pytest.fixture(scope="module")
def slow() -> Iterator[Server]:
    """Begins to hesitate as soon as a command has to be caught at work."""
    with running(dialect="bluesky") as server:
        yield server


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def on(server: Server) -> list[str]:
    return ["--on", server.base, "--provider", server.service.dialect.name]


def writers(server: Server, count: int) -> list[int]:
    """Accounts that anybody may read and that have written something."""
    now, truth = RealClock().now(), server.service.truth
    drawn = truth.sample_accounts(200, generator(1, 5), now, writers=True)
    return [account for account in drawn if truth.is_collectable(account, now)][:count]


def handle(server: Server, account: int) -> str:
    return f"@{server.service.dialect.handle_of(account, RealClock().now())}"


def posts_of(server: Server, account: int) -> set[str]:
    """Keys of the posts that are to be had of an account."""
    now, key = RealClock().now(), server.service.dialect.account_key(account)
    return {post for post, gone in server.service.posts_to_find(key, EPOCH, now, now).items() if gone is None or gone > now}


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)) if path.endswith(".csv") else [json.loads(line) for line in file]


def add_key(server: Server, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    token = next(each for each in server.service.tokens if each.kind == kind)
    for field in ("ACCESS_TOKEN", "BEARER_TOKEN"):
        monkeypatch.setenv(f"BOWERBIRD_SECRET_{field}", token.value)
    provider = server.service.dialect.name
    assert cli.run(["credentials", "add", "mine", "--provider", provider, "--kind", kind, "--server", server.base]) == 0


def kept_stores() -> list[Path]:
    return sorted((load_settings().cache_folder / "commands").glob("*"))


def test_an_unknown_handle_has_failed_and_is_named(servers: dict[str, Server], capsys: Capsys, snapshot: Snapshot) -> None:
    assert cli.run(["timeline", "@nobody.example.org", *on(servers["bluesky"]), "-o", "none.jsonl"]) == 3
    told = capsys.readouterr().err
    assert "@nobody.example.org" in told
    snapshot("timeline_of_nobody", told, numbers=False)
    assert kept_stores() == []
    assert not Path("none.jsonl").exists(), "in the way of the handle that is spelled right"


def test_a_store_of_a_command_counts_the_posts_of_whom_it_was_asked_about(servers: dict[str, Server], capsys: Capsys) -> None:
    server, (account, *_) = servers["bluesky"], writers(servers["bluesky"], 1)
    assert cli.run(["timeline", handle(server, account).upper(), *on(server), "--store", "a.db", "-o", "a.jsonl"]) == 0
    capsys.readouterr()
    assert cli.run(["completeness", "a.db", "--json"]) == 0
    view = json.loads(capsys.readouterr().out.splitlines()[-1])["user"]
    assert view["totals"]["posts"]["captured"] == len(rows("a.jsonl")) > 0


def test_without_a_token_the_command_that_adds_one_is_named(servers: dict[str, Server]) -> None:
    add = "bowerbird credentials add mine --provider"
    for command, added in (
        (["timeline", "@ada", *on(servers["x"]), "--budget", "1"], "x --kind app"),
        (["search", "flood", *on(servers["mastodon"])], "mastodon --server"),
        (["search", "flood", "--on", "bluesky"], "bluesky --server https://bsky.social"),
    ):
        assert f"{add} {added}" in refused(*command, code="needs_credential").advice


def test_what_costs_money_is_not_asked_without_a_budget(servers: dict[str, Server]) -> None:
    error = command_error("search", "flood", *on(servers["x"]), code="needs_agreement")
    assert "$0.005" in error.problem
    assert "--budget 1.00" in error.advice
    assert "`bowerbird counts`" in error.advice
    command_error("timeline", "@ada", *on(servers["bluesky"]), "--budget", "1", code="conflicting_options")


def test_a_budget_is_kept_to(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys, snapshot: Snapshot
) -> None:
    server = servers["x"]
    add_key(server, "app", monkeypatch)
    names = [handle(server, account) for account in writers(server, 20)]
    capsys.readouterr()
    cli.run(["timelines", *names, *on(server), "--budget", "0.15", "-o", "few.jsonl", "--json"])
    end = json.loads(capsys.readouterr().out)
    assert 0 < end["dollars_spent"] <= 0.15
    assert end["rows"] == len(rows("few.jsonl")) > 0
    error = refused("timeline", names[0], *on(server), "--budget", "0.011", "-o", "none.jsonl", code="budget_too_small")
    assert ("$0.011" in error.problem, "--budget" in error.advice) == (True, True)
    assert cli.run(["timeline", names[0], *on(server), "--budget", "0.026", "-o", "none.jsonl"]) == 0
    snapshot("budget_that_ends_before_the_first_row", capsys.readouterr().err, numbers=False)


@pytest.mark.parametrize("kept", [(), ("--store", "kept.db")])
def test_what_a_budget_ended_goes_on_with_a_larger_one_and_pays_for_nothing_twice(
    kept: tuple[str, ...], servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    server = servers["x"]
    add_key(server, "app", monkeypatch)
    names = [handle(server, account) for account in writers(server, 4)]

    def spent(*options: str) -> tuple[float, int, int]:
        capsys.readouterr()
        before = server.service.calls
        assert cli.run(["timelines", *names, *on(server), *options, "--json"]) == 0
        end = json.loads(capsys.readouterr().out)
        return end["dollars_spent"], end["rows"], server.service.calls - before

    whole, rows_of_whole, _ = spent("--budget", "50", "-o", "whole.jsonl")
    first, some, _ = spent("--budget", str(round(whole / 2, 3)), "-o", "parts.jsonl", *kept)
    assert 0 < first < whole
    assert some < rows_of_whole
    assert spent("--budget", str(round(whole / 2, 3)), "-o", "parts.jsonl", *kept)[0] == first, "no more than was allowed"
    both, all_rows, _ = spent("--budget", "50", "-o", "parts.jsonl", *kept)
    assert (both, all_rows) == (whole, rows_of_whole)
    assert sorted(row["id"] for row in rows("parts.jsonl")) == sorted(row["id"] for row in rows("whole.jsonl"))
    assert len(kept_stores()) == 0, "what has ended leaves nothing"


def test_who_asked_not_to_be_collected_is_left_alone_unless_somebody_says_why(servers: dict[str, Server], capsys: Capsys) -> None:
    server = servers["bluesky"]
    world, now = server.service.world, to_ms(RealClock().now())
    shy = [n for n in range(len(world)) if world.people.is_noindex[n] and world.is_open(n, now)]
    asked = ["users", handle(server, shy[0]), *on(server)]
    cli.run([*asked, "-o", "none.jsonl"])
    assert handle(server, shy[0]) in capsys.readouterr().err
    assert not Path("none.jsonl").exists() or rows("none.jsonl") == []
    assert "--reason" in command_error(*asked, "-o", "some.jsonl", "--override", "no-unauthenticated", code="needs_option").advice
    problem = refused(*asked, "--override", "indexible", "--reason", "x", code="unknown_name").problem
    assert "'indexible'" in problem
    assert "'indexable'" in problem
    told = ["--override", "no-unauthenticated", "--reason", "protocol 17", "--store", "kept.db"]
    assert cli.run([*asked, "-o", "some.jsonl", *told]) == 0
    assert len(rows("some.jsonl")) == 1
    capsys.readouterr()
    assert cli.run(["card", "kept.db", "-o", "card"]) == 0
    assert "protocol 17" in Path("card/card.md").read_text()
    Path("not-these.txt").write_text(handle(server, shy[0]))
    cli.run([*asked, "-o", "never.jsonl", *told[:-2], "--opt-out", "not-these.txt"])
    assert not Path("never.jsonl").exists() or rows("never.jsonl") == []


@pytest.mark.parametrize(
    ("command", "code", "named"),
    [
        (["counts", "flood", "--on", "bluesky"], "unsupported", "x"),
        (["stream", "flood", "--on", "weibo"], "unsupported", "weibo"),
        (["stream", "@ada", "--on", "mastodon.social"], "unsupported", "`bowerbird timeline`"),
        (["thread", "1", "--on", "twitter_v1"], "unsupported", "twitter_v1"),
        (["search", "flood"], "needs_option", "--on bluesky"),
        (["timeline", "@ada"], "unknown_network", "'@ada'"),
        (["timeline"], "needs_option", "-i FILE"),
        (["timeline", "@a.bsky.social", "--since", "2026-05-02", "--until", "2026-05-01"], "conflicting_options", "--since"),
        (["timeline", "@a.bsky.social", "--json"], "needs_option", "-o"),
        (["timeline", "@a.bsky.social", "-o", "a.docx"], "unknown_format", ".jsonl, .ndjson, .csv, .txt, .parquet, .xlsx"),
        (["timeline", "@a.bsky.social", "--provider", "bluesky"], "conflicting_options", "--on"),
        (["timeline", "@a.bsky.social", "--store", "postgresql://x"], "invalid_address", "--store"),
        (["users", "--column", "a", "--on", "bluesky"], "needs_option", "-i FILE"),
    ],
)
def test_what_cannot_be_done_is_explained_before_anybody_is_asked(command: list[str], code: str, named: str) -> None:
    error = command_error(*command, code=code)
    assert isinstance(error, UserError), "exit code 2"
    assert named in f"{error.problem} {error.advice}"


def test_nothing_is_overwritten_and_append_adds(servers: dict[str, Server]) -> None:
    server, (account, *_) = servers["bluesky"], writers(servers["bluesky"], 1)
    command = ["timeline", handle(server, account), *on(server), "-o", "a.csv"]
    assert cli.run(command) == 0
    once = Path("a.csv").read_text()
    error = refused(*command, code="already_exists")
    assert ("a.csv" in error.problem, "--append" in error.advice) == (True, True)
    assert cli.run([*command, "--append"]) == 0
    assert len(rows("a.csv")) == 2 * len(once.splitlines()) - 2
    assert Path("a.csv").read_text().startswith(once)


def test_an_output_that_cannot_be_written_is_said_at_once(servers: dict[str, Server]) -> None:
    server, (account, *_) = servers["bluesky"], writers(servers["bluesky"], 1)
    command = ["timeline", handle(server, account), *on(server), "-o", "nowhere/a.csv"]
    assert "nowhere/a.csv" in refused(*command, code="file_unwritable").problem


def test_a_full_disk_fails_and_the_same_command_goes_on(servers: dict[str, Server], capsys: Capsys) -> None:
    server = servers["bluesky"]
    names = [handle(server, account) for account in writers(server, 3)]
    Path("full.jsonl").symlink_to("/dev/full")
    command = ["timelines", *names, *on(server), "--append", "-o", "full.jsonl"]
    assert cli.run(command) == 3
    assert "No space left on device" in capsys.readouterr().err
    assert len(kept_stores()) >= 1


def test_the_columns_of_a_table_are_carried_through(servers: dict[str, Server]) -> None:
    server = servers["mastodon"]
    chosen = writers(server, 3)
    with Path("users.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["handle", "text", "party"])
        table.writerows([handle(server, account), "=1+1", f"party {number}"] for number, account in enumerate(chosen))
    assert cli.run(["timelines", "-i", "users.csv", "--column", "handle", *on(server), "-o", "posts.csv"]) == 0
    for number, account in enumerate(chosen):
        own = [row for row in rows("posts.csv") if row["party"] == f"party {number}"]
        assert {row["id"].removesuffix("/activity").rpartition("/")[2] for row in own} == posts_of(server, account)
        assert {(row["handle"], row["input_text"]) for row in own} == {("'" + handle(server, account), "'=1+1")}


def test_a_limit_counts_for_each_input_and_since_ends_a_list(servers: dict[str, Server], capsys: Capsys) -> None:
    server = servers["mastodon"]
    busy = [account for account in writers(server, 60) if len(posts_of(server, account)) > 12][:2]
    names = [handle(server, account) for account in busy]
    assert cli.run(["timelines", *names, *on(server), "--limit", "7", "-o", "few.jsonl"]) == 0
    assert [sum(row["input"] == name for row in rows("few.jsonl")) for name in names] == [7, 7]
    middle = sorted(row["created_at"] for row in rows("few.jsonl") if row["input"] == names[0])[3]
    assert cli.run(["timeline", names[0], *on(server), "--since", middle, "-o", "new.jsonl"]) == 0
    assert len(rows("new.jsonl")) == 4
    assert "--since" in capsys.readouterr().err


def test_ids_from_a_pipe_become_posts_and_those_that_are_gone_are_told(servers: dict[str, Server]) -> None:
    server = servers["bluesky"]
    known = [key for key in server.post_keys(60) if "feed.post" in key]
    ids = [*known, "at://did:plc:aaaaaaaaaaaaaaaaaaaaaaaa/app.bsky.feed.post/3l6oveex3ii2l"]
    done = subprocess.run(
        [sys.executable, "-m", "bowerbird", "hydrate", "-", *on(server)],
        input="\n".join(ids),
        capture_output=True,
        text=True,
        check=True,
    )
    assert {json.loads(line)["id"] for line in done.stdout.splitlines()} == set(ids[:-1])
    assert "at://did:plc:aaaaaaaaaaaaaaaaaaaaaaaa" in done.stderr
    assert kept_stores() == []


def test_a_killed_command_goes_on_and_neither_loses_nor_doubles_a_row(slow: Server) -> None:
    names = [handle(slow, account) for account in writers(slow, 20)]
    Path("names.txt").write_text("\n".join(names))
    line = [sys.executable, "-m", "bowerbird", "timelines", "-i", "names.txt", *on(slow), "-o", "posts.jsonl"]
    there = {post for account in writers(slow, 20) for post in posts_of(slow, account)}
    for least in (1, 60):
        assert _ended_after(line, slow, Path("posts.jsonl"), least, signal.SIGKILL) == -signal.SIGKILL
    # What a machine leaves behind that died in the middle of a row.
    with Path("posts.jsonl").open("ab") as file:
        file.write(b'{"id":"at://did:plc:half')
    assert cli.run(line[3:]) == 0
    ids = [(row["input"], row["id"]) for row in rows("posts.jsonl")]
    assert len(ids) == len(set(ids))
    # Neither those that were written nor those that were deleted meanwhile.
    assert {post for _, post in ids} >= there & {post for account in writers(slow, 20) for post in posts_of(slow, account)}
    assert kept_stores() == []


def _ended_after(line: list[str], server: Server, out: Path, least: int, how: signal.Signals) -> int:
    """Sends the signal when so many rows are there; the exit code, and in told.txt what was said."""
    server.service.faults = Hesitation(since=server.service.calls + 12, slowness=timedelta(seconds=2))
    with Path("told.txt").open("w") as told, subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=told) as process:
        while process.poll() is None and not (out.exists() and out.read_bytes().count(b"\n") >= least):
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
        process.send_signal(how)
    server.service.faults = Faults()
    return process.returncode


def test_ctrl_c_saves_and_the_same_command_goes_on(slow: Server) -> None:
    names = [handle(slow, account) for account in writers(slow, 20)]
    Path("names.txt").write_text("\n".join(names))
    line = [sys.executable, "-m", "bowerbird", "timelines", "-i", "names.txt", *on(slow), "-o", "posts.csv"]
    assert _ended_after(line, slow, Path("posts.csv"), 4, signal.SIGINT) == 130
    store = next(each for each in kept_stores() if each.suffix == ".db")
    with closing(sqlite3.connect(store)) as kept:
        assert kept.execute("select is_left from residue").fetchall() == [(0,)]
    assert cli.run(line[3:]) == 0
    ids = [(row["input"], row["id"]) for row in rows("posts.csv")]
    assert len(ids) == len(set(ids))
    assert len({name for name, _ in ids}) == len({name for name in names if name})


def begun(server: Server, how: signal.Signals) -> list[str]:
    """A command that was ended in this way after some rows in posts.jsonl."""
    Path("names.txt").write_text("\n".join(handle(server, account) for account in writers(server, 20)))
    command = ["timelines", "-i", "names.txt", *on(server), "-o", "posts.jsonl"]
    ended = _ended_after([sys.executable, "-m", "bowerbird", *command], server, Path("posts.jsonl"), 30, how)
    assert ended == (130 if how == signal.SIGINT else -how)
    return command


def test_what_others_added_to_the_file_of_an_interrupted_command_stays(slow: Server) -> None:
    command = begun(slow, signal.SIGINT)
    other = b"".join(b'{"id":"of another command %d"}\n' % number for number in range(400))
    with Path("posts.jsonl").open("ab") as file:
        file.write(other)
    assert cli.run(command) == 0
    assert other in Path("posts.jsonl").read_bytes()
    ids = [(row.get("input"), row["id"]) for row in rows("posts.jsonl")]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("how", "lines"),
    [
        (signal.SIGINT, 2),
        *(pytest.param(*each, marks=pytest.mark.long) for each in ((signal.SIGINT, 40_000), (signal.SIGKILL, 2))),
    ],
)
def test_another_file_in_the_place_of_its_own_is_left_alone(slow: Server, how: signal.Signals, lines: int) -> None:
    command = begun(slow, how)
    Path("posts.jsonl").rename("first.jsonl")
    mine = b'{"id":"of another command"}\n' * lines
    Path("posts.jsonl").write_bytes(mine)
    assert "posts.jsonl" in refused(*command, code="file_changed").problem
    assert Path("posts.jsonl").read_bytes() == mine


def test_a_stream_prints_what_is_wanted_and_keeps_nothing_else(capsys: Capsys) -> None:
    with running(dialect="bluesky", pace=2_000) as server:
        assert cli.run(["stream", "the", *on(server), "--limit", "5", "-o", "heard.jsonl", "--store", "heard.db"]) == 0
    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith("0 posts") and "nearly done" in line] == []
    found = rows("heard.jsonl")
    assert len(found) == 5
    assert all("the" in row["text"] for row in found)
    assert all(row["author_handle"] for row in found)


def test_a_credential_is_tried_when_it_is_added(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    server = servers["mastodon"]
    token = next(each for each in server.service.tokens if each.kind == "user")
    add = ["credentials", "add", "mine", "--provider", "mastodon", "--server", server.base, "--replace"]
    for value, options, said in (
        (token.value, ("--try",), ("Tried", server.base, "@user0")),
        ("other-words", ("--try",), ("Tried", "'mine'", "401")),
        ("other-words", ("--no-try",), ()),
        ("other-words", (), ()),
    ):
        monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", value)
        assert cli.run([*add, *options]) == 0
        told = capsys.readouterr().out
        assert all(each in told for each in said)
        assert ("Tried" in told) is bool(said)
        assert value not in told


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
def test_tables_that_cannot_grow_are_written_at_the_end(servers: dict[str, Server], ending: str, capsys: Capsys) -> None:
    import pandas

    server = servers["bluesky"]
    line = ["timeline", handle(server, writers(server, 1)[0]), *on(server), "--limit", "20"]
    assert cli.run([*line, "-o", f"a.{ending}", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert cli.run([*line, "-o", "a.jsonl", "--quiet"]) == 0
    read = pandas.read_parquet("a.parquet") if ending == "parquet" else pandas.read_excel("a.xlsx")
    assert read["id"].tolist() == [row["id"] for row in rows("a.jsonl")]
    assert told["rows"] == len(read) > 0
    refused(*line, "-o", f"a.{ending}", code="already_exists")
    assert "--append" in refused(*line, "-o", f"b.{ending}", "--append", code="unsupported").advice
    assert "-o" in refused(*line, "--format", ending, code="file_unwritable").advice
