"""Looking through what is stored, page by page, and counting it by time, on either database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from store_pages import FOLLOWERS, START, TIMELINE, Crawled, followers, post, user

from bowerbird.errors import UserError
from bowerbird.model import Gone, Outcome, Page, Side, Subject
from bowerbird.ports import Database
from bowerbird.reports.browsing.lines import PostFilter, browse_posts, browse_relations, browse_users
from bowerbird.reports.browsing.pages import Ask
from bowerbird.reports.counting.by_time import Unit, calls_by_time, found_by_time
from failures import raises_code


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def all_posts(crawled: Crawled, size: int, wanted: PostFilter | None = None, *, newest_first: bool = True) -> list[str]:
    found: list[str] = []
    after: str | None = None
    while True:
        page = await browse_posts(crawled.database, Ask(after=after, size=size, newest_first=newest_first), wanted)
        assert len(page.lines) <= size
        found += [line.id for line in page.lines]
        after = page.after
        if after is None:
            return found


async def test_pages_show_every_post_once_in_either_order(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1"),), posts=tuple(post(str(key)) for key in range(10, 17))), TIMELINE, "1")
    ids = [f"x:{key}" for key in range(10, 17)]
    for size in (1, 3, 7, 50):
        assert await all_posts(crawled, size, newest_first=False) == ids
        assert await all_posts(crawled, size) == ids[::-1]


async def test_what_comes_in_meanwhile_moves_no_page(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1"),), posts=tuple(post(str(key)) for key in range(10, 14))), TIMELINE, "1")
    first = await browse_posts(crawled.database, Ask(size=2))
    await crawled.save(Page(posts=(post("20"), post("21"))), TIMELINE, "1")
    second = await browse_posts(crawled.database, Ask(size=2, after=first.after))
    assert [line.id for line in (*first.lines, *second.lines)] == ["x:13", "x:12", "x:11", "x:10"]
    assert second.after is None


async def test_posts_of_one_author_have_pages_of_their_own(crawled: Crawled) -> None:
    posts = tuple(post(str(key), str(1 + key % 2)) for key in range(10, 18))
    await crawled.save(Page(users=(user("1"), user("2")), posts=posts), TIMELINE, "1")
    assert await all_posts(crawled, 3, PostFilter(author="x:2"), newest_first=False) == ["x:11", "x:13", "x:15", "x:17"]
    assert await all_posts(crawled, 3, PostFilter(author="x:9")) == []


async def test_a_line_says_what_it_is_about_and_a_deleted_post_has_no_text(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", name="Ada", followers=3),), posts=(post("10"),)), TIMELINE, "1")
    await crawled.save(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND, is_stated=True),)))
    (line,) = (await browse_posts(crawled.database, Ask())).lines
    assert (line.author, line.author_handle, line.text, line.deleted_at) == ("x:1", "u1", None, crawled.now)
    (who,) = (await browse_users(crawled.database, Ask())).lines
    assert (who.id, who.name, who.followers, who.seen_at) == ("x:1", "Ada", 3, START + timedelta(hours=1))


async def test_relations_of_an_account_are_paged_by_the_other_end(crawled: Crawled) -> None:
    people = tuple(user(str(key)) for key in range(1, 6))
    await crawled.save(Page(users=people, relations=followers("1", "2", "3", "4", "5")), FOLLOWERS, "1")
    page = await browse_relations(crawled.database, "x:1", Side.FOLLOWERS, Ask(size=3))
    rest = await browse_relations(crawled.database, "x:1", Side.FOLLOWERS, Ask(size=3, after=page.after))
    assert {line.id for line in (*page.lines, *rest.lines)} == {"x:2", "x:3", "x:4", "x:5"}
    assert (len(page.lines), len(rest.lines), rest.after) == (3, 1, None)
    (only,) = (await browse_relations(crawled.database, "x:5", Side.FOLLOWING, Ask())).lines
    assert (only.id, only.removed_at) == ("x:1", None)


@pytest.mark.parametrize("ask", [Ask(after="no token"), Ask(after="gA"), Ask(size=0), Ask(size=100_000)])
async def test_a_page_that_cannot_be_is_refused_in_words(crawled: Crawled, ask: Ask) -> None:
    with raises_code(UserError, "invalid"):
        await browse_users(crawled.database, ask)


async def test_posts_are_counted_by_the_hour_they_were_found_in(crawled: Crawled) -> None:
    for hour, posts in enumerate((2, 0, 3)):
        keys = [str(10 * (hour + 1) + each) for each in range(posts)]
        await crawled.save(Page(users=(user("1"),), posts=tuple(post(key) for key in keys)), TIMELINE, "1")
    since = START + timedelta(hours=1)
    found = await found_by_time(crawled.database, Subject.POST, Unit.HOUR, since, since + timedelta(hours=4))
    assert [(each.since - since, each.count.value) for each in found] == [
        (timedelta(0), 2), (timedelta(hours=1), 0), (timedelta(hours=2), 3), (timedelta(hours=3), 0)
    ]  # fmt: skip
    assert all(each.count.is_exact for each in found)
    (month,) = await found_by_time(crawled.database, Subject.POST, Unit.MONTH, START, datetime(2026, 4, 1, tzinfo=UTC))
    assert month.count.value == 5
    earlier = await found_by_time(crawled.database, Subject.USER, Unit.DAY, START - timedelta(days=2), START)
    assert [each.count.value for each in earlier] == [0, 0, 0]


async def test_calls_are_counted_by_facet_and_stretch(crawled: Crawled) -> None:
    for hour, facet in ((0, TIMELINE), (1, TIMELINE), (30, FOLLOWERS)):
        await crawled.leased(START + timedelta(hours=hour), facet)
        await crawled.save(Page(users=(user("1"),)), facet, "1")
    until = START + timedelta(days=3)
    by_day = await calls_by_time(crawled.database, Unit.DAY, START, until)
    assert [(each.since.day, each.facet, each.calls) for each in by_day] == [(1, "timeline", 2), (2, "followers", 1)]
    by_month = await calls_by_time(crawled.database, Unit.MONTH, START, until, crawl=1)
    assert [(each.since.day, each.facet, each.calls) for each in by_month] == [(1, "followers", 1), (1, "timeline", 2)]
    assert await calls_by_time(crawled.database, Unit.HOUR, START, until, crawl=2) == []


def test_stretches_begin_where_the_calendar_says() -> None:
    when = datetime(2026, 12, 31, 23, 59, tzinfo=UTC)
    assert Unit.MONTH.next(Unit.MONTH.begin(when)) == datetime(2027, 1, 1, tzinfo=UTC)
    assert Unit.DAY.begin(when) == datetime(2026, 12, 31, tzinfo=UTC)
    assert Unit.HOUR.next(Unit.HOUR.begin(when)) == datetime(2027, 1, 1, tzinfo=UTC)
