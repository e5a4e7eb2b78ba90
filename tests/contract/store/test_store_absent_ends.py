"""Relations whose other end is absent are kept apart from relations that have ended, on both databases."""

from __future__ import annotations

from datetime import timedelta

import pytest
from store_pages import FOLLOWERS, FOLLOWING, PROFILES, Crawled, followers, following, user

from bowerbird.model import Facet, Gone, Outcome, Page, Relation, RelationEnd, RelationKind, Subject
from bowerbird.ports import Database

HALF_AN_HOUR = timedelta(minutes=30)
OUT_OF_SIGHT = pytest.mark.parametrize(
    "reason", [Outcome.SUSPENDED, Outcome.DEACTIVATED, Outcome.NOT_FOUND, Outcome.BLOCKED], ids=str
)


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def _look_up(crawled: Crawled, *keys: str) -> None:
    await crawled.save(Page(users=tuple(user(key, is_protected=False) for key in keys)), PROFILES, *keys)


async def _leave(crawled: Crawled, key: str, reason: Outcome = Outcome.SUSPENDED) -> None:
    await crawled.save(Page(gone=(Gone(Subject.USER, key, reason),)), PROFILES, key)


async def _list(crawled: Crawled, facet: Facet, *others: str, cursor: str | None = None, then: str | None = None) -> int:
    """Lists the followers of 1, or whom 1 follows, in a call that is logged; answers how many are removed."""
    await crawled.leased(crawled.now + HALF_AN_HOUR, facet)
    relations = followers("1", *others) if facet is FOLLOWERS else following("1", *others)
    saved = await crawled.save(Page(relations=relations, cursor=then), facet, "1", cursor=cursor)
    return saved.relations_removed


async def _changes(crawled: Crawled) -> list[str]:
    return [row["change"] for row in await crawled.rows("select change from relation_history order by before_at")]


async def _is_kept(crawled: Crawled) -> bool:
    return await crawled.count("relations", "removed_at is not null") == 0 and await _changes(crawled) == []


@OUT_OF_SIGHT
@pytest.mark.parametrize("facet", [FOLLOWERS, FOLLOWING], ids=lambda facet: facet.name)
async def test_a_list_without_an_absent_account_removes_nothing(crawled: Crawled, facet: Facet, reason: Outcome) -> None:
    await _list(crawled, facet, "2", "3")
    await _leave(crawled, "2", reason)
    assert await _list(crawled, facet, "3") == 0
    assert await _is_kept(crawled)
    await _look_up(crawled, "2")
    await _list(crawled, facet, "2", "3")
    assert await _is_kept(crawled)


@OUT_OF_SIGHT
@pytest.mark.parametrize("facet", [FOLLOWERS, FOLLOWING], ids=lambda facet: facet.name)
async def test_a_removal_is_taken_back_when_the_account_turns_out_to_be_absent(
    crawled: Crawled, facet: Facet, reason: Outcome
) -> None:
    await _look_up(crawled, "2", "3")
    await _list(crawled, facet, "2", "3")
    assert await _list(crawled, facet, "3") == 1
    await _leave(crawled, "2", reason)
    assert await _is_kept(crawled)


async def test_a_removal_taken_back_is_told_when_the_account_returns_without_the_relation(crawled: Crawled) -> None:
    await _list(crawled, FOLLOWERS, "2", "3")
    last_seen = (await crawled.row("select min(seen_at) as at from relations"))["at"]
    await _list(crawled, FOLLOWERS, "3")
    await _leave(crawled, "2")
    await _look_up(crawled, "2")
    assert await _list(crawled, FOLLOWERS, "3") == 1
    row = await crawled.row("select change, after_at from relation_history")
    assert (row["change"], row["after_at"]) == ("removed", last_seen)


async def test_a_removal_stands_when_the_account_was_seen_after_it(crawled: Crawled) -> None:
    await _list(crawled, FOLLOWERS, "2", "3")
    await _list(crawled, FOLLOWERS, "3")
    await _look_up(crawled, "2")
    await _leave(crawled, "2")
    assert await _changes(crawled) == ["removed"]
    assert await crawled.count("relations", "removed_at is not null") == 1


async def test_what_the_absent_account_ended_itself_has_ended(crawled: Crawled) -> None:
    await _list(crawled, FOLLOWING, "2", "3")
    await _list(crawled, FOLLOWING, "3")
    await _leave(crawled, "1")
    assert await _changes(crawled) == ["removed"]


async def test_what_a_stream_said_to_have_ended_has_ended(crawled: Crawled) -> None:
    await crawled.hear(Page(relations=(Relation(RelationKind.FOLLOW, "did:a", "did:b", "r1"),)))
    await crawled.hear(Page(ended=(RelationEnd(RelationKind.FOLLOW, "did:a", "r1"),)))
    for did in ("did:a", "did:b"):
        await crawled.hear(Page(gone=(Gone(Subject.USER, did, Outcome.SUSPENDED),)))
    assert await _changes(crawled) == ["added", "removed"]
    assert await crawled.count("relations", "removed_at is not null") == 1


async def test_an_account_that_returned_while_the_list_was_read_is_not_removed(crawled: Crawled) -> None:
    await _list(crawled, FOLLOWERS, "2", "3")
    await _leave(crawled, "2")
    await _list(crawled, FOLLOWERS, "3", then="p1")
    await _look_up(crawled, "2")
    assert await _list(crawled, FOLLOWERS, cursor="p1") == 0


async def test_an_account_that_was_absent_from_the_list_before_is_no_newcomer(crawled: Crawled) -> None:
    await _leave(crawled, "2")
    await _list(crawled, FOLLOWERS, "3")
    await _look_up(crawled, "2")
    await _list(crawled, FOLLOWERS, "2", "3")
    assert await _is_kept(crawled)
    await _list(crawled, FOLLOWERS, "2", "3", "4")
    assert await _changes(crawled) == ["added"]


async def test_a_protected_account_is_in_lists_and_leaves_them_like_any_other(crawled: Crawled) -> None:
    await _list(crawled, FOLLOWERS, "2", "3")
    await _leave(crawled, "2", Outcome.PROTECTED)
    assert await _list(crawled, FOLLOWERS, "3") == 1
    await _leave(crawled, "3", Outcome.PROTECTED)
    assert await _changes(crawled) == ["removed"]
