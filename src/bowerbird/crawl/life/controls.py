"""What is wanted of a part of a crawl, as against the whole of it: of one facet, of one worker. Read with every look."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.model import CrawlState
from bowerbird.ports import Transaction


class Kind(StrEnum):
    """What a wish is about."""

    FACET = "facet"
    WORKER = "worker"


class Wishes(Struct, frozen=True):
    """What one worker of a crawl is to heed."""

    paused_facets: frozenset[str] = frozenset()
    is_paused: bool = False
    is_stopped: bool = False


_WISH = """
insert into controls (crawl, kind, name, wanted, since) values (?, ?, ?, ?, ?)
on conflict (crawl, kind, name) do update set wanted = excluded.wanted, since = excluded.since
"""
_READ = "select kind, name, wanted from controls where crawl = ?"
_TAKE_BACK = "delete from controls where crawl = ? and kind = ? and name = ?"
_BEGIN = f"delete from controls where crawl = ? and kind = '{Kind.WORKER}' and name = ? and wanted = '{CrawlState.STOPPED}'"


async def wish(tx: Transaction, crawl: int, kind: Kind, name: str, wanted: CrawlState, now: datetime) -> None:
    """Pauses or stops one part of a crawl, or lets it run again."""
    if wanted == CrawlState.RUNNING:
        await tx.execute(_TAKE_BACK, crawl, kind, name)
    else:
        await tx.execute(_WISH, crawl, kind, name, wanted, to_micros(now))


async def begin(tx: Transaction, crawl: int, label: str) -> None:
    """A worker that was stopped and is started again is to run; one that was paused waits on."""
    if label:
        await tx.execute(_BEGIN, crawl, label)


async def read(tx: Transaction, crawl: int, label: str = "") -> Wishes:
    """What the worker of that label is to heed."""
    rows = [(Kind(row["kind"]), row["name"], row["wanted"]) for row in await tx.fetch(_READ, crawl)]
    mine = {wanted for kind, name, wanted in rows if kind is Kind.WORKER and name == label and label}
    return Wishes(
        paused_facets=frozenset(name for kind, name, _ in rows if kind is Kind.FACET),
        is_paused=CrawlState.PAUSED in mine,
        is_stopped=CrawlState.STOPPED in mine,
    )
