"""Exports that are cut off go on with the same command, and are then as if nothing had happened."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from export_scene import exported, opened
from killed_export import export_until
from store_pages import PROFILES, TIMELINE, Crawled, post, user

from bowerbird.errors import DiskFull, UserError
from bowerbird.export.jobs.destinations import OutFile
from bowerbird.export.rows.files import open_rows
from bowerbird.export.rows.shapes import POSTS
from bowerbird.model import Page
from failures import raises_code
from marks import long

_POSTS = 60


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    async with opened(path) as database:
        crawled = await Crawled(database).register()
        await crawled.save(Page(users=(user("1"),)), PROFILES)
        await crawled.save(
            Page(posts=tuple(post(str(n), text=f"a text\nof {n}") for n in range(100, 100 + _POSTS))), TIMELINE, "1"
        )
    return path


def killed(store: Path, out: Path, rows: int, split: int = 0) -> None:
    script = Path(__file__).parents[1].joinpath("killed_export.py")
    arguments = [sys.executable, str(script), str(store), str(out), str(rows), str(split)]
    assert subprocess.run(arguments, check=False, capture_output=True).returncode == -9


def read(folder: Path, ending: str) -> Iterator[bytes]:
    return (file.read_bytes() for file in sorted(folder.glob(f"*.{ending}")))


@pytest.mark.parametrize("split", [25, *long(0)])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
async def test_a_killed_export_goes_on_and_is_the_same(store: Path, ending: str, split: int, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole" / f"a.{ending}", tmp_path / "cut" / f"a.{ending}"
    await export_until(str(store), whole, None, split or None)
    for rows in (14, 40):
        killed(store, cut, rows, split)
        assert not cut.exists()
    done = await export_until(str(store), cut, None, split or None)
    assert (done.rows, done.run.rows, done.go_on) == (_POSTS, _POSTS, None)
    assert list(read(cut.parent, ending)) == list(read(whole.parent, ending))


async def test_a_killed_export_does_not_begin_anew(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "cut" / "a.csv"
    killed(store, out, 40)
    grown = (out.parent / "a.csv.part").stat().st_ino
    await export_until(str(store), out, None, None)
    assert out.stat().st_ino == grown


async def test_a_file_that_lost_its_end_is_not_gone_on_with(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "cut" / "a.csv"
    killed(store, out, 40)
    (out.parent / "a.csv.part").write_bytes(b"short")
    with raises_code(UserError, "file_damaged") as caught:
        await export_until(str(store), out, None, None)
    assert "a.csv.part" in str(caught.value)


def test_a_full_disk_stops_an_export_with_words_that_help(tmp_path: Path) -> None:
    class Full:
        shown = "/dev"
        keeps_parts = True

        def local(self, name: str) -> Path:
            return Path("/dev") / name

    file = OutFile(Full(), "full")  # type: ignore[arg-type]
    with raises_code(DiskFull, "disk_full") as caught:
        file.write(b"x" * 100)
    assert "/dev/full" in str(caught.value)
    file.leave()
    with raises_code(DiskFull, "disk_full"):
        open_rows(Path("/dev/full"), POSTS, format="csv")


@pytest.mark.parametrize(("split", "at", "room"), [(0, 21, 100), (0, 21, 3_000), (25, 28, 100)])
async def test_an_export_goes_on_when_there_is_room_again(store: Path, split: int, at: int, room: int, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole" / "a.jsonl", tmp_path / "cut" / "a.jsonl"
    await export_until(str(store), whole, None, split or None)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def heard(rows: int) -> None:
        if rows == at:
            grown = max(part.stat().st_size for part in cut.parent.glob("*.jsonl.part"))
            resource.setrlimit(resource.RLIMIT_FSIZE, (grown + room, hard))

    try:
        with raises_code(DiskFull, "disk_full"):
            await export_until(str(store), cut, None, split or None, heard)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    done = await export_until(str(store), cut, None, split or None)
    assert (done.rows, done.run.rows, done.go_on) == (_POSTS, _POSTS, None)
    assert list(read(cut.parent, "jsonl")) == list(read(whole.parent, "jsonl"))


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
async def test_rows_of_whole_files_are_not_written_again(store: Path, ending: str, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole" / f"a.{ending}", tmp_path / "cut" / f"a.{ending}"
    await export_until(str(store), whole, None, 25)
    in_the_way = cut.parent / f"a-0002.{ending}.part"
    in_the_way.mkdir(parents=True)
    with raises_code(UserError, "file_unwritable") as caught:
        await export_until(str(store), cut, None, 25)
    assert in_the_way.name in str(caught.value)
    in_the_way.rmdir()
    await export_until(str(store), cut, None, 25)
    assert list(read(cut.parent, ending)) == list(read(whole.parent, ending))


async def test_days_have_every_row_once(store: Path, tmp_path: Path) -> None:
    async with opened(store) as database:
        manifest = await exported(database, "posts", tmp_path / "days")
    assert manifest.rows == _POSTS
    found = duckdb.sql(f"select count(distinct id) from read_parquet('{tmp_path}/days/*/*.parquet')").fetchone()
    assert found == (_POSTS,)
