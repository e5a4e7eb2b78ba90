"""Whose word counts where several servers tell of one account: its home server's, else the first witness's. On both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from msgspec import structs
from store_pages import (
    FEDIVERSE,
    FOLLOWERS,
    FOLLOWING,
    HOME,
    OTHER,
    POSTS,
    PROFILES,
    SKY,
    TIMELINE,
    Crawled,
    federated,
    followers,
    post,
    skeet,
    toot,
)

from bowerbird.analysis.places.classifier import PlaceClassifier
from bowerbird.analysis.places.resolver import open_resolver
from bowerbird.model import (
    Area,
    Box,
    Facet,
    Gone,
    Outcome,
    Page,
    Place,
    Post,
    Reaction,
    ReactionKind,
    Service,
    Subject,
    User,
    UserTag,
    Version,
)
from bowerbird.ports import Database
from bowerbird.settings import load_settings
from bowerbird.store import Store, register_service
from bowerbird.store.judgements.judging import JudgingStore

ADA = "https://home.example/users/ada"
SHELL = federated("ada", "1", handle="ada@home.example")
SUSPENDED = Page(users=(SHELL,), gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED, is_stated=True),))
HOUR = timedelta(hours=1)
WEEKS = timedelta(days=15)
LIKES = Facet(name="likes", subject=Subject.POST, yields=frozenset({"users", "reactions"}))
TAGS = Facet(name="tags", subject=Subject.USER, yields=frozenset({"user_tags"}))
VERSIONS = Facet(name="versions", subject=Subject.POST, yields=frozenset({"versions"}))


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def ada(**fields: object) -> User:
    return federated("ada", "1", **{"description": "poet", "followers": 7, "opts_out": False} | fields)


async def show(crawled: Crawled, service: Service, *, after: timedelta = HOUR, **fields: object) -> None:
    """A page of the service with Ada and one toot of hers."""
    await crawled.save(Page(users=(ada(**fields),), posts=(toot("10", "ada"),)), TIMELINE, "1", service=service, after=after)


async def known(crawled: Crawled) -> tuple[object, ...]:
    row = await crawled.row("select description, followers, opts_out from users where id = ?", ADA)
    return tuple(row[name] for name in ("description", "followers", "opts_out"))


async def texts(crawled: Crawled) -> list[str | None]:
    return [row["text"] for row in await crawled.rows("select text from posts order by id")]


@pytest.mark.parametrize("first", [HOME, FEDIVERSE], ids=["home_first", "other_first"])
@pytest.mark.parametrize("gap", [HOUR, WEEKS], ids=["soon", "weeks_later"])
@pytest.mark.parametrize("attack", ["suspended", "gone", "opts_out", "rewrites", "deletes", "says_deleted"])
async def test_another_server_neither_wipes_nor_rewrites_what_the_home_server_shows(
    crawled: Crawled, first: Service, gap: timedelta, attack: str
) -> None:
    for service in (first, HOME, OTHER):
        await show(crawled, service)
    pages = {
        "suspended": (SUSPENDED, PROFILES, "1"),
        "gone": (Page(outcome=Outcome.NOT_FOUND), PROFILES, "1"),
        "opts_out": (Page(users=(ada(opts_out=True),)), PROFILES, "1"),
        "rewrites": (Page(users=(ada(description="spam"),), posts=(toot("10", "ada", text="spam"),)), TIMELINE, "1"),
        "deletes": (Page(outcome=Outcome.NOT_FOUND), POSTS, "10"),
        "says_deleted": (Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND),)), POSTS, "10"),
    }
    page, facet, target = pages[attack]
    await crawled.save(page, facet, target, service=OTHER, after=gap)
    await crawled.hear(page, service=OTHER)
    assert (await known(crawled), await texts(crawled)) == (("poet", 7, 0), ["toot 10"])
    tables = ("unavailable", "deletions", "post_history", "user_history")
    assert {table: await crawled.count(table) for table in tables} == dict.fromkeys(tables, 0)


@pytest.mark.parametrize("page", [SUSPENDED, Page(users=(ada(opts_out=True),))], ids=["suspended", "opts_out"])
async def test_the_home_server_is_believed_whoever_came_first(crawled: Crawled, page: Page) -> None:
    await show(crawled, OTHER)
    await crawled.save(page, PROFILES, "1", service=HOME)
    assert (await known(crawled))[0] is None
    assert await texts(crawled) == [None]
    await show(crawled, OTHER)
    await show(crawled, FEDIVERSE, after=WEEKS)
    await crawled.save(Page(posts=(toot("11", "ada"),), users=(ada(),)), TIMELINE, "1", service=OTHER)
    assert (await known(crawled))[0] is None
    assert set(await texts(crawled)) == {None}


async def test_a_post_that_the_home_server_deleted_does_not_come_back_from_others(crawled: Crawled) -> None:
    await show(crawled, OTHER)
    await show(crawled, HOME)
    await crawled.save(Page(outcome=Outcome.NOT_FOUND), POSTS, "10", service=HOME)
    await show(crawled, OTHER)
    assert await texts(crawled) == [None]
    await show(crawled, HOME)
    assert await texts(crawled) == ["toot 10"]


async def test_where_the_home_server_is_not_asked_the_witness_speaks_for_its_own_copy(crawled: Crawled) -> None:
    await show(crawled, FEDIVERSE)
    await show(crawled, OTHER)
    await crawled.save(Page(outcome=Outcome.NOT_FOUND), POSTS, "10", service=OTHER)
    assert await texts(crawled) == ["toot 10"]
    await crawled.save(Page(outcome=Outcome.NOT_FOUND), POSTS, "10", service=FEDIVERSE)
    assert await texts(crawled) == [None]


async def test_a_witness_takes_back_only_what_it_told_itself(crawled: Crawled) -> None:
    await show(crawled, FEDIVERSE)
    await crawled.save(Page(posts=(toot("11", "ada"),)), TIMELINE, "1", service=OTHER)
    await crawled.save(SUSPENDED, PROFILES, "1", service=FEDIVERSE)
    assert await texts(crawled) == [None, "toot 11"]
    await show(crawled, OTHER)
    assert (await known(crawled))[0] == "poet"
    assert await crawled.count("unavailable", "until is null") == 0
    await crawled.save(SUSPENDED, PROFILES, "1", service=FEDIVERSE)
    assert (await known(crawled))[0] == "poet"


async def test_a_wish_that_the_witness_shows_is_respected_until_the_home_server_says_otherwise(crawled: Crawled) -> None:
    await show(crawled, FEDIVERSE)
    await crawled.save(Page(users=(ada(opts_out=True),)), PROFILES, "1", service=FEDIVERSE)
    assert (await known(crawled), await texts(crawled)) == ((None, None, 1), [None])
    await show(crawled, OTHER)
    assert (await known(crawled), await texts(crawled)) == ((None, None, 1), [None])
    await show(crawled, HOME)
    assert (await known(crawled), await texts(crawled)) == (("poet", 7, 0), ["toot 10"])


@pytest.mark.parametrize("is_heard", [False, True], ids=["asked", "heard"])
@pytest.mark.parametrize("said", [False, None], ids=["opted_in", "says_nothing"])
async def test_a_server_that_is_neither_home_nor_witness_gains_nothing_by_a_wish_and_its_end(
    crawled: Crawled, said: bool | None, is_heard: bool
) -> None:
    """Out, to have the content of others wiped; then in again, to write its own."""
    await show(crawled, FEDIVERSE, opts_out=said)
    out = Page(users=(ada(opts_out=True, description="spam"),), posts=(toot("10", "ada", text="spam"),))
    back = Page(users=(ada(description="spam"),), posts=(toot("10", "ada", text="spam"),))
    for page in (out, back):
        await (crawled.hear(page, service=OTHER) if is_heard else crawled.save(page, PROFILES, "1", service=OTHER))
        assert ((await known(crawled))[0], await texts(crawled)) == ("poet", ["toot 10"])
    assert not (await known(crawled))[2]
    await show(crawled, FEDIVERSE, description="diver")
    assert (await known(crawled))[0] == "diver"
    assert (await crawled.count("deletions"), await crawled.count("users", "told_by is not null")) == (0, 1)


async def test_a_witness_does_not_come_to_speak_for_the_posts_of_others_by_a_wish_and_its_end(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada(),)), PROFILES, "1", service=OTHER)
    await show(crawled, FEDIVERSE)
    await crawled.save(Page(users=(ada(opts_out=True),)), PROFILES, "1", service=OTHER)
    assert await texts(crawled) == [None]
    await crawled.save(Page(users=(ada(),), posts=(toot("10", "ada", text="spam"),)), TIMELINE, "1", service=OTHER)
    assert await texts(crawled) == [None]
    await show(crawled, FEDIVERSE)
    assert await texts(crawled) == ["toot 10"]


EVE = User(id="https://elephant.example/users/eve", key="9", handle="eve")


@pytest.mark.parametrize("is_heard", [False, True], ids=["asked", "heard"])
@pytest.mark.parametrize("is_known", [False, True], ids=["stranger", "known"])
async def test_a_post_under_an_account_of_another_server_than_its_own_is_set_aside(
    crawled: Crawled, is_known: bool, is_heard: bool
) -> None:
    if is_known:
        await show(crawled, OTHER)
    forged = Page(users=(EVE,), posts=(toot("10", "ada", author=EVE.id, text="spam"), toot("11", "eve", author=EVE.id)))
    forged = structs.replace(forged, posts=(forged.posts[0], structs.replace(forged.posts[1], id=f"{EVE.id}/statuses/11")))
    saved = await (crawled.hear(forged, service=OTHER) if is_heard else crawled.save(forged, TIMELINE, "9", service=OTHER))
    assert [each.id for each in saved.posts] == [f"{EVE.id}/statuses/11"]
    assert await texts(crawled) == ["toot 11"] + ["toot 10"] * is_known
    assert await crawled.count("quarantine", "subject = 'post'") == 1
    assert await crawled.count("posts", "author = (select user_no from users where handle = 'eve')") == 1
    # The post's own server may say whose it is.
    await show(crawled, HOME)
    assert set(await texts(crawled)) == {"toot 11", "toot 10"}


async def test_a_post_of_one_repository_under_the_account_of_another_is_set_aside(crawled: Crawled) -> None:
    posts = [Post(id=f"at://did:plc:{owner}/app.bsky.feed.post/1", key=owner, author="did:plc:a", text=owner) for owner in "ab"]
    await crawled.save(Page(users=(User(id="did:plc:a", key="did:plc:a"),), posts=tuple(posts)), TIMELINE, "a", service=SKY)
    assert (await texts(crawled), await crawled.count("quarantine")) == (["a"], 1)


async def test_what_is_set_aside_stays_in_no_payload_that_shows_it_however_deep(crawled: Crawled) -> None:
    ids = [f"at://did:plc:{owner}/app.bsky.feed.post/{number}" for number, owner in enumerate("baaa")]
    shows = [{}, {"quote_of": ids[0]}, {"repost_of": ids[1]}, {}]
    posts = (Post(id=id_, key=id_, author="did:plc:a", raw=b'{"forged":1}', **more) for id_, more in zip(ids, shows, strict=True))
    await crawled.save(Page(users=(User(id="did:plc:a", key="did:plc:a"),), posts=tuple(posts)), TIMELINE, "a", service=SKY)
    kept = await crawled.rows("select id from posts where raw is not null or frame is not null")
    assert [row["id"] for row in kept] == ids[3:]


async def test_a_mere_view_moves_nobody_to_another_place(crawled: Crawled) -> None:
    areas = [Area(name="Lisbon", box=Box(-9.3, 38.6, -9.0, 38.9)), Area(name="Berlin", box=Box(13.0, 52.3, 13.8, 52.7))]
    classifier = PlaceClassifier(areas, open_resolver(load_settings().cache_folder))
    crawled.store = JudgingStore(Store(crawled.database), crawled.database, [classifier])  # type: ignore[assignment]
    berlin = Place(name="Berlin", country="DE", longitude=13.4, latitude=52.5)
    home = Page(users=(ada(location="Lisboa, Portugal"),), posts=(toot("10", "ada"),))
    view = Page(users=(ada(location="Berlin, Germany"),), posts=(toot("10", "ada", place=berlin),))
    await crawled.save(home, TIMELINE, "1", service=HOME)
    for service in (OTHER, FEDIVERSE):
        await crawled.save(view, TIMELINE, "1", service=service)
        await crawled.hear(view, service=service)
    rows = await crawled.rows("select distinct place, subject, source from located order by subject")
    assert [tuple(row.values()) for row in map(dict, rows)] == [("Lisbon", "post", "profile"), ("Lisbon", "user", "profile")]
    await crawled.save(view, TIMELINE, "1", service=HOME)
    assert await crawled.count("located", "place = 'Berlin'") == 2


@pytest.mark.parametrize("is_corrected", [True, False], ids=["author_corrected", "older_store"])
@pytest.mark.parametrize("end", ["suspended", "opts_out"])
async def test_a_server_that_claims_a_post_for_its_own_account_cannot_take_it_away(
    crawled: Crawled, end: str, is_corrected: bool
) -> None:
    """It shows the post of another server under an account of its own, and then says that this account is gone."""
    eve = User(id="https://elephant.example/users/eve", key="9", handle="eve")
    forged = toot("10", "ada", author=eve.id)
    await crawled.save(Page(users=(eve,), posts=(forged,)), TIMELINE, "9", service=OTHER)
    await show(crawled, HOME)
    author = "select u.id from posts p join users u on u.user_no = p.author"
    assert (await crawled.row(author))["id"] == ADA
    if not is_corrected:
        async with crawled.database.transaction() as tx:
            await tx.execute("update posts set author = (select user_no from users where id = ?)", eve.id)
    gone = Page(users=(eve,), gone=(Gone(Subject.USER, "9", Outcome.SUSPENDED, is_stated=True),))
    wish = Page(users=(User(id=eve.id, key="9", opts_out=True),))
    await crawled.save({"suspended": gone, "opts_out": wish}[end], PROFILES, "9", service=OTHER)
    assert await texts(crawled) == ["toot 10"]
    await show(crawled, HOME)
    assert (await crawled.row(author))["id"] == ADA


async def test_of_an_account_that_asks_one_server_to_be_left_alone_nothing_is_kept_that_this_server_shows(
    crawled: Crawled,
) -> None:
    await show(crawled, FEDIVERSE)
    await crawled.save(Page(posts=(toot("11", "ada"),), users=(ada(),)), TIMELINE, "1", service=OTHER)
    assert await texts(crawled) == ["toot 10", "toot 11"]
    out = Page(users=(ada(opts_out=True),), posts=(toot("11", "ada"), toot("12", "ada")))
    await crawled.save(out, TIMELINE, "1", service=OTHER)
    await crawled.hear(out, service=OTHER)
    assert await texts(crawled) == ["toot 10", None]
    await crawled.save(Page(posts=(toot("11", "ada"),), users=(ada(),)), TIMELINE, "1", service=FEDIVERSE)
    assert await texts(crawled) == ["toot 10", "toot 11"]


async def test_a_view_does_not_fill_in_a_wish_that_the_home_server_did_not_speak_of(crawled: Crawled) -> None:
    await show(crawled, HOME, opts_out=None)
    await crawled.save(Page(users=(ada(opts_out=True),)), PROFILES, "1", service=OTHER)
    assert not (await known(crawled))[2]


@pytest.mark.parametrize("order", list(permutations((HOME, FEDIVERSE, OTHER))), ids=lambda order: "-".join(s.name for s in order))
async def test_three_views_of_one_account_make_no_history(crawled: Crawled, order: tuple[Service, ...]) -> None:
    """Each server has its own counters, its own copy of the avatar and its own idea of when the account was made."""
    for _ in range(3):
        for place, service in enumerate(order):
            made = datetime(2020, 1, 1 + place, tzinfo=UTC)
            picture = f"https://{service.name}.example/ada.png"
            likes = toot("10", "ada", likes=place, text=f"toot 10 on {service.name}")
            page = Page(users=(ada(avatar=picture, followers=place, created_at=made),), posts=(likes,))
            await crawled.save(page, PROFILES, "1", service=service)
    row = await crawled.row("select avatar, followers from users where id = ?", ADA)
    assert (row["avatar"], row["followers"]) == ("https://home.example/ada.png", order.index(HOME))
    assert await texts(crawled) == ["toot 10 on home"]
    assert (await crawled.count("user_history"), await crawled.count("post_history")) == (0, 0)


async def test_others_fill_what_the_home_server_does_not_say(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada(followers=None),)), service=HOME)
    seen = (await crawled.row("select seen_at from users where id = ?", ADA))["seen_at"]
    await crawled.save(Page(users=(ada(followers=3, description="other"),)), service=OTHER)
    assert await known(crawled) == ("poet", 3, 0)
    assert (await crawled.row("select seen_at from users where id = ?", ADA))["seen_at"] == seen


async def test_a_change_that_the_home_server_tells_is_history(crawled: Crawled) -> None:
    await show(crawled, OTHER)
    await show(crawled, HOME)
    await show(crawled, HOME, description="poet and diver")
    await show(crawled, OTHER, description="a late copy")
    assert (await known(crawled))[0] == "poet and diver"
    assert await crawled.count("user_history") == 1


async def test_a_witness_that_has_been_silent_for_a_week_gives_way(crawled: Crawled) -> None:
    await show(crawled, FEDIVERSE, description="old")
    await show(crawled, OTHER, description="other")
    assert (await known(crawled))[0] == "old"
    await show(crawled, OTHER, after=WEEKS, description="new")
    assert (await known(crawled))[0] == "new"


async def test_the_list_of_another_server_adds_and_never_removes(crawled: Crawled) -> None:
    people = (federated("ada", "1"), federated("bob", "2"), federated("eve", "3"))
    whole = Page(users=people, relations=followers("1", "2", "3"))
    await crawled.save(whole, FOLLOWERS, "1", service=HOME)
    await crawled.save(Page(users=(*people, federated("dan", "4")), relations=followers("1", "4")), FOLLOWERS, "1", service=OTHER)
    assert (await crawled.count("relations", "removed_at is null"), await crawled.count("relation_history")) == (3, 0)
    await crawled.save(Page(users=people, relations=followers("1", "2")), FOLLOWERS, "1", service=HOME)
    assert await crawled.count("relations", "removed_at is null") == 2
    await crawled.save(whole, FOLLOWERS, "1", service=OTHER)
    assert await crawled.count("relations", "removed_at is null") == 2
    assert await crawled.count("relation_history", "change = 'added'") == 0
    await crawled.save(Page(), FOLLOWING, "1", service=OTHER)
    assert await crawled.count("listings", "side = 'following'") == 0


async def test_reactions_tags_and_versions_are_ended_by_the_home_server_alone(crawled: Crawled) -> None:
    await show(crawled, HOME)
    bob = Page(users=(federated("bob", "2"),), reactions=(Reaction(ReactionKind.LIKE, "10", "2"),), results=1)
    eve = Page(users=(federated("eve", "3"),), reactions=(Reaction(ReactionKind.LIKE, "10", "3"),), results=1)
    await crawled.save(bob, LIKES, "10", service=HOME)
    await crawled.save(Page(user_tags=(UserTag("1", "t", "tea"),)), TAGS, "1", service=HOME)
    await crawled.save(Page(posts=(toot("10", "ada"),)), TIMELINE, "1", service=OTHER)
    await crawled.save(eve, LIKES, "10", service=OTHER)
    await crawled.save(Page(), TAGS, "1", service=OTHER)
    forged = Version(post="10", at=datetime(2026, 1, 1, tzinfo=UTC), text="spam")
    await crawled.save(Page(versions=(forged,)), VERSIONS, "10", service=OTHER)
    assert await crawled.count("reactions", "gone_at is null") == 2
    assert await crawled.count("user_tags", "gone_at is null") == 1
    assert await crawled.count("post_versions") == 0
    await crawled.save(eve, LIKES, "10", service=HOME)
    await crawled.save(Page(), TAGS, "1", service=HOME)
    assert (await crawled.count("reactions", "gone_at is null"), await crawled.count("user_tags", "gone_at is null")) == (1, 0)


async def test_on_bluesky_content_is_the_accounts_own_and_absence_is_told_by_a_stream_or_the_witness(crawled: Crawled) -> None:
    second = Service(name="second", provider="bluesky", base="https://second.example")
    async with crawled.database.transaction() as tx:
        await register_service(tx, second, "bluesky")
    did = User(id="did:a", key="did:a", description="poet")
    await crawled.save(Page(users=(did,), posts=(skeet("1"),)), TIMELINE, "did:a", service=SKY)
    await crawled.save(Page(outcome=Outcome.NOT_FOUND), PROFILES, "did:a", service=second)
    await crawled.save(Page(outcome=Outcome.NOT_FOUND), POSTS, "at://1", service=second)
    assert await texts(crawled) == ["text 1"]
    await crawled.hear(Page(users=(User(id="did:a", key="did:a", description="diver"),)), service=second)
    assert (await crawled.row("select description from users"))["description"] == "diver"
    await crawled.hear(Page(gone=(Gone(Subject.POST, "at://1", Outcome.NOT_FOUND),)), service=second)
    assert await texts(crawled) == [None]
    await crawled.hear(Page(posts=(skeet("2"),)), service=second)
    await crawled.save(Page(outcome=Outcome.NOT_FOUND), POSTS, "at://2", service=SKY)
    assert await texts(crawled) == [None, None]


@pytest.mark.parametrize("unfit", [{"id": "x:\0"}, {"author": "x:" + "1" * 5000}])
async def test_what_cannot_be_stored_stays_in_no_payload_that_shows_it(crawled: Crawled, unfit: dict[str, str]) -> None:
    bad = structs.replace(post("5", raw=b'{"secret":1}'), **unfit)
    quote = post("6", quote_of=bad.id, raw=b'{"quoted":{"secret":1}}')
    passed_on = post("7", repost_of="x:6", raw=b'{"passed":{"quoted":{"secret":1}}}')
    await crawled.save(Page(posts=(bad, quote, passed_on, post("8"))), TIMELINE, "1")
    kept = await crawled.rows("select id from posts where raw is not null or frame is not null")
    assert [row["id"] for row in kept] == ["x:8"]
