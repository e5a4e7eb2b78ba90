"""A stream that ends after so many posts: what went away before it was written makes room for another, or it would never end."""

from __future__ import annotations

from store_pages import Crawled, skeet

from bowerbird.model import Gone, Outcome, Page, Subject
from bowerbird.ports import Database
from bowerbird.store.results.collecting import CollectingStore
from bowerbird.store.results.wanted import Wanted

_WRITTEN = "insert into outputs (crawl, path, base, result, size, rows) select 1, '-', 0, max(result), 0, 1 from results"


async def _crawled(database: Database) -> Crawled:
    crawled = await Crawled(database).register()
    crawled.store = CollectingStore(crawled.store, database, 1, Wanted(heard=True, limit=2))  # type: ignore[assignment]
    return crawled


async def test_a_post_that_is_gone_before_it_is_written_makes_room(database: Database) -> None:
    crawled = await _crawled(database)
    assert (await crawled.hear(Page(posts=(skeet("1"), skeet("2"), skeet("3"))))).is_enough
    assert await crawled.count("results") == 2
    await crawled.hear(Page(gone=(Gone(Subject.POST, "at://1", Outcome.NOT_FOUND),)))
    assert (await crawled.hear(Page(posts=(skeet("4"), skeet("5"))))).is_enough
    assert await crawled.count("results", "item like '%4'") == 1
    assert await crawled.count("results", "item like '%5'") == 0


async def test_a_post_that_is_gone_after_it_was_written_makes_none(database: Database) -> None:
    crawled = await _crawled(database)
    await crawled.hear(Page(posts=(skeet("1"),)))
    async with database.transaction() as tx:
        await tx.execute(_WRITTEN)
    await crawled.hear(Page(gone=(Gone(Subject.POST, "at://1", Outcome.NOT_FOUND),)))
    assert (await crawled.hear(Page(posts=(skeet("2"), skeet("3"))))).is_enough
    assert await crawled.count("results") == 2
