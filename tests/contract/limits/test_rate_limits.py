"""Rate limits in the database: charges, settlements, bills and recovery, on every database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from msgspec import structs

from bowerbird.clock import RealClock
from bowerbird.errors import Taken
from bowerbird.limits.bucket import new_bucket
from bowerbird.limits.rate_limits import RateLimits, add_bucket, read_bucket, replace_bucket
from bowerbird.model import Answer, Charge, Limit, Outcome, Page, Reading, WindowKind
from bowerbird.planning.booking import book, lend
from bowerbird.ports import Database, Transaction
from bowerbird.store.opening import open_store
from failures import raises_code

NOW = datetime(2026, 1, 5, 12, 1, tzinfo=UTC)
RESET = datetime(2026, 1, 5, 12, 15, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
HEADERS = {"date": "Mon, 05 Jan 2026 12:01:00 GMT"}


def charge(bucket: str = "token", allowance: int = 5) -> Charge:
    return Charge(bucket, 1, Limit(bucket=bucket, allowance=allowance, window=QUARTER))


async def spend(database: Database, ledgers: RateLimits, *charges: Charge, now: datetime = NOW) -> list[Charge]:
    async with database.transaction() as tx:
        return list(await ledgers.charge(tx, charges, now))


async def settle(
    database: Database, ledgers: RateLimits, charges: list[Charge], remaining: int | None, outcome: Outcome = Outcome.OK
) -> None:
    answer = Answer(status=200, headers=HEADERS, sent_at=NOW, received_at=NOW)
    reading = None if remaining is None else Reading(charges[0].limit.allowance, remaining, RESET)
    async with database.transaction() as tx:
        await ledgers.settle(tx, charges, Page(outcome=outcome, reading=reading, results=1), answer)


async def reloaded(database: Database) -> RateLimits:
    """The ledgers of another process, or of this one after a restart."""
    ledgers = RateLimits(pace=False)
    async with database.transaction() as tx:
        await ledgers.load(tx)
    return ledgers


async def test_everything_known_of_a_bucket_survives_a_restart(database: Database) -> None:
    ledgers = await reloaded(database)
    await settle(database, ledgers, await spend(database, ledgers, charge()), 3)
    await spend(database, ledgers, charge())
    again = await reloaded(database)
    assert again.buckets() == ledgers.buckets()
    assert again.buckets()["token"].offset is not None


async def test_what_changes_seldom_survives_a_restart_too(database: Database) -> None:
    ledgers, longer = await reloaded(database), Charge("token", 1, Limit(bucket="token", allowance=9, window=2 * QUARTER))
    await settle(database, ledgers, await spend(database, ledgers, charge()), 3)
    for outcome in (Outcome.OVERLOADED, Outcome.RATE_LIMITED, Outcome.OK):
        async with database.transaction() as tx:
            taken = list(await ledgers.charge(tx, [charge()], NOW, is_made=True))
        await settle(database, ledgers, taken, None, outcome)
        assert (await reloaded(database)).buckets() == ledgers.buckets()
    assert ledgers.buckets()["token"].refused == 1
    await spend(database, ledgers, longer, now=NOW + timedelta(days=1))
    assert (await reloaded(database)).buckets() == ledgers.buckets()
    assert ledgers.buckets()["token"].window == 2 * QUARTER


async def test_an_allowance_that_the_user_lowers_binds_from_the_next_start_whatever_the_server_says(database: Database) -> None:
    ledgers = await reloaded(database)
    await settle(database, ledgers, await spend(database, ledgers, charge()), 4)
    own = Charge("token", 1, Limit(bucket="token", allowance=2, window=QUARTER, published=5))
    again = await reloaded(database)
    assert again.available_at([own], NOW) == NOW
    await settle(database, again, await spend(database, again, own), 4)
    assert again.available_at([own], NOW) > NOW + timedelta(minutes=13)
    assert (await reloaded(database)).buckets()["token"].allowance == 2


async def test_a_call_is_in_the_database_before_it_is_made(database: Database) -> None:
    ledgers = await reloaded(database)
    await spend(database, ledgers, charge())
    assert (await reloaded(database)).buckets()["token"].in_flight == 1


async def test_a_call_that_died_with_its_worker_counts_as_spent(database: Database) -> None:
    charges = await spend(database, await reloaded(database), charge())
    ledgers = await reloaded(database)
    async with database.transaction() as tx:
        await ledgers.lose(tx, charges, NOW)
    state = (await reloaded(database)).buckets()["token"]
    assert (state.remaining, state.in_flight) == (4, 0)


async def test_a_call_waits_for_the_latest_of_its_buckets(database: Database) -> None:
    ledgers = await reloaded(database)
    narrow, wide = charge("narrow", 1), charge("wide", 100)
    await settle(database, ledgers, await spend(database, ledgers, narrow, wide), None)
    assert ledgers.available_at([wide], NOW) == NOW
    assert ledgers.available_at([wide, narrow], NOW) == ledgers.available_at([narrow], NOW) > RESET
    assert ledgers.rate([wide, narrow], NOW) == 0 < ledgers.rate([wide], NOW)


async def test_a_call_without_limits_may_always_be_made(database: Database) -> None:
    ledgers = await reloaded(database)
    assert ledgers.available_at([], NOW) == NOW
    assert await spend(database, ledgers) == []


async def test_two_processes_never_take_the_same_call(database: Database) -> None:
    one, two = await reloaded(database), await reloaded(database)
    await settle(database, one, await spend(database, one, charge()), 1)
    two = await reloaded(database)
    await spend(database, one, charge())
    assert two.available_at([charge()], NOW) == NOW
    with raises_code(Taken, "taken") as caught:
        await spend(database, two, charge())
    assert charge().bucket in caught.value.problem
    assert two.available_at([charge()], NOW) > NOW


async def test_a_process_with_old_knowledge_settles_all_the_same(database: Database) -> None:
    one = await reloaded(database)
    await settle(database, one, await spend(database, one, charge()), 4)
    two = await reloaded(database)
    mine, yours = await spend(database, one, charge()), await spend(database, two, charge())
    await settle(database, one, mine, 3)
    await settle(database, two, yours, 2)
    state = (await reloaded(database)).buckets()["token"]
    assert (state.remaining, state.in_flight, state.spent) == (2, 0, 3)


async def test_a_transaction_that_failed_leaves_no_trace(database: Database) -> None:
    ledgers = await reloaded(database)
    await settle(database, ledgers, await spend(database, ledgers, charge()), 4)
    with pytest.raises(ZeroDivisionError):
        await _fail_after_charging(database, ledgers)
    await spend(database, ledgers, charge())
    assert ledgers.buckets()["token"].in_flight == 1
    assert (await reloaded(database)).buckets() == ledgers.buckets()


async def _fail_after_charging(database: Database, ledgers: RateLimits) -> None:
    async with database.transaction() as tx:
        await ledgers.charge(tx, [charge()], NOW)
        raise ZeroDivisionError


async def test_a_bucket_of_a_failed_transaction_is_not_taken_for_a_full_one(database: Database) -> None:
    ledgers = await reloaded(database)
    await settle(database, ledgers, await spend(database, ledgers, charge()), 1)
    with pytest.raises(ZeroDivisionError):
        await _fail_after_charging(database, ledgers)
    await spend(database, await reloaded(database), charge())
    assert ledgers.available_at([charge()], NOW) > NOW
    with pytest.raises(Taken):
        await spend(database, ledgers, charge())


async def test_a_published_window_that_changed_is_taken_over(database: Database) -> None:
    ledgers = await reloaded(database)
    await settle(database, ledgers, await spend(database, ledgers, charge()), 2)
    hourly = Limit(bucket="token", allowance=60, window=timedelta(hours=1), kind=WindowKind.FIRST_CALL)
    await spend(database, ledgers, Charge("token", 1, hourly))
    state = (await reloaded(database)).buckets()["token"]
    assert (state.allowance, state.window, state.kind) == (60, timedelta(hours=1), WindowKind.FIRST_CALL)


async def test_a_bad_answer_backs_off_the_first_bucket_only(database: Database) -> None:
    ledgers = await reloaded(database)
    both = [charge("own"), charge("shared")]
    for name in both:
        await settle(database, ledgers, await spend(database, ledgers, name), None)
    await settle(database, ledgers, await spend(database, ledgers, *both), None, Outcome.OVERLOADED)
    assert ledgers.available_at([both[0]], NOW) == NOW + timedelta(seconds=1)
    assert ledgers.available_at([both[1]], NOW) == NOW


MIDNIGHT = datetime(2026, 1, 6, tzinfo=UTC)
DOLLARS = Limit(
    bucket="x/app:mine/money",
    allowance=1000,
    window=timedelta(days=31),
    kind=WindowKind.MONTH,
    per_call=0,
    per_result=10,
    once_a_day=True,
)
CAP = Limit(
    bucket="x/app:mine/posts",
    allowance=1000,
    window=timedelta(days=31),
    kind=WindowKind.MONTH,
    per_call=0,
    per_result=1,
    once_a_day=True,
)


async def pay(database: Database, ledgers: RateLimits, *items: str, at: datetime = NOW, app: str = "mine") -> int:
    """What is spent after one more call that brought these items."""
    charges = [Charge(each.bucket.replace("mine", app), each.per_result * 5, each) for each in (DOLLARS, CAP)]
    taken = await spend(database, ledgers, *charges, now=at)
    answer = Answer(status=200, sent_at=at, received_at=at + timedelta(seconds=1))
    async with database.transaction() as tx:
        await ledgers.settle(tx, taken, Page(results=len(items), billed=items), answer)
    cap, money = ledgers.buckets()[charges[1].bucket].spent, ledgers.buckets()[charges[0].bucket].spent
    assert money == 10 * cap
    return cap


async def test_an_item_is_paid_once_a_day_whoever_asks_again(database: Database) -> None:
    ledgers = await reloaded(database)
    assert await pay(database, ledgers, "user:1", "user:2", "user:2") == 2
    again = await reloaded(database)
    assert await pay(database, again, "user:2", "user:3") == 3
    assert await pay(database, again, "post:3", "user:2", app="other") == 2
    assert again.buckets()[DOLLARS.bucket].remaining == 970


async def test_the_most_a_call_can_cost_is_reserved_until_it_is_settled(database: Database) -> None:
    ledgers = await reloaded(database)
    await pay(database, ledgers, "user:1")
    await spend(database, ledgers, Charge(DOLLARS.bucket, 50, DOLLARS))
    assert ledgers.buckets()[DOLLARS.bucket].available == 1000 - 10 - 50


async def test_an_item_is_paid_anew_the_next_day_and_yesterday_is_forgotten(database: Database) -> None:
    ledgers = await reloaded(database)
    assert await pay(database, ledgers, "user:1", "user:2") == 2
    assert await pay(database, ledgers, "user:1", at=NOW + timedelta(days=1)) == 3
    async with database.reading() as tx:
        assert [row["item"] for row in await tx.fetch("select item from bills")] == ["user:1"]


async def test_about_midnight_nothing_counts_as_paid(database: Database) -> None:
    ledgers = await reloaded(database)
    assert await pay(database, ledgers, "user:1", at=MIDNIGHT - timedelta(minutes=1)) == 1
    assert await pay(database, ledgers, "user:1", at=MIDNIGHT - timedelta(seconds=1)) == 2
    assert await pay(database, ledgers, "user:1", at=MIDNIGHT + timedelta(minutes=1)) == 3
    assert await pay(database, ledgers, "user:1", at=MIDNIGHT + timedelta(minutes=2)) == 3


async def test_a_payment_of_a_transaction_that_failed_is_not_remembered(database: Database) -> None:
    ledgers = await reloaded(database)
    with pytest.raises(ZeroDivisionError):
        await _fail_after_paying(database, ledgers)
    assert await pay(database, ledgers, "user:1") == 1


async def _fail_after_paying(database: Database, ledgers: RateLimits) -> None:
    page = Page(results=1, billed=("user:1",))
    async with database.transaction() as tx:
        taken = await ledgers.charge(tx, [Charge(DOLLARS.bucket, 50, DOLLARS)], NOW)
        await ledgers.settle(tx, taken, page, Answer(status=200, sent_at=NOW, received_at=NOW))
        raise ZeroDivisionError


async def test_what_a_probe_spends_beside_a_running_crawl_is_taken_from_what_that_has_left(database: Database) -> None:
    limit = Limit(bucket="b", allowance=100, window=QUARTER, kind=WindowKind.FIRST_CALL)
    async with open_store(":memory:", RealClock()) as probing:
        async with database.transaction() as tx:
            await add_bucket(tx, new_bucket("b", limit, NOW).charge(7, NOW))
            await tx.execute("insert into bills (payer, day, item) values ('app', 20000, 'post 1')")
        lent = await lend(database, probing)
        async with probing.transaction() as tx:
            copy = await read_bucket(tx, "b")
            assert copy is not None
            assert (copy.remaining, copy.in_flight) == (93, 0)
            # The probe is interrupted before its answer comes.
            await replace_bucket(tx, copy, copy.charge(5, NOW))
            await add_bucket(tx, new_bucket("new", limit, NOW))
            await tx.execute("insert into bills (payer, day, item) values ('app', 20000, 'post 2')")
        await book(probing, database, lent)
    async with database.reading() as tx:
        own, new = await read_bucket(tx, "b"), await read_bucket(tx, "new")
        bills = [row["item"] for row in await tx.fetch("select item from bills order by item")]
    assert own is not None
    assert (own.remaining, own.in_flight, own.spent) == (95, 7, 12)
    assert own.reset_at is not None
    assert new is not None
    assert bills == ["post 1", "post 2"]


PURSE = Limit(
    bucket="x/money", allowance=1000, window=timedelta(days=31), kind=WindowKind.MONTH, per_call=0, per_result=5, is_money=True
)


def stream(amount: int = 100) -> Charge:
    return Charge(PURSE.bucket, amount, PURSE)


async def test_a_purse_is_raised_and_lowered_with_the_users_word_and_what_was_spent_counts(database: Database) -> None:
    ledgers = await reloaded(database)
    await settle(database, ledgers, await spend(database, ledgers, stream(1000)), None)
    more = Charge(PURSE.bucket, 1000, structs.replace(PURSE, allowance=2000))
    assert ledgers.available_at([structs.replace(more, amount=1996)], NOW) > NOW
    assert ledgers.available_at([structs.replace(more, amount=1995)], NOW) == NOW
    await settle(database, ledgers, await spend(database, ledgers, structs.replace(more, amount=995)), None)
    assert (await reloaded(database)).buckets()[PURSE.bucket].remaining == 2000 - 10
    assert ledgers.available_at([stream(990)], NOW) == NOW
    assert ledgers.available_at([stream(991)], NOW) > NOW


async def test_two_processes_never_reserve_more_than_the_purse_holds(database: Database) -> None:
    first, second = await reloaded(database), await reloaded(database)
    await spend(database, first, stream(600))
    with raises_code(Taken, "taken") as caught:
        await spend(database, second, stream(600))
    assert PURSE.bucket in caught.value.problem
    await spend(database, second, stream(400))
    assert (await reloaded(database)).buckets()[PURSE.bucket].available == 0


async def test_what_a_connection_brings_is_paid_out_of_its_reserve_which_is_filled_up_as_long_as_there_is_any(
    database: Database,
) -> None:
    ledgers = await reloaded(database)
    await settle(database, ledgers, await spend(database, ledgers, stream(850)), None)
    held = await spend(database, ledgers, stream())
    async with database.transaction() as tx:
        held = list(await ledgers.deliver(tx, held, 10, NOW, [stream()]))
    assert (held[0].amount, ledgers.buckets()[PURSE.bucket].available) == (100, 1000 - 5 - 50 - 100)
    async with database.transaction() as tx:
        await ledgers.charge(tx, [stream(845)], NOW)
        held = list(await ledgers.deliver(tx, held, 16, NOW, [stream()]))
    assert (held[0].amount, ledgers.buckets()[PURSE.bucket].available) == (20, 0), "no more is there to be held"


async def test_a_connection_that_ends_gives_its_reserve_back_and_one_that_is_killed_has_spent_it(database: Database) -> None:
    ledgers = await reloaded(database)
    held = await spend(database, ledgers, stream())
    async with database.transaction() as tx:
        await ledgers.deliver(tx, held, 0, NOW)
    assert ledgers.buckets()[PURSE.bucket].available == 1000
    held = await spend(database, ledgers, stream())
    async with database.transaction() as tx:
        await ledgers.lose(tx, held, NOW)
    assert ledgers.buckets()[PURSE.bucket].available == 900


async def test_a_service_that_refuses_leaves_the_users_purse_alone(database: Database) -> None:
    ledgers = await reloaded(database)
    taken = await spend(database, ledgers, charge(), stream())
    await settle(database, ledgers, taken, None, Outcome.QUOTA_EXHAUSTED)
    state = ledgers.buckets()[PURSE.bucket]
    assert (state.remaining, state.backoff_until, state.refused) == (995, None, 0)
    assert ledgers.buckets()["token"].refused == 1


async def test_a_page_with_more_results_than_were_asked_for_is_paid_in_full(database: Database) -> None:
    ledgers = await reloaded(database)
    taken = await spend(database, ledgers, stream(10))
    async with database.transaction() as tx:
        await ledgers.settle(tx, taken, Page(results=7), Answer(status=200, sent_at=NOW, received_at=NOW))
    assert ledgers.buckets()[PURSE.bucket].remaining == 1000 - 35


class Recorder:
    """A transaction that records the rows it locks: `bills` by payer and item, `ledgers` by bucket."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.locked: list[tuple[str, ...]] = []

    async def execute(self, sql: str, *values: Any) -> int:
        if sql.startswith("update ledgers"):
            self.locked.append((values[-2],))
        elif sql.startswith("insert into bills"):
            self.locked += [(values[start], values[start + 2]) for start in range(0, len(values), 3)]
        return await self._tx.execute(sql, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)


UNSORTED = ("b/x", "a_b", "a/b", "B", "a")
"""Sorted differently by languages than by code points."""


@pytest.mark.parametrize("step", ["open", "charge", "settle", "lose", "deliver", "reconcile"])
async def test_every_change_locks_buckets_in_the_order_of_their_names(database: Database, step: str) -> None:
    limits, charges = await reloaded(database), [charge(name) for name in UNSORTED]
    held = await spend(database, limits, *charges)
    answer = Answer(status=200, headers=HEADERS, sent_at=NOW, received_at=NOW)

    async with database.transaction() as tx:
        recorder = Recorder(tx)
        if step == "open":
            await limits.open(recorder, charges, NOW)
        elif step == "charge":
            await limits.charge(recorder, charges, NOW, is_made=True)
        elif step == "settle":
            await limits.settle(recorder, held, Page(results=1), answer)
        elif step == "lose":
            await limits.lose(recorder, held, NOW)
        elif step == "deliver":
            await limits.deliver(recorder, held, 1, NOW)
        else:
            # Of some buckets the calls are lost, of the others no call is known.
            await limits.reconcile(recorder, held[:2], _no_calls, NOW)
    assert recorder.locked == [(name,) for name in ("B", "a", "a/b", "a_b", "b/x")]


async def test_settle_locks_billed_items_in_order_and_before_any_bucket(database: Database) -> None:
    limits = await reloaded(database)
    charges = [Charge(each.bucket.replace("mine", app), 5, each) for app in ("two", "one") for each in (DOLLARS, CAP)]
    held = await spend(database, limits, *charges)
    page = Page(results=3, billed=("user:9", "user:10", "post:1"))
    async with database.transaction() as tx:
        recorder = Recorder(tx)
        await limits.settle(recorder, held, page, Answer(status=200, headers=HEADERS, sent_at=NOW, received_at=NOW))
    assert recorder.locked == [
        *(("x/app:one", item) for item in ("post:1", "user:10", "user:9")),
        *(("x/app:two", item) for item in ("post:1", "user:10", "user:9")),
        *((f"x/app:{app}/{name}",) for app in ("one", "two") for name in ("money", "posts")),
    ]


async def test_item_that_was_paid_for_before_still_counts_against_rate_limits(database: Database) -> None:
    limits = await reloaded(database)
    # Of the same payer, but of results and not of money.
    results = Limit(bucket="x/app:mine/results", allowance=1000, window=QUARTER, per_call=0, per_result=1)
    for _ in range(2):
        held = await spend(database, limits, *(Charge(each.bucket, 10, each) for each in (DOLLARS, results)))
        answer = Answer(status=200, headers=HEADERS, sent_at=NOW, received_at=NOW)
        async with database.transaction() as tx:
            await limits.settle(tx, held, Page(results=1, billed=("user:1",)), answer)
    assert {name: bucket.spent for name, bucket in limits.buckets().items()} == {DOLLARS.bucket: 10, results.bucket: 2}


class RecordingDatabase:
    """A database whose transactions record what they lock."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.locked: list[tuple[str, ...]] = []

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Recorder]:
        async with self._database.transaction() as tx:
            recorder = Recorder(tx)
            yield recorder
        self.locked += recorder.locked

    def reading(self) -> Any:
        return self._database.reading()


async def test_costs_of_a_probe_are_booked_in_the_order_of_bucket_names(database: Database) -> None:
    charges = [charge(name) for name in UNSORTED]
    await spend(database, await reloaded(database), *charges)
    recording = RecordingDatabase(database)
    async with open_store(":memory:", RealClock()) as probing:
        lent = await lend(database, probing)
        limits = RateLimits(pace=False)
        async with probing.transaction() as tx:
            await limits.charge(tx, charges, NOW, is_made=True)
        await book(probing, cast("Database", recording), lent)
    assert recording.locked == [(name,) for name in ("B", "a", "a/b", "a_b", "b/x")]


@pytest.mark.parametrize("step", ["load", "charge", "reconcile"])
async def test_bucket_is_read_again_after_a_rollback(database: Database, step: str) -> None:
    """Another process then writes the very version number that the copy in memory has."""
    limits = await reloaded(database)
    if step == "reconcile":
        await spend(database, limits, charge())

    with pytest.raises(ZeroDivisionError):
        await _fail_after(database, limits, step)
    async with database.transaction() as tx:
        await RateLimits(pace=False).charge(tx, [structs.replace(charge(), amount=3)], NOW, is_made=True)
    async with database.transaction() as tx:
        await limits.charge(tx, [charge()], NOW, is_made=True)
    expected = 3 + 1 + (step == "reconcile")
    assert (await reloaded(database)).buckets()["token"].in_flight == expected


async def _fail_after(database: Database, limits: RateLimits, step: str) -> None:
    async with database.transaction() as tx:
        if step == "load":
            await RateLimits(pace=False).charge(tx, [charge()], NOW)
            await limits.load(tx)
        elif step == "charge":
            await limits.charge(tx, [charge()], NOW)
        else:
            assert await limits.reconcile(tx, [], _no_calls, NOW) == {"token": 1}
        raise ZeroDivisionError


async def _no_calls(tx: Transaction) -> dict[str, int]:
    return {}


async def test_reconcile_leaves_a_bucket_alone_that_changed_after_it_was_read(database: Database) -> None:
    limits, other = await reloaded(database), await reloaded(database)
    await spend(database, other, charge())

    async def calls(tx: Transaction) -> dict[str, int]:
        # Another process settles its call and starts one: read now, the calls do not fit the bucket as it was read.
        await other.lose(tx, [charge()], NOW)
        await other.charge(tx, [charge(), charge("account")], NOW, is_made=True)
        return {}

    async with database.transaction() as tx:
        assert await limits.reconcile(tx, [], calls, NOW) == {}
    assert {name: each.in_flight for name, each in (await reloaded(database)).buckets().items()} == {"token": 1, "account": 1}
