"""Which lane calls next: weights, credentials, waiting and waking, over real ledgers on SQLite in memory."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.clock import RealClock
from bowerbird.crawl.work.scheduler import Choice, Scheduler
from bowerbird.db import open_database
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Answer, Charge, Limit, Page, Reading, Turn
from bowerbird.ports import Database

NOW = datetime(2026, 1, 5, 12, 1, tzinfo=UTC)
RESET = datetime(2026, 1, 5, 12, 15, tzinfo=UTC)
WINDOW = timedelta(minutes=15)


def charge(bucket: str, allowance: int = 1_000_000, *, only_paged: bool = False) -> Charge:
    return Charge(bucket, 1, Limit(bucket=bucket, allowance=allowance, window=WINDOW, only_paged=only_paged))


class Desk:
    """A scheduler with its ledgers; every call it grants is answered at once."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.ledgers = RateLimits(pace=False)
        self.scheduler = Scheduler(self.ledgers)

    async def call(self, now: datetime = NOW) -> Choice | datetime | None:
        choice = self.scheduler.next(now)
        if isinstance(choice, Choice):
            await self.answer(choice, now)
        return choice

    async def answer(self, choice: Choice, now: datetime, reading: Reading | None = None) -> None:
        said = Answer(status=200, sent_at=now, received_at=now)
        async with self.database.transaction() as tx:
            charges = await self.ledgers.charge(tx, choice.charges, now)
            await self.ledgers.settle(tx, charges, Page(reading=reading, results=1), said)
        self.scheduler.touched(item.bucket for item in charges)

    async def calls(self, count: int, now: datetime = NOW) -> list[Choice]:
        choices = [await self.call(now) for _ in range(count)]
        return [choice for choice in choices if isinstance(choice, Choice)]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    database = await open_database(":memory:", RealClock())
    await database.create_tables()
    yield Desk(database)
    await database.close()


async def test_turns_go_by_weight(desk: Desk) -> None:
    for lane, weight in ((1, 1.0), (2, 3.0), (3, 6.0)):
        desk.scheduler.add(Turn(lane), weight, {"key": [charge("shared")]})
    assert Counter(choice.turn.lane for choice in await desk.calls(100)) == {1: 10, 2: 30, 3: 60}


async def test_a_lane_can_be_given_another_weight_while_it_runs(desk: Desk) -> None:
    desk.scheduler.add(Turn(1), 1.0, {"key": [charge("shared")]})
    desk.scheduler.add(Turn(2), 1.0, {"key": [charge("shared")]})
    desk.scheduler.weigh(1, 4.0)
    desk.scheduler.weigh(3, 4.0)
    assert Counter(choice.turn.lane for choice in await desk.calls(100)) == {1: 80, 2: 20}


async def test_turns_are_mixed_rather_than_taken_in_blocks(desk: Desk) -> None:
    desk.scheduler.add(Turn(1), 1.0, {None: [charge("shared")]})
    desk.scheduler.add(Turn(2), 1.0, {None: [charge("shared")]})
    assert [choice.turn.lane for choice in await desk.calls(6)] == [1, 2, 1, 2, 1, 2]


async def test_the_share_of_an_idle_lane_is_given_away_and_not_claimed_back(desk: Desk) -> None:
    desk.scheduler.add(Turn(1), 1.0, {None: [charge("shared")]})
    desk.scheduler.add(Turn(2), 1.0, {None: [charge("shared")]})
    desk.scheduler.idle(Turn(2), None)
    assert {choice.turn.lane for choice in await desk.calls(50)} == {1}
    desk.scheduler.wake([2])
    assert Counter(choice.turn.lane for choice in await desk.calls(20)) == {1: 10, 2: 10}


async def test_two_lanes_on_a_tight_bucket_share_it_by_weight_beside_a_busy_third(desk: Desk) -> None:
    desk.scheduler.add(Turn(1), 1.0, {None: [charge("tight", 4)]})
    desk.scheduler.add(Turn(2), 3.0, {None: [charge("tight", 4)]})
    desk.scheduler.add(Turn(3), 1.0, {None: [charge("wide")]})
    lanes: Counter[int] = Counter()
    for window in range(20):
        lanes.update(choice.turn.lane for choice in await desk.calls(40, NOW + window * WINDOW))
    assert (lanes[1], lanes[2], lanes[3]) == (20, 60, 720)


async def test_the_credential_with_most_room_is_used(desk: Desk) -> None:
    desk.scheduler.add(Turn(1), 1.0, {"small": [charge("a", 10)], "large": [charge("b", 30)]})
    assert Counter(choice.credential for choice in await desk.calls(15)) == {"large": 15}
    assert Counter(choice.credential for choice in await desk.calls(30)) == {"large": 15, "small": 10}


async def test_when_nothing_may_call_the_earliest_time_is_told(desk: Desk) -> None:
    desk.scheduler.add(Turn(1), 1.0, {"key": [charge("a", 1)]})
    assert isinstance(await desk.call(), Choice)
    again = await desk.call()
    assert isinstance(again, datetime)
    assert RESET < again < RESET + timedelta(seconds=5)
    assert isinstance(await desk.call(again), Choice)


async def test_a_call_in_flight_closes_a_bucket_until_it_is_settled(desk: Desk) -> None:
    desk.scheduler.add(Turn(1), 1.0, {"key": [charge("a", 5)]})
    choice = desk.scheduler.next(NOW)
    assert isinstance(choice, Choice)
    async with desk.database.transaction() as tx:
        charges = await desk.ledgers.charge(tx, choice.charges, NOW)
    assert isinstance(desk.scheduler.next(NOW), datetime)
    async with desk.database.transaction() as tx:
        await desk.ledgers.settle(tx, charges, Page(), Answer(status=200, sent_at=NOW, received_at=NOW))
    desk.scheduler.touched(["a"])
    assert isinstance(desk.scheduler.next(NOW), Choice)


async def test_no_ready_lane_is_none_and_not_a_time(desk: Desk) -> None:
    assert desk.scheduler.next(NOW) is None
    desk.scheduler.add(Turn(1), 1.0, {None: [charge("a")]})
    desk.scheduler.idle(Turn(1), None)
    assert desk.scheduler.next(NOW) is None


async def test_a_lane_can_sleep_until_a_time(desk: Desk) -> None:
    later = NOW + timedelta(minutes=3)
    desk.scheduler.add(Turn(1), 1.0, {None: [charge("a")]})
    desk.scheduler.idle(Turn(1), later)
    assert desk.scheduler.next(NOW) == later
    assert isinstance(desk.scheduler.next(later), Choice)


async def test_a_lane_woken_before_its_time_forgets_it(desk: Desk) -> None:
    desk.scheduler.add(Turn(1), 1.0, {None: [charge("a")]})
    desk.scheduler.idle(Turn(1), NOW + WINDOW)
    desk.scheduler.wake([1, 99])
    assert isinstance(desk.scheduler.next(NOW), Choice)
    desk.scheduler.idle(Turn(1), None)
    assert desk.scheduler.next(NOW + 2 * WINDOW) is None


async def test_a_lane_woken_while_its_bucket_is_empty_still_learns_when_it_fills(desk: Desk) -> None:
    desk.scheduler.add(Turn(1), 1.0, {None: [charge("a", 1)]})
    await desk.call()
    until = await desk.call()
    desk.scheduler.idle(Turn(1), None)
    assert await desk.call() is None
    desk.scheduler.wake([1])
    assert await desk.call() == until


async def test_a_refused_credential_is_not_used_again(desk: Desk) -> None:
    for lane in (1, 2):
        desk.scheduler.add(Turn(lane), 1.0, {"bad": [charge("a")], "good": [charge("b")]})
    desk.scheduler.refuse({1, 2}, "bad")
    assert {choice.credential for choice in await desk.calls(10)} == {"good"}
    assert not desk.scheduler.is_stuck()
    desk.scheduler.refuse({1}, "good")
    assert {choice.turn.lane for choice in await desk.calls(10)} == {2}
    desk.scheduler.refuse({2}, "good")
    assert await desk.call() is None
    assert desk.scheduler.is_stuck()


async def test_the_two_halves_of_a_lane_wait_for_their_own_limits(desk: Desk) -> None:
    desk.scheduler.add(Turn(1, is_paged=False), 1.0, {None: [charge("token")]})
    desk.scheduler.add(Turn(1, is_paged=True), 1.0, {None: [charge("token"), charge("paging", 1, only_paged=True)]})
    assert Counter(choice.turn.is_paged for choice in await desk.calls(10)) == {False: 9, True: 1}


async def test_waking_a_lane_wakes_both_its_halves(desk: Desk) -> None:
    halves = [Turn(1, is_paged=False), Turn(1, is_paged=True)]
    for half in halves:
        desk.scheduler.add(half, 1.0, {None: [charge("token")]})
    for half in halves:
        desk.scheduler.idle(half, None)
    assert await desk.call() is None
    desk.scheduler.wake([1])
    assert {choice.turn for choice in await desk.calls(4)} == set(halves)


async def test_time_alone_closes_an_option(desk: Desk) -> None:
    desk.scheduler.add(Turn(1), 1.0, {None: [charge("a", 5)]})
    await desk.call()
    assert isinstance(desk.scheduler.next(NOW), Choice)
    assert isinstance(desk.scheduler.next(RESET - timedelta(seconds=1)), datetime)


async def test_a_burst_goes_on_only_while_the_same_choice_has_the_turn(desk: Desk) -> None:
    desk.scheduler.add(Turn(1), 1.0, {None: [charge("shared")]})
    desk.scheduler.add(Turn(2), 2.0, {None: [charge("shared")]})
    await desk.call()
    turns: list[int] = []
    while len(turns) < 300:
        choice = desk.scheduler.next(NOW)
        assert isinstance(choice, Choice)
        await desk.answer(choice, NOW)
        turns.append(choice.turn.lane)
        while desk.scheduler.again(choice, NOW):
            await desk.answer(choice, NOW)
            turns.append(choice.turn.lane)
    assert Counter(turns[:300]) == {1: 100, 2: 200}


async def test_a_burst_ends_where_the_limit_does(desk: Desk) -> None:
    desk.scheduler.add(Turn(1), 1.0, {None: [charge("small", 5)]})
    await desk.call()
    choice = desk.scheduler.next(NOW)
    assert isinstance(choice, Choice)
    taken = 1
    await desk.answer(choice, NOW)
    while desk.scheduler.again(choice, NOW):
        await desk.answer(choice, NOW)
        taken += 1
    assert taken == 4


async def test_one_half_of_a_lane_can_be_woken_alone(desk: Desk) -> None:
    halves = (Turn(1), Turn(1, is_paged=True))
    for turn in halves:
        desk.scheduler.add(turn, 1.0, {None: [charge("shared")]})
    for turn in halves:
        desk.scheduler.idle(turn, None)
    desk.scheduler.wake_turns([Turn(1, is_paged=True)])
    assert {choice.turn for choice in await desk.calls(4)} == {Turn(1, is_paged=True)}
