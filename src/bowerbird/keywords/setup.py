"""The start of an event crawl: its methods and keywords are created, or updated by the crawl file.

Rules:

- Seeds of the crawl file replace the earlier ones; a seed that the file dropped leaves unless it is pinned. Without
  seeds in the file the stored ones stay.
- A method keeps its bit in `keyword_posts.methods` for the life of the crawl, also when the file drops it.
- Frames that ended while no process was running are marked as missed before anything else is read or collected.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

from msgspec import structs

from bowerbird.clock import from_micros, to_micros
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.files.sections.keyword_streams import STREAM_NAME
from bowerbird.flows.files.sections.stream_plans import StreamPlan
from bowerbird.flows.keywords import BACKGROUND, KeywordUse
from bowerbird.keywords import rows
from bowerbird.keywords.filters import FullStreamFilter, KeywordCache, KeywordFilter
from bowerbird.keywords.frames import OLDEST_SAMPLE, Grid
from bowerbird.keywords.keyword_set import parse_keyword, replace_seeds
from bowerbird.keywords.methods import make_method
from bowerbird.keywords.probes import ProbeFilter
from bowerbird.keywords.rows import MethodRow, Progress
from bowerbird.keywords.values import Change, State
from bowerbird.model import Service, Subscription
from bowerbird.ports import Database, Sieve, Transaction
from bowerbird.providers import Provider, provider

SEARCHES = ("hashtag", "search")
"""Facets that search for keywords."""
WITHOUT_STREAM = frozenset((*SEARCHES, BACKGROUND))
"""Facets of an event flow that are left out where the service has a stream."""
_GRACE = timedelta(seconds=15)
"""A stream delivers posts within this time."""
_ADD_PROGRESS = """
insert into keyword_progress (crawl, version, decided, share, watched_at) values (?, 1, ?, 1.0, ?) on conflict (crawl) do nothing
"""
_PULL_BACK = "update keyword_progress set decided = ? where crawl = ? and decided > ?"
_WATCH = """
update keyword_progress set watched_at = ?, decided = case when decided < ? then ? else decided end where crawl = ?
"""
_END_METHOD = "update keyword_methods set until = ? where method = ?"
_END_KEYWORDS = "update keywords set until = ?, until_why = ?, until_numbers = '{}' where method = ? and until is null"
# Also those of crawls that were stopped: no decision deletes them there.
_OLD_SAMPLES = "delete from keyword_samples where at < ?"
_OLD_PROBES = "update keyword_probes set found = null where answered_at < ? and found is not null"


class EventCrawl:
    """What the queues, streams and the loop of one event crawl share in a process."""

    def __init__(
        self,
        crawl: int,
        use: KeywordUse,
        database: Database,
        *,
        most: int,
        is_searched: bool = False,
        full_services: int = 0,
    ) -> None:
        """`most`: keywords that its networks take; `is_searched`: a service has no stream, so its posts arrive late;
        `full_services`: how many services it has, if all of them show everything that is posted there."""
        self.crawl = crawl
        self.database = database
        self.full_services = full_services
        self.grid = Grid(use.frame, use.frame if is_searched else min(_GRACE, use.frame / 4))
        blacklist = tuple(parse_keyword(term) for term in use.blacklist)
        self.use = structs.replace(use, max_keywords=use.max_keywords or most, blacklist=blacklist)
        self.methods = {name: make_method(name, use.options.get(name)) for name in use.methods}
        self.cache = KeywordCache(crawl)
        self.terms_by_place: dict[tuple[int, str], str] = {}
        """By queue and target of a search, its keyword."""

    async def begin(self, tx: Transaction, seeds: Sequence[str], now: datetime) -> None:
        """Bring the stored keywords in line with the crawl file; raises `UserError` for invalid seeds, and if there are none."""
        newest = to_micros(self.grid.start_of(now) - self.grid.frame)
        await tx.execute(_ADD_PROGRESS, self.crawl, newest, to_micros(now))
        # Before the methods are read: this locks them, and a decision under way is made again from the new keywords.
        await rows.bump_version(tx, self.crawl)
        # A frame so far in the future was decided by a wrong clock; other frames would wait until then.
        await tx.execute(_PULL_BACK, newest, self.crawl, to_micros(now + timedelta(hours=1)))
        await self.watch(tx, now)
        for sql in (_OLD_SAMPLES, _OLD_PROBES):
            await tx.execute(sql, to_micros(now - OLDEST_SAMPLE))
        known = {row.name: row for row in await rows.read_methods(tx, self.crawl, with_ended=True)}
        stored = next((row.state.seeds for row in known.values()), ())
        for name in self.methods:
            await self._begin_method(tx, name, known.get(name), seeds or stored, now)
        for name, row in known.items():
            if name not in self.methods and not row.has_ended:
                await tx.execute(_END_KEYWORDS, to_micros(now), "the method is no longer in the crawl file", row.method)
                await tx.execute(_END_METHOD, to_micros(now), row.method)

    async def _begin_method(self, tx: Transaction, name: str, row: MethodRow | None, seeds: Sequence[str], now: datetime) -> None:
        """Begin a method, resume one that had ended, or give a stored one its seeds."""
        state = replace_seeds(State() if row is None else row.state, seeds, self.use)
        followed: AbstractSet[str] = set()
        if row is not None and not row.has_ended:
            followed = row.state.keywords.keys()
        else:
            # Users gave their orders to the other methods.
            state = await rows.follow_orders(tx, self.crawl, state)
        reasons = dict.fromkeys(state.keywords, "followed before")
        reasons |= dict.fromkeys(state.pinned, "pinned") | dict.fromkeys(state.seeds, "seed")
        await rows.save_state(
            tx,
            self.crawl,
            await rows.add_method(tx, self.crawl, name, now) if row is None else row.method,
            followed,
            state,
            at=now,
            changes=[Change(term=term, reason=reasons[term]) for term in state.keywords],
            reason="no longer a seed in the crawl file",
        )

    async def watch(self, tx: Transaction, now: datetime) -> Progress:
        """Note that the crawl is running, and return its progress; the frames that it missed are not decided any more."""
        (row,) = await tx.fetch("select watched_at from keyword_progress where crawl = ?", self.crawl)
        missed = to_micros(self.grid.last_missed(from_micros(row["watched_at"]), now))
        await tx.execute(_WATCH, to_micros(now), missed, missed, self.crawl)
        return await rows.read_progress(tx, self.crawl)

    def stream_filter(self, *, is_filtered: bool) -> Sieve:
        """Return the filter for a stream; `is_filtered`: the network filters it already."""
        kind = KeywordFilter if is_filtered else FullStreamFilter
        return kind(self.cache, self.grid, self.database, self.terms_by_place)

    def queue_filter(self, facet: str) -> Sieve | None:
        """Return the filter for a facet that lists posts: searches, and the public timeline."""
        return self.stream_filter(is_filtered=facet in SEARCHES) if facet in WITHOUT_STREAM else None

    def probe_filter(self) -> Sieve:
        return ProbeFilter(self.cache, self.grid, self.database, self.terms_by_place)


def open_event(plan: CrawlPlan, crawl: int, database: Database) -> EventCrawl | None:
    """Return the event crawl of a plan; None if its seeds are ordinary targets."""
    if plan.flow.keywords is None:
        return None
    providers = [provider(each.service.provider) for each in plan.services]
    streamed = {each.service.name for each in plan.streams}
    return EventCrawl(
        crawl,
        plan.flow.keywords,
        database,
        most=min((each.most_keywords for each in providers if each.keyword_ways), default=1),
        is_searched=any(each.service.name not in streamed for each in plan.services),
        full_services=len(plan.services) if all(shows_everything(plan, each.service) for each in plan.services) else 0,
    )


def shows_everything(plan: CrawlPlan, service: Service) -> bool:
    """True if the crawl reads a full stream of a service, or its public timeline where it has no stream."""
    speaks = provider(service.provider)
    streams = [each.subscription for each in plan.streams if each.service.name == service.name]
    if not streams:
        return BACKGROUND in speaks.facets and BACKGROUND in {facet.name for facet in plan.flow.facets}
    full = speaks.keyword_stream(("#event",))
    if full is None or full.is_filtered:
        return False
    return any((each.channel, each.options) == (full.stream.channel, full.stream.options) for each in streams)


def is_filtered(provider: Provider, planned: StreamPlan, event: EventCrawl | None) -> bool:
    """True if the network filters this stream by the keywords of an event crawl."""
    if event is None or planned.subscription.name != STREAM_NAME:
        return False
    stream = provider.keyword_stream(("#event",), planned.subscription)
    return stream is not None and stream.is_filtered


def subscription_for(provider: Provider, planned: Subscription, terms: Sequence[str]) -> Subscription:
    """Return the subscription of a filtered stream with these keywords, as many as the network takes."""
    wanted = provider.keyword_stream(terms[: provider.most_keywords], planned)
    return planned if wanted is None else structs.replace(planned, options=wanted.stream.options)
