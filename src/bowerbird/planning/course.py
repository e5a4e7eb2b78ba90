"""The course of one rehearsal, and what it says of times beyond its end."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import timedelta

from msgspec import Struct, structs

from bowerbird.flows.flow import Stop
from bowerbird.model.times import span
from bowerbird.planning.budget import Means

MONTH = timedelta(days=30)
HORIZONS = {"day": timedelta(days=1), "week": timedelta(days=7), "month": MONTH}
ENOUGH = "the sample is good enough"
NEVER = timedelta(days=366)
"""Stands for a time that cannot be foreseen."""
CAUGHT_UP = 0.02
"""A crawl that goes round for ever is past its beginning when no more than this part of its tasks waits."""
_DAY = timedelta(days=1)

COUNTS = ("calls", "items", "users", "posts", "bytes", "dollars")


class Milestone(Struct, frozen=True, kw_only=True):
    """How far a rehearsal is at one moment, counted in the model."""

    at: timedelta
    calls: float = 0
    items: float = 0
    users: float = 0
    posts: float = 0
    bytes: float = 0
    free: float = 0
    """Of these, room for what comes next: what X billed yesterday has left it."""
    kept: float = 0
    """Bytes without that room, and without what was billed today and is forgotten tomorrow."""
    dollars: float = 0
    waiting: int = 0
    done: int = 0
    spent: dict[str, float] = {}
    """By bucket."""
    complete: float | None = None
    """Part of the seeds' posts that is stored, at the few moments at which it was looked up."""
    wanted: int = 0
    """How many posts these were, at the same moments."""
    hidden: int = 0
    """How many of them the network does not show: a timeline was read to its end, and they were not in it."""

    @property
    def answered(self) -> float:
        return self.done / max(1, self.done + self.waiting)


class Use(Struct, frozen=True, kw_only=True):
    """What one facet asked with one credential."""

    service: str
    facet: str
    credential: str | None
    calls: float
    hours: float
    """How long the limits need for that many calls, whatever else happens; of a limit that counts only some calls, its part."""


class Bucket(Struct, frozen=True, kw_only=True):
    name: str
    used: float
    """Part of what it allowed up to the moment at which the crawl had ended or caught up."""


class Course(Struct, frozen=True, kw_only=True):
    """One rehearsal: what was counted is divided by `factor` to speak of the whole crawl."""

    factor: float
    samples: tuple[Milestone, ...]
    is_finished: bool
    uses: tuple[Use, ...]
    buckets: tuple[Bucket, ...]
    goes_round: bool = True
    """Whether something always comes due again; if not, it ends when everything is asked."""
    enough: float | None = None
    """With how many calls of the model a sample becomes as good as is wanted, where it did not become so within the rehearsal."""
    stop: Stop = Stop()
    """The crawl's own conditions, in its own numbers."""
    means: Means | None = None
    """What it may spend, where anything costs."""
    was_cut: bool = False
    """The rehearsal ended before its time because it was long enough."""
    reason: str = ""
    """Which of them ended it within the rehearsal; nothing when everything had been asked."""

    @property
    def end(self) -> tuple[timedelta, str] | None:
        """When the crawl ends and why, within the rehearsal or after it; None when it goes on for ever."""
        if self.is_finished:
            return self.length, self.reason
        return min(self._ends(), default=None)

    def _ends(self) -> Iterator[tuple[timedelta, str]]:
        """All that would end it after the rehearsal; without words: everything is asked."""
        if self.stop.duration is not None:
            yield self.stop.duration, may_run(self.stop.duration)
        for what in ("calls", "items", "users", "posts"):
            limit = getattr(self.stop, what)
            if limit is not None and self._slope(what) > 0:
                yield self._when(what, limit * self.factor), f"{limit:,} {what} are reached"
        if self.means is not None and self._slope("dollars") > 0:
            at = self._when("dollars", self.means.dollars * self.factor)
            # What is not spent in one month says nothing of the next.
            if at < (MONTH if self.means.is_monthly else NEVER):
                yield at, self.means.words
        if self.enough is not None:
            yield self.done_after, ENOUGH
        elif not self.goes_round:
            yield self.done_after, ""

    @property
    def is_spent(self) -> bool:
        """Whether money ends it."""
        return self.means is not None and self.end is not None and self.end[1] == self.means.words

    def is_reckoned(self, at: timedelta) -> bool:
        """Whether a figure for that time is multiplied from a rehearsal that was cut before it."""
        return self.was_cut and self.length < (at if self.end is None else min(at, self.end[0]))

    @property
    def length(self) -> timedelta:
        return self.samples[-1].at

    @property
    def done_after(self) -> timedelta:
        """When everything is asked, or a sample is good enough; of a crawl that goes on for ever, when it has first caught up."""
        if self.is_finished:
            return self.length
        if self.enough is not None:
            return self._when("calls", self.enough)
        caught = next((each.at for each in self.samples if each.done and each.answered >= 1 - CAUGHT_UP), None)
        if caught is not None and self.goes_round:
            return caught
        return self._later(self.samples[-1].waiting, self._slope("done") - max(0.0, self._slope("tasks")))

    def _when(self, what: str, number: float) -> timedelta:
        """When a count of the model will have become so large."""
        return self._later(max(0.0, number - _of(self.samples[-1], what)), self._slope(what))

    def _later(self, left: float, pace: float) -> timedelta:
        """When so much more than at the end of the rehearsal is done, at so much per hour."""
        if left <= 0:
            return self.length
        never = hours_of(NEVER)
        return self.length + timedelta(hours=min(left / pace, never) if pace > 0 else never)

    @property
    def hidden(self) -> float:
        """Part of the seeds' posts that the network does not show, however long one asks."""
        known = [each for each in self.samples if each.complete is not None]
        return known[-1].hidden / max(1, known[-1].wanted) if known else 0.0

    @property
    def is_about_posts(self) -> bool:
        """Whether `complete` speaks of posts of the seeds; otherwise of questions that became known."""
        return any(each.complete is not None for each in self.samples)

    def count(self, what: str, at: timedelta) -> float:
        """A count of the whole crawl at a time; beyond the end of the rehearsal it goes on as before it."""
        end = self.end
        return self._model_count(what, at if end is None else min(at, end[0])) / self.factor

    def complete(self, at: timedelta) -> float:
        """Part of what is to be had that is stored at a time; what is written after a stop condition is met is missing."""
        end = self.end
        if end is None or at <= end[0] or not end[1]:
            return self._complete(at)
        return self._complete(end[0]) * self._wanted(end[0]) / max(1.0, self._wanted(at))

    def _wanted(self, at: timedelta) -> float:
        """How many posts there are to be had at a time."""
        known = [each for each in self.samples if each.complete is not None]
        if not known:
            return 1.0
        first, last = known[0], known[-1]
        pace = (last.wanted - first.wanted) / max(hours_of(last.at - first.at), 1e-9)
        return max(1.0, last.wanted + pace * hours_of(at - last.at))

    def _complete(self, at: timedelta) -> float:
        known = [each for each in self.samples if each.complete is not None]
        if not known:
            place = self._place(at)
            end = self.samples[-1]
            if at <= self.length or self.is_finished:
                return self.samples[place].answered
            done = end.done + self._slope("done") * hours_of(at - self.length)
            tasks = end.done + end.waiting + self._slope("tasks") * hours_of(at - self.length)
            # Tasks are also retired: searches for words that are no keywords any more.
            return min(1.0, max(0.0, done) / max(1.0, tasks))
        before = [each for each in known if each.at <= at] or known[:1]
        if at <= self.length or self.is_finished:
            return before[-1].complete or 0.0
        last = known[-1]
        # Two looks that lie close together say little about the way from one to the other.
        first = next((each for each in reversed(known) if each.at <= last.at * 2 / 3), last)
        slope = ((last.complete or 0) - (first.complete or 0)) / max(hours_of(last.at - first.at), 1e-9)
        return min(1 - self.hidden, max(0.0, (last.complete or 0) + slope * hours_of(at - last.at)))

    def spent(self, bucket: str, at: timedelta) -> float:
        """What a bucket of the model had given by a time within the rehearsal."""
        return self.samples[self._place(at)].spent.get(bucket, 0.0)

    def _model_count(self, what: str, at: timedelta) -> float:
        value: float = getattr(self.samples[self._place(at)], what)
        if at <= self.length or self.is_finished:
            return value
        more = hours_of(at - self.length)
        if what == "bytes":
            return value + max(0.0, self._slope("kept") * more - self.samples[-1].free)
        return value + self._slope(what) * more

    def reached(self, calls: float) -> timedelta:
        """When the rehearsal had made so many calls of the model."""
        last = min(bisect_left(self.samples, calls, key=lambda each: each.calls), len(self.samples) - 1)
        after, before = self.samples[last], self.samples[last - 1] if last else Milestone(at=timedelta(0))
        part = (calls - before.calls) / max(after.calls - before.calls, 1e-9)
        return before.at + (after.at - before.at) * min(1.0, part)

    def as_fast_as(self, other: Course) -> Course:
        """The same calls at the pace of another rehearsal, as far as both have come."""
        calls = min(self.samples[-1].calls, other.samples[-1].calls)
        if not calls:
            return self
        stretch = other.reached(calls) / max(self.reached(calls), timedelta(microseconds=1))
        return structs.replace(self, samples=tuple(structs.replace(each, at=each.at * stretch) for each in self.samples))

    def _place(self, at: timedelta) -> int:
        return max(0, bisect_right(self.samples, at, key=lambda each: each.at) - 1)

    def _slope(self, what: str) -> float:
        """Per hour, over the last day, for days have nights; over the last third of a rehearsal that is too short for that."""
        since = self.length - _DAY if self.length >= 1.5 * _DAY else self.length * 2 / 3
        last, first = self.samples[-1], self.samples[self._place(since)]
        return (_of(last, what) - _of(first, what)) / max(hours_of(last.at - first.at), 1e-9)


def _of(sample: Milestone, what: str) -> float:
    return float(sample.done + sample.waiting) if what == "tasks" else float(getattr(sample, what))


def hours_of(span: timedelta) -> float:
    return span / timedelta(hours=1)


def may_run(duration: timedelta) -> str:
    """Why a crawl ends whose time is limited."""
    return f"it may run for {span(duration)}"
