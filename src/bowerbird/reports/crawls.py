"""Which crawls and services a store knows. It needs no more of a store than its first version had, and little to be loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.errors import Failure, stored_failure
from bowerbird.model import CrawlState, Service
from bowerbird.ports import Transaction

_NUMBERS = "select crawl, name from crawls order by crawl"
_SETTINGS = "select name, settings from crawls order by crawl"
_NAMED_AFTER = "select name, state, reason from crawls where name = ? or name like ? order by crawl"
_HAS_CALLED = "select 1 as asked from crawls where name = ? and calls > 0"
_HAS_ASKED = """
select 1 as found from tasks join lanes on lanes.lane = tasks.lane where lanes.crawl = ? and tasks.target = ? limit 1
"""
_SERVICES = "select service, name, network, provider, base from services order by service"


class NamedCrawl(Struct, frozen=True):
    """One of several crawls that are named alike."""

    name: str
    state: CrawlState
    reason: Failure | None


class KnownService(Struct, frozen=True):
    """A service by its number in the store."""

    number: int
    network: str
    service: Service


async def read_numbers(tx: Transaction) -> dict[str, int]:
    """The crawls by name, in the order in which they were begun."""
    return {str(row["name"]): int(row["crawl"]) for row in await tx.fetch(_NUMBERS)}


async def read_settings(tx: Transaction) -> Mapping[str, dict[str, Any]]:
    """By crawl, how it was last run."""
    return {str(row["name"]): msgspec.json.decode(row["settings"] or "{}") for row in await tx.fetch(_SETTINGS)}


async def named_after(tx: Transaction, name: str) -> Sequence[NamedCrawl]:
    """The crawl of this name and those that were numbered after it (`name-2`), in their order."""
    rows = await tx.fetch(_NAMED_AFTER, name, f"{name}-%")
    return [NamedCrawl(row["name"], CrawlState(row["state"]), stored_failure(row["reason"])) for row in rows]


async def has_called(tx: Transaction, name: str) -> bool:
    """Whether a crawl has made a call."""
    return await tx.fetch_one(_HAS_CALLED, name) is not None


async def has_asked_about(tx: Transaction, crawl: int, target: str) -> bool:
    """Whether a crawl asks about a target, or did."""
    return await tx.fetch_one(_HAS_ASKED, crawl, target) is not None


async def read_known_services(tx: Transaction) -> Sequence[KnownService]:
    return [
        KnownService(row["service"], row["network"], Service(name=row["name"], provider=row["provider"], base=row["base"]))
        for row in await tx.fetch(_SERVICES)
    ]
