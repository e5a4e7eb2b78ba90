"""What changed, when, in either database, and what `bowerbird history` makes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from store_pages import FOLLOWERS, POSTS, PROFILES, TIMELINE, Crawled, followers, post, user

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.model import Gone, Outcome, Page, Subject, Version
from bowerbird.ports import Database
from bowerbird.reports.histories.changes import Change, find_history
from failures import command_error

DAY = timedelta(days=1)


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def changes(crawled: Crawled, text: str) -> list[Change]:
    (history,) = await find_history(crawled.database, text)
    return [change for change in history.changes if change.what != "found"]


def told(change: Change) -> tuple[str, str, Any, Any]:
    return change.what, change.field, change.before, change.now


async def test_a_profile_is_kept_field_by_field_and_found_by_any_of_its_names(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", name="Ada", location="Rome"),)))
    await crawled.save(Page(users=(user("1", name="Ada L.", location=""),)))
    await crawled.save(Page(users=(user("1", handle="countess", name="Ada L.", location=""),)))
    expected = [
        ("profile", "location", "Rome", ""),
        ("profile", "name", "Ada", "Ada L."),
        ("profile", "handle", "u1", "countess"),
    ]
    for text in ("x:1", "countess", "@countess", "@u1"):
        assert [told(change) for change in await changes(crawled, text)] == expected
    assert await find_history(crawled.database, "u2") == []


async def test_to_be_told_that_a_flag_is_off_changes_nothing_and_that_it_goes_on_or_off_does(crawled: Crawled) -> None:
    seen = [await crawled.save(Page(users=(user("1", is_bot=flag),))) for flag in (None, False, True, False, None)]
    assert [saved.users[0].is_changed for saved in seen] == [True, False, True, True, False]
    assert [told(change) for change in await changes(crawled, "x:1")] == [
        ("profile", "is_bot", 0, 1),
        ("profile", "is_bot", 1, 0),
    ]


async def test_counters_alone_are_thinned_to_one_line_a_day(crawled: Crawled) -> None:
    for number in range(60):
        await crawled.save(Page(users=(user("1", posts=number),)))
    lines = await changes(crawled, "x:1")
    assert {change.field for change in lines} == {"posts"}
    assert len(lines) == 2
    assert all(later.at - earlier.at >= DAY for earlier, later in pairwise(lines))


async def test_follows_and_unfollows_are_told_with_the_interval_in_which_they_happened(crawled: Crawled) -> None:
    times: list[datetime] = []
    for sources in (("2", "3"), ("2", "4"), ("2", "3", "4")):
        await crawled.save(Page(relations=followers("1", *sources)), FOLLOWERS, "1")
        times.append(crawled.now)
    lines = await changes(crawled, "x:1")
    assert [(change.what, change.now, change.after, change.at) for change in lines] == [
        ("follower", "x:4", times[0], times[1]),
        ("lost follower", "x:3", times[0], times[1]),
        ("follower", "x:3", times[1], times[2]),
    ]
    assert [change.what for change in await changes(crawled, "x:3")] == ["unfollowed", "followed"]


async def test_absence_and_return_are_told(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1"),)))
    await crawled.save(Page(outcome=Outcome.SUSPENDED, gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED),)), PROFILES, "1")
    await crawled.leased(crawled.now + timedelta(minutes=1))
    await crawled.save(Page(users=(user("1", name="back"),)), PROFILES, "1")
    assert [
        (change.what, change.now or change.before) for change in await changes(crawled, "x:1") if change.what != "profile"
    ] == [
        ("gone", "suspended"),
        ("back", "suspended"),
    ]


async def test_who_is_gone_for_another_reason_is_not_back(crawled: Crawled) -> None:
    for reason in (Outcome.PROTECTED, Outcome.SUSPENDED, Outcome.DEACTIVATED):
        await crawled.save(Page(gone=(Gone(Subject.USER, "1", reason),)), PROFILES, "1")
    await crawled.save(Page(users=(user("1"),)), PROFILES, "1")
    told_absences = [(change.what, change.now or change.before) for change in await changes(crawled, "x:1")]
    assert told_absences == [("gone", "protected"), ("gone", "suspended"), ("gone", "deactivated"), ("back", "deactivated")]


async def test_edits_versions_counters_and_deletion_of_a_post_are_told(crawled: Crawled) -> None:
    written = post("10", text="frist")
    await crawled.save(Page(users=(user("1"),), posts=(written,)), TIMELINE, "1")
    await crawled.save(Page(users=(user("1"),), posts=(post("10", text="first"),)), TIMELINE, "1")
    await crawled.save(Page(users=(user("1"),), posts=(post("10", text="first", likes=3),)), TIMELINE, "1", after=2 * DAY)
    await crawled.save(Page(users=(user("1"),), posts=(post("10", text="first", likes=4),)), TIMELINE, "1")
    await crawled.save(Page(versions=(Version(post="10", at=crawled.now, text="first!"),)), POSTS, "10")
    assert [told(change) for change in await changes(crawled, "x:10")] == [
        ("post", "text", "frist", "first"),
        ("post", "likes", None, 3),
        ("version", "text", None, "first!"),
    ]
    await crawled.save(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND),)), POSTS, "10")
    # With the post its words are gone, also those it once had.
    assert [told(change) for change in await changes(crawled, "x:10")] == [("deleted", "", None, "not_found")]


Written = Callable[[Callable[[Crawled], Awaitable[None]]], str]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """Makes the store that a command is to read, and says where it is."""
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    store = str(tmp_path / "crawl.db")

    async def filled(write: Callable[[Crawled], Awaitable[None]]) -> str:
        database = await open_database(store, RealClock())
        await database.create_tables()
        await write(await Crawled(database).register())
        await database.close()
        return store

    return lambda write: asyncio.run(filled(write))


def test_the_command_shows_it_and_says_when_nobody_is_known(written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    async def write(crawled: Crawled) -> None:
        for name in ("Ada", "Ada\x1b[31m"):
            await crawled.save(Page(users=(user("1", name=name),)))

    store = written(write)
    assert cli.run(["history", "@u1", store]) == 0
    shown = capsys.readouterr().out
    assert "user x:1 @u1" in shown
    assert "\x1b" not in shown
    assert cli.run(["history", "@u1", store, "--json"]) == 0
    (history,) = json.loads(capsys.readouterr().out.splitlines()[-1])["histories"]
    assert [change["what"] for change in history["changes"]] == ["found", "profile"]
    assert cli.run(["history", "https://x.com/u1", store]) == 0
    assert "user x:1 @u1" in capsys.readouterr().out
    assert cli.run(["history", "https://weibo.com/n/u1", store]) == 2
    assert "'@nobody'" in command_error("history", "@nobody", store, code="unknown_account").problem


def test_the_command_says_who_bears_another_handle_now_and_asks_which_of_several_is_meant(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    async def write(crawled: Crawled) -> None:
        await crawled.save(Page(users=(user("1", handle="ada"), user("2", handle="beth"))))
        await crawled.save(Page(users=(user("1", handle="countess", posts=7), user("2", handle="ada"))))

    store = written(write)
    assert cli.run(["history", "@beth", store]) == 0
    heading = capsys.readouterr().out.splitlines()[0]
    assert heading.startswith("user x:2 @ada")
    assert all(value in heading for value in ("@beth", "2026-03-01"))
    several = command_error("history", "@ada", store, code="ambiguous")
    first, second = (line for line in str(several).splitlines() if line.startswith("  x:"))
    assert first.split()[:3] == ["x:1", "user", "@countess,"]
    assert "@ada" in first
    assert second.split() == ["x:2", "user", "@ada"]
    assert cli.run(["history", "x:1", store]) == 0


def test_the_command_shows_counters_as_readings_since_those_between_are_thinned(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    async def write(crawled: Crawled) -> None:
        for number in range(100, 160):
            await crawled.save(Page(users=(user("1", posts=number),)))

    store = written(write)
    assert cli.run(["history", "x:1", store]) == 0
    lines = [line.split()[2:] for line in capsys.readouterr().out.splitlines() if "posts" in line]
    assert lines == [["profile", "posts", "124"], ["profile", "posts", "148"]]


def test_the_command_counts_an_account_that_was_absent_twice_once(written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    async def write(crawled: Crawled) -> None:
        for key in ("1", "2", "1"):
            await crawled.save(Page(gone=(Gone(Subject.USER, key, Outcome.SUSPENDED),)), PROFILES, key)
            await crawled.save(Page(users=(user(key),)), PROFILES, key)

    store = written(write)
    assert cli.run(["gone", store, "--what", "users", "--json"]) == 0
    told_users = json.loads(capsys.readouterr().out.splitlines()[-1])["users"]
    assert (told_users["count"], len(told_users["lines"])) == (2, 3)
