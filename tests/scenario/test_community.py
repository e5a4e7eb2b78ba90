"""A community crawled in virtual time: who is found, how rightly, and what of them is kept."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from bowerbird.cli import run
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.community import Wish, evaluate_community
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.evaluate.nationality import evaluate_nationality
from bowerbird.settings import load_settings
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from failures import json_error


def test_a_community_is_found_better_than_by_the_published_order(tmp_path: Path) -> None:
    wish = Wish(accounts=1_000, seeds=40, days=0.5, seed=3, keep=tmp_path / "kept")
    evaluate_community(structs.replace(wish, only=("echo",)), tmp_path, say=lambda text: None)
    said: list[str] = []
    figures = evaluate_community(wish, tmp_path, say=said.append)
    assert [line for line in said if f"{wish.keep}" in line and "echo" in line]
    echo, ours = figures["echo"], figures["ours"]
    assert ours["refused"] == echo["refused"] == 0
    assert abs(sum(ours["calls"].values()) - sum(echo["calls"].values())) <= 5
    assert ours["precision"] >= 0.95
    assert ours["members"] > echo["members"]
    assert ours["captured_of_all"]["posts"] > echo["captured_of_all"]["posts"]
    assert 0 < ours["added_in_24_hours"] < ours["members"]
    assert ours["still_to_be_found"]["waiting"] + ours["looked_at"] > 100


def test_belonging_is_told_better_than_by_the_published_rule() -> None:
    figures = evaluate_nationality(
        load_settings().cache_folder, accounts=3_000, candidates=120, seeds=(11,), say=lambda text: None
    )
    worlds = figures["worlds"]
    ours, echo = worlds["ours"]["everything"], worlds["echo"]["everything"]
    assert ours["precision_yes"] >= 0.95
    assert ours["recall"] > echo["recall"]
    assert ours["brier"] < echo["brier"]
    assert ours["decided"] > worlds["ours"]["profile"]["decided"] == figures["decided_by_profile"]
    assert sum(each["accounts"] for each in figures["reliability"]) == 120
    assert figures["sources"] == {}


@pytest.mark.long
def test_belonging_is_told_as_well_as_promised() -> None:
    figures = evaluate_nationality(load_settings().cache_folder, accounts=20_000, candidates=1_000, say=lambda text: None)
    assert figures["precision_yes"] >= 0.95
    assert figures["precision_no"] >= 0.99
    assert figures["recall"] >= 0.9
    assert figures["decided"] >= 0.85


def test_the_command_describes_shows_explains_and_obeys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = _crawled(tmp_path)
    assert run(["community", "show", store, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert shown["values"]["yes"] > 10
    assert run(["query", "select id from v_judgements where value = 'yes' limit 1", store, "--json"]) == 0
    member = json.loads(capsys.readouterr().out.splitlines()[-1])["rows"][0]["id"]
    assert run(["community", "why", member, store]) == 0
    assert "weight" in capsys.readouterr().out
    assert run(["community", "list", "members", store, "--top", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])["people"]
    assert [each["value"] for each in told] == ["yes"] * 3
    assert run(["community", "list", "members", store]) == 0
    assert f"@{told[0]['handle']}" in capsys.readouterr().out
    assert run(["community", "list", "mentioned", store]) == 0
    # None yet: the command that counts them is named.
    assert f"bowerbird modules {store} run" in capsys.readouterr().out
    assert run(["community", "list", "member", store, "--json"]) == 2
    error = json_error(capsys.readouterr().err)
    assert error.code == "unknown_name"
    assert "'members'" in str(error)
    assert run(["community", "overrule", member, store, "--as", "no", "--by", "maria", "--json"]) == 0
    decided = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert decided == {"id": member, "value": "no", "was": "yes", "by": "maria"}
    assert run(["community", "overrule", member, store, "--as", "maybe"]) == 2
    assert run(["community", "confirm", member, store, "--by", " "]) == 2
    assert run(["community", "confirm", member, store, "--by", "rui"]) == 0
    assert run(["community", "why", member, store, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [each["decided_by"] for each in shown["now"]] == ["rui"]
    assert [each["value"] for each in shown["before"]][-2:] == ["yes", "no"]
    assert run(["community", "free", member, store]) == 0
    assert run(["community", "why", "nobody", store, "--json"]) == 2
    error = json_error(capsys.readouterr().err)
    assert error.code == "unknown_account"
    assert "'nobody'" in error.problem
    assert run(["community", "why", store, "--json"]) == 2
    error = json_error(capsys.readouterr().err)
    assert error.code == "needs_option"
    assert f"bowerbird community why @handle {store}" in str(error)
    assert run(["community", "rejudge", str(tmp_path / "crawl.toml"), "--json"]) == 0
    again = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert again["accounts"] > 30
    assert again["changed"]["unknown to yes"] == 1


@pytest.mark.parametrize("dialect", ["mastodon", "bluesky"])
def test_review_requests_more_about_undecided_accounts(tmp_path: Path, dialect: str) -> None:
    store = _crawled(tmp_path, dialect, 'stop.duration = "45m"')
    with closing(sqlite3.connect(store)) as connection:
        # Added by no call, and no seeds.
        rows = connection.execute(
            "select l.facet, count(*) from tasks t join lanes l on l.lane = t.lane "
            "where t.added_by is null and t.depth > 0 group by l.facet"
        ).fetchall()
    requested = dict(rows)
    assert requested.keys() <= {"timeline", "following", "profiles"}
    assert requested["following"] > 5


def test_members_of_a_field_are_found_from_seeds_alone(tmp_path: Path) -> None:
    settings = WorldSettings(seed=9, accounts=700, likes_per_post=0.0)

    async def crawl(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="bluesky", world=settings), clock)
        world, key = laboratory.service.world, laboratory.service.dialect.account_key
        trades = [world.profiles.at(account, settings.start_ms).bio.lower() for account in range(700)]
        seeds = [key(account) for account, trade in enumerate(trades) if "journalist" in trade][:20]
        more = 'stop.duration = "65m"\n[community]\nname = "journalists"\nwords.learn = true'
        plan = structs.replace(laboratory.plan('flow = "community"', seeds, more), store=str(tmp_path / "crawl.db"))
        async with laboratory.crawl(plan) as opened:
            await laboratory.run(opened)

    run_virtual(crawl, start=settings.start)
    with closing(sqlite3.connect(tmp_path / "crawl.db")) as connection:
        rows = connection.execute(
            "select j.value, u.description like '%journalist%', count(*) "
            "from judgements j join users u on u.id = j.id group by 1, 2"
        )
        counts = {(value, bool(is_member)): count for value, is_member, count in rows}
    assert counts[("yes", True)] > 35
    assert counts[("no", False)] > 400
    assert counts.keys() <= {("yes", True), ("no", False), ("undecided", True), ("undecided", False)}


def _crawled(folder: Path, dialect: str = "twitter_v1", stop: str = "stop.calls = 90") -> str:
    """A small crawl of a simulated service, in a file."""
    settings = WorldSettings(seed=9, accounts=300, mixed=True, likes_per_post=0.0)
    assert run(["community", "new", "PT", str(folder / "pt.toml")]) == 0
    lines = f'flow = "community"\nstore = "{folder / "crawl.db"}"\nseeds = ["1"]\ncommunity.file = "pt.toml"\n'
    service = '[service]\nprovider = "twitter_v1"\nbase = "https://simulated.example"\n'
    (folder / "crawl.toml").write_text(lines + service, encoding="utf-8")

    async def crawl(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect=dialect, world=settings), clock)
        people = laboratory.service.world.people.community
        seeds = [laboratory.service.dialect.account_key(each) for each in range(300) if people[each] == 3][:15]
        more = f'{stop}\ncommunity.file = "{folder / "pt.toml"}"'
        plan = structs.replace(laboratory.plan('flow = "community"', seeds, more), store=str(folder / "crawl.db"))
        async with laboratory.crawl(plan) as opened:
            await laboratory.run(opened)

    run_virtual(crawl, start=settings.start)
    return str(folder / "crawl.db")


def test_a_country_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["community", "new", "Atlantis", str(tmp_path / "a.toml"), "--json"]) == 2
    error = json_error(capsys.readouterr().err)
    assert error.code == "unknown_name"
    assert "ATLANTIS" in error.problem


def test_a_description_that_is_not_there_is_told_how_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["community", "check", str(tmp_path / "pt.toml"), "--json"]) == 2
    error = json_error(capsys.readouterr().err)
    assert error.code == "file_not_found"
    assert "bowerbird community new PT" in error.advice
