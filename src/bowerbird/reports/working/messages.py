"""The last messages of each facet: what its last calls asked, and what came of them."""

from __future__ import annotations

from collections import defaultdict

from bowerbird.ports import Transaction
from bowerbird.reports.working.calls import CallFilter, CallLine, read_calls

_LOOKED_AT = 300


async def read_messages(tx: Transaction, crawl: int, each: int = 5) -> dict[str, list[CallLine]]:
    """By facet, the newest first; of the last calls of the crawl."""
    page = await read_calls(tx, CallFilter(crawl=crawl), most=_LOOKED_AT)
    found: defaultdict[str, list[CallLine]] = defaultdict(list)
    for line in page.lines:
        if len(found[line.facet]) < each:
            found[line.facet].append(line)
    return dict(sorted(found.items()))
