"""One account or post with all that is known of it, on either database; of what is gone only that."""

from __future__ import annotations

from datetime import timedelta

import pytest
from store_pages import FOLLOWERS, POSTS, START, TIMELINE, Crawled, followers, post, user

from bowerbird.errors import UserError
from bowerbird.model import Gone, Media, Outcome, Page, Subject
from bowerbird.ports import Database
from bowerbird.reports.browsing.kept_files import kept_file
from bowerbird.reports.histories.changes import find_history
from bowerbird.reports.sheets.accounts import hours_of, read_account
from bowerbird.reports.sheets.posts import read_post, read_thread
from bowerbird.reports.sheets.ties import newest_ties, ties_by_day
from bowerbird.store.searches import SavedSearch, drop_search, keep_search, saved_searches
from failures import raises_code

_JUDGED = (
    "insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, at, call) "
    "values ('community', ?, ?, 'yes', 'profile', 1, 0.9, '{\"place\": 2.5}', '1', 1, 1)"
)
_FILE = (
    "insert into media_files (id, kind, url, state, path, type, due, found_at) "
    "values (?, 'image', 'https://pictures.example', 'kept', 'ab/cd.png', 'image/png', 0, 0)"
)


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def test_an_account_with_all_that_is_known_of_it(crawled: Crawled) -> None:
    await crawled.leased(START)
    await crawled.save(Page(users=(user("1", name="Ada", followers=9, posts=4),), posts=(post("10"), post("11"))), TIMELINE, "1")
    people = tuple(user(str(key)) for key in range(2, 5))
    await crawled.save(Page(users=people, relations=followers("1", "2", "3")), FOLLOWERS, "1")
    async with crawled.database.transaction() as tx:
        await tx.execute(_JUDGED, "user", "x:1")
    sheet = await read_account(crawled.database, "x:1")
    assert sheet is not None
    assert sheet.profile is not None
    assert sheet.brought is not None
    assert (sheet.profile["name"], sheet.posts.value, sheet.followers.value, sheet.following.value) == ("Ada", 2, 2, 0)
    assert (sheet.brought.facet, sheet.absence, sheet.opts_out) == ("timeline", None, False)
    assert [(each.side, each.is_whole) for each in sheet.listings] == [("followers", True)]
    assert [(each.judge, each.value, each.evidence) for each in sheet.said] == [("community", "yes", {"place": 2.5})]
    hours = await hours_of(crawled.database, sheet.number)
    assert (hours.posts, hours.most, hours.table[START.weekday()][START.hour]) == (2, 2, 2)
    assert await read_account(crawled.database, "x:99") is None


async def test_of_an_account_that_is_gone_or_opted_out_only_that_is_told(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", name="Ada"), user("2", name="Bo")), posts=(post("10"),)), TIMELINE, "1")
    await crawled.save(
        Page(gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED, is_stated=True),), users=(user("2", opts_out=True),))
    )
    gone, out = await read_account(crawled.database, "x:1"), await read_account(crawled.database, "x:2")
    assert gone is not None
    assert gone.absence is not None
    assert (gone.profile, gone.absence.reason, gone.posts.value) == (None, "suspended", 0)
    assert out is not None
    assert (out.profile, out.opts_out, out.said) == (None, True, ())
    sheet = await read_post(crawled.database, "x:10")
    assert sheet is not None
    assert sheet.deletion is not None
    assert (sheet.post, sheet.media, sheet.readings) == (None, (), ())


async def test_ties_are_told_with_the_interval_in_which_they_came_and_went(crawled: Crawled) -> None:
    people = tuple(user(str(key)) for key in range(1, 6))
    await crawled.save(Page(users=people, relations=followers("1", "2", "3")), FOLLOWERS, "1")
    await crawled.save(Page(relations=followers("1", "2", "4")), FOLLOWERS, "1")
    sheet = await read_account(crawled.database, "x:1")
    assert sheet is not None
    ties = await newest_ties(crawled.database, sheet.number)
    assert {(tie.side, tie.change, tie.id) for tie in ties} == {("followers", "added", "x:4"), ("followers", "removed", "x:3")}
    assert all(tie.before == crawled.now for tie in ties)
    (day,) = (await ties_by_day(crawled.database, sheet.number)).days
    assert (day.day, day.counts) == (crawled.now.date(), {("followers", "added"): 1, ("followers", "removed"): 1})
    crawled.now += timedelta(days=1)
    await crawled.save(Page(relations=followers("1", "2", "5")), FOLLOWERS, "1")
    counted = await ties_by_day(crawled.database, sheet.number)
    assert ([each.day - day.day for each in counted.days], counted.is_cut) == ([timedelta(0), timedelta(days=1)], False)
    cut = await ties_by_day(crawled.database, sheet.number, most=3)
    assert ([each.day - day.day for each in cut.days], cut.is_cut) == ([timedelta(days=1)], True)
    assert {tie.id for tie in await newest_ties(crawled.database, sheet.number, 2)} == {"x:4", "x:5"}
    (alone,) = await find_history(crawled.database, "x:1", ties=False)
    assert {change.what for change in alone.changes} == {"found"}


async def test_a_post_with_its_counters_media_and_the_call_that_brought_it(crawled: Crawled) -> None:
    picture = Media(id="m1", kind="image", url="https://pictures.example/1.png", description="A bower")
    first = post("10", likes=1, media=(picture,))
    await crawled.leased(START)
    await crawled.save(Page(users=(user("1"),), posts=(first,)), TIMELINE, "1")
    await crawled.save(Page(posts=(post("10", likes=7, media=(picture,)),)), POSTS, "10", after=timedelta(days=2))
    await crawled.save(Page(posts=(post("20", "2", kind="repost", repost_of="x:10"),), users=(user("2"),)), TIMELINE, "2")
    sheet = await read_post(crawled.database, "x:10")
    assert sheet is not None
    assert sheet.post is not None
    assert sheet.brought is not None
    assert [reading.counts["likes"] for reading in sheet.readings] == [1, 7, 7]
    assert (sheet.passed_on.value, sheet.brought.facet, [each["id"] for each in sheet.media]) == (1, "timeline", ["m1"])
    assert await read_post(crawled.database, "x:99") is None


async def test_a_conversation_is_told_from_its_beginning_with_answers_below_answers(crawled: Crawled) -> None:
    posts = [
        post("10"),
        *(post(str(key), reply_to=f"x:{to}", kind="reply") for key, to in ((11, 10), (12, 11), (13, 12), (14, 11))),
    ]
    await crawled.save(Page(users=(user("1"),), posts=tuple(posts)), TIMELINE, "1")
    sheet = await read_post(crawled.database, "x:11")
    assert sheet is not None
    thread = await read_thread(crawled.database, sheet)
    assert [each.id for each in thread.above] == ["x:10"]
    assert [(each.id, each.depth) for each in thread.below] == [("x:12", 1), ("x:13", 2), ("x:14", 1)]
    await crawled.save(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND, is_stated=True),)))
    again = await read_thread(crawled.database, sheet)
    assert [(each.id, each.post) for each in again.above] == [("x:10", None)]


async def test_a_file_is_named_as_long_as_a_post_shows_it(crawled: Crawled) -> None:
    picture = Media(id="m1", kind="image", url="https://pictures.example/1.png")
    await crawled.save(Page(users=(user("1"),), posts=(post("10", media=(picture,)),)), TIMELINE, "1")
    async with crawled.database.transaction() as tx:
        await tx.execute("delete from media_files")
        await tx.execute(_FILE, "m1")
        await tx.execute(_FILE, "m2")
    assert await kept_file(crawled.database, "m1") == "ab/cd.png"
    assert await kept_file(crawled.database, "m2") is None
    async with crawled.database.transaction() as tx:
        await tx.execute("update posts set deleted_at = 1")
    assert await kept_file(crawled.database, "m1") is None


async def test_searches_are_kept_under_a_name_with_who(database: Database) -> None:
    one = SavedSearch(name="flood", what="posts", query="q=flood", who="ada", at=START)
    await keep_search(database, one)
    await keep_search(database, SavedSearch(name="flood", what="posts", query="q=inundation", who="ada", at=START))
    (kept,) = await saved_searches(database)
    assert (kept.query, kept.who, kept.at) == ("q=inundation", "ada", START)
    with raises_code(UserError, "already_exists") as caught:
        await keep_search(database, SavedSearch(name="flood", what="posts", query="q=rain", who="bo", at=START))
    assert "ada" in str(caught.value)
    assert "'flood'" in str(caught.value)
    assert await drop_search(database, "flood")
    assert not await drop_search(database, "flood")
    for name, query, code in (("", "q=a", "invalid"), ("a" * 81, "q=a", "invalid"), ("a", "q" * 5_000, "too_many")):
        with raises_code(UserError, code):
            await keep_search(database, SavedSearch(name=name, what="posts", query=query, who="ada", at=START))
