"""`bowerbird forget` and `restore --like` as a user meets them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from residue_search import left_in
from store_pages import TIMELINE, Crawled, post, user

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.files.backup import back_up
from bowerbird.errors import BowerbirdError, UserError
from bowerbird.model import Media, Page, PostKind
from bowerbird.modules.media.files import MediaFolder
from failures import command_error, json_error

HERS = ["aliceword", "aliceofx", "90000001"]


async def _filled(path: Path) -> None:
    database = await open_database(str(path), RealClock())
    await database.create_tables()
    crawled = await Crawled(database).register()
    shown = Media(id="https://pictures.example/aliceword.png", kind="photo", url="https://pictures.example/aliceword.png")
    own = post("80000001", "90000001", text="aliceword", media=(shown,), raw=b'{"user":90000001}')
    others = (
        post("80000002", "90000002", text="so says @aliceofx", raw=b'{"to":"90000001"}'),
        post("80000003", "90000002", kind=PostKind.REPOST, repost_of="x:80000001", text="aliceword"),
    )
    people = (user("90000001", handle="AliceOfX"), user("90000002", handle="bob"), user("90000003", handle="bobby"))
    await crawled.save(Page(users=people, posts=(own, *others)), TIMELINE, "90000001")
    await database.close()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "crawl.db"
    asyncio.run(_filled(path))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert cli.run([*arguments, "--json"]) == 0, capsys.readouterr().err
    values: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return values


def refused(*arguments: str, code: str) -> BowerbirdError:
    error = command_error("forget", *arguments, code=code)
    assert isinstance(error, UserError)
    return error


def test_a_dry_run_counts_and_changes_nothing(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "forget", "@aliceofx", "--on", "x", "--dry-run")
    assert (told["users"], told["posts"], told["media"], told["dry_run"]) == (1, 1, 1, True)
    assert len(left_in([store], ["aliceword"])) == 1


def test_nothing_is_left_in_the_file_and_the_record_says_how_much_it_was(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "forget", "https://x.com/AliceOfX", "--who", "herself, by letter", "--why", "her right", "--yes")
    assert (told["users"], told["posts"]) == (1, 1)
    assert left_in(store.parent.iterdir(), HERS) == {}
    (request,) = run(capsys, "forget", "--list")["requests"]
    assert (request["who"], request["why"], request["users"], request["posts"]) == ("herself, by letter", "her right", 1, 1)
    assert request["done_at"] is not None


def test_without_yes_nothing_is_deleted_where_nobody_can_be_asked(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["forget", "@aliceofx", "--on", "x", "--json"]) == 2
    error = json_error(capsys.readouterr().err)
    assert (error.code, "--yes" in str(error)) == ("needs_agreement", True)
    assert len(left_in([store], ["aliceword"])) == 1


def test_names_may_stand_in_a_file_and_need_not_be_in_the_store(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = store.with_name("names.txt")
    names.write_text("# asked us in May\nx:90000001  # her id\n@carol.bsky.social\nhttps://social.example/@dora\n")
    told = run(capsys, "forget", str(names), "--yes")
    assert told["users"] == 1
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute("select count(*) from tombstones").fetchone()[0] > 5


@pytest.mark.parametrize("text", ["@nobody", "12"])
def test_what_cannot_be_understood_is_refused_with_advice(store: Path, text: str) -> None:
    error = refused(text, "--yes", code="unknown_account")
    assert text in error.problem
    assert "--on" in error.advice


@pytest.mark.parametrize(("handle", "network"), [("@alice", "mastodon"), ("@alice", "bluesky")])
def test_a_handle_without_its_server_that_nobody_bears_is_refused(store: Path, handle: str, network: str) -> None:
    error = refused(handle, "--on", network, "--yes", code="unknown_account")
    assert all(value in error.problem for value in (handle, network))
    assert all(example in error.advice for example in ("@alice@mastodon.social", "@alice.bsky.social"))
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute("select count(*) from tombstones").fetchone() == (0,)


def test_a_handle_without_its_server_means_the_only_one_who_bears_it(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("update users set network = 'mastodon', handle = 'dora@herd.example' where handle = 'bobby'")
    told = run(capsys, "forget", "@dora", "--on", "mastodon", "--dry-run")
    assert told["users"] == 1


def test_a_record_may_not_name_the_forgotten(store: Path) -> None:
    error = refused("@aliceofx", "--on", "x", "--who", "@aliceofx", "--yes", code="refused")
    assert all(option in error.problem for option in ("--who", "--why"))
    assert "aliceofx" not in str(error).lower()


def test_pictures_leave_the_disk(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shelf, name = MediaFolder(str(store.parent / "media")), "https://pictures.example/aliceword.png"
    writing = shelf.begin(name)
    writing.add(b"picture")
    kept = writing.keep("image/png")
    assert kept is not None
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(
            "insert into media_files (id, kind, url, state, path, due, found_at) values (?, 'photo', ?, 'kept', ?, 1, 1)",
            (name, name, kept.path),
        )
    assert "--media" in refused("@aliceofx", "--on", "x", "--yes", code="needs_option").advice
    run(capsys, "forget", "@aliceofx", "--on", "x", "--yes", "--media", "media")
    assert shelf.find(name) is None


def test_a_restored_backup_forgets_whom_the_store_has_forgotten_since(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup = store.with_name("old.backup.db")
    asyncio.run(back_up(str(store), backup, RealClock()))
    run(capsys, "forget", "@aliceofx", "--on", "x", "--yes", "--store", str(store))
    marks = store.with_name("marks.txt")
    run(capsys, "forget", "--share", str(marks), "--store", str(store))
    for like, name in ((store, "first.db"), (marks, "second.db")):
        told = run(capsys, "restore", str(backup), name, "--like", str(like))
        assert (told["users"], told["posts"]) == (1, 1)
        assert left_in([store.with_name(name)], HERS) == {}
        assert sqlite3.connect(name).execute("select count(*) from posts").fetchone() == (2,)
    assert not any(word in marks.read_text() for word in HERS)
