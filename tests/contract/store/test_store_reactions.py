"""Reactions to posts, what a whole listing says about those that are gone, and how cascades are read, on both databases."""

from __future__ import annotations

from datetime import timedelta

import pytest
from store_pages import (
    FEDIVERSE,
    FOLLOWING,
    POSTS,
    PROFILES,
    START,
    TIMELINE,
    Crawled,
    federated,
    following,
    micros,
    post,
    toot,
    user,
)

from bowerbird.analysis.cascades import rebuild
from bowerbird.model import Facet, Gone, Outcome, Page, Post, PostKind, Reaction, ReactionKind, Subject
from bowerbird.ports import Database
from bowerbird.reports.studies.cascades import CascadeReader

_YIELDS = frozenset({"users", "reactions"})
REPOSTS = Facet(name="reposts", subject=Subject.POST, yields=_YIELDS, results_per_call=2)
LIKES = Facet(name="likes", subject=Subject.POST, yields=_YIELDS, results_per_call=2)
CAPPED = Facet(name="reposters", subject=Subject.POST, yields=_YIELDS, results_per_call=2, total_results=100)


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    crawled = await Crawled(database).register()
    await crawled.save(Page(users=(user("1"),), posts=(post("9", reposts=4),)), POSTS, "9")
    return crawled


def shown(*keys: str, kind: ReactionKind = ReactionKind.REPOST, cursor: str | None = None) -> Page:
    reactions = tuple(Reaction(kind, "9", key) for key in keys)
    return Page(users=tuple(map(user, keys)), reactions=reactions, results=len(keys), cursor=cursor)


LIVING = (
    "select u.id, x.place, x.gone_at from reactions x join users u on u.user_no = x.user_no where x.kind = 'repost' order by u.id"
)


async def living(crawled: Crawled) -> list[str]:
    return [row["id"] for row in await crawled.rows(LIVING) if row["gone_at"] is None]


async def test_a_list_over_several_pages_keeps_everybody_once_and_in_order(crawled: Crawled) -> None:
    first = await crawled.save(shown("5", "4", cursor="a"), REPOSTS, "9")
    second = await crawled.save(shown("4", "3"), REPOSTS, "9", cursor="a")
    assert (first.reactions_new, second.reactions_new) == (2, 1)
    assert [(row["id"], row["place"]) for row in await crawled.rows(LIVING)] == [("x:3", 3), ("x:4", 2), ("x:5", 0)]


async def test_only_a_whole_later_list_says_that_a_repost_is_gone(crawled: Crawled) -> None:
    await crawled.save(shown("5", "4"), REPOSTS, "9")
    await crawled.save(shown("6", cursor="a"), REPOSTS, "9")
    assert await living(crawled) == ["x:4", "x:5", "x:6"]
    await crawled.save(shown("4"), REPOSTS, "9", cursor="a")
    assert await living(crawled) == ["x:4", "x:6"]
    gone = await crawled.row("select gone_at from reactions where gone_at is not null")
    assert gone["gone_at"] == micros(crawled.now)
    await crawled.save(shown("5", "6", "4"), REPOSTS, "9")
    assert await living(crawled) == ["x:4", "x:5", "x:6"]


@pytest.mark.parametrize(
    ("page", "facet"),
    [
        (shown("6"), CAPPED),
        (Page(outcome=Outcome.OVERLOADED), REPOSTS),
        (Page(reactions=shown("6").reactions, results=1, is_whole=False), REPOSTS),
        (shown("6", kind=ReactionKind.LIKE), LIKES),
        (Page(), REPOSTS),
    ],
    ids=["cut by the service", "failed", "broken off", "another kind", "empty against the counter"],
)
async def test_other_lists_say_nothing_about_who_is_gone(crawled: Crawled, page: Page, facet: Facet) -> None:
    await crawled.save(shown("5", "4"), REPOSTS, "9")
    await crawled.save(page, facet, "9")
    assert {"x:4", "x:5"} <= set(await living(crawled))


async def test_an_empty_list_is_believed_when_the_counter_agrees(crawled: Crawled) -> None:
    await crawled.save(shown("5"), REPOSTS, "9")
    await crawled.save(Page(users=(user("1"),), posts=(post("9", reposts=0),)), POSTS, "9")
    await crawled.save(Page(), REPOSTS, "9")
    assert await living(crawled) == []


async def test_a_list_whose_beginning_nobody_saw_adds_but_removes_nothing(crawled: Crawled) -> None:
    await crawled.save(shown("5", "4"), REPOSTS, "9")
    await crawled.save(shown("3"), REPOSTS, "9", cursor="from elsewhere")
    assert await living(crawled) == ["x:3", "x:4", "x:5"]


async def test_times_are_kept_where_the_service_tells_them(crawled: Crawled) -> None:
    liked = Reaction(ReactionKind.LIKE, "9", "5", START + timedelta(minutes=3))
    await crawled.save(Page(users=(user("5"),), reactions=(liked,), results=1), LIKES, "9")
    await crawled.save(Page(users=(user("5"),), reactions=(Reaction(ReactionKind.LIKE, "9", "5"),), results=1), LIKES, "9")
    row = await crawled.row("select at, found_by, kind from reactions")
    assert (row["at"], row["found_by"], row["kind"]) == (micros(START + timedelta(minutes=3)), 2, "like")


async def test_reactions_to_a_post_that_is_not_stored_are_not_kept(crawled: Crawled) -> None:
    page = Page(users=(user("5"),), reactions=(Reaction(ReactionKind.REPOST, "404", "5"), Reaction(ReactionKind.REPOST, "", "5")))
    assert (await crawled.save(page, REPOSTS, "404")).reactions_new == 0
    assert await crawled.count("reactions") == 0


async def test_reactions_leave_with_the_post_and_with_the_account(crawled: Crawled) -> None:
    await crawled.save(shown("5", "4", "3"), REPOSTS, "9")
    await crawled.save(Page(gone=(Gone(Subject.USER, "5", Outcome.SUSPENDED),)), PROFILES, "5")
    await crawled.save(Page(users=(user("4", opts_out=True),)), PROFILES, "4")
    assert await living(crawled) == ["x:3"]
    await crawled.save(Page(users=(user("4", opts_out=True),), reactions=shown("4").reactions, results=1), REPOSTS, "9")
    assert "x:4" not in await living(crawled)
    await crawled.save(Page(gone=(Gone(Subject.POST, "9", Outcome.NOT_FOUND),)), POSTS, "9")
    assert await crawled.count("reactions") == 0


async def test_who_is_known_by_two_names_reacted_once(crawled: Crawled) -> None:
    ada, ben = federated("ada", "55"), federated("ben", "56")
    await crawled.save(Page(users=(ada,), posts=(toot("100", "ada"),)), TIMELINE, "55", service=FEDIVERSE)
    react = Reaction(ReactionKind.REPOST, "100", "56")
    await crawled.save(Page(reactions=(react,), results=1), REPOSTS, "100", service=FEDIVERSE)
    await crawled.save(Page(users=(ben,), reactions=(react,), results=1), REPOSTS, "100", service=FEDIVERSE)
    rows = await crawled.rows("select u.id from reactions x join users u on u.user_no = x.user_no")
    assert [row["id"] for row in rows] == [ben.id]


def passed_on(key: str, by: str, minutes: int, of: str = "9") -> Post:
    return post(key, by, kind=PostKind.REPOST, repost_of=f"x:{of}", created_at=START + timedelta(minutes=minutes))


async def test_reposts_as_posts_and_as_accounts_are_one_truth(crawled: Crawled) -> None:
    await crawled.save(shown("5", "4", "3"), REPOSTS, "9")
    await crawled.save(
        Page(users=(user("4"), user("6")), posts=(passed_on("40", "4", 7), passed_on("60", "6", 8))), TIMELINE, "4"
    )
    rows = await crawled.rows("select u.id, v.at, v.place from reposts v join users u on u.user_no = v.user_no order by u.id")
    seventh, eighth = (micros(START + timedelta(minutes=n)) for n in (7, 8))
    assert [(row["id"], row["at"], row["place"]) for row in rows] == [
        ("x:3", None, 2),
        ("x:4", seventh, 1),
        ("x:5", None, 0),
        ("x:6", eighth, None),
    ]


async def test_a_cascade_is_read_with_quotes_of_quotes_and_the_follows_among_its_people(crawled: Crawled) -> None:
    quotes = (
        post("20", "2", kind=PostKind.QUOTE, quote_of="x:9", created_at=START + timedelta(minutes=1)),
        post("30", "3", kind=PostKind.QUOTE, quote_of="x:20", created_at=START + timedelta(minutes=2)),
        passed_on("40", "4", 3, of="30"),
    )
    await crawled.save(Page(users=tuple(map(user, "234")), posts=quotes), TIMELINE, "2")
    await crawled.save(shown("5"), REPOSTS, "9")
    await crawled.save(Page(relations=following("5", "1", "7")), FOLLOWING, "5")
    reader = CascadeReader(crawled.database)
    (root,) = [number async for number in reader.roots()]
    assert await reader.find({"9", "x:9"}) == [root]
    passed = await reader.read(root)
    assert sorted(name for name, _ in passed.users.values()) == ["x:1", "x:2", "x:3", "x:4", "x:5"]
    tree = rebuild(passed)
    names = {number: name for number, (name, _) in passed.users.items()}
    told = [(names[step.user], names[tree.steps[step.parent].user], step.kind, step.how, step.depth) for step in tree.steps[1:]]
    assert sorted(told) == [
        ("x:2", "x:1", "quote", "unknown", 1),
        ("x:3", "x:2", "quote", "unknown", 2),
        ("x:4", "x:3", "repost", "unknown", 3),
        ("x:5", "x:1", "repost", "direct", 1),
    ]


async def test_who_unfollowed_before_the_post_was_written_did_not_see_it_that_way(crawled: Crawled) -> None:
    await crawled.save(shown("5"), REPOSTS, "9")
    await crawled.save(Page(relations=following("5", "1", "7")), FOLLOWING, "5")
    await crawled.save(Page(relations=following("5", "7")), FOLLOWING, "5")
    reader = CascadeReader(crawled.database)
    (root,) = await reader.find({"x:9"})
    assert (await reader.read(root)).follows != {}
    async with crawled.database.transaction() as tx:
        await tx.execute("update relations set removed_at = ? where removed_at is not null", micros(START - timedelta(days=1)))
    assert (await reader.read(root)).follows == {}


async def test_the_reactions_to_one_post_are_found_without_reading_the_table(crawled: Crawled) -> None:
    if crawled.database.dialect != "sqlite":
        pytest.skip("the plan of an empty PostgreSQL table says nothing")
    plan = await crawled.rows("explain query plan select * from reposts where post_no = 1")
    assert not [row["detail"] for row in plan if str(row["detail"]).startswith("SCAN") and "reposts" not in str(row["detail"])]
