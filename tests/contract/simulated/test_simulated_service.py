"""The service behind both of its doors: in process in virtual time, and over real HTTP, with the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import aiohttp
import pytest

from bowerbird.clock import VIRTUAL_START, RealClock, VirtualClock, run_virtual
from bowerbird.errors import UserError
from bowerbird.model import Answer, Request, Service
from bowerbird.simulated.faults import Faults
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.serving.transport import NEARBY, InProcessTransport, Network
from bowerbird.simulated.serving.truth_pages import TruthPages
from bowerbird.simulated.world import World, WorldSettings
from failures import raises_code

NOW = datetime(2026, 1, 7, 12, tzinfo=UTC)
DIRECTORY = Request(path="/api/v1/directory")


@cache
def world() -> World:
    return World(WorldSettings(accounts=120))


def service(dialect: str = "mastodon", **rates: float) -> SimulatedService:
    return simulate(Setup(dialect=dialect, faults=Faults(rates=rates), tokens=2, app_tokens=1), world())


def sends(simulated: SimulatedService, requests: list[Request], network: Network = NEARBY) -> list[Answer]:
    async def main(clock: VirtualClock) -> list[Answer]:
        transport = InProcessTransport({"here": simulated}, clock, network)
        there = Service(name="here", provider=simulated.dialect.name, base="http://here")
        return list(await asyncio.gather(*(transport.send(there, request) for request in requests)))

    answers: list[Answer] = run_virtual(main, start=NOW)
    return answers


def test_answers_take_their_time_and_carry_a_date() -> None:
    answer = sends(service(), [DIRECTORY])[0]
    assert answer.status == 200
    assert timedelta(milliseconds=60) <= answer.received_at - answer.sent_at <= timedelta(milliseconds=141)
    assert answer.headers["date"] == "Wed, 07 Jan 2026 12:00:00 GMT"


def test_virtual_runs_are_the_same_every_time() -> None:
    requests = [Request(path="/api/v1/directory", query=(("offset", str(n)),)) for n in range(30)]
    assert sends(service(reset=0.2, truncated=0.1), requests) == sends(service(reset=0.2, truncated=0.1), requests)


@pytest.mark.parametrize("kind", ["lost_before", "lost_after"])
def test_a_lost_answer_comes_back_failed_after_the_timeout(kind: str) -> None:
    answer = sends(service(**{kind: 1.0}), [DIRECTORY])[0]
    assert (answer.status, answer.received_at - answer.sent_at) == (0, timedelta(seconds=30))
    assert "30 s" in answer.failure


def test_broken_connections_are_failures_without_status() -> None:
    reset, cut = (sends(service(**{kind: 1.0}), [DIRECTORY])[0] for kind in ("reset", "cut"))
    assert (reset.status, cut.status) == (0, 0)
    assert reset.failure
    assert cut.failure
    assert reset.failure != cut.failure


def test_a_service_that_is_not_there_is_a_failure() -> None:
    async def main(clock: VirtualClock) -> Answer:
        nowhere = Service(name="nowhere", provider="mastodon", base="http://x")
        return await InProcessTransport({}, clock).send(nowhere, DIRECTORY)

    answer = run_virtual(main)
    assert (answer.status, "nowhere" in answer.failure) == (0, True)


def test_the_audit_counts_what_was_allowed_used_and_refused() -> None:
    simulated = simulate(Setup(scale=Scale(limits=0.01)), world())
    sends(simulated, [DIRECTORY] * 5)
    audit = simulated.audit()
    assert (audit["calls"], audit["refused"], audit["over_limit"]) == (5, 2, 2)
    assert audit["buckets"]["throttle_unauthenticated_api"] == {
        "windows": 1,
        "allowed": 3,
        "used": 3,
        "refused": 2,
        "over_limit": 2,
    }
    assert audit["statuses"] == {"200": 3, "429": 2}


def test_windows_can_be_made_short() -> None:
    simulated = simulate(Setup(scale=Scale(windows=0.02)), world())
    reply = simulated.receive(DIRECTORY, NOW).reply
    assert reply.headers["x-ratelimit-reset"] == "2026-01-07T12:00:06.000000Z"


def test_unknown_dialects_are_refused_with_advice() -> None:
    with raises_code(UserError, "unknown_name") as caught:
        simulate(Setup(dialect="gopher"), world())
    assert "'gopher'" in caught.value.problem
    assert all(dialect in caught.value.advice for dialect in ("mastodon", "twitter_v1"))


# --- over HTTP ------------------------------------------------------------------------------------------------------


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


def today() -> datetime:
    return RealClock().now()


@cache
def living_world() -> World:
    return World(WorldSettings(accounts=120, start=today()))


def requests(simulated: SimulatedService) -> list[Request]:
    keys = [simulated.dialect.account_key(account) for account in range(12)]
    if simulated.dialect.name == "mastodon":
        batch = Request(path="/api/v1/accounts", query=tuple(("id[]", key) for key in keys))
        return [batch, *(Request(path=f"/api/v1/accounts/{key}/statuses", query=(("limit", "5"),)) for key in keys)]
    headers = {"Authorization": f"Bearer {[token.value for token in simulated.tokens][-1]}"}
    show = [Request(path="/1.1/users/show.json", query=(("user_id", key),), headers=headers) for key in keys]
    form = f"user_id={','.join(keys)}".encode()
    post = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
    return [Request(path="/1.1/users/lookup.json", method="POST", body=form, headers=post), *show]


@pytest.mark.parametrize("dialect", ["mastodon", "twitter_v1"])
async def test_http_and_in_process_give_the_same_answers(dialect: str, session: aiohttp.ClientSession) -> None:
    setup = Setup(dialect=dialect, tokens=1, app_tokens=1)
    over_http, in_process, clock = simulate(setup, living_world()), simulate(setup, living_world()), RealClock()
    transport = InProcessTransport({"here": in_process}, clock, Network(least=timedelta(0), jitter=timedelta(0)))
    async with serve(over_http, clock) as base:
        in_process.is_at(base)
        for request in requests(over_http):
            answer = await transport.send(Service(name="here", provider=dialect, base=base), request)
            async with session.request(
                request.method, base + request.path, params=request.query, headers=request.headers, data=request.body or None
            ) as response:
                assert (response.status, await response.read()) == (answer.status, answer.body)
                names = {name.lower() for name in response.headers} - {"server", "content-length"}
                assert names == set(answer.headers)


@pytest.mark.parametrize("kind", ["reset", "cut"])
async def test_broken_connections_really_break(kind: str, session: aiohttp.ClientSession) -> None:
    async with serve(service(**{kind: 1.0}), RealClock()) as base:
        with pytest.raises(aiohttp.ClientError):
            async with session.get(f"{base}/api/v1/directory") as response:
                await response.read()


async def test_a_lost_answer_never_comes(session: aiohttp.ClientSession) -> None:
    async with serve(service(lost_after=1.0), RealClock()) as base:
        with pytest.raises(TimeoutError):
            await session.get(f"{base}/api/v1/directory", timeout=aiohttp.ClientTimeout(total=0.1))


async def test_a_taken_port_is_refused_with_advice() -> None:
    async with serve(service(), RealClock()) as base:
        port = base.rsplit(":", 1)[1]
        with pytest.raises(UserError) as caught:
            async with serve(service(), RealClock(), port=int(port)):
                pass
        assert port in caught.value.problem
        assert "--port" in caught.value.advice


async def test_the_truth_is_told_over_http(session: aiohttp.ClientSession) -> None:
    async def ask(path: str) -> Any:
        async with session.get(f"{base}/_simulated/{path}") as response:
            return await response.json()

    simulated = simulate(Setup(), living_world())
    async with serve(simulated, RealClock()) as base:
        chosen = await ask("accounts?count=3&writers=true")
        assert len(chosen) == 3
        truth = await ask(f"truth/{chosen[0]['key']}")
        assert truth["handle"] == chosen[0]["handle"]
        assert set(truth) >= {"posts", "followers", "following", "availability", "post_count"}
        assert (await ask("truth"))["accounts"] == 120
        assert (await ask("audit"))["calls"] == 0
        assert "17" in (await ask("truth/17"))["error"]
        assert "/_simulated/audit" in (await ask("nonsense"))["error"]
        for path in ("truth/17", "nonsense"):
            async with session.get(f"{base}/_simulated/{path}") as response:
                assert response.status == 404


def test_the_truth_is_told_on_the_same_machine_only() -> None:
    reply = TruthPages(service()).handle(Request(path="/_simulated/audit"), NOW, "203.0.113.9")
    assert reply.status == 403


def test_a_token_can_be_revoked_from_outside() -> None:
    simulated = service()
    token = next(iter(simulated.tokens)).value
    request = Request(path=f"/_simulated/tokens/{token}", method="POST", query=(("state", "revoked"),))
    assert TruthPages(simulated).handle(request, NOW, "127.0.0.1").status == 200
    asked = Request(path="/api/v1/directory", headers={"Authorization": f"Bearer {token}"})
    assert simulated.receive(asked, NOW).reply.status == 401


def test_the_world_of_virtual_time_starts_when_virtual_time_does() -> None:
    assert WorldSettings().start == VIRTUAL_START
