"""The event half of a crawl as it is opened: what is followed, and the sieves for its lanes and streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import structs

from bowerbird.event import rows
from bowerbird.event.beginning import Beginner
from bowerbird.event.following import Following
from bowerbird.event.grid import Grid
from bowerbird.event.probing import ProbeSieve
from bowerbird.event.sieves import FilteredSieve, FullSieve
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.files.sections.keyword_streams import STREAM_NAME
from bowerbird.flows.files.sections.stream_plans import StreamPlan
from bowerbird.flows.keywords import BACKGROUND, KeywordUse
from bowerbird.model import Subscription
from bowerbird.policies.keywords import Method, Settings, checked, method
from bowerbird.ports import Database, KeywordProvider, Sieve, Transaction
from bowerbird.providers import provider

POLLED = ("hashtag", "search")
"""The facets that keywords are targets of, where there is no stream."""
EVENT_FACETS = frozenset((*POLLED, BACKGROUND))
"""Facets of an event flow that are left out where a stream is heard."""
_GRACE = timedelta(seconds=15)
"""Posts of a stream come within this time."""


class OpenedEvent:
    """What the lanes and streams of one event crawl share in one process."""

    def __init__(self, crawl: int, use: KeywordUse, database: Database, *, most: int, is_polled: bool) -> None:
        """`most`: keywords that its networks take; `is_polled`: posts come only when keywords are asked about again."""
        self.crawl = crawl
        self.use = use
        self.database = database
        self.grid = Grid(use.frame, use.frame if is_polled else min(_GRACE, use.frame / 4))
        self.settings = settings_of(use, most)
        self.methods: Mapping[str, Method] = {name: method(name, use.options.get(name)) for name in use.methods}
        self.following = Following(crawl)
        self.by_target: dict[str, str] = {}

    async def begin(self, tx: Transaction, seeds: Sequence[str], now: datetime) -> None:
        await Beginner(self.crawl, self.use, self.methods, self.settings).begin(tx, seeds, self.grid, now)

    async def heard_from_now(self, tx: Transaction, provider: KeywordProvider, planned: Subscription) -> Subscription:
        """The subscription of a stream that the network filters, by the keywords as they are."""
        terms = rows.heard_as(await rows.read_methods(tx, self.crawl))
        wanted = provider.keyword_stream(terms[: provider.most_keywords], planned)
        return planned if wanted is None else structs.replace(planned, options=wanted.stream.options)

    def stream_sieve(self, *, is_tuned: bool) -> Sieve:
        return self._filtered() if is_tuned else self._full()

    def lane_sieve(self, facet: str) -> Sieve | None:
        """Of the lanes that list posts: keywords that are polled, gaps that are filled, what everybody writes."""
        if facet in POLLED:
            return self._filtered()
        return self._full() if facet == BACKGROUND else None

    def probe_sieve(self) -> Sieve:
        return ProbeSieve(self.following, self.grid, self.database)

    def _filtered(self) -> Sieve:
        return FilteredSieve(self.following, self.grid, self.database, self.by_target)

    def _full(self) -> Sieve:
        return FullSieve(self.following, self.grid, self.database)


def opened_event(plan: CrawlPlan, crawl: int, database: Database) -> OpenedEvent | None:
    """The event half of a crawl; None where its seeds are ordinary targets."""
    if plan.flow.keywords is None:
        return None
    speakers = [provider(each.service.provider) for each in plan.services]
    most = min((each.most_keywords for each in speakers if isinstance(each, KeywordProvider)), default=1)
    heard = {each.service.name for each in plan.streams}
    is_polled = any(each.service.name not in heard for each in plan.services)
    return OpenedEvent(crawl, plan.flow.keywords, database, most=most, is_polled=is_polled)


def is_filtered(provider: KeywordProvider, planned: StreamPlan, event: OpenedEvent | None) -> bool:
    """Whether a stream of an event crawl hears its keywords by the network's own filter."""
    if event is None or planned.subscription.name != STREAM_NAME:
        return False
    seed = provider.keyword_stream(("#event",), planned.subscription)
    return seed is not None and seed.is_filtered


def settings_of(use: KeywordUse, most: int) -> Settings:
    return Settings(
        frame=use.frame,
        slots=use.slots,
        most=use.most or most,
        minimum=use.min_frequency,
        quiet_frames=use.quiet_frames,
        may_lose_seeds=use.lose_seeds,
        blacklist=tuple(checked(term) for term in use.blacklist),
    )
