"""Relations and their listings, on both databases."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from store_pages import FOLLOWERS, FOLLOWING, PROFILES, Crawled, followers, following, user

from bowerbird.model import Outcome, Page
from bowerbird.ports import Database

HISTORY = """
select s.id as source, t.id as target, change, after_at, before_at, call from relation_history h
join users s on s.user_no = h.source join users t on t.user_no = h.target order by call, s.id, t.id
"""


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def _sweep(crawled: Crawled, *pages: tuple[str, ...]) -> tuple[int, int]:
    """Lists the followers of 1 page by page; the last page ends the list."""
    new = removed = 0
    for n, sources in enumerate(pages):
        cursor = None if n + 1 == len(pages) else f"p{n + 1}"
        page = Page(relations=followers("1", *sources), cursor=cursor)
        saved = await crawled.save(page, FOLLOWERS, "1", cursor=f"p{n}" if n else None)
        new, removed = new + saved.relations_new, removed + saved.relations_removed
    return new, removed


async def _changes(crawled: Crawled) -> list[tuple[str, str]]:
    return [(row["change"], row["source"]) for row in await crawled.rows(HISTORY)]


async def test_the_first_listing_makes_relations_and_no_history(crawled: Crawled) -> None:
    assert await _sweep(crawled, ("2", "3"), ("4",)) == (3, 0)
    assert await crawled.count("relations", "seen_in = 1 and seen_out is null") == 3
    assert await _changes(crawled) == []
    listing = await crawled.row("select sweep, ended_at, listed from listings")
    assert (listing["sweep"], listing["listed"], listing["ended_at"] is not None) == (1, 3, True)


async def test_a_later_sweep_tells_who_came_and_who_went_and_between_when(crawled: Crawled) -> None:
    await _sweep(crawled, ("2", "3"), ("4",))
    began = (await crawled.row("select began_at from listings"))["began_at"]
    last_seen = {row["source"]: row["seen_at"] for row in await crawled.rows("select source, seen_at from relations")}
    assert await _sweep(crawled, ("5", "2"), ("4",)) == (1, 1)
    added, removed = await crawled.rows(HISTORY)
    assert (added["change"], added["source"], added["after_at"]) == ("added", "x:5", began)
    assert (removed["change"], removed["source"], removed["after_at"]) == ("removed", "x:3", min(last_seen.values()))
    assert removed["before_at"] > removed["after_at"]
    assert await crawled.count("relations", "removed_at is not null") == 1


async def test_an_unfinished_sweep_removes_nobody(crawled: Crawled) -> None:
    await _sweep(crawled, ("2", "3"))
    await crawled.save(Page(relations=followers("1", "2"), cursor="more"), FOLLOWERS, "1")
    assert await crawled.count("relations", "removed_at is not null") == 0
    # It starts afresh: the half sweep must not count as the one before.
    assert await _sweep(crawled, ("2",), ()) == (0, 1)


async def test_a_failed_page_is_no_end_of_a_list(crawled: Crawled) -> None:
    await _sweep(crawled, ("2", "3"))
    await crawled.save(Page(outcome=Outcome.OVERLOADED), FOLLOWERS, "1")
    await crawled.save(Page(outcome=Outcome.PROTECTED), FOLLOWERS, "1")
    assert await crawled.count("relations", "removed_at is not null") == 0


async def test_an_empty_list_ends_all_relations_it_showed_if_the_profile_counts_none(crawled: Crawled) -> None:
    await _sweep(crawled, ("2", "3"))
    await crawled.save(Page(users=(user("1", followers=0),)))
    assert await _sweep(crawled, ()) == (0, 2)


async def test_an_empty_list_of_an_account_that_hides_its_network_removes_nobody(crawled: Crawled) -> None:
    await _sweep(crawled, ("2", "3"))
    await crawled.save(Page(users=(user("1", followers=2),)))
    assert await _sweep(crawled, ()) == (0, 0)


async def test_a_listing_that_was_broken_off_removes_nobody(crawled: Crawled) -> None:
    await _sweep(crawled, ("2", "3"))
    saved = await crawled.save(Page(relations=followers("1", "2"), is_whole=False), FOLLOWERS, "1")
    assert saved.relations_removed == 0


CUT = replace(FOLLOWERS, total_results=2)
IN_PART = {
    "hidden": (Page(), FOLLOWERS),
    "cut at the cap": (Page(relations=followers("1", "2", "3")), CUT),
    "broken off": (Page(relations=followers("1", "2"), is_whole=False), FOLLOWERS),
}


@pytest.mark.parametrize("how", IN_PART)
async def test_a_listing_in_part_does_not_tell_who_came_after_it(crawled: Crawled, how: str) -> None:
    page, facet = IN_PART[how]
    await crawled.save(page, facet, "1")
    await _sweep(crawled, ("2", "3", "4"))
    assert await _changes(crawled) == []


@pytest.mark.parametrize("how", IN_PART)
async def test_after_a_listing_in_part_the_last_whole_one_still_counts(crawled: Crawled, how: str) -> None:
    await _sweep(crawled, ("2", "3"))
    began = (await crawled.row("select began_at from listings"))["began_at"]
    page, facet = IN_PART[how]
    for _ in range(2):
        await crawled.save(page, facet, "1")
    await _sweep(crawled, ("2", "3", "4"))
    (added,) = await crawled.rows(HISTORY)
    assert (added["change"], added["source"], added["after_at"]) == ("added", "x:4", began)


async def test_a_page_after_the_end_of_a_listing_in_part_only_adds(crawled: Crawled) -> None:
    await _sweep(crawled, ("2", "3"))
    await crawled.save(Page(), FOLLOWERS, "1")
    saved = await crawled.save(Page(relations=followers("1", "4")), FOLLOWERS, "1", cursor="middle")
    assert (saved.relations_new, saved.relations_removed) == (1, 0)


async def test_a_follower_who_returns_is_no_longer_removed(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", followers=0),)))
    for sources in (("2",), (), ("2",)):
        await _sweep(crawled, sources)
    assert await _changes(crawled) == [("removed", "x:2"), ("added", "x:2")]
    assert await crawled.count("relations", "removed_at is null") == 1


async def test_a_list_cut_at_the_cap_of_the_service_removes_nobody(crawled: Crawled) -> None:
    capped = replace(FOLLOWERS, total_results=2)
    await crawled.save(Page(relations=followers("1", "2", "3")), capped, "1")
    saved = await crawled.save(Page(relations=followers("1", "4", "5")), capped, "1")
    assert saved.relations_removed == 0


async def test_a_list_that_never_showed_an_edge_does_not_remove_it(crawled: Crawled) -> None:
    await crawled.save(Page(relations=following("2", "1")), FOLLOWING, "2")
    assert await _sweep(crawled, ("3",)) == (1, 0)


async def test_an_edge_seen_elsewhere_during_the_sweep_is_not_removed(crawled: Crawled) -> None:
    await _sweep(crawled, ("2", "3"))
    await crawled.save(Page(relations=followers("1", "3"), cursor="more"), FOLLOWERS, "1")
    await crawled.save(Page(relations=following("2", "1")), FOLLOWING, "2")
    saved = await crawled.save(Page(), FOLLOWERS, "1", cursor="more")
    assert saved.relations_removed == 0


async def test_a_page_in_the_middle_of_an_unknown_sweep_only_adds(crawled: Crawled) -> None:
    await _sweep(crawled, ("2",))
    saved = await crawled.save(Page(relations=followers("1", "3")), FOLLOWERS, "1", cursor="middle")
    assert (saved.relations_new, saved.relations_removed) == (1, 0)


async def test_edges_outside_a_listing_are_kept_without_a_sweep(crawled: Crawled) -> None:
    saved = await crawled.save(Page(relations=following("1", "2") + following("2", "1", "3")), PROFILES, "1", "2")
    assert saved.relations_new == 3
    assert await crawled.count("relations", "seen_out is null and seen_in is null") == 3


async def test_a_page_on_which_somebody_could_not_be_told_removes_nobody_at_the_end_of_the_list_either(crawled: Crawled) -> None:
    await _sweep(crawled, ("2", "3"), ("4",))
    await crawled.save(Page(relations=followers("1", "2"), cursor="p1", is_whole=False), FOLLOWERS, "1")
    saved = await crawled.save(Page(relations=followers("1", "4", "5")), FOLLOWERS, "1", cursor="p1")
    assert (saved.relations_new, saved.relations_removed) == (1, 0)
    assert await crawled.count("relations", "removed_at is not null") == 0
    assert await _sweep(crawled, ("2",), ("4", "5")) == (0, 1)
