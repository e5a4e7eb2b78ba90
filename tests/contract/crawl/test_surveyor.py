"""What questions to a server about itself take from its limits, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.clock import RealClock
from bowerbird.crawl.access.logins import BookedLogins
from bowerbird.crawl.access.surveys import Survey, Surveyor, Unknown
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Answer, Charge, Limit, Outcome, Page, Request, ServerInfo, Service
from bowerbird.ports import Database
from bowerbird.providers import Mastodon

NOW = datetime(2026, 1, 5, 12, 20, tzinfo=UTC)


class StillClock(RealClock):
    """Stands between two full hours, at one of which the window of an hour would begin anew."""

    def now(self) -> datetime:
        return NOW


CLOCK = StillClock()
SERVICE = Service(name="s", provider="mastodon", base="https://s.example")
ALLOWANCE = 20
CHARGE = Charge("s/ip", 1, Limit(bucket="s/ip", allowance=ALLOWANCE, window=timedelta(hours=1)))
SERVER = Unknown(Mastodon(), SERVICE, (CHARGE,))


def nothing(left: int | None = None) -> Answer:
    """What a server answers that says nothing about itself, and perhaps how many calls it has left."""
    reset = f"{NOW + timedelta(minutes=30):%Y-%m-%dT%H:%M:%S.000000Z}"
    told = {"x-ratelimit-limit": str(ALLOWANCE), "x-ratelimit-remaining": str(left), "x-ratelimit-reset": reset}
    return Answer(status=404, body=b"{}", headers={} if left is None else told, sent_at=CLOCK.now(), received_at=CLOCK.now())


class Secretive:
    """A server that says nothing about itself, however it is asked; and what was booked when each question came."""

    def __init__(self, database: Database, left: int | None = None) -> None:
        self._database = database
        self._left = left
        self.booked: list[int] = []

    async def send(self, service: Service, request: Request) -> Answer:
        self.booked.append(await spent(self._database))
        return nothing(None if self._left is None else self._left - len(self.booked))

    async def close(self) -> None:
        """Nothing is open."""


async def used(database: Database, calls: int, *, pace: bool = False) -> RateLimits:
    """The ledgers of a process that is to pace itself, or not, after some calls."""
    before, ledgers = RateLimits(pace=False), RateLimits(pace=pace)
    for _ in range(calls):
        async with database.transaction() as tx:
            taken = await before.charge(tx, [CHARGE], CLOCK.now())
            await before.settle(tx, taken, Page(outcome=Outcome.OK), nothing())
    async with database.transaction() as tx:
        await ledgers.load(tx)
    return ledgers


async def spent(database: Database) -> int:
    ledgers = await used(database, 0)
    return ledgers.buckets()[CHARGE.bucket].spent


@pytest.mark.parametrize("before", [10, ALLOWANCE])
async def test_a_question_that_was_asked_is_charged_whatever_the_limit_says(database: Database, before: int) -> None:
    transport = Secretive(database)
    surveyor = Surveyor(database, await used(database, before, pace=True), transport, CLOCK)
    await surveyor.learn(SERVER, {"s": Survey(ServerInfo(), (nothing(), nothing(), nothing()))})
    assert (await spent(database), transport.booked) == (before + 3, [])


@pytest.mark.parametrize("left", [0, 1, 2])
async def test_no_more_is_asked_than_the_limit_has_left_and_each_question_is_booked_before_it_is_sent(
    database: Database, left: int
) -> None:
    transport = Secretive(database)
    before = ALLOWANCE - left
    await Surveyor(database, await used(database, before), transport, CLOCK).learn(SERVER, {})
    assert transport.booked == [before + number + 1 for number in range(left)]
    assert await spent(database) == ALLOWANCE


async def test_what_the_server_says_is_left_is_heeded_between_two_questions(database: Database) -> None:
    transport = Secretive(database, left=2)
    ledgers = await used(database, 3)
    await Surveyor(database, ledgers, transport, CLOCK).learn(SERVER, {})
    assert (len(transport.booked), ledgers.buckets()[CHARGE.bucket].available) == (2, 0)


async def test_a_survey_leaves_nothing_in_flight(database: Database) -> None:
    ledgers = await used(database, 0)
    await Surveyor(database, ledgers, Secretive(database, left=15), CLOCK).learn(SERVER, {})
    state = ledgers.buckets()[CHARGE.bucket]
    assert (state.in_flight, state.spent, state.remaining) == (0, 3, 12)


async def test_a_login_that_was_made_is_charged_whatever_the_limit_says(database: Database) -> None:
    ledgers = await used(database, ALLOWANCE, pace=True)
    book = BookedLogins(database, ledgers, CLOCK, lambda credential, provider, service: [CHARGE])
    await book.book("mine", Mastodon(), SERVICE, nothing(), is_open=True)
    assert await spent(database) == ALLOWANCE + 1
