"""The public surface is the one that surface.txt records."""

from __future__ import annotations

from surface import FILE, UPDATE, difference, surface
from surface_outputs import key_paths


def test_surface_is_the_recorded_one() -> None:
    told = difference(FILE.read_text("utf-8").splitlines(), surface())
    assert not told, told


def test_difference_shows_changed_lines_and_how_to_record_them() -> None:
    told = difference(["view v.id", "view v.text"], ["view v.id", "view v.words"])
    assert told.splitlines()[1:] == ["- view v.text", "+ view v.words"]
    assert UPDATE in told


def test_difference_of_equal_surfaces_is_empty() -> None:
    assert difference(["view v_posts.id"], ["view v_posts.id"]) == ""


def test_key_paths_collapse_lists_and_tables_keyed_by_data() -> None:
    values = {"rows": [{"a": 1, "b": {}}], "none": {}, "is_whole": True, "lists": [[0.5], []]}
    assert list(key_paths("query", "", values)) == [
        (".rows[]", "keyed by data"),
        (".rows[]{}", "empty"),
        (".none", "empty"),
        (".is_whole", "truth"),
        (".lists[][]", "number"),
        (".lists[][]", "empty"),
    ]
