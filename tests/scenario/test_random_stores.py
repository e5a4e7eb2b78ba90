"""Random stores, as `tests/compare_stores.py` makes them to compare two versions of the code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from golden.differences import differences
from golden.outputs import Outputs
from golden.random_stores import RandomStore


def outputs_of(seed: int, folder: Path) -> dict[str, list[str]]:
    folder.mkdir()
    made = RandomStore(seed, folder)
    ended = made.make(str(folder / "store.db"))
    found = Outputs(str(folder / "store.db"), ended, folder, has_formats=False).collect()
    return {"made": made.notes, **found}


@pytest.mark.timeout(900)
def test_random_store_of_same_seed_has_same_outputs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BOWERBIRD_CONFIG", str(tmp_path / "config"))
    first, second = outputs_of(4, tmp_path / "first"), outputs_of(4, tmp_path / "second")
    assert not differences(first, second)
    assert [json.loads(line) for line in first["table_users"]]
    other = outputs_of(5, tmp_path / "other")
    assert any("table_users" in each for each in differences(first, other))
