"""The comparison of screens with tests/snapshots/ finds changes, and only those that matter."""

from __future__ import annotations

from pathlib import Path

import pytest

import snapshots
from snapshots import FOLDER, Snapshot


def test_snapshot_normalises_folders_addresses_times_and_durations(tmp_path: Path) -> None:
    kept = Snapshot(tmp_path, writes=False)
    screen = f"\x1b[1m{tmp_path}/a.db\x1b[0m  http://127.0.0.1:40123 \n  since    2026-05-01 10:11 UTC, 3.5 s  \n\n"
    assert kept.normalised(screen) == "FOLDER/a.db  http://127.0.0.1:PORT\n  since  TIME, DURATION\n"
    assert kept.normalised("1,234 posts, 5.5 %, x2y\n") == "1,234 posts, 5.5 %, x2y\n"
    assert kept.normalised("1,234 posts, 5.5 %, x2y\n", numbers=False) == "N post, N %, x2y\n"


def test_snapshot_of_a_changed_or_missing_text_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "FOLDER", tmp_path)
    with pytest.raises(AssertionError, match="--write-snapshots"):
        Snapshot(tmp_path, writes=False)("a", "one\n")
    Snapshot(tmp_path, writes=True)("a", "one\n")
    Snapshot(tmp_path, writes=False)("a", "one\n")
    with pytest.raises(AssertionError):
        Snapshot(tmp_path, writes=False)("a", "another\n")


def test_every_snapshot_belongs_to_a_test() -> None:
    tests = "".join(file.read_text("utf-8") for file in FOLDER.parent.rglob("test_*.py"))
    assert [file.name for file in FOLDER.glob("*.txt") if f'"{file.stem}"' not in tests] == []
