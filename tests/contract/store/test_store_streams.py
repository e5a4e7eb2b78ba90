"""What a stream tells, on both databases: it may come twice, late, or after its own deletion."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs
from store_pages import (
    FEDIVERSE,
    FIREHOSE,
    FOLLOWING,
    POSTS,
    PROFILES,
    SKY,
    TIMELINE,
    Crawled,
    X,
    federated,
    following,
    micros,
    post,
    skeet,
    toot,
    user,
)

from bowerbird.crawl.life.registry import enrol_crawl, enrol_lane
from bowerbird.model import (
    Gone,
    Outcome,
    Page,
    Place,
    Post,
    PostKind,
    Relation,
    RelationEnd,
    RelationKind,
    Subject,
    User,
    WithdrawnPlaces,
)
from bowerbird.ports import Database
from bowerbird.reports.reader import Reader
from bowerbird.store.payloads.frames import FEWEST
from bowerbird.store.payloads.raw import SAMPLES

ADA = User(id="did:a", key="did:a", name="Ada", raw=b'{"displayName":"Ada"}')
BACK = Page(users=(User(id="did:a", key="did:a", is_there=True),))
HISTORY = "select change, after_at, before_at, call from relation_history order by call, change desc"


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def _deleted(key: str) -> Page:
    return Page(gone=(Gone(Subject.POST, f"at://{key}", Outcome.NOT_FOUND),))


def _left(reason: Outcome = Outcome.DEACTIVATED) -> Page:
    return Page(gone=(Gone(Subject.USER, "did:a", reason),))


def _follow(record: str | None, target: str = "did:b") -> Page:
    return Page(relations=(Relation(RelationKind.FOLLOW, "did:a", target, record),))


def _unfollow(record: str | None = None, target: str | None = None) -> Page:
    return Page(ended=(RelationEnd(RelationKind.FOLLOW, "did:a", record, target),))


async def _told(crawled: Crawled) -> list[str]:
    return [row["change"] for row in await crawled.rows(HISTORY)]


async def _is_followed(crawled: Crawled) -> bool:
    return await crawled.count("relations", "removed_at is null") == 1


async def test_posts_people_and_follows_of_one_batch_are_saved_with_the_call_that_brought_them(crawled: Crawled) -> None:
    written = skeet("1", tags=("Cats",), mentions=("did:c",))
    page = Page(users=(ADA,), posts=(written, skeet("2", "did:b")), relations=_follow("r1").relations)
    saved = await crawled.hear(page)
    assert [(p.id, p.is_new) for p in saved.posts] == [("at://1", True), ("at://2", True)]
    assert [(u.id, u.is_new) for u in saved.users] == [("did:a", True)]
    assert saved.relations_new == 1
    stubs = [row["id"] for row in await crawled.rows("select id from users where seen_at is null order by id")]
    assert stubs == ["did:b", "did:c"]
    row = await crawled.row("select found_by, found_at, raw is not null as has_raw from posts where id = 'at://1'")
    assert (row["found_by"], row["found_at"], bool(row["has_raw"])) == (crawled.call, micros(crawled.now), True)
    assert [row["tag"] for row in await crawled.rows("select tag from post_tags")] == ["cats"]
    assert await crawled.count("post_mentions") == 1


async def test_what_a_stream_repeats_after_a_cut_changes_nothing(crawled: Crawled) -> None:
    page = Page(users=(ADA,), posts=(skeet("1", tags=("cats",)),), relations=_follow("r1").relations)
    await crawled.hear(page)
    saved = await crawled.hear(page)
    assert ([p.is_new for p in saved.posts], [u.is_changed for u in saved.users], saved.relations_new) == ([False], [False], 0)
    counts = [await crawled.count(table) for table in ("posts", "post_tags", "relations", "post_history", "user_history")]
    assert counts == [1, 1, 1, 0, 0]
    assert await _told(crawled) == ["added"]


async def test_an_edited_post_keeps_its_history(crawled: Crawled) -> None:
    await crawled.hear(Page(posts=(skeet("1", text="before", tags=("cats",)),)))
    await crawled.hear(Page(posts=(skeet("1", text="after", tags=("dogs",)),)))
    assert (await crawled.row("select text from posts"))["text"] == "after"
    assert "before" in (await crawled.row("select before from post_history"))["before"]
    assert [row["tag"] for row in await crawled.rows("select tag from post_tags")] == ["dogs"]


async def test_a_deletion_that_overtakes_the_post_wins(crawled: Crawled) -> None:
    await crawled.hear(_deleted("1"))
    saved = await crawled.hear(Page(posts=(skeet("1"),)))
    assert [(p.id, p.is_new) for p in saved.posts] == [("at://1", False)]
    assert (await crawled.count("posts"), await crawled.count("deletions")) == (0, 1)


async def test_a_deleted_post_that_a_stream_repeats_stays_deleted(crawled: Crawled) -> None:
    await crawled.hear(Page(posts=(skeet("1", tags=("cats",)),)), _deleted("1"))
    await crawled.hear(Page(posts=(skeet("1", tags=("cats",)),)))
    row = await crawled.row("select text, raw, deleted_at from posts")
    assert (row["text"], row["raw"], row["deleted_at"] is None) == (None, None, False)
    assert (await crawled.count("post_tags"), await crawled.count("deletions")) == (0, 1)


async def test_a_deleted_post_comes_back_when_the_service_shows_it_on_request(crawled: Crawled) -> None:
    await crawled.hear(Page(posts=(skeet("1"),)), _deleted("1"))
    await crawled.save(Page(posts=(skeet("1"),)), POSTS, "at://1", service=SKY)
    assert await crawled.count("posts", "deleted_at is null and text = 'text 1'") == 1
    assert await crawled.count("deletions") == 0


@pytest.mark.parametrize("is_known", [True, False])
async def test_copies_of_a_deleted_post_do_not_bring_its_words_back(crawled: Crawled, is_known: bool) -> None:
    if is_known:
        await crawled.hear(Page(posts=(skeet("1"),)))
    await crawled.hear(_deleted("1"))
    repost = skeet("2", "did:b", kind=PostKind.REPOST, repost_of="at://1", text="text 1", links=("https://secret.example",))
    quote = skeet("3", "did:b", kind=PostKind.QUOTE, quote_of="at://1", text="look")
    await crawled.hear(Page(posts=(repost, quote)))
    rows = await crawled.rows("select text, raw, links from posts where id <> 'at://1' order by id")
    assert [(row["text"], row["raw"], row["links"]) for row in rows] == [(None, None, None), ("look", None, None)]


async def test_a_copy_that_was_on_its_way_when_the_post_was_deleted_carries_nothing(crawled: Crawled) -> None:
    await crawled.save(Page(posts=(post("10"),)), TIMELINE, "1")
    asked = crawled.now
    await crawled.save(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND),)), POSTS, "10")
    await crawled.leased(asked)
    repost = post("11", "2", kind=PostKind.REPOST, repost_of="x:10", text="text 10")
    await crawled.save(Page(posts=(repost, post("10"))), TIMELINE, "2")
    assert await crawled.count("posts", "text is not null or raw is not null") == 0


async def test_posts_of_an_account_that_is_gone_do_not_enter(crawled: Crawled) -> None:
    await crawled.hear(Page(users=(ADA,), posts=(skeet("1"),)), _left())
    saved = await crawled.hear(Page(users=(ADA,), posts=(skeet("1"), skeet("2"))))
    assert (saved.users, [p.is_new for p in saved.posts]) == ((), [False, False])
    assert await crawled.count("posts", "text is not null") == 0
    assert await crawled.count("users", "name is not null") == 0
    assert await crawled.count("unavailable", "until is null") == 1


async def test_an_account_is_back_when_the_stream_says_so_even_within_the_same_batch(crawled: Crawled) -> None:
    await crawled.hear(Page(users=(ADA,), posts=(skeet("1"),)), _left(), BACK, Page(posts=(skeet("2"),)))
    assert await crawled.count("unavailable", "until is null") == 0
    assert await crawled.count("deletions") == 0
    assert await crawled.count("posts", "id = 'at://2' and text is not null") == 1


async def test_whoever_is_back_is_told_as_back_because_what_was_purged_can_be_had_again(crawled: Crawled) -> None:
    await crawled.hear(Page(users=(ADA,)), _left())
    saved = await crawled.hear(BACK)
    assert [(user.key, user.is_back, user.is_new, user.is_changed) for user in saved.users] == [("did:a", True, False, False)]


async def test_being_back_is_no_profile(crawled: Crawled) -> None:
    saved = await crawled.hear(BACK)
    assert saved.users == ()
    assert await crawled.count("users", "seen_at is null") == 1


async def test_a_protected_account_keeps_what_the_stream_brings(crawled: Crawled) -> None:
    await crawled.hear(_left(Outcome.PROTECTED))
    await crawled.hear(Page(posts=(skeet("1"),)))
    assert await crawled.count("posts", "text is not null") == 1


async def test_where_a_network_does_not_tell_returns_a_profile_with_a_new_post_is_the_sign(crawled: Crawled) -> None:
    await crawled.save(Page(gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED),)))
    await crawled.hear(Page(users=(user("1"),), posts=(post("10"),)), service=X)
    assert await crawled.count("unavailable", "until is null") == 0
    assert await crawled.count("posts", "text is not null") == 1


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_federated_post_that_was_deleted_by_its_key_stays_out(crawled: Crawled, is_known: bool) -> None:
    written = Page(users=(federated("ada", "7"),), posts=(toot("5", "ada"),))
    if is_known:
        await crawled.hear(written, service=FEDIVERSE)
    await crawled.hear(Page(gone=(Gone(Subject.POST, "5", Outcome.NOT_FOUND),)), service=FEDIVERSE)
    await crawled.hear(written, service=FEDIVERSE)
    assert await crawled.count("posts", "text is not null") == 0


async def test_a_follow_ends_by_the_name_of_its_record(crawled: Crawled) -> None:
    await crawled.hear(_follow("r1"))
    began = micros(crawled.now)
    saved = await crawled.hear(_unfollow("r1"))
    assert (saved.relations_removed, await _is_followed(crawled)) == (1, False)
    added, removed = await crawled.rows(HISTORY)
    assert (added["change"], added["after_at"], added["before_at"]) == ("added", None, began)
    assert (removed["change"], removed["after_at"], removed["before_at"]) == ("removed", began, micros(crawled.now))


async def test_a_follow_ends_by_its_target(crawled: Crawled) -> None:
    await crawled.hear(_follow(None))
    assert (await crawled.hear(_unfollow(target="did:b"))).relations_removed == 1
    assert await _told(crawled) == ["added", "removed"]


async def test_a_follow_made_anew_does_not_end_with_its_older_record(crawled: Crawled) -> None:
    await crawled.hear(_follow("r1"))
    await crawled.hear(_follow("r2"))
    await crawled.hear(_unfollow("r1"), _unfollow("r1", "did:b"))
    assert await _is_followed(crawled)
    await crawled.hear(_unfollow("r2", "did:b"))
    assert not await _is_followed(crawled)


async def test_an_end_that_nobody_knows_of_does_nothing(crawled: Crawled) -> None:
    assert (await crawled.hear(_unfollow("r9"), _unfollow(target="did:b"))).relations_removed == 0
    assert (await crawled.count("users"), await crawled.count("relation_history")) == (0, 0)


async def test_a_follow_that_ended_comes_back_under_a_new_record_only(crawled: Crawled) -> None:
    await crawled.hear(_follow("r1"), _unfollow("r1"))
    assert (await crawled.hear(_follow("r1"))).relations_new == 0
    assert not await _is_followed(crawled)
    assert (await crawled.hear(_follow("r2"))).relations_new == 1
    assert await _is_followed(crawled)
    assert await _told(crawled) == ["removed", "added", "added"]


async def test_a_follow_that_ends_and_begins_anew_on_one_page_is_told_as_both(crawled: Crawled) -> None:
    await crawled.hear(_follow("r1"))
    page = Page(relations=_follow("r2").relations, ended=_unfollow("r1").ended)
    saved = await crawled.hear(page)
    assert (saved.relations_new, saved.relations_removed, await _is_followed(crawled)) == (1, 1, True)


async def test_a_follow_that_begins_and_ends_on_one_page_has_ended(crawled: Crawled) -> None:
    page = Page(relations=_follow("r1").relations, ended=_unfollow("r1").ended)
    saved = await crawled.hear(page)
    assert (saved.relations_new, saved.relations_removed, await _is_followed(crawled)) == (1, 1, False)


async def test_a_follow_whose_record_was_rewritten_goes_on(crawled: Crawled) -> None:
    await crawled.hear(_follow("r1"))
    await crawled.hear(_unfollow("r1"), _follow("r1"))
    assert await _is_followed(crawled)


async def test_records_named_by_a_listing_can_be_ended_by_a_stream(crawled: Crawled) -> None:
    await crawled.save(_follow("r1"), FOLLOWING, "did:a", service=SKY)
    await crawled.save(Page(relations=following("did:a", "did:b")), FOLLOWING, "did:a", service=SKY)
    assert (await crawled.row("select record from relations"))["record"] == "r1"
    await crawled.hear(_unfollow("r1"))
    assert not await _is_followed(crawled)


async def test_a_listing_under_way_does_not_bring_back_a_follow_whose_end_was_told_meanwhile(crawled: Crawled) -> None:
    await crawled.hear(_follow("r1"))
    asked = crawled.now
    await crawled.hear(_unfollow("r1"))
    await crawled.leased(asked)
    await crawled.save(_follow("r1"), FOLLOWING, "did:a", service=SKY)
    assert (await _is_followed(crawled), await _told(crawled)) == (False, ["added", "removed"])


async def test_a_listing_under_way_does_not_end_a_follow_that_was_told_meanwhile(crawled: Crawled) -> None:
    await crawled.save(_follow("r1"), FOLLOWING, "did:a", service=SKY)
    asked = crawled.now
    await crawled.hear(_unfollow("r1"), _follow("r2"))
    await crawled.leased(asked)
    await crawled.save(_follow("r9", "did:c"), FOLLOWING, "did:a", service=SKY)
    assert await crawled.count("relations", "record = 'r2' and removed_at is null") == 1


async def test_an_end_told_by_a_page_that_was_asked_for_counts_too(crawled: Crawled) -> None:
    await crawled.hear(_follow("r1"))
    saved = await crawled.save(_unfollow("r1"), PROFILES, service=SKY)
    assert (saved.relations_removed, await _is_followed(crawled)) == (1, False)


async def test_payloads_stay_readable_when_a_batch_that_learned_a_dictionary_is_undone(crawled: Crawled) -> None:
    many = [skeet(str(n), raw=b'{"text":"how do you do, number %d"}' % n) for n in range(SAMPLES)]
    # Pages of a few posts: the payloads of many are compressed together, without a dictionary.
    few = [Page(posts=tuple(many[at : at + FEWEST - 1])) for at in range(0, SAMPLES, FEWEST - 1)]
    later = Page(posts=(skeet("later", raw=b'{"text":"how do you do, later"}'),))
    with pytest.raises(RuntimeError):
        await _hear_in_vain(crawled, *few, later)
    await crawled.hear(later)
    await crawled.hear(*few, Page(posts=(skeet("last", raw=b'{"text":"how do you do, last"}'),)))
    raws = {item["id"]: item["raw"] async for item in Reader(crawled.database).posts(with_raw=True)}
    assert len(raws) == SAMPLES + 2
    assert all(b"how do you do" in raw for raw in raws.values())
    assert await crawled.count("posts", "raw_dictionary is not null") > 0


async def _hear_in_vain(crawled: Crawled, *pages: Page) -> None:
    async with crawled.database.transaction() as tx:
        for page in pages:
            await crawled.store.hear(tx, page, service=SKY, facet=FOLLOWING, call=1, now=crawled.now)
        raise RuntimeError("the power fails")


async def test_places_are_forgotten_up_to_the_post_their_author_named(crawled: Crawled) -> None:
    where = Place(name="Lisbon", longitude=-9.1, latitude=38.7)
    posts = tuple(Post(id=f"x:{n}", key=str(n), author="x:7", text="here", place=where, raw=b'{"place":1}') for n in (10, 20, 30))
    await crawled.save(Page(users=(User(id="x:7", key="7", handle="u7"),), posts=posts), POSTS)
    await crawled.hear(Page(withdrawn_places=(WithdrawnPlaces("7", "20"),)), service=X)
    assert await crawled.count("posts", "place is null and raw is null and text = 'here'") == 2
    assert await crawled.count("posts", "id = 'x:30' and place is not null and raw is not null") == 1


async def test_a_service_that_lags_behind_the_stream_takes_nothing_away(crawled: Crawled) -> None:
    await crawled.hear(Page(posts=(skeet("1"),)))
    left_out = Page(gone=(Gone(Subject.USER, "did:a", Outcome.NOT_FOUND, is_vague=True),))
    await crawled.save(left_out, PROFILES, "did:a", service=SKY)
    assert await crawled.count("posts", "id = 'at://1' and text is not null") == 1
    assert await crawled.count("unavailable") == 0
    # Once the service has shown the account, leaving it out means that it is gone.
    await crawled.save(Page(users=(ADA,)), PROFILES, "did:a", service=SKY)
    await crawled.save(left_out, PROFILES, "did:a", service=SKY)
    assert await crawled.count("posts", "id = 'at://1' and text is null") == 1
    assert await crawled.count("unavailable", "until is null") == 1


async def _hear(crawled: Crawled, page: Page) -> None:
    """What a stream says on a connection that stands in the query log."""
    await crawled.leased(crawled.now, FIREHOSE)
    async with crawled.database.transaction() as tx:
        crawl = await enrol_crawl(tx, "listening", "{}", "{}", crawled.now)
        await tx.execute("update calls set lane = ?", await enrol_lane(tx, crawl.crawl, 1, "stream live"))
    await crawled.hear(page)


async def _asked(crawled: Crawled, after: timedelta, page: Page) -> None:
    """A page of a call that began so long after the stream spoke."""
    await crawled.leased(crawled.now + after, PROFILES, lane=99)
    await crawled.save(page, PROFILES, "did:a", service=SKY, after=after + timedelta(seconds=1))


@pytest.mark.parametrize(("after", "absences"), [(timedelta(seconds=40), 1), (timedelta(minutes=20), 0)])
async def test_a_service_that_lags_behind_the_stream_brings_nobody_back(
    crawled: Crawled, after: timedelta, absences: int
) -> None:
    await crawled.save(Page(users=(ADA,)), PROFILES, "did:a", service=SKY)
    await _hear(crawled, _left(Outcome.NOT_FOUND))
    await _asked(crawled, after, Page(users=(ADA,)))
    assert await crawled.count("unavailable", "until is null") == absences
    assert await crawled.count("users", "name is null") == absences


@pytest.mark.parametrize(("after", "name"), [(timedelta(seconds=40), "Ada L."), (timedelta(minutes=20), "Ada")])
async def test_a_service_that_lags_behind_the_stream_does_not_bring_an_older_profile_back(
    crawled: Crawled, after: timedelta, name: str
) -> None:
    await crawled.save(Page(users=(ADA,)), PROFILES, "did:a", service=SKY)
    await _hear(crawled, Page(users=(structs.replace(ADA, name="Ada L."),)))
    for _ in range(2):
        await _asked(crawled, after, Page(users=(structs.replace(ADA, followers=7),)))
    row = await crawled.row("select name, followers from users")
    assert (row["name"], row["followers"]) == (name, 7)


async def test_who_asks_not_to_be_collected_is_believed_even_of_a_service_that_lags(crawled: Crawled) -> None:
    await _hear(crawled, Page(users=(ADA,)))
    await _asked(crawled, timedelta(seconds=5), Page(users=(structs.replace(ADA, name="Ada the first", opts_out=True),)))
    assert await crawled.count("users", "opts_out = 1 and name is null") == 1


@pytest.mark.parametrize(("after", "texts"), [(timedelta(seconds=40), 1), (timedelta(minutes=20), 0)])
async def test_a_service_that_does_not_know_a_new_author_yet_erases_nothing(
    crawled: Crawled, after: timedelta, texts: int
) -> None:
    await _hear(crawled, Page(posts=(skeet("1"),)))
    await _asked(crawled, after, Page(gone=(Gone(Subject.USER, "did:a", Outcome.NOT_FOUND),)))
    assert await crawled.count("posts", "text is not null") == texts


@pytest.mark.parametrize(("after", "texts"), [(timedelta(seconds=40), 1), (timedelta(minutes=20), 0)])
async def test_a_service_that_does_not_know_a_new_post_yet_erases_nothing(crawled: Crawled, after: timedelta, texts: int) -> None:
    await _hear(crawled, Page(posts=(skeet("1"),)))
    await crawled.leased(crawled.now + after, POSTS, lane=99)
    left_out = Page(gone=(Gone(Subject.POST, "at://1", Outcome.NOT_FOUND),))
    await crawled.save(left_out, POSTS, "at://1", service=SKY, after=after + timedelta(seconds=1))
    assert await crawled.count("posts", "text is not null") == texts
    assert await crawled.count("deletions") == 1 - texts
