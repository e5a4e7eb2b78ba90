"""What the services of a plan are built from, and what they bring into a crawl."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import Struct

from bowerbird.crawl.access.served import Note
from bowerbird.crawl.life.extensions import Extensions
from bowerbird.crawl.life.rebuilding import Queues
from bowerbird.crawl.process.workers.enrolment import Enrolment
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.work.lanes import Lane
from bowerbird.errors import Failure
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.keywords.probes import Searches
from bowerbird.keywords.setup import EventCrawl
from bowerbird.model import ServerInfo
from bowerbird.ports import Database, Part, Vault
from bowerbird.providers.base import Provider
from bowerbird.starting.asking.charges import Options


class Given(Struct, frozen=True, kw_only=True):
    """What the services of a crawl are built from."""

    plan: CrawlPlan
    vault: Vault
    """With what lanes are asked; not all of its secrets need be here."""
    stream_vault: Vault
    """With what this process opens streams itself."""
    crawl: int
    me: Enrolment
    extensions: Extensions
    flavours: Mapping[str, ServerInfo]
    """By service: what it said of itself."""
    now: Callable[[], datetime]
    database: Database
    event: EventCrawl | None = None
    """Where its seeds are keywords."""


class Gathered(Struct, frozen=True):
    """What the services bring into a crawl, one after the other."""

    lanes: dict[int, Lane] = {}
    waiting: dict[int, Lane] = {}
    """Lanes that are not asked in this run: what is led to them waits there."""
    charges: dict[int, Options] = {}
    homes: dict[str, int] = {}
    """By host: the lane that looks up the accounts of that server."""
    streams: list[Stream] = []
    tuned: dict[int, Provider] = {}
    """By stream, those that hear the keywords of an event, and who says how."""
    probes: list[Searches] = []
    """By service, the lanes that test candidates for keywords."""
    mute: list[Part] = []
    """Streams that would never bring anything."""
    queues: list[Queues] = []
    notes: list[Note] = []
    lost: dict[str, dict[str, Failure]] = {}
    """By service, the facets that it cannot be asked for, each with the reason."""
