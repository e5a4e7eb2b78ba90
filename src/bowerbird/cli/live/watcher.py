"""Looks at a running crawl and says what it sees; the database is asked rarely, and more rarely the longer that takes.

While the database refuses, the last look stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, structs

from bowerbird.app import Crawl
from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.amounts.money import month_words
from bowerbird.crawl.process.tally import Tally
from bowerbird.db.addresses import public
from bowerbird.errors import Busy, DiskFull
from bowerbird.flows.flow import Size
from bowerbird.limits.bucket import Bucket as BucketState
from bowerbird.limits.budget import budget_statuses, is_budget
from bowerbird.model import Charge, CrawlState, ShownState, TaskState
from bowerbird.ports import Clock
from bowerbird.reports.keywords.method_counts import MethodCounts, read_method_counts
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.glimpse import Bucket, Glimpse, Lane, StreamGlimpse
from bowerbird.reports.status.limit_names import limit_word
from bowerbird.reports.status.streams import StreamReport, read_streams
from bowerbird.reports.status.summary import LaneReport
from bowerbird.reports.status.time_left import Load, backlog_time, never_ends, time_to_stop

_LOOK_EVERY = timedelta(seconds=1)
_SHARE_OF_TIME = 50
"""A look that takes a moment is repeated after fifty such moments at the earliest."""
_NOTICEABLE = timedelta(seconds=1.5)

LaneKey = tuple[str, str]


class Earlier(Struct, frozen=True):
    """What came before this opening of a crawl in the same run: since when it runs, and what that brought."""

    since: datetime
    run: Size = Size()

    def and_now(self, tally: Tally) -> Earlier:
        """The same with what this opening has brought."""
        own = _with(tally.size(in_all=False), tally.questions)
        amounts = {name: getattr(self.run, name) + getattr(own, name) for name in ("calls", "items", "users", "posts")}
        return Earlier(self.since, structs.replace(own, **amounts))


class Watcher:
    """Makes glimpses of one crawl."""

    def __init__(self, crawl: Crawl, clock: Clock, earlier: Earlier | None = None) -> None:
        """`earlier`: where this run did not begin with this opening of the crawl."""
        self._crawl = crawl
        self._earlier = earlier or Earlier(crawl.tally.started_at)
        self._clock = clock
        self._reader = Reader(crawl.database)
        self._facets = _options(crawl)
        self._lanes: tuple[LaneReport, ...] = ()
        self._streams: tuple[StreamReport, ...] = ()
        self._keywords: tuple[MethodCounts, ...] = ()
        self._state = ShownState.STARTING
        self._refusal = ""
        """What the database said instead of an answer, when it was asked last."""
        self._look_at = self._looked_at = clock.now()
        self.ending = ""
        """Set when the user asked for an end: what is being waited for."""
        self.lacks = ""
        """Set while there is nobody to make calls: who is being waited for."""

    async def glimpse(self) -> Glimpse:
        now = self._clock.now()
        if now >= self._look_at:
            await self._look()
        return self._seen(now)

    async def _look(self) -> None:
        watch, looked_at = self._clock.stopwatch(), self._clock.now()
        try:
            self._state, self._lanes, self._streams = await self._read()
            self._keywords = await self._read_keywords()
            self._refusal, self._looked_at = "", looked_at
        except (Busy, DiskFull) as error:
            self._refusal = str(error)
        cost = timedelta(seconds=self._clock.stopwatch() - watch)
        wait = _LOOK_EVERY if self._state is not ShownState.STARTING else timedelta(0)
        self._look_at = self._clock.now() + max(wait, cost * _SHARE_OF_TIME)

    async def _read(self) -> tuple[ShownState, tuple[LaneReport, ...], tuple[StreamReport, ...]]:
        plan = self._crawl.plan
        row = await self._reader.crawl(plan.name)
        lanes = tuple(lane for lane in await self._reader.lanes() if lane.crawl == plan.name and lane.left_out is None)
        streams: tuple[StreamReport, ...] = ()
        if plan.streams:
            async with self._crawl.database.reading() as tx:
                streams = tuple(each for each in await read_streams(tx) if each.crawl == plan.name)
        return _shown(row.state, self._crawl.process.is_begun) if row is not None else ShownState.GONE, lanes, streams

    async def _read_keywords(self) -> tuple[MethodCounts, ...]:
        plan = self._crawl.plan
        if plan.flow.keywords is None:
            return ()
        async with self._crawl.database.reading() as tx:
            return tuple(each for each in await read_method_counts(tx) if each.crawl == plan.name)

    def _seen(self, now: datetime) -> Glimpse:
        plan, tally = self._crawl.plan, self._crawl.tally
        calls, items = tally.rates(now)
        accounts = {name: state.current(now) for name, state in self._crawl.ledgers.buckets().items() if self._is_ours(name)}
        states = {name: state for name, state in accounts.items() if not is_budget(name)}
        return Glimpse(
            now=now,
            name=plan.name,
            flow=plan.flow.name,
            store=public(plan.store),
            state=self._state,
            elapsed=now - self._earlier.since,
            whole=tally.size(),
            run=self._earlier.and_now(tally).run,
            calls_per_second=calls,
            items_per_second=items,
            lanes=tuple(self._lane(use.name) for use in plan.flow.facets if self._is_asked(use.name)),
            buckets=tuple(sorted((_bucket(state, now) for state in states.values()), key=lambda one: one.tightness)),
            purses=budget_statuses(accounts.values(), now),
            streams=tuple(_ear(each) for each in self._streams),
            keywords=self._keywords,
            doing="; ".join(filter(None, (self._doing(accounts, now), tally.activity))),
            left=self._left(states, now, (calls, items)),
            trouble=tally.trouble,
            trouble_at=tally.trouble_at,
            given_up=tally.given_up,
            is_down=bool(tally.down),
            by_outcome={str(outcome): count for outcome, count in tally.by_outcome.items()},
        )

    def _is_ours(self, bucket: str) -> bool:
        return any(charge.bucket == bucket for _, options in self._facets.values() for charges in options for charge in charges)

    def _is_asked(self, facet: str) -> bool:
        return any(lane.facet.name == facet for lane in self._crawl.lanes.values())

    def _lane(self, facet: str) -> Lane:
        counts = [lane.tasks[state] for lane in self._lanes if lane.facet == facet for state in _WAITING if state in lane.tasks]
        tally = self._crawl.tally
        return Lane(
            facet=facet,
            calls=tally.by_facet[facet],
            items=tally.items_by_facet[facet],
            waiting=sum(count.value for count in counts),
            is_exact=all(count.is_exact for count in counts),
        )

    def _doing(self, states: Mapping[str, BucketState], now: datetime) -> str:
        tally = self._crawl.tally
        if self.ending:
            return self.ending
        if self._refusal:
            return f"waits for the database: {self._refusal}"
        if self._state is ShownState.PAUSED:
            return "paused; `bowerbird resume` lets it go on"
        if self.lacks and self._waits():
            return self.lacks
        if tally.down:
            return self._silence(now)
        if tally.paced_until is not None and tally.paced_until > now:
            return f"keeps its calls apart, as [stop] spread says; the next in {numbers.span(tally.paced_until - now)}"
        opens = tally.window_opens
        if opens is not None and opens - now > _NOTICEABLE:
            return f"waits {numbers.span(opens - now)} for {_held_back(states, opens, now)}, until {numbers.at(opens, now)}"
        if self._streams and self._is_settled():
            return "listening"
        due = tally.next_due
        if self._is_settled() and due is not None and due - now > _NOTICEABLE:
            return f"everything is up to date; the next visit is due in {numbers.span(due - now)}"
        if opens is not None and opens > now:
            return "calling, at the pace that the limits set"
        return "calling" if self._state is not ShownState.STARTING else "starting"

    def _silence(self, now: datetime) -> str:
        """Who does not answer, since when, and when it is tried again."""
        tally = self._crawl.tally
        service, (since, said) = next(iter(tally.down.items()))
        again = min((at for at in (tally.window_opens, tally.next_due) if at is not None and at > now), default=None)
        wait = f"tried again in {numbers.span(again - now)}" if again is not None else "being tried again"
        return f"{service} does not answer, for {numbers.span(now - since)} ({said or 'silence'}); {wait}"

    def _is_settled(self) -> bool:
        """Whether nothing waits, as far as the last look tells: what ended after it may have added something."""
        last = self._crawl.tally.last_at
        return not self._waits() and (last is None or last < self._looked_at)

    def _waits(self) -> bool:
        return any(lane.tasks.get(state) for lane in self._lanes for state in _WAITING)

    def _left(self, states: Mapping[str, BucketState], now: datetime, rates: tuple[float, float]) -> str:
        flow, tally = self._crawl.plan.flow, self._crawl.tally
        elapsed = tally.ran_before + (now - tally.started_at)
        stop = time_to_stop(flow.stop, structs.replace(tally.size(), elapsed=elapsed), rates)
        if never_ends(flow) or self._crawl.plan.streams:
            return "runs until stopped" if stop is None else f"about {numbers.span(stop)}, then it ends as told"
        rest = backlog_time(self._loads(), states, now)
        least = rest if stop is None else min(rest, stop)
        return f"at least {numbers.span(least)}" if least > timedelta(0) else "nearly done"

    def _loads(self) -> list[Load]:
        loads = []
        for lane in self._lanes:
            objects, options = self._facets.get((lane.service, lane.facet), (1, ()))
            waiting = sum(lane.tasks[state].value for state in _WAITING if state in lane.tasks)
            loads.append(Load(-(-waiting // objects), options))
        return [load for load in loads if load.options]


_WAITING = (TaskState.WAITING, TaskState.LEASED)


def _with(size: Size, questions: int) -> Size:
    """What this process did, its questions to servers about themselves and its credentials included."""
    return structs.replace(size, calls=size.calls + questions)


def _shown(state: CrawlState, is_begun: bool) -> ShownState:
    """The state of the crawl's row, which until it has begun is that of the run before."""
    return ShownState(state) if is_begun else ShownState.STARTING


def _options(crawl: Crawl) -> dict[LaneKey, tuple[int, Sequence[Sequence[Charge]]]]:
    """For each lane: targets per call, and the charges of one call with each credential."""
    return {
        (lane.service.name, lane.facet.name): (lane.facet.objects_per_call, list(crawl.charges[lane.lane].values()))
        for lane in crawl.lanes.values()
    }


def _ear(one: StreamReport) -> StreamGlimpse:
    return StreamGlimpse(name=one.name, state=one.state, events=one.events, gaps=one.open_gaps, behind=one.lag)


def _bucket(state: BucketState, now: datetime) -> Bucket:
    resets = None if state.reset_at is None else state.resumes_at
    waits = state.backoff_until if state.backoff_until is not None and state.backoff_until > now else None
    return Bucket(
        name=state.name,
        remaining=max(0, state.available),
        allowance=state.allowance,
        resets_at=resets,
        waits_until=waits,
    )


def _held_back(states: Mapping[str, BucketState], opens: datetime, now: datetime) -> str:
    """What the next call waits for, by name where one bucket is to blame."""
    if empty := [state for state in states.values() if is_budget(state.name) and state.resumes_at == opens]:
        return (
            f"the next month ({month_words(budget_statuses(empty, now)[0], now)}; to go on sooner raise dollars under [service])"
        )
    states = {name: state for name, state in states.items() if not is_budget(name)}
    backing_off = [state for state in states.values() if state.backoff_until is not None and state.backoff_until > now]
    if backing_off:
        return f"the service to recover ({limit_word(backing_off[0].name)})"
    spent = [state.name for state in states.values() if state.available <= 0 or state.resumes_at == opens]
    if not spent:
        return "its turn, for calls are spread evenly over the time that they are for"
    return f"more {limit_word(spent[0])}" + (f" and {len(spent) - 1} other limits" if len(spent) > 1 else "")
