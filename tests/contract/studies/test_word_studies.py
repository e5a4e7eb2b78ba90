"""Studies of words from the first to the last step, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from store_pages import POSTS, START, TIMELINE, Crawled, post, user

from bowerbird.clock import RealClock
from bowerbird.errors import Busy, DiskFull, UserError
from bowerbird.model import Gone, Outcome, Page, PostKind, Subject
from bowerbird.ports import Database, Transaction
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.words.looking import Wanted
from bowerbird.reports.words.reading import Study, compared, read_drawn_posts, read_precision, read_studies, read_study
from bowerbird.studies.word_studies import (
    PostLabel,
    StudyRunner,
    create_study,
    label_post,
    remove_study,
    restart_study,
    set_series,
)
from failures import raises_code

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
TELLS, KEEPS = [2], [3]
"""Transactions of a look: the first takes the study, the second tells how far it is, the third keeps what was found."""


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    """Six people mention a programme on six days, the more the later, in several spellings."""
    scene = await Crawled(database).register()
    people = tuple(user(str(n)) for n in range(1, 8))
    posts = [
        post(str(10 * day + who), str(who), created_at=START + day * DAY, text="hoje vi a Casa dos Segredos")
        for day in range(1, 7)
        for who in range(1, day + 1)
    ]
    posts += [post(str(100 + who), str(who), created_at=START + DAY, text="#casadossegredos outra vez") for who in range(1, 5)]
    posts += [
        post("120", "1", created_at=START + 6 * DAY, text="outra vez a casa dos segredos"),
        post("121", "2", created_at=START + DAY, text="uma casa qualquer"),
        post("122", "3", kind=PostKind.REPOST, repost_of="x:120", created_at=START + DAY, text="outra vez a casa dos segredos"),
    ]
    await scene.save(Page(users=people, posts=tuple(posts)), TIMELINE, "1")
    return scene


async def made(database: Database, *words: str, unit: Unit = Unit.DAY) -> int:
    async with database.transaction() as tx:
        return await create_study(tx, "", Wanted(words=words, unit=unit), "ana", RealClock().now())


async def looked(database: Database, number: int) -> Study:
    assert await StudyRunner(database, RealClock(), rest=0).run_next() == number
    async with database.reading() as tx:
        study = await read_study(tx, number)
    assert study is not None
    return study


class Moody:
    """A database that does not answer at some of its transactions, counted from 1; implements what a look needs of one."""

    def __init__(self, database: Database, error: Exception, fails: Sequence[int]) -> None:
        self._database = database
        self._error = error
        self._fails = fails
        self._asked = 0
        self.dialect = database.dialect

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        self._asked += 1
        async with self._database.transaction() as tx:
            yield tx
            if self._asked in self._fails:
                raise self._error


async def test_references_are_counted_by_posts_and_by_people(database: Database, crawled: Crawled) -> None:
    study = await looked(database, await made(database, "casa dos segredos"))
    assert (study.state, study.name, study.error) == ("done", "casa dos segredos", None)
    assert study.found is not None
    assert (study.found.looked, study.found.posts, study.found.people) == (27, 22, 6)
    assert list(study.found.stretches.values()) == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (7, 6)]
    assert study.spellings == [("casadossegredos", 4, 4)]


async def test_a_spelling_that_is_taken_up_counts_from_then_on(database: Database, crawled: Crawled) -> None:
    number = await made(database, "casa dos segredos")
    await looked(database, number)
    async with database.transaction() as tx:
        await restart_study(tx, number, ["casa dos segredos", "casadossegredos"])
    study = await looked(database, number)
    assert study.found is not None
    assert study.found.posts == 26
    assert study.spellings == []


async def test_references_are_held_against_a_series(database: Database, crawled: Crawled) -> None:
    number = await made(database, "casa dos segredos")
    async with database.transaction() as tx:
        midnight = START.replace(hour=0)
        await set_series(tx, number, "share", {midnight + (day + 1) * DAY: 3.0 * day for day in range(1, 7)})
    study = await looked(database, number)
    told = compared(study)
    assert told is not None
    assert study.series_name == "share"
    best = max(told.by_people, key=lambda each: each.pearson.value if each.pearson and each.pairs > 5 else -1)
    assert (best.lag, best.pairs) == (1, 6)
    assert best.pearson is not None
    assert best.pearson.value == 1.0
    assert len(told.times) == 7


async def test_the_precision_of_a_query_is_what_people_say_of_its_sample(database: Database, crawled: Crawled) -> None:
    number = await made(database, "casa dos segredos")
    await looked(database, number)
    async with database.reading() as tx:
        sample = await read_drawn_posts(tx, number)
    assert len({each.number for each in sample}) == 22
    for place, each in enumerate(sample[:10]):
        await label_post(database, number, PostLabel(each.number, "ana", "no" if place == 9 else "yes"), RealClock().now())
    await label_post(database, number, PostLabel(sample[0].number, "rui", "yes"), RealClock().now())
    async with database.reading() as tx:
        told = await read_precision(tx, number)
    assert (told.drawn, told.labelled, told.precise.share) == (22, 10, 0.9)
    assert told.precise.low < 0.9 < told.precise.high
    assert [(each.who, each.labelled) for each in told.people] == [("ana", 10), ("rui", 1)]
    with raises_code(UserError, "unknown_post"):
        await label_post(database, number, PostLabel(0, "ana", "yes"), RealClock().now())
    with raises_code(UserError, "invalid") as caught:
        await label_post(database, number, PostLabel(sample[0].number, "ana", "perhaps"), RealClock().now())
    assert "'perhaps'" in str(caught.value)


async def test_a_deleted_post_leaves_the_sample_and_its_labels(database: Database, crawled: Crawled) -> None:
    number = await made(database, "casa dos segredos")
    await looked(database, number)
    async with database.reading() as tx:
        sample = await read_drawn_posts(tx, number)
    for each in sample:
        await label_post(database, number, PostLabel(each.number, "ana", "yes"), RealClock().now())
    await crawled.save(Page(gone=(Gone(Subject.POST, "120", Outcome.NOT_FOUND),)), POSTS)
    async with database.reading() as tx:
        told = await read_precision(tx, number)
        left = await tx.fetch("select * from word_study_labels")
    assert (told.drawn, told.labelled, len(left)) == (21, 21, 21)


@pytest.mark.parametrize(
    ("words", "code", "value"),
    [
        ((" ", "!"), "missing_value", ""),
        (("x" * 101,), "too_many", "'xxx"),
        (tuple(map(str, range(101))), "too_many", "101"),
    ],
)
async def test_words_that_cannot_be_looked_for_are_refused(
    database: Database, words: tuple[str, ...], code: str, value: str
) -> None:
    with raises_code(UserError, code) as caught:
        await made(database, *words)
    assert value in str(caught.value)


async def test_a_study_may_be_about_a_stretch_of_time_and_be_removed(database: Database, crawled: Crawled) -> None:
    async with database.transaction() as tx:
        wanted = Wanted(words=["segredos"], unit=Unit.HOUR, since=START + 2 * DAY, until=START + 3 * DAY)
        number = await create_study(tx, "two days", wanted, "ana", datetime(2026, 4, 1, tzinfo=UTC))
    study = await looked(database, number)
    assert study.found is not None
    assert (study.found.looked, study.found.posts) == (2, 2)
    assert await StudyRunner(database, RealClock()).run_next() is None
    async with database.transaction() as tx:
        await remove_study(tx, number)
        assert await read_studies(tx) == []


@pytest.mark.parametrize("error", [Busy("locked"), DiskFull("full")], ids=["busy", "full"])
async def test_a_study_waits_while_the_database_cannot_take_what_was_found(
    database: Database, crawled: Crawled, error: Exception
) -> None:
    number = await made(database, "casa dos segredos")
    looker = StudyRunner(Moody(database, error, KEEPS), RealClock(), rest=0)
    with pytest.raises(type(error)):
        await looker.run_next()
    async with database.reading() as tx:
        (study,) = await read_studies(tx)
    assert (study.state, study.error) == ("waiting", None)
    assert await StudyRunner(database, RealClock()).run_next() is None, "whoever held it has a minute to try again"
    assert await looker.run_next() == number
    async with database.reading() as tx:
        (study,) = await read_studies(tx)
    assert (study.state, study.error) == ("done", None)


async def test_a_look_goes_on_where_it_cannot_be_told_how_far_it_is(database: Database, crawled: Crawled) -> None:
    number = await made(database, "casa dos segredos")
    assert await StudyRunner(Moody(database, Busy("locked"), TELLS), RealClock(), rest=0).run_next() == number
    async with database.reading() as tx:
        (study,) = await read_studies(tx)
    assert (study.state, study.error) == ("done", None)
