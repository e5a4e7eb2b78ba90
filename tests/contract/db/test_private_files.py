"""Files that hold what people wrote can be read by their owner alone, whatever the umask and whoever made them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.files.backup import back_up, restore
from bowerbird.errors import StoreError
from bowerbird.modules.media.files import MediaFolder
from failures import raises_code


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(path.stat().st_mode & 0o777) for path in sorted(folder.iterdir())}


async def test_a_database_and_what_lies_beside_it_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.create_tables()
    assert modes(tmp_path) == {"crawl.db": "0o600", "crawl.db-shm": "0o600", "crawl.db-wal": "0o600"}
    await database.close()


async def test_a_database_that_others_could_open_is_closed_to_them_and_the_user_hears_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "crawl.db"
    database = await open_database(str(place), RealClock())
    await database.create_tables()
    for path in tmp_path.iterdir():  # noqa: ASYNC240
        path.chmod(0o644)
    with caplog.at_level(logging.WARNING):
        again = await open_database(str(place), RealClock())
    assert set(modes(tmp_path).values()) == {"0o600"}
    warned = [record.getMessage() for record in caplog.records if record.name == "bowerbird.db.files.private"]
    assert any(str(place) in said and "0600" in said for said in warned)
    await again.close()
    await database.close()


async def test_backups_and_what_is_made_of_them_are_private_on_either_database(tmp_path: Path, migrated_url: str) -> None:
    for number, place in enumerate((str(tmp_path / "crawl.db"), migrated_url)):
        database = await open_database(place, RealClock())
        await database.create_tables()
        await back_up(place, tmp_path / f"{number}.backup.db", RealClock())
        await restore(tmp_path / f"{number}.backup.db", str(tmp_path / f"{number}.restored.db"), RealClock())
        await database.close()
    assert set(modes(tmp_path).values()) == {"0o600"}


def test_pictures_and_their_folder_are_private(tmp_path: Path) -> None:
    writing = MediaFolder(str(tmp_path / "media")).begin("m1")
    writing.add(b"picture")
    kept = writing.keep("image/png")
    path = tmp_path / "media" / kept.path
    assert [oct(each.stat().st_mode & 0o777) for each in (path, path.parent, tmp_path / "media")] == ["0o600", "0o700", "0o700"]


async def test_a_store_in_a_folder_that_cannot_be_written_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = tmp_path / "crawl.db"
    where.write_bytes(b"no database")
    # Who is root may write everywhere but to a file system that is mounted to be read.
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != tmp_path)
    with raises_code(StoreError, "database_failed") as unwritable:
        await open_database(str(where), RealClock())
    monkeypatch.undo()
    with raises_code(StoreError, "database_failed") as damaged:
        await open_database(str(where), RealClock())
    assert str(where) in unwritable.value.problem
    assert unwritable.value.advice != damaged.value.advice
