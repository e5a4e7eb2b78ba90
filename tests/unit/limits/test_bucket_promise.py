"""Random courses of events against the real limiter: our account never promises more than the server has left."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from bowerbird.limits.bucket import CallResult, new_bucket
from bowerbird.model import Charge, Limit, Reading, WindowKind
from bowerbird.simulated.limiter import Limiter, Throttle, Verdict
from marks import examples

START = datetime(2026, 1, 5, 12, 0, 17, 300_000, tzinfo=UTC)
WINDOW = timedelta(minutes=1)
WAITS = [timedelta(milliseconds=ms) for ms in (1, 40, 150, 700, 1_000, 1_300, 5_000, 20_000, 45_000)]
OPS = ["wait", "call", "call", "arrive", "arrive", "answer", "answer", "answer", "lose", "until"]
# Without a least size hypothesis draws about five steps: too few for anything to go wrong.
STEPS = st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 20)), min_size=60, max_size=140)
WITH_OTHERS = st.lists(st.tuples(st.sampled_from([*OPS, "other"]), st.integers(0, 20)), min_size=30, max_size=100)


class Flight(Struct):
    charge: Charge
    sent_at: datetime
    arrived_at: datetime | None = None
    verdict: Verdict | None = None


class Course:
    """One bucket, one server with another clock, and any number of calls under way between them."""

    def __init__(self, kind: WindowKind, allowance: int, offset: timedelta) -> None:
        self.limit = Limit(bucket="b", allowance=allowance, window=WINDOW, kind=kind)
        self.throttle = Throttle("b", allowance, WINDOW, kind)
        self.offset = offset
        self.now = START
        self.limiter = Limiter()
        self.state = new_bucket("b", self.limit, self.now)
        self.flights: list[Flight] = []

    def step(self, op: str, choice: int) -> None:
        getattr(self, op)(choice)

    def wait(self, choice: int) -> None:
        self.now += WAITS[choice % len(WAITS)]

    def until(self, _: int) -> None:
        self.now = min(self.state.available_at(1, self.now, pace=False), self.now + 2 * WINDOW)

    def call(self, _: int) -> None:
        if self.state.available_at(1, self.now, pace=False) <= self.now:
            before = self.state.finished
            self.state = self.state.charge(1, self.now)
            self.flights.append(Flight(Charge("b", 1, self.limit, before), self.now))

    def arrive(self, choice: int) -> None:
        under_way = [flight for flight in self.flights if flight.verdict is None]
        if under_way:
            flight = under_way[choice % len(under_way)]
            flight.arrived_at = self.now + self.offset
            flight.verdict = self.limiter.spend([(self.throttle, "us")], flight.arrived_at)

    def answer(self, choice: int) -> None:
        answered = [flight for flight in self.flights if flight.verdict is not None]
        if answered:
            self._end(answered[choice % len(answered)], is_answered=True)

    def lose(self, choice: int) -> None:
        """Whether or not it reached the server: from now on it never will."""
        if self.flights:
            self._end(self.flights[choice % len(self.flights)], is_answered=False)

    def other(self) -> None:
        self.limiter.spend([(self.throttle, "us")], self.now + self.offset)

    def _end(self, flight: Flight, *, is_answered: bool) -> None:
        self.flights.remove(flight)
        verdict = flight.verdict
        if not is_answered or verdict is None or flight.arrived_at is None:
            heard = CallResult(sent_at=flight.sent_at, received_at=self.now, cost=1, is_answered=False, is_good=False)
        else:
            heard = CallResult(
                sent_at=flight.sent_at,
                received_at=self.now,
                cost=1,
                is_good=verdict.is_allowed,
                is_exhausted=not verdict.is_allowed,
                header=Reading(verdict.limit, verdict.remaining, verdict.reset_at),
                server_time=flight.arrived_at.replace(microsecond=0),
            )
        self.state = self.state.settle(flight.charge, heard)

    def promised(self) -> int:
        return self.state.current(self.now).available

    def left(self) -> int:
        """What the server has left for calls that do not exist yet."""
        under_way = sum(flight.verdict is None for flight in self.flights)
        return self.limiter.look(self.throttle, "us", self.now + self.offset).remaining - under_way


KINDS = st.sampled_from([WindowKind.ALIGNED, WindowKind.FIRST_CALL])
OFFSETS = st.integers(-90_000, 90_000).map(lambda ms: timedelta(milliseconds=ms))


@settings(max_examples=examples(200), deadline=None)
@given(KINDS, st.integers(1, 12), OFFSETS, STEPS)
def test_an_account_never_promises_more_than_the_server_has_left(
    kind: WindowKind, allowance: int, offset: timedelta, steps: list[tuple[str, int]]
) -> None:
    course = Course(kind, allowance, offset)
    for op, choice in steps:
        course.step(op, choice)
        # Until the first answer the server's clock is unknown: then only one probe is allowed, whatever the count says.
        if not course.state.is_careful:
            assert course.promised() <= course.left()
    assert course.limiter.refused == 0


@settings(max_examples=examples(60), deadline=None)
@given(KINDS, st.integers(1, 12), OFFSETS, WITH_OTHERS)
def test_a_bucket_that_others_use_too_is_seen_as_it_is_after_one_undisturbed_answer(
    kind: WindowKind, allowance: int, offset: timedelta, steps: list[tuple[str, int]]
) -> None:
    course = Course(kind, allowance, offset)
    for op, choice in steps:
        if op == "other":
            course.other()
        else:
            course.step(op, choice)
    while course.flights:
        course.lose(0)
    for _ in range(3):
        course.until(0)
        course.call(0)
        course.arrive(0)
        course.answer(0)
    assert course.promised() <= course.left()


@settings(max_examples=examples(60), deadline=None)
@given(KINDS, st.integers(1, 12), OFFSETS, STEPS)
def test_no_course_of_events_locks_a_bucket_for_good(
    kind: WindowKind, allowance: int, offset: timedelta, steps: list[tuple[str, int]]
) -> None:
    course = Course(kind, allowance, offset)
    for op, choice in steps:
        course.step(op, choice)
    while course.flights:
        course.lose(0)
    waited = course.state.available_at(1, course.now, pace=False) - course.now
    assert waited <= WINDOW + timedelta(minutes=2)
