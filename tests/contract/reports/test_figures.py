"""The numbers behind figures, held against stores that were filled by hand; and the files that are drawn from them."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from store_pages import FOLLOWERS, START, TIMELINE, Crawled, followers, post, user

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.export.plots import drawings
from bowerbird.model import Page, PostKind
from bowerbird.ports import Database
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.figures.delays import read_repost_delays, read_silence
from bowerbird.reports.figures.distributions import at_least, read_activity, read_degrees, top_share
from bowerbird.reports.figures.volumes import fitting_unit, read_rhythm, read_volumes
from bowerbird.reports.figures.word_counts import read_words
from bowerbird.reports.figures.written import Chosen
from failures import command_error

ALL = Chosen()
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


async def filled(database: Database) -> Crawled:
    """Two who write: one on three days with a repost an hour later by the other, one who has been silent since."""
    scene = await Crawled(database).register()
    one = (
        post("1", text="Überschwemmung im Tal", tags=("Flood",), language="de"),
        post("2", created_at=START + DAY, text="100 % dry", language="pt-BR"),
        post("3", created_at=START + 3 * DAY, tags=("flood", "rain"), language="pt"),
    )
    passed_on = post("4", "2", kind=PostKind.REPOST, repost_of="x:1", created_at=START + HOUR, text=None)
    await scene.save(
        Page(users=(user("1", followers=10, following=2), user("2", followers=0)), posts=(*one, passed_on)), TIMELINE, "1"
    )
    await scene.save(Page(relations=followers("1", "2", "3")), FOLLOWERS, "1")
    return scene


async def test_volumes_count_days_on_which_nothing_was_written(database: Database) -> None:
    await filled(database)
    async with database.reading() as tx:
        volumes = await read_volumes(tx, ALL, Unit.DAY)
        months = await read_volumes(tx, ALL, Unit.MONTH)
    assert [volume.total for volume in volumes] == [2, 1, 0, 1]
    assert volumes[0].posts == {"post": 1, "repost": 1}
    assert [volume.total for volume in months] == [4]


async def test_a_figure_may_be_about_one_language_and_time(database: Database) -> None:
    await filled(database)
    async with database.reading() as tx:
        portuguese = await read_volumes(tx, Chosen(language="pt"), Unit.DAY)
        later = await read_volumes(tx, Chosen(since=START + DAY, until=START + 2 * DAY), Unit.DAY)
        unit = await fitting_unit(tx, ALL)
    assert sum(volume.total for volume in portuguese) == 2
    assert [volume.total for volume in later] == [1]
    assert unit is Unit.HOUR


async def test_the_rhythm_of_the_week_is_by_weekday_and_hour(database: Database) -> None:
    await filled(database)
    async with database.reading() as tx:
        rhythm = await read_rhythm(tx, ALL)
    # START is a Sunday at noon.
    assert (rhythm[6][12], rhythm[6][13], rhythm[0][12], rhythm[2][12]) == (1, 1, 1, 1)
    assert sum(map(sum, rhythm)) == 4


async def test_degrees_come_from_profiles_and_from_lists(database: Database) -> None:
    await filled(database)
    async with database.reading() as tx:
        degrees = await read_degrees(tx)
        activity = await read_activity(tx, ALL)
    assert degrees["followers, as profiles say"] == {10: 1, 0: 1}
    assert degrees["followers, as stored"] == {2: 1}
    assert degrees["following, as stored"] == {1: 2}
    assert activity == {3: 1, 1: 1}


async def test_delays_are_those_of_reposts_whose_times_are_known(database: Database) -> None:
    await filled(database)
    async with database.reading() as tx:
        assert await read_repost_delays(tx, ALL) == {3_600: 1}


async def test_a_silence_that_lasts_has_not_ended(database: Database) -> None:
    await filled(database)
    now = START + 10 * DAY

    class Then(RealClock):
        def now(self) -> datetime:
            return now

    async with database.reading() as tx:
        curve = await read_silence(tx, ALL, Then())
    found = {point.days: (point.silent, point.returned) for point in curve}
    # The first was silent for one and for two days and wrote again, then for seven; the other since an hour later.
    assert found[1] == (4, 2)
    assert found[2] == (3, 1)
    assert found[3] == (2, 0)
    assert found[7] == (2, 0)


async def test_words_are_found_whatever_their_case_and_tags_by_their_form(database: Database) -> None:
    await filled(database)
    async with database.reading() as tx:
        found = await read_words(tx, ("überschwemmung", "100 %", "#FLOOD", "nothing"), ALL, Unit.DAY)
        most = await read_words(tx, (), ALL, Unit.DAY)
    assert [history.total for history in found] == [1, 1, 2, 0]
    assert [history.word for history in most] == ["#flood", "#rain"]


def test_tails_and_shares_of_the_most_active() -> None:
    table = {1: 98, 10: 1, 92: 1}
    assert at_least(table) == [(1, 1.0), (10, 0.02), (92, 0.01)]
    assert top_share(table, 0.01) == pytest.approx(92 / 200)
    assert top_share({}, 0.01) == 0


def store(folder: Path, *, is_empty: bool = False) -> str:
    place = str(folder / "study.db")

    async def fill() -> None:
        database = await open_database(place, RealClock())
        await database.create_tables()
        if not is_empty:
            await filled(database)
        await database.close()

    asyncio.run(fill())
    return place


def test_every_figure_is_drawn_with_the_numbers_behind_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = store(tmp_path)
    assert cli.run(["plot", "all", source, "-o", str(tmp_path / "figures"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["files"]) == 10
    for name, file in told["files"].items():
        words = "".join(ElementTree.parse(file).getroot().itertext())
        assert all(value in words for value in (Path(source).name, "bowerbird")), name
    assert told["figures"]["activity"] == {"3": 1, "1": 1}


def test_a_store_without_posts_says_so_in_the_picture(tmp_path: Path) -> None:
    picture = tmp_path / "volumes.svg"
    assert cli.run(["plot", "volumes", store(tmp_path, is_empty=True), "-o", str(picture)]) == 0
    assert drawings._NOTHING in picture.read_text(encoding="utf-8")


def test_a_word_of_mathematics_or_another_script_is_drawn_as_it_is(tmp_path: Path) -> None:
    picture = tmp_path / "words.svg"
    place = store(tmp_path)
    assert cli.run(["plot", "words", place, "-o", str(picture), "--word", "$x^2", "--word", "洪水", "--word", "#flood"]) == 0
    drawn = picture.read_text(encoding="utf-8")
    assert "洪水" in drawn
    assert "$x^2" in drawn


def test_the_same_store_gives_the_same_picture(tmp_path: Path) -> None:
    place, pictures = store(tmp_path), [tmp_path / "one.svg", tmp_path / "two.svg"]
    for picture in pictures:
        assert cli.run(["plot", "volumes", place, "-o", str(picture)]) == 0
    assert pictures[0].read_bytes() == pictures[1].read_bytes()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["volumes", "-o", "picture.gif"], "unknown_format"),
        (["volumes", "-o", "nowhere/picture.svg"], "file_not_found"),
        (["all", "-o", "figures.svg"], "conflicting_options"),
        (["volumes", "--since", "yesterday"], "invalid"),
    ],
)
def test_what_cannot_be_drawn_is_said_before_anything_is_read(
    options: list[str], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = store(tmp_path)
    monkeypatch.chdir(tmp_path)
    command_error("plot", options[0], place, *options[1:], code=code)


def test_times_without_a_zone_are_in_utc(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    when = datetime(2026, 3, 2, tzinfo=UTC)
    place, picture = store(tmp_path), str(tmp_path / "v.svg")
    for written in ("2026-03-02", "2026-03-02T02:00+02:00", when.isoformat()):
        assert cli.run(["plot", "volumes", place, "-o", picture, "--since", written, "--json"]) == 0
        volumes = json.loads(capsys.readouterr().out)["figures"]["volumes"]
        assert sum(sum(volume["posts"].values()) for volume in volumes) == 2
