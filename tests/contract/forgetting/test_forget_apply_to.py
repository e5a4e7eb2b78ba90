"""`bowerbird forget --apply-to`: earlier exports lose what was forgotten or deleted since, and nothing else."""

from __future__ import annotations

import asyncio
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import pytest
from export_scene import exported, filled, opened
from residue_search import left_in
from store_pages import PROFILES, TIMELINE, Crawled, post, user

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.errors import BowerbirdError, UserError
from bowerbird.export.cleaning.exports import Export, Known, Wanted
from bowerbird.export.jobs.destinations import Folder
from bowerbird.model import Gone, Outcome, Page, PostKind, Subject
from bowerbird.store.forgetting.requests import Forgetter, Wish
from bowerbird.store.forgetting.tombstones import read_tombstones
from failures import command_error, raises_code

HERS = ["aliceword", "aliceofx", "90000001"]
FORMATS = ["jsonl", "csv", "parquet"]


async def _filled(path: Path) -> None:
    async with opened(path) as database:
        crawled = await filled(database)
        people = (user("90000001", handle="AliceOfX"), user("90000002", handle="bob", description="knows @aliceofx"))
        posts = (
            post("80000001", "90000001", text='aliceword "quoted",\nin two lines'),
            post("80000002", "90000002", text="so says @aliceofx, =1", mentions=("90000001",), reply_to="x:80000001"),
            post("80000003", "90000002", kind=PostKind.REPOST, repost_of="x:80000001", text="aliceword"),
            post("80000004", "90000002", text="to be deleted"),
        )
        await crawled.save(Page(users=people, posts=posts), TIMELINE, "90000001")


async def _gone_since(path: Path) -> None:
    """Alice is forgotten, one post is deleted, and person 3 asks not to be collected."""
    async with opened(path) as database:
        crawled = Crawled(database)
        crawled.call = 1000
        gone = Gone(Subject.POST, "80000004", Outcome.NOT_FOUND, is_stated=True)
        await crawled.save(Page(users=(user("3", opts_out=True),), gone=(gone,)), PROFILES)
        async with database.reading() as tx:
            row = await tx.fetch_one("select user_no from users where id = 'x:90000001'")
        assert row is not None
        await Forgetter(database, RealClock()).forget(Wish(who="herself", why="asked", users=frozenset({row["user_no"]})))


async def _exported(path: Path, what: str, out: Path, **options: Any) -> None:
    async with opened(path) as database:
        await exported(database, what, out, **options)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("before") / "crawl.db"
    asyncio.run(_filled(path))
    return path


@pytest.fixture(scope="module")
def after(before: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("after") / "crawl.db"
    path.write_bytes(before.read_bytes())
    asyncio.run(_gone_since(path))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert cli.run(["forget", *arguments, "--json"]) == 0, capsys.readouterr().err
    values: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return values


def refused(*arguments: object, code: str) -> BowerbirdError:
    error = command_error("forget", *arguments, code=code)
    assert isinstance(error, UserError)
    return error


def manifest_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out.with_name(f"{out.name}.manifest.json").read_text())
    return found


# -- refused -------------------------------------------------------------------------------------------------------------


def test_an_export_without_its_manifest_is_refused(after: Path, tmp_path: Path) -> None:
    out = tmp_path / "posts.csv"
    out.write_text("id\n1\n")
    error = refused("--apply-to", out, "--store", after, code="file_damaged")
    assert all(value in error.problem for value in (str(out), "posts.csv.manifest.json"))
    error = refused("--apply-to", tmp_path, "--store", after, code="file_damaged")
    assert all(value in error.problem for value in (str(tmp_path), ".manifest.json"))


@pytest.mark.parametrize(("name", "options"), [("posts.xlsx", {}), ("posts.jsonl", {"raw": True})])
async def test_what_cannot_be_changed_row_by_row_is_exported_again(
    before: Path, after: Path, tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    await _exported(before, "posts", tmp_path / name, **options)
    async with opened(after) as database:
        known = Known(await read_tombstones(database), database, "crawl.db")
    with raises_code(UserError, "unsupported") as caught:
        Export(tmp_path / f"{name}.manifest.json").check(known)
    assert name in caught.value.problem
    assert caught.value.advice


@pytest.mark.parametrize("place", ["s3://bucket/posts", "net.gexf"])
def test_object_stores_and_graphs_are_refused(place: str, after: Path) -> None:
    assert place in refused("--apply-to", place, "--store", after, code="unsupported").problem


def test_a_file_that_was_edited_is_left_alone_unless_it_is_wanted(
    before: Path, after: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "posts.jsonl"
    asyncio.run(_exported(before, "posts", out))
    edited = b"".join(out.read_bytes().splitlines(keepends=True)[:-1])
    out.write_bytes(edited)
    error = refused("--apply-to", out, "--store", after, code="file_changed")
    assert str(out) in error.problem
    assert "--yes" in error.advice
    assert out.read_bytes() == edited
    told = run(capsys, "--apply-to", str(out), "--store", str(after), "--yes")
    assert told["rows_removed"] > 0
    assert manifest_of(out)["files"][0]["sha256"] == sha256(out.read_bytes()).hexdigest()


def test_where_nothing_can_be_written_nothing_is_changed(before: Path, after: Path, tmp_path: Path) -> None:
    out = tmp_path / "posts.jsonl"
    asyncio.run(_exported(before, "posts", out))
    content = out.read_bytes()
    (tmp_path / "posts.jsonl.manifest.json.part").mkdir()
    assert str(tmp_path) in refused("--apply-to", out, "--store", after, code="file_unwritable").problem
    assert out.read_bytes() == content


def test_people_are_forgotten_first_and_exports_gone_through_then(after: Path) -> None:
    error = refused("@bob", "--apply-to", "posts.csv", "--store", after, code="conflicting_options")
    assert "--apply-to" in error.problem


def test_a_list_that_is_none_is_refused(before: Path, tmp_path: Path) -> None:
    asyncio.run(_exported(before, "users", tmp_path / "users.csv"))
    (tmp_path / "names.txt").write_text("@alice\n")
    names = tmp_path / "names.txt"
    assert str(names) in refused("--apply-to", tmp_path / "users.csv", "--store", names, code="file_damaged").problem


# -- applied -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", FORMATS)
def test_an_earlier_export_becomes_what_an_export_of_today_is(
    before: Path, after: Path, format_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for what in ("posts", "users", "follows", "reactions", "media", "judgements"):
        earlier, today = (tmp_path / f"{what}-{when}.{format_}" for when in ("earlier", "today"))
        asyncio.run(_exported(before, what, earlier))
        asyncio.run(_exported(after, what, today))
        run(capsys, "--apply-to", str(earlier), "--store", str(after))
        assert _rows(earlier, what) == _rows(today, what), what
        (file,) = manifest_of(earlier)["files"]
        assert file["sha256"] == sha256(earlier.read_bytes()).hexdigest()
        assert file["bytes"] == earlier.stat().st_size
        assert left_in([earlier], HERS) == {}


def _rows(path: Path, what: str) -> list[Any]:
    """Without when they were last seen."""
    columns = "* exclude (seen_at)" if what in ("posts", "users", "follows", "reactions") else "*"
    source = f"read_csv('{path}', all_varchar = true, header = true)" if path.suffix == ".csv" else f"'{path}'"
    return duckdb.sql(f"select columns({columns})::varchar from {source} order by all").fetchall()


def test_the_manifest_says_what_was_applied_when(
    before: Path, after: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "posts.csv"
    asyncio.run(_exported(before, "posts", out))
    rows, content = manifest_of(out)["rows"], out.read_bytes()
    counted = run(capsys, "--apply-to", str(out), "--store", str(after), "--dry-run")
    assert (out.read_bytes(), manifest_of(out)["applied"]) == (content, [])
    told = run(capsys, "--apply-to", str(out), "--store", str(after))
    assert (told["rows_removed"], told["rows_changed"]) == (counted["rows_removed"], counted["rows_changed"]) == (3, 2)
    (applied,) = manifest_of(out)["applied"]
    assert (applied["rows_removed"], applied["rows_changed"], applied["known_from"]) == (3, 2, str(after))
    assert manifest_of(out)["rows"] == told["rows"] == rows - 3
    assert "[forgotten]" in out.read_text()
    again = run(capsys, "--apply-to", str(out), "--store", str(after))
    assert (again["rows_removed"], again["rows_changed"]) == (0, 0)


def test_every_export_of_a_folder_is_gone_through(
    before: Path, after: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for what in ("posts", "users"):
        asyncio.run(_exported(before, what, tmp_path / "out"))
    assert run(capsys, "--apply-to", str(tmp_path / "out"), "--store", str(after))["exports"] == 2
    assert duckdb.sql(f"select * from '{tmp_path}/out/*/posts*.parquet' where text like '%aliceword%'").fetchall() == []


def test_a_shared_list_is_as_good_as_the_store_for_the_forgotten(
    before: Path, after: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, marks = tmp_path / "posts.jsonl", tmp_path / "marks.txt"
    asyncio.run(_exported(before, "posts", out))
    asyncio.run(_exported(before, "posts", tmp_path / "ids.txt"))
    run(capsys, "--share", str(marks), "--store", str(after))
    assert run(capsys, "--apply-to", str(out), "--store", str(marks))["rows_removed"] == 1
    assert run(capsys, "--apply-to", str(tmp_path / "ids.txt"), "--store", str(marks))["rows_removed"] == 1
    assert left_in([out], HERS) == {}


class Killed(BaseException):
    """As if the process had ended here."""


@pytest.mark.parametrize(("deadly", "is_after"), [(1, False), (1, True), (2, False), (2, True)])
async def test_killed_between_two_steps_the_same_command_goes_on(
    before: Path, after: Path, tmp_path: Path, deadly: int, is_after: bool
) -> None:
    out = tmp_path / "posts.jsonl"
    await _exported(before, "posts", out, split=15)
    rows, steps = manifest_of(out)["rows"], 0

    class Deadly(Folder):
        """Replaces files, until it is one too many: right before the step, or right after it."""

        def publish(self, name: str) -> None:
            nonlocal steps
            steps += 1
            if steps == deadly and not is_after:
                raise Killed
            super().publish(name)
            if steps == deadly:
                raise Killed

    async with opened(after) as database:
        known = Known(await read_tombstones(database), database, "crawl.db")
        path = out.with_name(f"{out.name}.manifest.json")
        with pytest.raises(Killed):
            await Export(path, Deadly(tmp_path)).apply(known, Wanted(), RealClock(), lambda file, rows: None)
        await Export(path).apply(known, Wanted(), RealClock(), lambda file, rows: None)
    manifest = manifest_of(out)
    assert (manifest["rows"], manifest["replacing"], manifest["applied"][0]["rows_removed"]) == (rows - 3, None, 3)
    files = {tmp_path / file["name"]: file["sha256"] for file in manifest["files"]}
    assert left_in(files, HERS) == {}
    assert {path: sha256(path.read_bytes()).hexdigest() for path in files} == files
