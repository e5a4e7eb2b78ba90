"""Media beside a backup: copied to a folder or an object store, every file checked by its hash, and brought back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.db import open_database
from bowerbird.errors import FlowError, UserError
from bowerbird.export.copies_with_backups import copy_beside
from bowerbird.export.media_copies import MANIFEST, FolderLocation, copy_media, location_at
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.flows.files.sections.backup_plan import BackupPlan
from bowerbird.modules.backups import BackupTaker, Turns
from bowerbird.vocabulary import vocabulary
from failures import json_error, raises_code

PICTURES = {f"m{number}": f"picture {number}".encode() * 100 for number in range(7)}


def path_of(media: str) -> str:
    name = sha256(media.encode()).hexdigest()[:40]
    return f"{name[:2]}/{name}.jpg"


async def a_store(folder: Path) -> Path:
    """A store that keeps seven pictures, with their files."""
    store = folder / "c.db"
    database = await open_database(str(store), RealClock())
    await database.create_tables()
    async with database.transaction() as tx:
        for media, content in PICTURES.items():
            await tx.execute(
                "insert into media_files (id, kind, url, state, path, sha256, bytes, due, found_at) "
                "values (?, 'photo', 'u', 'kept', ?, ?, ?, 1, 1)",
                *(media, path_of(media), sha256(content).hexdigest(), len(content)),
            )
            file = folder / "media" / path_of(media)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    await database.close()
    return store


def run(*words: str) -> int:
    """A command in a thread of its own: it starts a loop itself."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(cli.run, list(words)).result()


def told(capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(capfd.readouterr().out.splitlines()[-1])
    return said


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Any]]:
    import boto3
    from moto.server import ThreadedMotoServer

    known = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}
    for name, value in (known | {"AWS_EC2_METADATA_DISABLED": "true"}).items():
        monkeypatch.setenv(name, value)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}")
    client.create_bucket(Bucket="safe")
    yield f"http://{host}:{port}", client
    server.stop()


async def test_media_are_copied_to_a_folder_once_checked_and_restored(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store, copy, media = await a_store(tmp_path), str(tmp_path / "copy"), str(tmp_path / "media")
    words = ("backup", str(store), str(tmp_path / "b.db"), "--media", copy, "--media-from", media, "--json")
    assert run(*words) == 0
    assert told(capfd)["media"] == {
        "files": 7, "copied": 7, "bytes": sum(map(len, PICTURES.values())), "removed": 0, "missing": [], "damaged": [],
    }  # fmt: skip
    again = ("backup", str(store), str(tmp_path / "b2.db"), "--media", copy, "--media-from", media, "--json")
    assert run(*again) == 0
    assert told(capfd)["media"]["copied"] == 0
    back = tmp_path / "again"
    assert run("restore", str(tmp_path / "b.db"), str(tmp_path / "new.db"), "--media", copy, "--media-to", str(back)) == 0
    assert contents(back) == contents(tmp_path / "media")
    assert json.loads((tmp_path / "copy" / MANIFEST).read_text())["files"] == 7


async def test_a_file_that_is_damaged_or_missing_is_told_and_never_replaces_a_good_copy(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    store, copy, media = await a_store(tmp_path), tmp_path / "copy", tmp_path / "media"
    assert run("backup", str(store), str(tmp_path / "b.db"), "--media", str(copy), "--media-from", str(media)) == 0
    # One copy rots, which the next backup repairs; one original does, of which a good copy is there; one is gone everywhere.
    (copy / path_of("m0")).write_bytes(b"rotten" + PICTURES["m0"][6:])
    (media / path_of("m1")).write_bytes(b"rotten")
    (media / path_of("m2")).unlink()
    (copy / path_of("m2")).unlink()
    (media / path_of("m3")).write_bytes(b"rotten")
    (copy / path_of("m3")).unlink()
    capfd.readouterr()
    words = ("backup", str(store), str(tmp_path / "b2.db"), "--media", str(copy), "--media-from", str(media), "--json")
    assert run(*words) == 3
    found = told(capfd)["media"]
    assert (found["files"], found["copied"]) == (5, 1)
    assert (found["missing"], found["damaged"]) == ([path_of("m2")], [path_of("m3")])
    assert (copy / path_of("m0")).read_bytes() == PICTURES["m0"]
    assert (copy / path_of("m1")).read_bytes() == PICTURES["m1"]


async def test_what_the_store_keeps_no_longer_leaves_the_copy_when_it_is_pruned(tmp_path: Path) -> None:
    store, copy = await a_store(tmp_path), tmp_path / "copy"
    words = ("--media", str(copy), "--media-from", str(tmp_path / "media"))
    assert run("backup", str(store), str(tmp_path / "b.db"), *words) == 0
    (copy / "notes.txt").write_text("mine")
    database = await open_database(str(store), RealClock())
    async with database.transaction() as tx:
        await tx.execute("update media_files set state = 'removed', path = null where id = 'm4'")
    assert run("backup", str(store), str(tmp_path / "b2.db"), *words) == 0
    assert (copy / path_of("m4")).exists()
    assert run("backup", str(store), str(tmp_path / "b3.db"), *words, "--prune") == 0
    assert not (copy / path_of("m4")).exists()
    assert (copy / "notes.txt").read_text() == "mine"
    # What was deleted since does not come back with an older copy either.
    (copy / path_of("m4")).write_bytes(PICTURES["m4"])
    done = await copy_media(database, [FolderLocation(copy)], FolderLocation(tmp_path / "back"))
    assert (done.files, (tmp_path / "back" / path_of("m4")).exists()) == (6, False)
    await database.close()


async def test_media_go_to_an_object_store_and_come_back(tmp_path: Path, bucket: tuple[str, Any], capfd: Any) -> None:
    endpoint, client = bucket
    store = await a_store(tmp_path)
    words = ("--media", "s3://safe/crawl", "--endpoint", endpoint)
    named = ("--media-from", str(tmp_path / "media"))
    assert run("backup", str(store), str(tmp_path / "b.db"), *words, *named) == 0
    held = {item["Key"]: item["Size"] for item in client.list_objects_v2(Bucket="safe")["Contents"]}
    assert held[f"crawl/{path_of('m5')}"] == len(PICTURES["m5"])
    client.put_object(Bucket="safe", Key=f"crawl/{path_of('m5')}", Body=b"x" * len(PICTURES["m5"]))
    capfd.readouterr()
    assert run("backup", str(store), str(tmp_path / "b2.db"), *words, *named, "--json") == 0
    assert told(capfd)["media"]["copied"] == 1
    back = tmp_path / "again"
    assert run("restore", str(tmp_path / "b.db"), str(tmp_path / "new.db"), *words, "--media-to", str(back)) == 0
    assert contents(back) == contents(tmp_path / "media")
    nowhere = ("--media", "s3://nowhere/x", "--endpoint", endpoint)
    assert run("backup", str(store), str(tmp_path / "b3.db"), *nowhere, *named, "--json") == 2
    error = json_error(capfd.readouterr().err)
    assert (error.code, "s3://nowhere/x" in error.problem) == ("file_unwritable", True)


def test_a_place_that_is_none_is_refused_and_no_path_leaves_the_folder(tmp_path: Path) -> None:
    for place in ("ftp://x/y", "s3://"):
        with raises_code(UserError, "invalid_address") as caught:
            location_at(place)
        assert place in caught.value.problem
    with raises_code(UserError, "copy_failed") as refused:
        FolderLocation(tmp_path).open("../secret")
    assert all(value in refused.value.problem for value in ("../secret", str(tmp_path)))


async def test_where_nothing_says_where_media_are_the_user_is_asked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store = await a_store(tmp_path)
    assert run("backup", str(store), str(tmp_path / "b.db"), "--media", str(tmp_path / "copy"), "--json") == 2
    error = json_error(capfd.readouterr().err)
    assert (error.code, "--media-from FOLDER" in error.advice) == ("needs_option", True)


async def test_scheduled_backups_copy_media_too_and_note_what_is_missing(tmp_path: Path) -> None:
    store = await a_store(tmp_path)
    (tmp_path / "media" / path_of("m6")).unlink()
    database, clock = await open_database(str(store), RealClock()), RealClock()
    plan = BackupPlan(every=timedelta(days=1), folder=str(tmp_path / "backups"), media=str(tmp_path / "copy"))
    turns = Turns(database, "c", WorkerClaims(lambda: 1), plan.every, clock)
    copies = partial(copy_beside, database, clock, str(tmp_path / "media"), plan)
    await BackupTaker(str(store), plan, turns, copies).take()
    assert len([path for path in contents(tmp_path / "copy") if path.endswith(".jpg")]) == 6
    async with database.reading() as tx:
        (noted,) = await tx.fetch("select part, message from errors")
    assert (noted["part"], re.findall(r"\d+", noted["message"])) == ("backup", ["1", "0"]), "missing and damaged"
    await database.close()


async def test_what_is_forgotten_leaves_the_scheduled_copy_and_what_others_put_there_stays(tmp_path: Path) -> None:
    store, copy = await a_store(tmp_path), tmp_path / "copy"
    database, clock = await open_database(str(store), RealClock()), RealClock()
    plan = BackupPlan(every=timedelta(days=1), folder=str(tmp_path / "backups"), media=str(copy))
    other = copy / path_of("of another store")
    other.parent.mkdir(parents=True)
    other.write_bytes(b"theirs")
    await copy_beside(database, clock, str(tmp_path / "media"), plan)
    async with database.transaction() as tx:
        await tx.execute("update media_files set state = 'removed', path = null where id = 'm4'")
        await tx.execute("delete from media_files where id = 'm5'")
    await copy_beside(database, clock, str(tmp_path / "media"), plan)
    there = {path for path in contents(copy) if path.endswith(".jpg")}
    assert there == {path_of(each) for each in ("m0", "m1", "m2", "m3", "m6", "of another store")}
    await copy_beside(database, clock, str(tmp_path / "media"), plan)
    async with database.reading() as tx:
        assert len(await tx.fetch("select path from media_copies")) == 5
    await database.close()


@pytest.mark.parametrize(
    ("table", "code", "line", "value"),
    [
        ('[backup]\nevery = "1d"\nmedia = "copy"', "missing_value", 8, "[media]"),
        ('[media]\n[backup]\nevery = "1d"\nmedia = "ftp://x"', "invalid_address", 9, "'ftp://x'"),
    ],
)
def test_a_wrong_place_for_media_is_refused_with_its_line(table: str, code: str, line: int, value: str) -> None:
    head = 'flow = "timelines"\nseeds = ["1"]\n[service]\nprovider = "x"\nbase = "https://api.x.com"\n'
    with raises_code(FlowError, code) as caught:
        parse_crawl(head + table, Path("crawl.toml"), vocabulary())
    assert caught.value.line == line
    assert value in str(caught.value)
