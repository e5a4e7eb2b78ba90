"""`bowerbird places` and `bowerbird evaluate places`, as a user calls them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from command_errors import refused

from bowerbird.cli import run
from bowerbird.clock import RealClock
from bowerbird.store.opening import open_store

DATA = Path(__file__).parents[4] / "shared" / "data"
ROWS = [
    ("Lisbon", "user", "x:1", "profile"),
    ("Lisbon", "user", "x:2", "coordinates"),
    ("Lisbon", "post", "x:10", "coordinates"),
    ("Portugal", "user", "x:1", "profile"),
    ("Portugal", "user", "x:3", "text"),
]


def filled(path: Path) -> None:
    async def fill() -> None:
        async with open_store(str(path), RealClock()) as database, database.transaction() as tx:
            sql = (
                "insert into judgements (judge, value, subject, id, reason, strength, confidence, evidence, version, at, call) "
                "values ('place', ?, ?, ?, ?, 1, 0.9, '{}', '1', 1, 1)"
            )
            await tx.execute_many(sql, ROWS)

    asyncio.run(fill())


def test_the_report_says_what_decided_and_what_places_share(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path / "crawl.db")
    assert run(["places", str(tmp_path / "crawl.db"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["places"] == [
        {
            "place": "Lisbon",
            "users": {"all": 2, "coordinates": 1, "profile": 1},
            "posts": {"all": 1, "coordinates": 1},
            "gained": {"users": 1.0, "posts": 0.0},
        },
        {
            "place": "Portugal",
            "users": {"all": 2, "profile": 1, "text": 1},
            "posts": {"all": 0},
            "gained": {"users": None, "posts": None},
        },
    ]
    assert report["jaccard"]["users"]["Lisbon"] == {"Lisbon": 1.0, "Portugal": 0.3333}
    assert report["jaccard"]["posts"]["Portugal"]["Lisbon"] == 0.0


def test_a_place_of_the_crawl_file_without_a_find_is_listed_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path / "crawl.db")
    file = tmp_path / "crawl.toml"
    places = '[[places]]\nname = "Faro"\nbox = [-8, 37, -7.9, 37.1]\n[[places]]\nname = "Lisbon"\n'
    file.write_text(
        f'flow = "places"\nseeds = ["@ada"]\n[service]\nprovider = "mastodon"\nbase = "https://a.example"\n{places}', "utf-8"
    )
    assert run(["places", str(file)]) == 0
    shown = capsys.readouterr().out
    assert shown.index("Faro") < shown.index("Lisbon") < shown.index("Portugal")
    overlap = {tuple(line.split()[:2]): line.split()[2:] for line in shown.partition("overlap")[2].splitlines()}
    assert overlap["Faro", "Portugal"] == ["0.0000", "\N{EN DASH}"], "of two places without posts nothing can be said"


def test_the_evaluation_names_what_it_needs(tmp_path: Path) -> None:
    assert "profile-locations" in refused("evaluate", "places", "--data", tmp_path, code="file_not_found").problem


def test_the_evaluation_compares_with_labels_of_machines_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "profile-locations"
    folder.mkdir()
    head = "twitter_id\traw_location\tsilver_city\tsilver_state\tsilver_country"
    rows = [
        "1\tPorto, Portugal\tPorto\t-\tPortugal",
        "2\tin my head\t-\t-\tUnknown",
        "3\tParis\tParis\t-\tUnited States",
        "4\t\t-\t-\t-",
    ]
    (folder / "locations.tsv").write_text("\n".join([head, *rows]) + "\n", "utf-8")
    assert run(["evaluate", "places", "--data", str(tmp_path), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["machine_labels"] == {"profiles": 2, "resolved": 2, "country_agrees": 0.5}
    assert figures["unseen"]["strings"] == 0
    assert figures["resolved_share"] == pytest.approx(2 / 3, abs=1e-3)


@pytest.mark.skipif(not (DATA / "profile-locations").is_dir(), reason="the evaluation data is not here")
def test_nine_of_ten_countries_and_cities_are_understood_on_real_profiles(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "places", "--data", str(DATA), "--texts", "500", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["unseen"]["strings"] == 240
    assert figures["country"] >= 0.92
    assert figures["city"] >= 0.92
    assert figures["italians"]["italy_of_resolved"] > 0.88
