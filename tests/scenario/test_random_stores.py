"""Random stores, as `tests/compare_stores.py` makes them to compare two versions of the code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from golden import product
from golden.differences import differences
from golden.outputs import Outputs
from golden.random_stores import RandomStore

ODDITIES = {
    "deleted posts": "select id from v_deletions where subject = 'post'",
    "opted-out people": "select id from v_deletions where reason = 'opted_out'",
    "absent people": "select user_no from unavailable where until is null",
    "forgotten people": "select * from tombstones",
    "ended relations": "select source from relations where removed_at is not null",
    "unfinished listings": "select user_no from listings where ended_at is null",
    "items in quarantine": "select facet from quarantine",
    "changed profiles": "select user_no from user_history",
    "changed posts": "select post_no from post_history",
    "authors known by id alone": "select user_no from users where seen_at is null",
    "failed tasks": "select task from tasks where state = 'failed'",
    "calls of killed processes": "select call from calls where state = 'lost'",
    "kept deleted posts": "select id from posts where deleted_at is not null and text is not null",
    "odd texts": "select id from posts where text = '=1+1'",
    "gaps of streams": "select gap from v_gaps",
}
"""What random stores must have, each at least once in so many of them."""


def outputs_of(seed: int, folder: Path) -> dict[str, list[str]]:
    folder.mkdir()
    made = RandomStore(seed, folder)
    ended = made.make(str(folder / "store.db"))
    found = Outputs(str(folder / "store.db"), ended, folder, has_formats=False).collect()
    return {"made": made.notes, **found}


@pytest.mark.timeout(900)
def test_random_store_of_same_seed_has_same_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOWERBIRD_CONFIG", str(tmp_path / "config"))
    first, second = outputs_of(4, tmp_path / "first"), outputs_of(4, tmp_path / "second")
    assert not differences(first, second)
    assert [json.loads(line) for line in first["table_users"]]
    other = outputs_of(5, tmp_path / "other")
    assert any("table_users" in each for each in differences(first, other))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_random_stores_have_every_oddity(tmp_path: Path) -> None:
    found = set()
    for seed in range(1, 21):
        (tmp_path / str(seed)).mkdir()
        store = str(tmp_path / str(seed) / "store.db")
        RandomStore(seed, tmp_path / str(seed)).make(store)
        found |= {name for name, sql in ODDITIES.items() if product.rows(store, sql)}
    assert found == ODDITIES.keys()
