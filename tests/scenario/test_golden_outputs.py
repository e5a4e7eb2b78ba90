"""Outputs of two small crawls, on both databases, against the files in `tests/golden/expected`."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.differences import differences, read_folder, write_folder
from golden.outputs import Outputs
from golden.worlds import CRAWLS, make_store

EXPECTED = Path(__file__).parents[1] / "golden" / "expected"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("crawl", CRAWLS)
def test_outputs_of_a_fixed_crawl_match_golden_files(
    crawl: str,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    # Without the vault and the settings of the user who runs the tests.
    monkeypatch.setenv("BOWERBIRD_CONFIG", str(tmp_path / "config"))
    is_sqlite = database_url == ":memory:"
    store = str(tmp_path / "golden.db") if is_sqlite else database_url
    ended = make_store(crawl, store)
    (tmp_path / "files").mkdir()
    found = Outputs(store, ended, tmp_path / "files").collect()
    if is_sqlite and request.config.getoption("--write-golden"):
        write_folder(EXPECTED / crawl, found)
    differing = differences(read_folder(EXPECTED / crawl), found, ("kept", "now"))
    assert not differing, "\n\n".join(
        [
            *differing,
            "If this is meant: pytest tests/scenario/test_golden_outputs.py --write-golden",
        ]
    )
