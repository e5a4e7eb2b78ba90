"""What every work source promises: the local one on each database, one behind which everything is sent as bytes, and one that is
reached over HTTP on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import msgspec
import pytest
from starlette.applications import Starlette
from stream_scene import TinyVault
from work_scene import ALLOWANCE, MINUTE, SECOND, SERVICE, UNASKABLE, Scene, Wrap, play

from bowerbird.crawl.access.signing import Caller, Signer
from bowerbird.crawl.process.stop_rules import StopRules
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.process.worker import Worker
from bowerbird.crawl.work.source import LocalWorkSource
from bowerbird.errors import Fenced
from bowerbird.flows.flow import Stop
from bowerbird.model import Answer, CallReport, Due, Later, Lease, Leased, Loss, Nothing, Offer, Outcome, Request, Service
from bowerbird.ports import WorkSource
from bowerbird.remote import tokens
from bowerbird.remote.coordinator import Opened
from bowerbird.remote.desk import Desk
from bowerbird.remote.roster import Roster
from bowerbird.remote.routes import fleet_routes
from bowerbird.remote.tokens import TokenCheck
from bowerbird.remote.worker.client import HttpWorkSource
from bowerbird.remote.worker.link import Address, Link
from bowerbird.transport.serving import Listening, serving
from marks import long

Play = Callable[[Callable[[Scene], Awaitable[None]]], None]


def sent(value: Any, kind: Any) -> Any:
    """A value as it arrives on another machine, by either format."""
    arrived = msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=kind)
    assert msgspec.json.decode(msgspec.json.encode(value), type=kind) == arrived == value
    return arrived


class Travelling:
    """A work source of which nothing but bytes comes and goes."""

    def __init__(self, source: WorkSource) -> None:
        self._source = source

    async def lease(self, offer: Offer) -> Leased | Later | Nothing:
        work: Leased | Later | Nothing = sent(await self._source.lease(sent(offer, Offer)), Leased | Later | Nothing)
        return work

    async def settle(self, lease: Lease, answer: Answer, *, has_expired: bool = False) -> CallReport:
        arrived = sent(lease, Lease), sent(answer, Answer)
        report: CallReport = sent(await self._source.settle(*arrived, has_expired=sent(has_expired, bool)), CallReport)
        return report

    async def give_back(self, lease: Lease, until: datetime) -> None:
        await self._source.give_back(sent(lease, Lease), sent(until, datetime))

    async def drop(self, lease: Lease, loss: Loss) -> int:
        given_up: int = sent(await self._source.drop(sent(lease, Lease), sent(loss, Loss)), int)
        return given_up

    async def wake(self) -> Due:
        due: Due = sent(await self._source.wake(), Due)
        return due


_HELD = ("key", "mine", "yours", "another", "closed", "open")
"""Credentials that scenes offer."""


async def _as_it_is(scene: Scene, source: LocalWorkSource) -> WorkSource:
    return source


async def _travelling(scene: Scene, source: LocalWorkSource) -> WorkSource:
    return Travelling(source)


async def _over_http(scene: Scene, source: LocalWorkSource) -> WorkSource:
    """A worker of that number, which has a token and no database, and a coordinator on loopback."""
    async with scene.database.transaction() as tx:
        token = await tokens.add(tx, f"worker-{scene.worker}", scene.clock.now())
    desk = Desk(Roster(scene.database, scene.clock, "crawl"), scene.clock)
    desk.open(Opened(source=source))
    desk.admit(scene.worker, f"worker-{scene.worker}", _HELD)
    app = Starlette(routes=fleet_routes(desk, TokenCheck(scene.database, scene.clock), scene.clock))
    base = await scene.ends.enter_async_context(serving(app, Listening()))
    link = Link(Address(base=base, token=token), scene.clock)
    scene.ends.push_async_callback(link.close)
    return HttpWorkSource(link)


@pytest.fixture(params=[_as_it_is, _travelling, _over_http], ids=["local", "travelling", "http"])
def on_stage(request: pytest.FixtureRequest, database_url: str) -> Play:
    """Plays a scene with each kind of source on each database."""
    wrap: Wrap = request.param
    return lambda work: play(work, database_url, wrap)


_WAYS = (_as_it_is, _travelling, _over_http)
_LONG_WAYS = ((_over_http, "sqlite"), *((way, "postgresql") for way in _WAYS))


@pytest.fixture(params=[(_as_it_is, "sqlite"), (_travelling, "sqlite"), *long(*_LONG_WAYS)])
def on_one_stage(request: pytest.FixtureRequest) -> Play:
    """The same for a scene that lasts for hours, in which a worker asks again and again."""
    wrap, kind = request.param
    where = ":memory:" if kind == "sqlite" else str(request.getfixturevalue("migrated_url"))
    return lambda work: play(work, where, wrap)


async def asked(scene: Scene, source: WorkSource, offer: Offer) -> Leased | Later | Nothing:
    """What a worker gets that asks again at once where it is told so: the lane that was chosen had no task left."""
    work = await source.lease(offer)
    while isinstance(work, Later) and work.at <= scene.clock.now():
        work = await source.lease(offer)
    return work


async def leased(scene: Scene, source: WorkSource, offer: Offer) -> list[Lease]:
    work = await asked(scene, source, offer)
    assert isinstance(work, Leased), work
    return list(work.leases)


def test_a_lease_says_everything_that_a_worker_needs(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source("key")
        await scene.add("profile", "7", "8", "9")
        (lease,) = await leased(scene, source, scene.offer("key"))
        assert (lease.service, lease.service.provider, lease.ask.facet) == (SERVICE, "wordy", "profile")
        assert (lease.request.path, lease.request.query) == ("/profile", (("of", "7"), ("of", "8")))
        assert (lease.credential, lease.worker, lease.fault) == ("key", scene.worker, "")
        assert lease.until > scene.clock.now()
        assert [task.target for task in lease.tasks] == ["7", "8"]
        assert all(task.token for task in lease.tasks)
        assert await scene.calls() == [("flying", None)]

    on_stage(work)


def test_no_more_calls_are_handed_out_than_there_is_room_for(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source()
        await scene.add("timeline", *map(str, range(1, 8)))
        assert len(await leased(scene, source, scene.offer(room=3))) == 3
        assert len(await leased(scene, source, scene.offer(room=9))) == 4
        assert await asked(scene, source, scene.offer()) == Nothing()

    on_stage(work)


def test_those_who_wait_together_get_different_calls_each_as_many_as_it_has_room_for(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source()
        assert isinstance(source, LocalWorkSource)
        await scene.add("timeline", *map(str, range(1, 6)))
        got = await asyncio.gather(*(source.lease_together(scene.offer(room=2)) for _ in range(3)))
        leases = [each.leases for each in got if isinstance(each, Leased)]
        assert sorted(map(len, leases)) == [1, 2, 2]
        assert len({lease.tasks[0].target for each in leases for lease in each}) == 5
        assert await scene.calls() == [("flying", None)] * 5

    play(work, database_url, _as_it_is)


def test_whoever_is_taken_for_dead_takes_no_call_from_those_who_wait_beside(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source()
        assert isinstance(source, LocalWorkSource)
        await scene.add("timeline", *map(str, range(1, 6)))
        dead = msgspec.structs.replace(scene.offer(), worker=scene.worker + 1)
        asking = (source.lease_together(offer) for offer in (scene.offer(), dead, scene.offer(), dead))
        got = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(each) for each in got] == [Leased, Fenced, Leased, Fenced]
        assert await scene.calls() == [("flying", None)] * 2
        assert len(await leased(scene, source, scene.offer(room=9))) == 3

    play(work, database_url, _as_it_is)


def test_calls_for_somebody_who_went_away_while_they_were_leased_are_there_for_others(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source()
        assert isinstance(source, LocalWorkSource)
        await scene.add("timeline", *map(str, range(1, 6)))
        first, second, gone = (asyncio.create_task(source.lease_together(scene.offer())) for _ in range(3))
        await first
        # The second one leases for both of them just now.
        gone.cancel()
        got = await asyncio.gather(first, second, gone, return_exceptions=True)
        assert [type(each) for each in got] == [Leased, Leased, asyncio.CancelledError]
        assert sorted(await scene.calls(), key=str) == [("flying", None)] * 2 + [("lost", "lost")]
        await source.wake()
        assert len(await leased(scene, source, scene.offer(room=9))) == 3

    play(work, database_url, _as_it_is)


def test_a_worker_gets_only_what_its_credentials_and_facets_serve(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source("mine", "yours")
        await scene.add("profile", *map(str, range(1, 19)))
        await scene.add("timeline", "1", "2", "3", "4")
        assert {each.credential for each in await leased(scene, source, scene.offer("mine", room=3))} <= {"mine", None}
        (own,) = await leased(scene, source, scene.offer("yours", facets=["profile"]))
        assert own.credential == "yours"
        (free,) = await leased(scene, source, scene.offer(facets=["timeline"]))
        assert free.credential is None
        for stranger in (scene.offer("another", facets=["profile"]), scene.offer("mine", facets=["search"])):
            found = await asked(scene, source, stranger)
            # There is work, though not for this one: it must not take the crawl for ended.
            assert isinstance(found, Later)

    on_stage(work)


def test_what_is_settled_is_stored_once_and_the_task_sleeps(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source()
        await scene.add("timeline", "1")
        (lease,) = await leased(scene, source, scene.offer())
        report = await source.settle(lease, scene.answer("posts 3 4"))
        assert (report.outcome, report.service, report.facet) == (Outcome.OK, "bird", "timeline")
        assert (report.new_posts, report.new_items) == (2, 3)
        with pytest.raises(Fenced):
            await source.settle(lease, scene.answer("posts 5"))
        assert await scene.posts() == ["x:3", "x:4"]
        assert await scene.calls() == [("settled", "ok")]
        assert await source.wake() == Due()
        assert await asked(scene, source, scene.offer()) == Nothing()

    on_stage(work)


def test_what_a_process_added_that_is_gone_is_asked_by_those_that_are_left(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source, offer = await scene.source(), scene.offer()
        assert await asked(scene, source, offer) == Nothing()
        await scene.source()
        await scene.add("timeline", "1")
        assert await source.lease(offer) == Nothing(), "nobody told this process"
        await source.wake()
        (lease,) = await leased(scene, source, offer)
        assert lease.ask.targets == ("1",)

    on_stage(work)


def test_who_answers_after_another_was_given_the_task_is_refused(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        late, (offer, began) = await scene.source(), (scene.offer(), scene.clock.now())
        await scene.add("timeline", "1")
        (lease,) = await leased(scene, late, offer)
        await scene.clock.sleep_until(began + 10 * MINUTE)
        source = await scene.source()
        await source.wake()
        (again,) = await leased(scene, source, scene.offer())
        assert again.tasks[0].target == lease.tasks[0].target
        with pytest.raises(Fenced):
            await late.settle(lease, scene.answer("posts 3"))
        await source.settle(again, scene.answer("posts 4"))
        assert await scene.posts() == ["x:4"]

    on_stage(work)


def test_a_worker_that_is_taken_for_dead_gets_no_work(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source()
        await scene.add("timeline", "1")
        await scene.kill(scene.worker)
        with pytest.raises(Fenced):
            await source.lease(scene.offer())
        assert await scene.calls() == []

    on_stage(work)


def test_no_bucket_is_overdrawn_whoever_asks(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source("key")
        await scene.add("profile", *map(str, range(1, 100)))
        made = 0
        while isinstance(work := await asked(scene, source, scene.offer("key", room=3)), Leased):
            made += len(work.leases)
            for lease in work.leases:
                await source.settle(lease, scene.answer())
        assert made == ALLOWANCE
        assert isinstance(work, Later)
        await scene.clock.sleep_until(work.at)
        assert await leased(scene, source, scene.offer("key"))

    on_stage(work)


def test_a_call_that_was_not_made_is_spent_and_others_may_ask(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source, until = await scene.source("closed", "open"), scene.clock.now() + 5 * MINUTE
        await scene.add("profile", "1")
        (lease,) = await leased(scene, source, scene.offer("closed"))
        await source.give_back(lease, until)
        assert await scene.calls() == [("lost", "unasked")]
        held = await asked(scene, source, scene.offer("closed"))
        assert isinstance(held, Later)
        await source.wake()
        (again,) = await leased(scene, source, scene.offer("closed", "open"))
        assert (again.credential, again.tasks[0].target) == ("open", "1")

    on_stage(work)


def test_a_dropped_call_is_spent_once_and_its_tasks_come_back_when_the_lease_ends(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source("key")
        await scene.add("profile", "1")
        (lease,) = await leased(scene, source, scene.offer("key"))
        assert await source.drop(lease, Loss("unasked", "no secret")) == 0
        assert await source.drop(lease, Loss("unasked", "no secret")) == 0
        assert await scene.calls() == [("lost", "unasked")]
        (ledger,) = await scene.rows("select allowance - remaining as used, in_flight from ledgers")
        assert (ledger["used"], ledger["in_flight"]) == (1, 0)
        due = await source.wake()
        assert due.at is not None
        await scene.clock.sleep_until(due.at)
        await source.wake()
        assert [each.target for each in (await leased(scene, source, scene.offer("key")))[0].tasks] == ["1"]

    on_stage(work)


def test_what_broke_our_own_code_is_tried_again_soon_and_given_up_at_last(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source, given_up = await scene.source(), 0
        await scene.add("timeline", "1")
        tries = 0
        while not given_up:
            (lease,) = await leased(scene, source, scene.offer())
            given_up += await source.drop(lease, Loss("fault", "division by zero", sets_back=True))
            tries += 1
            due = await source.wake()
            if due.at is not None:
                assert due.at - scene.clock.now() <= 10 * MINUTE
                await scene.clock.sleep_until(due.at)
                await source.wake()
        assert (given_up, tries) == (1, 12)
        assert set(await scene.calls()) == {("lost", "fault")}
        assert await asked(scene, source, scene.offer()) == Nothing()

    on_stage(work)


def test_a_request_that_cannot_be_built_costs_its_own_call_alone(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source()
        await scene.add("timeline", UNASKABLE, "2")
        bad, good = await leased(scene, source, scene.offer(room=2))
        assert "ArithmeticError: a fault of our own" in bad.fault
        assert (good.fault, good.tasks[0].target) == ("", "2")
        await source.drop(bad, Loss("fault", bad.fault, sets_back=True))
        await source.settle(good, scene.answer("posts 3"))
        assert await scene.posts() == ["x:3"]

    on_stage(work)


def test_a_session_that_has_expired_is_no_refusal(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source("key")
        await scene.add("profile", "1")
        for _ in range(4):
            (lease,) = await leased(scene, source, scene.offer("key"))
            report = await source.settle(lease, scene.answer(status=401), has_expired=True)
            assert (report.outcome, report.has_expired) == (Outcome.BAD_TOKEN, True)
        (lease,) = await leased(scene, source, scene.offer("key"))
        report = await source.settle(lease, scene.answer(), has_expired=True)
        assert (report.outcome, report.has_expired) == (Outcome.OK, False)

    on_stage(work)


def test_where_the_only_credential_is_refused_the_source_says_what_to_do(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source("key")
        await scene.add("profile", "1")
        for _ in range(3):
            (lease,) = await leased(scene, source, scene.offer("key"))
            assert not (await source.settle(lease, scene.answer(status=401))).has_expired
        assert await asked(scene, source, scene.offer("key")) == Nothing()
        due = await source.wake()
        while due.at is not None:
            await scene.clock.sleep_until(due.at + SECOND)
            due = await source.wake()
        assert due.stuck is not None
        assert (due.stuck.code, "'key'" in due.stuck.problem) == ("credential_refused", True)
        assert "bowerbird credentials add key" in due.stuck.advice

    on_stage(work)


def test_a_task_that_comes_due_is_ready_after_a_wake(on_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source()
        await scene.add("timeline", "1")
        (lease,) = await leased(scene, source, scene.offer())
        await source.settle(lease, scene.answer(status=503))
        due = await source.wake()
        assert due.at is not None
        assert due.at > scene.clock.now()
        await scene.clock.sleep_until(due.at)
        assert (await source.wake()).at == scene.clock.now()
        assert await leased(scene, source, scene.offer())

    on_stage(work)


class Wordy:
    """A transport that answers every question with the same words."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.asked: list[str] = []

    async def send(self, service: Service, request: Request) -> Answer:
        self.asked += [value for _, value in request.query]
        return self._scene.answer("posts 3")

    async def close(self) -> None:
        """Nothing is held open."""


def test_a_worker_needs_nothing_but_its_source_and_loses_one_call_to_a_fault_of_ours(on_one_stage: Play) -> None:
    async def work(scene: Scene) -> None:
        source, transport, tally = await scene.source(), Wordy(scene), Tally(scene.clock.now())
        await scene.add("timeline", UNASKABLE, "2")
        signer = Signer(TinyVault(), transport, scene.clock)
        caller = Caller(signer, {}, frozenset({"profile", "timeline"}), lambda: scene.worker)
        worker = Worker(source, caller, scene.clock, tally)
        ending = await worker.run(2, StopRules(Stop(), tally, scene.clock))
        assert (ending.state, tally.given_up) == ("finished", 1)
        assert ending.reason.code == "some_given_up"
        assert (transport.asked, await scene.posts()) == (["2"], ["x:3"])

    on_one_stage(work)
