"""The start of an event crawl: its methods and keywords are created, or updated by the crawl file.

Rules:

- Seeds of the crawl file replace the earlier ones; a seed that the file dropped leaves unless it is pinned. Without
  seeds in the file the stored ones stay.
- A method keeps its bit in `keyword_posts.methods` for the life of the crawl, also when the file drops it.
- Frames that ended while no process was running are marked as missed before anything else is read or collected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import structs

from bowerbird.clock import to_micros
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.files.sections.keyword_streams import STREAM_NAME
from bowerbird.flows.files.sections.stream_plans import StreamPlan
from bowerbird.flows.keywords import BACKGROUND, KeywordUse
from bowerbird.keywords import rows
from bowerbird.keywords.filters import FullStreamFilter, KeywordCache, KeywordFilter
from bowerbird.keywords.frames import OLDEST_SAMPLE, FrameReader, Grid
from bowerbird.keywords.keyword_set import add_spellings, parse_keyword
from bowerbird.keywords.methods import make_method
from bowerbird.keywords.probes import ProbeFilter
from bowerbird.keywords.rows import MethodRow
from bowerbird.keywords.values import Change, Keyword, Method, Settings, State
from bowerbird.model import Service, Subscription
from bowerbird.ports import Database, KeywordProvider, Sieve, Transaction
from bowerbird.providers import provider

SEARCHES = ("hashtag", "search")
"""Facets that search for keywords."""
WITHOUT_STREAM = frozenset((*SEARCHES, BACKGROUND))
"""Facets of an event flow that are left out where the service has a stream."""
_GRACE = timedelta(seconds=15)
"""A stream delivers posts within this time."""
_RESUME_METHOD = "update keyword_methods set options = ?, until = null where method = ?"
_END_METHOD = "update keyword_methods set until = ? where method = ?"
_AHEAD = timedelta(hours=1)
"""Frames that were decided so far in the future were decided by a wrong clock; other frames would wait for years."""
_PULL_BACK = "update keyword_progress set version = version + 1, decided = ? where crawl = ? and decided > ?"
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
        self.use = use
        self.database = database
        self.grid = Grid(use.frame, use.frame if is_searched else min(_GRACE, use.frame / 4))
        self.settings = Settings(
            frame=use.frame,
            slots=use.slots,
            max_keywords=use.most or most,
            min_posts=use.min_frequency,
            quiet_frames=use.quiet_frames,
            may_drop_seeds=use.lose_seeds,
            blacklist=tuple(parse_keyword(term) for term in use.blacklist),
        )
        self.methods: Mapping[str, Method] = {name: make_method(name, use.options.get(name)) for name in use.methods}
        self.cache = KeywordCache(crawl)
        self.terms_by_target: dict[str, str] = {}
        self._full_services = full_services

    async def begin(self, tx: Transaction, seeds: Sequence[str], now: datetime) -> None:
        """Bring the stored keywords in line with the crawl file; raises `UserError` if the crawl has no seeds at all."""
        await rows.add_progress(tx, self.crawl, self.grid.start_of(now) - self.grid.frame, now)
        await tx.execute(_PULL_BACK, to_micros(self.grid.start_of(now) - self.grid.frame), self.crawl, to_micros(now + _AHEAD))
        progress = await rows.read_progress(tx, self.crawl)
        await rows.save_watched(tx, self.crawl, self.grid.last_missed(progress.watched_at, now), now)
        oldest = to_micros(now - OLDEST_SAMPLE)
        await tx.execute(_OLD_SAMPLES, oldest)
        await tx.execute(_OLD_PROBES, oldest)
        known = {row.name: row for row in await rows.read_methods(tx, self.crawl, with_ended=True)}
        forms = tuple(dict.fromkeys(parse_keyword(seed) for seed in seeds))
        if not forms and not known:
            raise UserError('An event crawl needs at least one keyword. Add seeds = ["#hashtag"] to the crawl file.')
        stored = next((row.state.seeds for row in known.values()), ())
        has_changed = False
        for name in self.methods:
            row = known.get(name)
            own = forms or (row.state.seeds if row is not None else stored)
            has_changed |= await self._begin_method(tx, name, row, own, seeds, now)
        for name, row in known.items():
            if name not in self.methods and not row.has_ended:
                reason = "the method is no longer in the crawl file"
                await rows.add_exits(tx, row.method, [Change(term=term, reason=reason) for term in row.state.keywords], now)
                await tx.execute(_END_METHOD, to_micros(now), row.method)
                has_changed = True
        if has_changed:
            await rows.bump_version(tx, self.crawl)

    async def _begin_method(
        self, tx: Transaction, name: str, row: MethodRow | None, seeds: tuple[str, ...], spellings: Sequence[str], now: datetime
    ) -> bool:
        """Begin a method, resume one that had ended, or give a stored one its seeds; return whether its state changed."""
        is_new = row is None or row.has_ended
        before = self.methods[name].begin(seeds, self.settings) if row is None else row.state
        state = with_seeds(before, seeds)
        if is_new:
            # Users gave their orders to the other methods.
            state = await rows.follow_orders(tx, self.crawl, state)
        state = add_spellings(state, spellings)
        if row is None:
            method = await rows.add_method(tx, self.crawl, state, self.use.options.get(name, {}), now)
        else:
            method = row.method
            await tx.execute(_RESUME_METHOD, rows.to_json(self.use.options.get(name, {})), method)
            await rows.save_state(tx, method, state)
        known = set() if is_new else before.keywords.keys()
        reasons = {term: "pinned" if term in state.pinned else "followed before" for term in state.keywords.keys() - known}
        reasons.update((term, "seed") for term in reasons.keys() & state.seeds)
        left = [Change(term=term, reason="no longer a seed in the crawl file") for term in sorted(known - state.keywords.keys())]
        await rows.add_exits(tx, method, left, now)
        entered = [Change(term=term, reason=reason) for term, reason in sorted(reasons.items())]
        await rows.add_entries(tx, self.crawl, method, entered, now)
        return is_new or state != before

    async def with_keywords(self, tx: Transaction, provider: KeywordProvider, planned: Subscription) -> Subscription:
        """Return the planned subscription of a filtered stream with the current keywords."""
        terms = rows.rank_spellings(await rows.read_methods(tx, self.crawl))
        wanted = provider.keyword_stream(terms[: provider.most_keywords], planned)
        return planned if wanted is None else structs.replace(planned, options=wanted.stream.options)

    def stream_filter(self, *, is_filtered: bool) -> Sieve:
        """Return the filter for a stream; `is_filtered`: the network filters it already."""
        if is_filtered:
            return KeywordFilter(self.cache, self.grid, self.database, self.terms_by_target)
        return FullStreamFilter(self.cache, self.grid, self.database)

    def queue_filter(self, facet: str) -> Sieve | None:
        """Return the filter for a facet that lists posts: searches, and the public timeline."""
        return self.stream_filter(is_filtered=facet in SEARCHES) if facet in WITHOUT_STREAM else None

    def probe_filter(self) -> Sieve:
        return ProbeFilter(self.cache, self.grid, self.database, {})

    def frame_reader(self) -> FrameReader:
        return FrameReader(self.crawl, self.database, self.grid.frame, self._full_services)


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
        most=min((each.most_keywords for each in providers if isinstance(each, KeywordProvider)), default=1),
        is_searched=any(each.service.name not in streamed for each in plan.services),
        full_services=len(plan.services) if all(shows_everything(plan, each.service) for each in plan.services) else 0,
    )


def shows_everything(plan: CrawlPlan, service: Service) -> bool:
    """True if the crawl reads a full stream of a service, or its public timeline where it has no stream."""
    speaks, streams = (
        provider(service.provider),
        [each.subscription for each in plan.streams if each.service.name == service.name],
    )
    if not streams:
        return BACKGROUND in speaks.facets and BACKGROUND in {facet.name for facet in plan.flow.facets}
    full = speaks.keyword_stream(("#event",)) if isinstance(speaks, KeywordProvider) else None
    if full is None or full.is_filtered:
        return False
    return any((each.channel, each.options) == (full.stream.channel, full.stream.options) for each in streams)


def is_filtered(provider: KeywordProvider, planned: StreamPlan, event: EventCrawl | None) -> bool:
    """True if the network filters this stream by the keywords of an event crawl."""
    if event is None or planned.subscription.name != STREAM_NAME:
        return False
    stream = provider.keyword_stream(("#event",), planned.subscription)
    return stream is not None and stream.is_filtered


def with_seeds(state: State, seeds: tuple[str, ...]) -> State:
    """Return the state with other seeds; earlier ones leave unless they are pinned, and blocked ones stay out."""
    if state.seeds == seeds:
        return state
    left = {term for term in state.seeds if term not in seeds and term not in state.pinned}
    keywords = {term: keyword for term, keyword in state.keywords.items() if term not in left}
    for term in seeds:
        if term not in state.keywords and term not in state.blocked:
            keywords[term] = Keyword(is_seed=True)
    return structs.replace(state, seeds=seeds, keywords=keywords)
