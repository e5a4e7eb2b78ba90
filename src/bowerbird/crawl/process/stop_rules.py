"""When the loop of calls has come to its end: what the crawl file says, what its parts still do, and whether anything is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, structs

from bowerbird.crawl.process.endings import NOTHING_ANSWERED, PART_FAILED, Ending
from bowerbird.crawl.process.tally import Tally
from bowerbird.errors import Failure
from bowerbird.flows.flow import Stop
from bowerbird.model import CrawlState, Outcome
from bowerbird.ports import Clock, Part

_LONGEST_REST = timedelta(days=30)
"""How long parts may go on after the last call, in a crawl whose time is not limited."""
Exhausted = Callable[[datetime | None, datetime | None], str]
"""Why nothing more can be asked, told when what waits may be asked and when more will wait; empty: it can."""
HeldUntil = Callable[[int], datetime | None]
"""When the crawl's own pace lets the next call go, told how many are in flight; None: now."""


class Brakes(Struct, frozen=True):
    """What holds calls back besides the limits of servers."""

    exhausted: Exhausted = lambda calls_at, due: ""
    held_until: HeldUntil = lambda in_flight: None


NO_BRAKES = Brakes()


class StopRules:
    """How far a crawl is to go in this process."""

    def __init__(self, stop: Stop, tally: Tally, clock: Clock, parts: Sequence[Part] = (), brakes: Brakes = NO_BRAKES) -> None:
        self._stop = stop
        self.tally = tally
        self.clock = clock
        self.parts = parts
        self.exhausted = brakes.exhausted
        self.held_until = brakes.held_until
        self._has_limits = any(each is not None for each in (stop.calls, stop.items, stop.users, stop.posts, stop.duration))
        self._feeding = [part.feeds for part in parts if part.feeds is not None]

    def enough(self, in_flight: int) -> str:
        """Why no more calls are to be made, with so many in flight; empty: more are."""
        if not self._has_limits:
            return ""
        size, before = self.tally.size(), self.tally.ran_before
        elapsed = before + (self.clock.now() - self.tally.started_at)
        # Calls in flight are as good as made: a budget of calls is never overdrawn.
        return self._stop.reached(structs.replace(size, calls=size.calls + in_flight, elapsed=elapsed, earlier=before)) or ""

    def is_fed(self) -> bool:
        """Whether a part may still add targets that were listed before. A part that has finished adding does not begin again."""
        if self._feeding:
            self._feeding = [feeds for feeds in self._feeding if feeds()]
        return bool(self._feeding)

    def ends_when_empty(self) -> bool:
        """Whether the crawl is over when nothing is left to ask: not while a part listens that may bring more."""
        return self._stop.when_empty and not any(part.listens() for part in self.parts if part.listens is not None)

    def last_moment(self) -> datetime:
        """When the crawl's time is over."""
        if self._stop.duration is None:
            return self.clock.now() + _LONGEST_REST
        return self.tally.started_at + self._stop.duration - self.tally.ran_before

    def judged(self, ending: Ending, prevented: Callable[[], Failure | None]) -> Ending:
        """The ending with what parts never managed to do and what servers do not offer; a crawl that brought nothing because of
        it has failed. `prevented`: why the crawl could not do what it is there for, if it could not."""
        tally, parts = self.tally, self.parts
        if ending.state == CrawlState.FINISHED and not tally.size(in_all=False).posts and (why := prevented()):
            return Ending.failed(why)
        failures = [failure for part in parts if part.failure is not None and (failure := part.failure()) is not None]
        lacking, is_barren = tally.not_offered, self._is_barren(ending)
        if not failures and not lacking and not is_barren:
            return ending
        able = [part for part in parts if part.failure is not None]
        is_unheard = bool(failures) and len(failures) == len(able) and not tally.size(in_all=False).items
        is_refused = any(part.is_refused() for part in parts if part.is_refused is not None)
        is_unanswered = bool(lacking) and not tally.by_outcome[Outcome.OK]
        code, advice = ending.reason.code, "; ".join(filter(None, (each.advice for each in (*lacking, *failures))))
        problem = "; ".join(filter(None, (ending.reason.problem, *(each.problem for each in (*lacking, *failures)))))
        if is_barren and not is_unanswered:
            code, problem = NOTHING_ANSWERED, f"{problem}; nothing was answered at all, the last time: {tally.trouble}"
        elif is_unanswered:
            code, problem = NOTHING_ANSWERED, f"{problem}; nothing else was answered"
            advice = "ask for something else, or ask another server (`bowerbird doctor` says which)"
        elif is_unheard or is_refused:
            code = failures[0].code if failures else PART_FAILED
        is_failed = is_unheard or is_refused or is_unanswered or is_barren
        return Ending(CrawlState.FAILED if is_failed else ending.state, Failure(code, problem, advice or ending.reason.advice))

    def _is_barren(self, ending: Ending) -> bool:
        """Whether everything was asked, some of it given up, and not one question answered, be it by "there is no such thing"."""
        counts = self.tally.by_outcome.items()
        answered = sum(count for outcome, count in counts if outcome is Outcome.OK or outcome.is_about_target)
        has_items = bool(self.tally.size(in_all=True).items)
        return ending.state == CrawlState.FINISHED and bool(self.tally.given_up) and not answered and not has_items
