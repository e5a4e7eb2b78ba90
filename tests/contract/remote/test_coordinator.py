"""What a coordinator promises its workers beyond what every work source does, over HTTP on loopback."""

from __future__ import annotations

import asyncio
import datetime
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from fleet_scene import FACETS, Fleet, play_fleet
from starlette.applications import Starlette
from work_scene import MINUTE, SECOND

from bowerbird.crawl.life import controls, registry
from bowerbird.crawl.process.workers.identity import myself
from bowerbird.errors import Busy, Failure, Fenced, UserError
from bowerbird.model import CrawlState, Credential, Later, Leased, Loss, Offer
from bowerbird.remote import tokens
from bowerbird.remote.bodies import Sizes
from bowerbird.remote.routes import fleet_routes
from bowerbird.remote.tokens import TokenCheck
from bowerbird.remote.wire import Beat, Drop, Dropped, Endings, Enrol, Get, Put, PutError, Refused, Settle, Settled
from bowerbird.remote.worker.client import HttpWorkSource
from bowerbird.remote.worker.link import Address, Link
from bowerbird.transport.serving import Listening, serving
from failures import raises_code


def offer(worker: int, room: int = 1) -> Offer:
    return Offer(worker=worker, room=room, credentials=frozenset({"key"}), facets=FACETS)


def test_one_put_may_carry_many_calls_and_one_get_hand_out_calls_of_several_facets() -> None:
    async def work(fleet: Fleet) -> None:
        await fleet.scene.add("timeline", "1", "2", "3")
        await fleet.scene.add("profile", "4", "5")
        link, me = await fleet.enrolled("w")
        got = await link.ask("get", Get(offer=offer(me.worker, 9), once="a"))
        assert sorted(lease.ask.facet for lease in got.leases) == ["profile", "timeline", "timeline", "timeline"]
        calls = tuple(Settle(lease.call, fleet.scene.answer(f"posts {lease.call}")) for lease in got.leases)
        ended: Endings = await link.ask("put", Put(worker=me.worker, calls=calls))
        assert [type(each) for each in ended.calls] == [Settled] * 4
        assert set(await fleet.scene.calls()) == {("settled", "ok")}

    play_fleet(work)


def test_what_is_put_twice_is_settled_once_and_said_twice() -> None:
    async def work(fleet: Fleet) -> None:
        await fleet.scene.add("timeline", "1")
        link, me = await fleet.enrolled("w")
        (lease,) = (await link.ask("get", Get(offer=offer(me.worker), once="a"))).leases
        put = Put(worker=me.worker, calls=(Settle(lease.call, fleet.scene.answer("posts 3 4")),))
        first, second = await asyncio.gather(link.ask("put", put), link.ask("put", put))
        third: Endings = await link.ask("put", put)
        assert first == second == third
        assert first.calls[0].report.new_posts == 2
        other: Endings = await link.ask("put", Put(worker=me.worker, calls=(Settle(lease.call, fleet.scene.answer("posts 5")),)))
        assert isinstance(other.calls[0], Refused)
        assert other.calls[0].kind == "fenced"
        assert await fleet.scene.posts() == ["x:3", "x:4"]
        assert await fleet.scene.calls() == [("settled", "ok")]

    play_fleet(work)


def test_who_did_not_hear_the_answer_and_asks_again_gets_the_same_calls() -> None:
    async def work(fleet: Fleet) -> None:
        await fleet.scene.add("timeline", "1", "2")
        link, me = await fleet.enrolled("w")
        first = await link.ask("get", Get(offer=offer(me.worker), once="a"))
        assert await link.ask("get", Get(offer=offer(me.worker), once="a")) == first
        assert await link.ask("get", Get(offer=offer(me.worker), once="b")) != first
        assert len(await fleet.scene.calls()) == 2
        await fleet.scene.wait(2 * MINUTE)
        # Too little is left of the lease to begin the call.
        again = await link.ask("get", Get(offer=offer(me.worker), once="b"))
        assert isinstance(again, Later)

    play_fleet(work)


def test_what_a_dead_worker_held_is_handed_on_at_once_and_its_late_answer_refused() -> None:
    async def work(fleet: Fleet) -> None:
        scene = fleet.scene
        await scene.add("timeline", "1")
        link, late = await fleet.enrolled("late")
        (lease,) = (await link.ask("get", Get(offer=offer(late.worker), once="a"))).leases
        await scene.kill(late.worker)
        await fleet.desk.look()
        other, me = await fleet.enrolled("other")
        await other.ask("wake")
        (again,) = (await other.ask("get", Get(offer=offer(me.worker), once="a"))).leases
        assert again.tasks[0].target == lease.tasks[0].target
        put = Put(worker=late.worker, calls=(Settle(lease.call, scene.answer("posts 3")),))
        assert (await link.ask("put", put)).calls[0].kind == "fenced"
        await other.ask("put", Put(worker=me.worker, calls=(Settle(again.call, scene.answer("posts 4")),)))
        assert await scene.posts() == ["x:4"]
        with pytest.raises(Fenced):
            await link.ask("heartbeat", Beat(worker=late.worker))

    play_fleet(work)


def test_a_worker_that_is_just_being_answered_counts_as_out_so_that_an_end_waits_for_its_calls() -> None:
    async def work(fleet: Fleet) -> None:
        await fleet.scene.add("timeline", "1")
        _, me = await fleet.enrolled("w")
        coordinator = fleet.desk.coordinator
        getting = asyncio.create_task(coordinator.get(Get(offer=offer(me.worker), once="a")))
        await asyncio.sleep(0)
        assert (getting.done(), coordinator.in_flight) == (False, 1)
        assert isinstance(await getting, Leased)
        assert coordinator.in_flight == 1

    play_fleet(work)


def test_nobody_ends_the_calls_of_another_worker() -> None:
    async def work(fleet: Fleet) -> None:
        scene = fleet.scene
        await scene.add("timeline", "1")
        link, mine = await fleet.enrolled("mine")
        other, theirs = await fleet.enrolled("theirs")
        (lease,) = (await link.ask("get", Get(offer=offer(mine.worker), once="a"))).leases
        with pytest.raises(Fenced):
            await other.ask("put", Put(worker=mine.worker, calls=(Settle(lease.call, scene.answer("posts 3")),)))
        put = Put(worker=theirs.worker, calls=(Settle(lease.call, scene.answer("posts 3")),))
        assert isinstance((await other.ask("put", put)).calls[0], Refused)
        dropped = PutError(worker=theirs.worker, calls=(Drop(lease.call, Loss("fault", "mine")),))
        assert (await other.ask("put_error", dropped)).calls == (Dropped(0),)
        assert await scene.calls() == [("flying", None)]

    play_fleet(work)


def test_pauses_and_stops_reach_a_worker_with_its_next_heartbeat() -> None:
    async def work(fleet: Fleet) -> None:
        scene = fleet.scene
        await scene.add("timeline", "1")
        link, me = await fleet.enrolled("w")
        crawl = (await scene.rows("select crawl from crawls"))[0]["crawl"]

        async def wish(wanted: CrawlState) -> None:
            async with scene.database.transaction() as tx:
                await controls.wish(tx, crawl, controls.Kind.WORKER, "w", wanted, scene.clock.now())
            await fleet.desk.look()

        await wish(CrawlState.PAUSED)
        assert (await link.ask("heartbeat", Beat(worker=me.worker))).is_paused
        assert isinstance(await link.ask("get", Get(offer=offer(me.worker), once="a")), Later)
        await wish(CrawlState.RUNNING)
        assert not (await link.ask("heartbeat", Beat(worker=me.worker))).is_paused
        assert isinstance(await link.ask("get", Get(offer=offer(me.worker), once="a")), Leased)
        await wish(CrawlState.STOPPED)
        assert (await link.ask("heartbeat", Beat(worker=me.worker))).stop is not None
        async with scene.database.transaction() as tx:
            await registry.set_wanted(tx, crawl, CrawlState.PAUSED, scene.clock.now())
        await fleet.desk.look()
        # Started again, it is to run; but the whole crawl is paused by now.
        asked = Enrol(process=myself(), version="1")
        again = await link.ask("enrol", asked)
        assert (again.orders.stop, again.orders.is_paused) == ("", True)

    play_fleet(work)


def test_a_token_is_taken_until_it_is_revoked_and_only_its_hash_is_kept() -> None:
    async def work(fleet: Fleet) -> None:
        scene = fleet.scene
        token = await fleet.token("w")
        await fleet.enrolled("w", token=token)
        (row,) = await scene.rows("select * from worker_tokens")
        assert token not in str(dict(row))
        assert row["seen_at"] is not None
        for wrong in (token[:-1], "w.", "", "stranger.x", token + "x"):
            with raises_code(UserError, "token_refused"):
                await fleet.enrolled("w", token=wrong or "-")
        async with scene.database.transaction() as tx:
            await tokens.revoke(tx, "w", scene.clock.now())
            with raises_code(UserError, "unknown_worker") as caught:
                await tokens.revoke(tx, "w", scene.clock.now())
            assert "'w'" in str(caught.value)
        await scene.wait(3 * SECOND)
        with raises_code(UserError, "token_refused"):
            await fleet.enrolled("w", token=token)

    play_fleet(work)


def test_two_credentials_of_one_name_are_refused() -> None:
    async def work(fleet: Fleet) -> None:
        link, (one, other) = (
            fleet.link(await fleet.token("w")),
            (Credential(name="mine", provider="x", account=account) for account in ("a", "b")),
        )
        await link.ask("enrol", Enrol(process=myself(), version="1", credentials=(one,)))
        assert fleet.desk.has_new.is_set()
        with raises_code(UserError, "already_exists") as caught:
            await link.ask("enrol", Enrol(process=myself(), version="1", credentials=(other,)))
        assert "'mine'" in str(caught.value)

    play_fleet(work)


async def _refused(fleet: Fleet, path: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, Failure]:
    """The status of an answer, and what it says is wrong."""
    with fleet.scene.clock.outside():
        async with aiohttp.ClientSession() as session, session.post(fleet.base + path, headers=headers, data=body) as answer:
            told = await answer.json()
            return answer.status, Failure(told["code"], told["problem"], told["advice"])


def test_whoever_speaks_another_version_hears_which_of_the_two_to_upgrade() -> None:
    async def work(fleet: Fleet) -> None:
        headers = {"authorization": f"Bearer {await fleet.token('w')}", "accept": "application/json"}
        for path, version, expected, upgrades_coordinator in (
            ("/fleet/v1/get", "9", 426, True),
            ("/fleet/v1/get", "0", 426, False),
            ("/fleet/v7/get", "7", 404, True),
        ):
            status, error = await _refused(fleet, path, headers | {"bowerbird-wire": version})
            assert (status, error.code, version in error.problem) == (expected, "wrong_version", True)
            assert ("coordinator" in error.advice) == upgrades_coordinator
        status, error = await _refused(fleet, "/fleet/v1/get", headers)
        assert (status, error.code, "bowerbird-wire" in error.problem) == (426, "missing_header", True)

    play_fleet(work)


def test_bodies_are_bounded_before_and_after_they_are_unpacked() -> None:
    async def work(fleet: Fleet) -> None:
        import zlib

        headers = {"authorization": f"Bearer {await fleet.token('w')}", "bowerbird-wire": "1", "accept": "application/json"}
        status, error = await _refused(fleet, "/fleet/v1/put", headers, b"x" * 3000)
        assert (status, error.code, "2,000" in error.problem) == (413, "too_large", True)
        bomb = zlib.compress(bytes(1_000_000), wbits=31)
        assert len(bomb) < 2000
        status, error = await _refused(fleet, "/fleet/v1/put", headers | {"content-encoding": "gzip"}, bomb)
        assert (status, error.code, "5,000" in error.problem) == (413, "too_large", True)
        for broken in (b"\x01\x02", b"{}"):
            status, error = await _refused(fleet, "/fleet/v1/put", headers | {"content-type": "application/json"}, broken)
            assert (status, error.code, "/fleet/v1/put" in error.problem) == (400, "invalid_body", True)
        status, error = await _refused(fleet, "/fleet/v1/put", headers | {"content-encoding": "br"}, b"{}")
        assert (status, error.code, "'br'" in error.problem) == (400, "invalid_body", True)

    play_fleet(work, Sizes(packed=2000, unpacked=5000))


def test_a_worker_goes_by_the_time_of_its_coordinator_and_says_when_it_cannot_reach_it() -> None:
    async def work(fleet: Fleet) -> None:
        link, me = await fleet.enrolled("w")
        source = HttpWorkSource(link)
        assert me.crawl == "crawl"
        assert me.orders.facets == FACETS
        assert not isinstance(await source.lease(offer(me.worker)), Leased)
        assert (await source.wake()).stuck is None
        assert fleet.desk.workers == {me.worker: "w"}
        await link.ask("leave", Beat(worker=me.worker))
        assert fleet.desk.workers == {}
        assert timedelta(0) == fleet.scene.clock.correction()

    play_fleet(work)


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody but its maker trusts, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "coordinator")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    shape = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(*shape))
    return folder / "cert.pem", folder / "key.pem"


def test_with_tls_a_worker_trusts_the_certificates_it_is_told_to_and_no_others(tmp_path: Path) -> None:
    certificate, key = _certificate(tmp_path)

    async def work(fleet: Fleet) -> None:
        app = Starlette(routes=fleet_routes(fleet.desk, TokenCheck(fleet.scene.database, fleet.scene.clock), fleet.scene.clock))
        where = Listening(certificate=certificate, key=key)
        base = await fleet.scene.ends.enter_async_context(serving(app, where))
        assert base.startswith("https://127.0.0.1:")
        token, asked = await fleet.token("w"), Enrol(process=myself(), version="1")
        stranger, friend = (
            Link(Address(base=base, token=token, authority=each), fleet.scene.clock) for each in (None, certificate)
        )
        with raises_code(Busy, "database_busy") as caught:
            await stranger.ask("enrol", asked)
        assert "CERTIFICATE_VERIFY_FAILED" in str(caught.value)
        assert "--ca" in str(caught.value)
        assert (await friend.ask("enrol", asked)).crawl == "crawl"
        await stranger.close()
        await friend.close()

    play_fleet(work)
