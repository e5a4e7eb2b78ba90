"""What a worker with a valid token can not do, whatever it says: to others, to limits and budgets, to the coordinator itself."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from fleet_scene import FACETS, Fleet, play_fleet
from msgspec import structs
from work_scene import MINUTE, SECOND

from bowerbird.crawl.access.logins import BookedLogins
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.identity import Process, myself
from bowerbird.errors import UserError
from bowerbird.limits.rate_limits import RateLimits, login_charges, renewal_charges
from bowerbird.model import Answer, Credential, Later, Leased, Loss, Offer, Secret, Service
from bowerbird.providers import Bluesky
from bowerbird.remote.bodies import Sizes
from bowerbird.remote.coordinator import Opened
from bowerbird.remote.problems import Large
from bowerbird.remote.wire import Drop, Enrol, Get, GiveBack, Login, Orders, Put, PutError, Settle
from bowerbird.remote.worker.client import HttpWorkSource
from bowerbird.remote.worker.link import Address, told_time
from bowerbird.remote.worker.logins import FleetLogins
from bowerbird.transport.serving import Listening, Once, serving
from failures import raises_code

DAY = timedelta(days=1)


def offer(worker: int, *keys: str, room: int = 1, facets: frozenset[str] = FACETS) -> Offer:
    return Offer(worker=worker, room=room, credentials=frozenset(keys), facets=facets)


def test_calls_are_for_credentials_that_a_worker_came_with_and_for_no_others() -> None:
    async def work(fleet: Fleet) -> None:
        await fleet.scene.add("profile", "1")
        link = fleet.link(await fleet.token("poor"))
        me = await link.ask("enrol", Enrol(process=myself(), version="1"))
        asked = Get(offer=offer(me.worker, "key", facets=frozenset({"profile"})), once="a")
        assert isinstance(await link.ask("get", asked), Later)
        rich, other = await fleet.enrolled("rich")
        asked = Get(offer=offer(other.worker, "key", facets=frozenset({"profile"})), once="a")
        assert isinstance(await rich.ask("get", asked), Leased)

    play_fleet(work)


def test_who_brings_new_credentials_again_and_again_is_told_to_bring_them_at_once() -> None:
    async def work(fleet: Fleet) -> None:
        link = fleet.link(await fleet.token("w"))

        async def brought(*names: str) -> None:
            offered = tuple(Credential(name=name, provider="x") for name in names)
            await link.ask("enrol", Enrol(process=myself(), version="1", credentials=offered))

        for number in range(6):
            fleet.desk.has_new.clear()
            await brought(f"k{number}")
            assert fleet.desk.has_new.is_set()
        fleet.desk.has_new.clear()
        with raises_code(UserError, "too_many") as caught:
            await brought("k7")
        assert "01:00" in str(caught.value)
        await brought("k1", "k2")
        assert not fleet.desk.has_new.is_set()
        await fleet.scene.wait(61 * MINUTE)
        await brought("k7", "k8")
        assert fleet.desk.has_new.is_set()

    play_fleet(work)


class OneLogin:
    """A vault that knows whose a credential is."""

    def credentials(self) -> list[Credential]:
        return [Credential(name="key", provider="bluesky", account="ada.example")]

    def secret(self, name: str) -> Secret:
        raise AssertionError(name)

    def keep(self, secret: Secret) -> None:
        raise AssertionError(secret.name)


def test_logins_of_two_workers_with_one_account_are_counted_together() -> None:
    async def work(fleet: Fleet) -> None:
        scene, speaks = fleet.scene, Bluesky()
        pds = Service(name="pds", provider="bluesky", base="https://pds.example")
        charges = partial(login_charges, OneLogin()), partial(renewal_charges, OneLogin())
        logins = BookedLogins(scene.database, RateLimits(pace=False), scene.clock, *charges)
        fleet.desk.open(
            Opened(
                source=fleet.source,
                worker=scene.worker,
                facets=FACETS,
                login=lambda asked: logins.take(asked.credential, speaks, pds, renews=asked.renews),
            )
        )
        books = []
        for name in ("a", "b"):
            link, me = await fleet.enrolled(name)
            books.append(FleetLogins(link, partial(int, me.worker), scene.database, scene.clock, charges))
        most = min(charge.limit.allowance for charge in charges[0]("key", speaks, pds))
        for number in range(most):
            assert await books[number % 2].allowed("key", speaks, pds, renews=False) <= scene.clock.now()
        for book in books:
            assert await book.allowed("key", speaks, pds, renews=False) > scene.clock.now()
        stranger = fleet.link(await fleet.token("c"))
        other = await stranger.ask("enrol", Enrol(process=myself(), version="1"))
        with raises_code(UserError, "unknown_credential") as caught:
            await stranger.ask("login", Login(worker=other.worker, service="pds", credential="key"))
        assert "'key'" in str(caught.value)

    play_fleet(work)


@pytest.mark.parametrize("told", [str(10**30), "9" * 5000, "", "-1", "now"])
def test_a_time_that_cannot_be_sets_no_clock(told: str) -> None:
    assert told_time(told) is None


async def test_who_sends_half_a_request_is_let_go() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async with serving(app, Listening(headers_within=0.3)) as base:
        port = int(base.rpartition(":")[2])
        whole = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
        for before, sent in ((0, b""), (0, b"POST /fleet/v1/get HTTP/1.1\r\nhost: x\r\n"), (2, b"GET / HT")):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(before):
                writer.write(whole)
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
            writer.write(sent)
            # Until the other side closes it.
            assert await asyncio.wait_for(reader.read(), 60) == b""
            writer.close()
            await writer.wait_closed()


def test_the_same_complaint_is_written_once() -> None:
    once = Once()
    rubbish, other = (logging.LogRecord("uvicorn.error", 30, "", 0, words, (), None) for words in ("Invalid HTTP", "Other"))
    assert [once.filter(each) for each in (rubbish, rubbish, other, rubbish)] == [True, False, True, False]


def test_an_answer_out_of_another_time_moves_no_limit_and_no_log() -> None:
    async def work(fleet: Fleet) -> None:
        scene = fleet.scene
        await scene.add("profile", "1", "2", "3", "4")
        link, me = await fleet.enrolled("w")
        for number, told in enumerate((scene.clock.now() + 400 * DAY, scene.clock.now() - DAY, datetime(2031, 1, 1))):  # noqa: DTZ001
            asked = Get(offer=offer(me.worker, "key", facets=frozenset({"profile"})), once=str(number))
            work = await link.ask("get", asked)
            if not isinstance(work, Leased):
                break
            answer = Answer(status=200, body=b"none", sent_at=told, received_at=told)
            await scene.wait(SECOND)
            await link.ask("put", Put(worker=me.worker, calls=(Settle(work.leases[0].call, answer),)))
        rows = await scene.rows("select leased_at, sent_at, received_at, settled_at from calls")
        assert rows
        assert all(row["leased_at"] <= row["sent_at"] <= row["received_at"] <= row["settled_at"] for row in rows)
        (ledger,) = await scene.rows("select allowance, remaining from ledgers where bucket = 'bird/key'")
        assert ledger["allowance"] - ledger["remaining"] == len(rows)

    play_fleet(work)


@pytest.mark.parametrize("until", [datetime(9999, 1, 1, tzinfo=UTC), datetime(2031, 1, 1)])  # noqa: DTZ001
def test_who_gives_a_call_back_closes_nothing_for_everybody(until: datetime) -> None:
    async def work(fleet: Fleet) -> None:
        scene = fleet.scene
        await scene.add("timeline", "1", "2")
        link, me = await fleet.enrolled("w")
        (lease,) = (await link.ask("get", Get(offer=offer(me.worker), once="a"))).leases
        await link.ask("put_error", PutError(worker=me.worker, calls=(GiveBack(lease.call, until),)))
        assert isinstance(await link.ask("get", Get(offer=offer(me.worker), once="b")), Leased)
        await scene.add("profile", "3")
        keyed = offer(me.worker, "key", facets=frozenset({"profile"}))
        (lease,) = (await link.ask("get", Get(offer=keyed, once="c"))).leases
        await link.ask("put_error", PutError(worker=me.worker, calls=(GiveBack(lease.call, until),)))
        held = await link.ask("get", Get(offer=keyed, once="d"))
        assert isinstance(held, Later)
        assert held.at <= scene.clock.now() + DAY

    play_fleet(work)


@pytest.mark.parametrize("room", [0, -7])
def test_who_offers_no_room_does_not_get_past_the_rules_of_the_crawl(room: int) -> None:
    async def work(fleet: Fleet) -> None:
        scene = fleet.scene
        await scene.add("timeline", "1", "2")
        link, me = await fleet.enrolled("w")
        later = scene.clock.now() + MINUTE
        coordinator = fleet.desk.coordinator
        opened = coordinator._opened
        assert opened is not None
        coordinator.open(structs.replace(opened, held_until=lambda in_flight: later))
        assert await link.ask("get", Get(offer=offer(me.worker, room=room), once="a")) == Later(later)
        assert await scene.calls() == []

    play_fleet(work)


def test_a_process_that_cannot_be_ends_no_crawl() -> None:
    """Every process of the crawl looks whether those of its own machine run, by their numbers."""

    async def work(fleet: Fleet) -> None:
        link, here = fleet.link(await fleet.token("w")), myself()
        for pid in (2**40, 0, -1):
            with raises_code(UserError, "invalid_process"):
                await link.ask("enrol", Enrol(process=Process("i", socket.gethostname(), here.place, pid, None), version="1"))
        long = structs.replace(here, host="h" * 10_000)
        for asked in (Enrol(process=long, version="1"), Enrol(process=here, version="1\0")):
            with raises_code(UserError, "invalid_process"):
                await link.ask("enrol", asked)
        named = Credential(name="a/money", provider="x")
        with raises_code(UserError, "invalid") as caught:
            await link.ask("enrol", Enrol(process=here, version="1", credentials=(named,)))
        assert "'a/money'" in str(caught.value)
        async with fleet.scene.database.reading() as tx:
            await registry.dead_workers(tx, 0, fleet.scene.clock.now())

    play_fleet(work)


def test_a_call_put_in_three_ways_at_once_is_settled_in_one() -> None:
    async def work(fleet: Fleet) -> None:
        scene = fleet.scene
        await scene.add("timeline", "1")
        link, me = await fleet.enrolled("w")
        (lease,) = (await link.ask("get", Get(offer=offer(me.worker), once="a"))).leases
        # The first cannot be read at all.
        words = (scene.answer(status=999), scene.answer("posts 3"), scene.answer("posts 4"), scene.answer("posts 5"))
        ended = await link.ask("put", Put(worker=me.worker, calls=tuple(Settle(lease.call, each) for each in words)))
        assert [type(each).__name__ for each in ended.calls].count("Settled") == 1
        assert await scene.calls() == [("settled", "ok")]

    play_fleet(work)


def test_what_is_said_of_a_dropped_call_is_a_word_that_others_know_and_short() -> None:
    async def work(fleet: Fleet) -> None:
        scene = fleet.scene
        await scene.add("timeline", "1")
        link, me = await fleet.enrolled("w")
        (lease,) = (await link.ask("get", Get(offer=offer(me.worker), once="a"))).leases
        loss = Loss("settled", "x" * 100_000, sets_back=True)
        await link.ask("put_error", PutError(worker=me.worker, calls=(Drop(lease.call, loss),)))
        assert await scene.calls() == [("lost", "fault")]
        assert all(len(row["failure"] or "") < 1000 for row in await scene.rows("select failure from tasks"))

    play_fleet(work)


def test_too_much_at_once_is_sent_in_parts_and_too_much_alone_costs_one_call() -> None:
    async def work(fleet: Fleet) -> None:
        scene = fleet.scene
        await scene.add("timeline", *map(str, range(8)))
        link, me = await fleet.enrolled("w")
        source = HttpWorkSource(link)
        work = await source.lease(offer(me.worker, room=8))
        assert isinstance(work, Leased)
        first, *others = work.leases
        answers = [scene.answer(f"posts {lease.call} " + os.urandom(10_000).hex()) for lease in others]
        large = scene.answer("posts 1 " + os.urandom(60_000).hex())
        settled = await asyncio.gather(
            *(source.settle(lease, answer) for lease, answer in zip(others, answers, strict=True)),
            source.settle(first, large),
            return_exceptions=True,
        )
        assert isinstance(settled.pop(), Large)
        assert [each for each in settled if isinstance(each, BaseException)] == []

    play_fleet(work, Sizes(packed=50_000, unpacked=50_000))


def test_who_was_told_to_stop_gets_no_more_calls() -> None:
    async def work(fleet: Fleet) -> None:
        await fleet.scene.add("timeline", "1")
        link, me = await fleet.enrolled("w")
        fleet.desk.coordinator.orders[me.worker] = Orders(stop="asked to stop")
        assert isinstance(await link.ask("get", Get(offer=offer(me.worker), once="a")), Later)
        assert await fleet.scene.calls() == []

    play_fleet(work)


def test_who_takes_and_puts_nothing_cannot_take_for_ever() -> None:
    async def work(fleet: Fleet) -> None:
        await fleet.scene.add("timeline", *map(str, range(600)))
        link, me = await fleet.enrolled("greedy")
        held = 0
        for turn in range(4):
            work = await link.ask("get", Get(offer=offer(me.worker, room=256), once=str(turn)))
            held += len(work.leases) if isinstance(work, Leased) else 0
        assert held == 512
        other, another = await fleet.enrolled("other")
        assert isinstance(await other.ask("get", Get(offer=offer(another.worker), once="a")), Leased)

    play_fleet(work)


def test_an_address_with_a_password_is_refused_and_not_repeated() -> None:
    with raises_code(UserError, "invalid_address") as refused:
        Address(base="https://ada:topsecret@coordinator.example", token="t").check()
    assert "topsecret" not in str(refused.value)
