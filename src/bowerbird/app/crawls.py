"""What a crawl is opened with, and what one gets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.app.charges import Options
from bowerbird.crawl.access.surveys import Survey
from bowerbird.crawl.life.extensions import Extensions
from bowerbird.crawl.life.rebuilding import Queues
from bowerbird.crawl.process.enrolment import Enrolment
from bowerbird.crawl.process.process import Process
from bowerbird.crawl.process.stop_rules import StopRules
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.work.bookkeeping import QueryLog
from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.source import LocalWorkSource
from bowerbird.event.opened import OpenedEvent
from bowerbird.event.probing import ProbeLane
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.limits.booked_ledgers import BookedLedgers
from bowerbird.model import Arrival, Credential, Flavour
from bowerbird.ports import Clock, Database, KeywordProvider, MediaTransport, Messenger, Part, Transport, Vault

NO_EXTENSIONS = Extensions()
NOT_ASKED: Mapping[str, Survey] = {}


class Outside(Struct, frozen=True, kw_only=True):
    """What a crawl reaches the world with: a clock, a transport, a vault. In virtual time all three are simulated."""

    clock: Clock
    transport: Transport
    vault: Vault
    media: MediaTransport | None = None
    """Fetches pictures, for crawls that keep them."""
    messenger: Messenger | None = None
    """Tells somebody outside what happened, for crawls that wish it."""
    glance: timedelta = timedelta(seconds=1)
    """How often a waiting loop looks up for what other processes did."""
    is_paced: bool = True
    is_alone: bool = False
    """Whether a crawl that another process runs already is refused."""
    label: str = ""
    """What its user calls this worker among those of a crawl."""
    is_continued: bool = False
    """Whether this process only opens its crawl anew: a pause or a stop holds then."""
    makes_calls: bool = True
    """Whether the process makes calls itself, or only hands them out to others."""
    offered: tuple[Credential, ...] = ()
    """What these others can sign with; the secrets are theirs."""
    applies: bool | None = None
    """Whether a plan that differs from the crawl's becomes it or is refused; None: it does where nobody else runs the crawl."""
    is_passing: bool = False
    """Whether the store goes when the crawl has come to its end: see `store.opening.open_store`."""


class Crawl(Struct, frozen=True, kw_only=True):
    """A crawl ready to run, and what those who watch it need."""

    plan: CrawlPlan
    database: Database
    process: Process
    ledgers: BookedLedgers
    tally: Tally
    lanes: Mapping[int, Lane]
    charges: Mapping[int, Options]
    seeds: AsyncIterator[Arrival]
    number: int
    """Of its row."""
    log: QueryLog
    scheduler: Scheduler
    source: LocalWorkSource
    """Who hands out its calls here."""
    me: Enrolment
    rules: StopRules
    notes: Sequence[str] = ()
    """What the servers of the crawl cannot do of what it would ask, each as a sentence."""


class Given(Struct, frozen=True, kw_only=True):
    """What the services of a crawl are built from."""

    plan: CrawlPlan
    vault: Vault
    """With what lanes are asked; not all of its secrets need be here."""
    own: Vault
    """With what this process opens streams itself."""
    crawl: int
    me: Enrolment
    extensions: Extensions
    flavours: Mapping[str, Flavour]
    """By service: what it said of itself."""
    now: Callable[[], datetime]
    database: Database
    event: OpenedEvent | None = None
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
    tuned: dict[int, KeywordProvider] = {}
    """By stream, those that hear the keywords of an event, and who says how."""
    probes: dict[str, ProbeLane] = {}
    """By facet, the lanes that test candidates for keywords: those of the first service that has any."""
    mute: list[Part] = []
    """Streams that would never bring anything."""
    queues: list[Queues] = []
    notes: list[str] = []
    lost: dict[str, dict[str, str]] = {}
    """By service, the facets that it cannot be asked for, each with the reason."""
