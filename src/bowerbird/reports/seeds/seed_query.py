"""Seeds that a crawl file chooses from a store by a query."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import nullcontext

from bowerbird.flows.files.sections.seed_list import SeedQuery
from bowerbird.model import Service
from bowerbird.ports import Clock, Database
from bowerbird.reports.seeds.chosen import chosen
from bowerbird.store.opening import open_store


async def chosen_by(query: SeedQuery | None, service: Service, database: Database, clock: Clock) -> AsyncIterator[str]:
    """The keys that a crawl file's query chooses, from the store it names or else from the crawl's own."""
    if query is None:
        return
    async with open_store(query.store, clock) if query.store else nullcontext(database) as source:
        async for key in chosen(source, query.what, query.holds, service, asks_judges=query.asks_judges):
            yield key
