"""Listings that lead nowhere are ended, on both databases."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.crawl.answers.endless_lists import CYCLE, EMPTY, FADED, MOST_EMPTY, bounded, remember
from bowerbird.crawl.work.lanes import Lane
from bowerbird.model import EPOCH, Ask, Lease, Page, Saved, Service, Task
from bowerbird.policies import ranker
from bowerbird.ports import Database
from bowerbird.providers import Mastodon

SPEAKS = Mastodon()
SERVICE = Service(name="s", provider="mastodon", base="https://s.example")
LANE = Lane(
    lane=1,
    service=SERVICE,
    provider=SPEAKS,
    facet=SPEAKS.facets["timeline"],
    ranker=ranker("fifo"),
    seeder=None,  # type: ignore[arg-type]  nobody is seeded here
)


def lease(pages: int) -> Lease:
    task = Task(task=7, lane=1, target="1", token=1, pages=pages)
    ask = Ask("timeline", ("1",))
    return Lease(
        call=1,
        worker=1,
        service=SERVICE,
        ask=ask,
        request=SPEAKS.request(ask),
        tasks=(task,),
        credential=None,
        charges=(),
        leased_at=EPOCH,
        until=EPOCH,
    )


async def read(database: Database, pages: Sequence[Page]) -> list[Page]:
    """The pages of one listing as they are taken, up to the one that ends it."""
    taken: list[Page] = []
    for number, page in enumerate(pages):
        async with database.transaction() as tx:
            page, trail = await bounded(tx, LANE, lease(number), page)
            await remember(tx, lease(number), page, Saved(), trail)
        taken.append(page)
        if taken[-1].cursor is None:
            break
    return taken


async def test_a_position_met_before_ends_the_listing_and_is_recorded(database: Database) -> None:
    taken = await read(database, [Page(cursor="abc"[number % 3], results=40) for number in range(100)])
    assert len(taken) < 12
    assert (taken[-1].cursor, taken[-1].is_whole, taken[-1].detail) == (None, False, CYCLE)


async def test_empty_pages_without_end_are_ended(database: Database) -> None:
    taken = await read(database, [Page(cursor=str(number), results=0) for number in range(1_000)])
    assert (len(taken), taken[-1].detail) == (MOST_EMPTY, EMPTY)


async def test_a_list_that_ends_in_empty_pages_is_not_taken_for_whole(database: Database) -> None:
    taken = await read(database, [Page(cursor="3", results=9), Page(cursor="2", results=0), Page(results=0)])
    assert (taken[-1].is_whole, taken[-1].detail) == (False, FADED)


async def test_a_list_that_ends_with_one_empty_page_is_whole_and_forgotten(database: Database) -> None:
    taken = await read(database, [Page(cursor="3", results=9), Page(cursor="2", results=9), Page(results=0)])
    assert taken[-1].is_whole
    async with database.reading() as tx:
        assert await tx.fetch("select task from paging") == []
