"""The renewal of a session is booked like any call, and a login follows it only where the service will not renew."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

import pytest
from msgspec import structs

from bowerbird.clock import RealClock
from bowerbird.crawl.access.logins import BookedLogins
from bowerbird.crawl.access.signing import Caller, Signer
from bowerbird.limits.rate_limits import RateLimits, login_charges, renewal_charges
from bowerbird.model import Answer, Ask, Credential, Lease, Request, Secret, Service
from bowerbird.ports import Database
from bowerbird.providers import Bluesky

CLOCK = RealClock()
PDS = Service(name="pds", provider="bluesky", base="https://pds.example")
OPENED = {"accessJwt": "a2-of-ours", "refreshJwt": "r2-of-ours", "did": f"did:plc:{'a' * 24}"}
RENEWED, LOGGED_IN = "refreshSession", "createSession"


class Host:
    """Answers renewals with one status, opens a session for every login, and remembers what it was asked."""

    def __init__(self, status: int) -> None:
        self._status = status
        self.asked: list[str] = []

    async def send(self, service: Service, request: Request) -> Answer:
        self.asked.append(request.path.rpartition(".")[2])
        is_good = self.asked[-1] == LOGGED_IN or self._status == 200
        body = OPENED if is_good else {"error": "ExpiredToken" if self._status == 400 else "InternalServerError"}
        status = 200 if is_good else self._status
        now = CLOCK.now()
        return Answer(status=status, body=json.dumps(body).encode() if status else b"", sent_at=now, received_at=now)

    async def close(self) -> None:
        """Nothing is open."""


class OneSecret:
    """A vault with one app password whose session has run out; implements `ports.Vault`."""

    def __init__(self) -> None:
        values = {"identifier": "ada.example", "app_password": "abcd-efgh-ijkl-mnop", "access_jwt": "a1", "refresh_jwt": "r1"}
        self._secret = Secret(name="mine", values=values)

    def credentials(self) -> Sequence[Credential]:
        return [Credential(name="mine", provider="bluesky", kind="user", account="ada", servers=(PDS.base,))]

    def secret(self, name: str) -> Secret:
        return self._secret

    def keep(self, secret: Secret) -> None:
        self._secret = secret


async def renewed(database: Database, host: Host, vault: OneSecret) -> Request | Answer:
    ledgers = RateLimits(pace=False)
    async with database.transaction() as tx:
        await ledgers.load(tx)
    charges = partial(login_charges, vault), partial(renewal_charges, vault)
    sessions = Signer(vault, host, CLOCK, BookedLogins(database, ledgers, CLOCK, *charges))
    sessions.renew("mine")
    return await sessions.signed(Request(path="/xrpc/x"), "mine", Bluesky(), PDS)


async def booked(database: Database) -> dict[str, int]:
    async with database.reading() as tx:
        rows = await tx.fetch("select bucket, spent from ledgers where spent > 0")
    return {row["bucket"].removeprefix("pds/"): row["spent"] for row in rows}


async def test_a_session_that_is_renewed_costs_one_call_and_no_login(database: Database) -> None:
    host = Host(200)
    signed = await renewed(database, host, OneSecret())
    assert isinstance(signed, Request)
    assert signed.headers["authorization"] == "Bearer a2-of-ours"
    assert (host.asked, await booked(database)) == ([RENEWED], {"address": 1})


async def test_one_that_has_run_out_for_good_is_opened_anew_and_both_are_booked(database: Database) -> None:
    host = Host(400)
    assert isinstance(await renewed(database, host, OneSecret()), Request)
    assert host.asked == [RENEWED, LOGGED_IN]
    assert await booked(database) == {"address": 1, "account:ada/login": 1, "account:ada/login_day": 1}


@pytest.mark.parametrize("status", [0, 429, 500, 502, 503])
async def test_a_host_that_says_nothing_of_the_session_gets_no_login_on_top(database: Database, status: int) -> None:
    host = Host(status)
    answer = await renewed(database, host, OneSecret())
    assert isinstance(answer, Answer)
    assert (answer.status, host.asked, await booked(database)) == (status, [RENEWED], {"address": 1})


async def test_without_a_token_for_it_nothing_is_renewed(database: Database) -> None:
    host, vault = Host(200), OneSecret()
    known = vault.secret("mine")
    vault.keep(structs.replace(known, values={**known.values, "refresh_jwt": ""}))
    assert isinstance(await renewed(database, host, vault), Request)
    assert host.asked == [LOGGED_IN]
    assert await booked(database) == {"account:ada/login": 1, "account:ada/login_day": 1}


async def test_calls_in_flight_when_a_session_runs_out_are_no_word_against_the_credential() -> None:
    host = Host(200)
    signer = Signer(OneSecret(), host, CLOCK)
    caller = Caller(signer, {PDS.name: Bluesky()}, frozenset({"search"}), lambda: 1)
    first, second, third = (_lease(number) for number in (1, 2, 3))
    await caller.call(first)
    await caller.call(second)
    assert caller.may_have_expired(first)
    caller.renew("mine")
    await caller.call(third)
    assert caller.may_have_expired(second)
    caller.renew("mine")
    assert not caller.may_have_expired(third), "it was signed with the new session"
    await caller.call(_lease(4))
    assert host.asked.count(RENEWED) == 1


def _lease(call: int) -> Lease:
    now = CLOCK.now()
    return Lease(
        call=call,
        worker=1,
        service=PDS,
        ask=Ask("search", ("birds",)),
        request=Request(path="/xrpc/x"),
        tasks=(),
        credential="mine",
        charges=(),
        leased_at=now,
        until=now,
    )
