"""Policies alone: the rankers themselves against what accounts show, without engine, store or HTTP.

The same rankers and questions as in `run`, at the moments at which ledgers let calls go, with the frontier in memory: many times
as fast, and so for worlds that would take the engine days.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import numpy as np
from msgspec import structs

from bowerbird.clock import RealClock
from bowerbird.crawl.work.rhythm import rhythm_of
from bowerbird.crawl.work.spread import Spread, spread_over
from bowerbird.evaluate.coverage.oracle import Oracle
from bowerbird.evaluate.coverage.queue import Queue
from bowerbird.evaluate.coverage.run import Order, Outcome, make_world
from bowerbird.evaluate.coverage.scenes import LOOKUP_WEIGHT, SCENES, TIMELINE_WEIGHT, Budget, Scene, budget
from bowerbird.evaluate.coverage.skyline import Skyline
from bowerbird.evaluate.coverage.truth import Captured, captured_at
from bowerbird.limits.bucket import BURST, EARLY
from bowerbird.model import Arrival, Task, Visit
from bowerbird.model import Outcome as Answer
from bowerbird.policies import RankerSetting, ranker
from bowerbird.providers.twitter_v1.facets import TABLES
from bowerbird.simulated.world.settings import from_ms, to_ms

Say = Callable[[str], None]
_PROFILES, _TIMELINE = TABLES["user"]["profiles"], TABLES["user"]["timeline"]
_WEIGHTS = {"lookups": LOOKUP_WEIGHT, "timelines": TIMELINE_WEIGHT}
_NEVER = 0
_EPOCH = from_ms(0)
_TAKES = timedelta(milliseconds=100)
"""How long a call takes."""


def make_skyline(order: Order) -> Skyline:
    """The worlds of an order, side by side: as it says, and with the seeds that follow."""
    seeds = range(order.world.seed, order.world.seed + order.worlds)
    worlds = [make_world(structs.replace(order, world=structs.replace(order.world, seed=seed))) for seed in seeds]
    return Skyline(worlds, order.world.start, order.days)


def run_alone(order: Order, skyline: Skyline, say: Say = lambda text: None) -> Outcome:
    """Runs one policy from the world's first day on."""
    watch = RealClock().stopwatch()
    run = _Alone(order, skyline)
    for day, now in enumerate(_mornings(order), start=1):
        run.until(now)
        say(f"  {order.policy}: day {day} of {order.days:g}, {run.calls:,} calls")
    return Outcome(
        policy=order.policy,
        captured=run.captured,
        calls=run.calls,
        lookups=run.lookups,
        refused=0,
        seconds=RealClock().stopwatch() - watch,
    )


def _mornings(order: Order) -> Iterator[datetime]:
    """The ends of the days, the last of which may be a part of one."""
    start, end = order.world.start, order.world.start + timedelta(days=order.days)
    while start < end:
        start = min(start + timedelta(days=1), end)
        yield start


def _moments(allowed: Budget, start: datetime) -> Iterator[datetime]:
    """When ledgers let calls go: the first of a window alone, a part of the others at once, the rest spread over what is left."""
    now = start
    while True:
        end = now + allowed.window - (now - _EPOCH) % allowed.window
        for left in reversed(range(allowed.allowance)):
            yield now
            made = allowed.allowance - left
            if left and made > allowed.allowance * BURST:
                now += (end - now) / left / EARLY
            elif made == 1:
                now += _TAKES
        now = max(now, end)


def _spread(scene: Scene, order: Order, allowed: Budget) -> Spread:
    pace = allowed.allowance / (allowed.window / timedelta(days=1))
    return spread_over(scene.calls(order.accounts, order.days), timedelta(days=order.days), pace)


class _Alone:
    def __init__(self, order: Order, skyline: Skyline) -> None:
        scene = SCENES[order.policy]
        self._allowed = budget(order.accounts, scene.window_share)
        self._order, self._skyline = order, skyline
        self._spread = _spread(scene, order, self._allowed) if scene.spreads else None
        self._moments = _moments(self._allowed, order.world.start)
        self._next = next(self._moments)
        self._queues = dict(self._lanes(scene))
        self._credit = dict.fromkeys(self._queues, 0.0)
        self._found = np.zeros(len(skyline.number), np.int64)
        self._seen = memoryview(self._found.data)
        self._hours = [0] * 24
        self._counters: dict[int, int] = {}
        self._flying: list[tuple[Queue, Visit]] = []
        self.calls = self.lookups = 0
        seeds = self._queues["lookups" if scene.lookups else "timelines"]
        for account in skyline.asked:
            seeds.add(Arrival(lane=1, target=str(account)), order.world.start)

    def _lanes(self, scene: Scene) -> Iterator[tuple[str, Queue]]:
        if scene.knows_truth:
            yield "lookups", Queue(Oracle(self._next_post))
        elif scene.lookups:
            yield "lookups", Queue(ranker(scene.lookups, setting=RankerSetting(_PROFILES)))
        if scene.timelines:
            yield "timelines", Queue(ranker(scene.timelines, setting=RankerSetting(_TIMELINE, max_pages=1)))

    def _next_post(self, target: str, now: datetime) -> datetime | None:
        ms = self._skyline.there.next_after(int(target), to_ms(now))
        return None if ms is None else from_ms(ms + 1)

    @property
    def captured(self) -> Captured:
        return captured_at(self._skyline.there, self._skyline.number, self._found, self._order.days)

    def until(self, end: datetime) -> None:
        """Makes all calls up to then."""
        while self._held(end) < end:
            self._land(self._next)
            is_made = self._call(self._next)
            # What nobody can use now is used as soon as somebody may be asked again.
            self._next = max(self._next, next(self._moments)) if is_made else self._soonest(end)

    def _held(self, end: datetime) -> datetime:
        """When the next call is made: not sooner than the crawl's own spread lets it go."""
        if self._spread is None:
            return self._next
        if self.calls >= self._spread.calls:
            return end
        opens = self._spread.opens(self.calls, self._order.world.start, rhythm_of(self._hours))
        if opens > self._next:
            self._moments = _moments(self._allowed, opens)
            self._next = next(self._moments)
        return self._next

    def _soonest(self, end: datetime) -> datetime:
        if self._flying:
            return self._next + _TAKES
        return min((due for queue in self._queues.values() if (due := queue.soonest)), default=end)

    def _call(self, now: datetime) -> bool:
        """One call of whichever lane is owed most, if any has somebody to ask; what one does not need goes to the other."""
        for name in sorted(self._queues, key=self._credit.__getitem__, reverse=True):
            tasks = self._queues[name].take(_PROFILES.objects_per_call if name == "lookups" else 1, now)
            if tasks:
                self._charge(name)
                (self._look if name == "lookups" else self._read)(tasks, now)
                return True
        return False

    def _weights(self) -> dict[str, float]:
        leaning = 1.0 if self._spread is None else self._spread.leaning(self._next - self._order.world.start)
        return {name: _WEIGHTS[name] * (leaning if name == "lookups" else 1.0) for name in self._queues}

    def _charge(self, name: str) -> None:
        self.calls += 1
        self.lookups += name == "lookups"
        weights = self._weights()
        owed = sum(weights.values())
        for each, weight in weights.items():
            credit = self._credit[each] + weight - owed * (each == name)
            # Who had nothing to ask is not owed it for ever.
            self._credit[each] = max(-owed, min(owed, credit))

    def _look(self, tasks: list[Task], now: datetime) -> None:
        """One look-up: counters, and the newest post of each."""
        moment = to_ms(now)
        self._flying += [(self._queues["lookups"], self._profile(task, now, moment)) for task in tasks]

    def _land(self, now: datetime) -> None:
        """Settles the calls that were made before; those of the same moment are under way together, and no task is in two."""
        if self._flying and self._flying[0][1].at < now:
            for queue, visit in self._flying:
                if queue is self._queues.get("lookups"):
                    self._tell(visit)
                queue.settle(visit)
            self._flying.clear()

    def _tell(self, visit: Visit) -> None:
        """Leads on to the timeline of who has written more than its profile shows."""
        timelines, task = self._queues.get("timelines"), visit.task
        if timelines and visit.outcome is Answer.OK and task.visits and (news := _unseen(visit)):
            timelines.add(Arrival(lane=1, target=task.target, news=max(news, 1), belief=task.memory), visit.at)

    def _profile(self, task: Task, now: datetime, moment: int) -> Visit:
        account, skyline = int(task.target), self._skyline
        outcome = skyline.outcome(account, moment)
        if outcome.is_about_target and outcome is not Answer.PROTECTED:
            return Visit(task=task, at=now, outcome=outcome, is_finished=True)
        places = [] if outcome is Answer.PROTECTED else skyline.newest(account, moment)
        before, counter = self._counters.get(account), skyline.counter(account, moment)
        self._counters[account] = counter
        times = self._kept(places, moment)
        if not places and not task.visits and (older := skyline.older(account, moment)):
            times = (older,)
        return Visit(
            task=task, at=now, outcome=Answer.OK, is_finished=True, results=1, new=len(times), post_times=times,
            shows_posts=bool(places), posts_before=before, posts_now=counter, created_at=skyline.created(account),
        )  # fmt: skip

    def _read(self, tasks: list[Task], now: datetime) -> None:
        """One timeline: the newest posts of an account, and its counter along with them."""
        moment, (task,) = to_ms(now), tasks
        account, outcome = int(task.target), self._skyline.outcome(int(task.target), moment)
        places = self._skyline.newest(account, moment, _TIMELINE.results_per_call) if outcome is Answer.OK else []
        times = self._kept(places, moment)
        if places:
            self._counters[account] = self._skyline.counter(account, moment)
        visit = Visit(task=task, at=now, outcome=outcome, is_finished=True, results=len(places), new=len(times), post_times=times)
        self._flying.append((self._queues["timelines"], visit))

    def _kept(self, places: list[int], moment: int) -> tuple[datetime, ...]:
        """Keeps what is new, with what came along inside it, and says when it was written."""
        new = [place for place in places if self._seen[place] == _NEVER]
        for place in new:
            self._seen[place] = moment
            along = self._skyline.passed_on(place, moment)
            if along is not None and self._seen[along] == _NEVER:
                self._seen[along] = moment
        times = tuple(map(self._skyline.written_at, new))
        for time in times:
            self._hours[time.hour] += 1
        return times


def _unseen(visit: Visit) -> int:
    """By how much the counter moved, less the post that the profile shows."""
    if visit.posts_before is None or visit.posts_now is None:
        return 1
    moved = visit.posts_now - visit.posts_before
    return max(moved - 1, 0) if visit.shows_posts else moved
