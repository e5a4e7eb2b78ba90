"""Real refusals: a stranger behind the same address uses up the limit, and a password is tried too often."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from crawls import Crawls
from msgspec import Struct
from network import Network

from bowerbird.app import open_store
from bowerbird.clock import from_micros
from bowerbird.model import Answer, Ask, Outcome, Request, Secret, Service
from bowerbird.ports import Clock
from bowerbird.providers import Bluesky
from bowerbird.transport import HttpTransport

POINTS = 100
WINDOW = timedelta(seconds=8)
FLOW = 'seeds = ["records"]\n[flow.facets.records]\nhints = {limit = "10"}\n'
_ENOUGH = 25
_AT_ONCE = timedelta(seconds=2)
"""Calls that were on their way together are refused together."""
_LOGINS = 30
_REFUSED = "select received_at from calls where outcome = 'rate_limited' order by received_at"
_AFTER = "select count(*) as calls from calls where outcome = 'ok' and sent_at > ?"
_LEDGER = "select allowance, refused from ledgers where bucket like '%/address'"


class Refusals(Struct, frozen=True):
    """How a crawl met refusals."""

    times: tuple[datetime, ...]
    answered_after: int
    """Calls that went well after the last refusal."""
    allowance: int
    """What the ledger has learned about the limit."""

    def complaints(self) -> list[str]:
        """What was not as it must be."""
        found = []
        if not self.times:
            found.append("nothing was refused although a stranger used up the limit")
        elif self.times[-1] - self.times[0] > _AT_ONCE:
            found.append(f"refused again after it should have known better: {[f'{time:%H:%M:%S.%f}' for time in self.times]}")
        if not self.answered_after:
            found.append("no call went well after the refusal")
        if self.allowance != POINTS:
            found.append(f"the ledger believes in {self.allowance} calls a window; the headers said {POINTS}")
        return found


async def crawl_beside_a_stranger(crawls: Crawls, file: Path, network: Network, clock: Clock) -> Refusals:
    """Runs a crawl under a tight limit; once it is well under way, somebody else takes all that is left of a window."""
    await network.command("limit", points=POINTS, seconds=int(WINDOW.total_seconds()))
    crawl = asyncio.create_task(crawls.run(file))
    try:
        while not crawl.done() and await crawls.calls(file) < _ENOUGH:
            await crawls.pause(timedelta(milliseconds=100))
        # A window in which the crawl only waits teaches it nothing: the stranger comes back until one is met.
        while not crawl.done() and not await crawls.refusals(file):
            await _use_up(network, clock)
            await crawls.pause(timedelta(milliseconds=500))
        await crawl
    finally:
        crawl.cancel()
    return await _met(crawls.store(file), clock)


async def _use_up(network: Network, clock: Clock) -> None:
    service = Service(name="stranger", provider="bluesky", base=network.pds)
    transport = HttpTransport(clock, "a stranger")
    try:
        for _ in range(POINTS + 1):
            answer = await transport.send(service, Request(path="/xrpc/com.atproto.server.describeServer"))
            if answer.status == 429:
                return
    finally:
        await transport.close()


async def _met(store: str, clock: Clock) -> Refusals:
    async with open_store(store, clock) as database, database.reading() as tx:
        micros = [row["received_at"] for row in await tx.fetch(_REFUSED)]
        after: Any = await tx.fetch_one(_AFTER, micros[-1] if micros else 0)
        ledger: Any = await tx.fetch_one(_LEDGER)
    return Refusals(tuple(map(from_micros, micros)), after["calls"], ledger["allowance"])


async def log_in_too_often(network: Network, identifier: str, password: str, clock: Clock) -> list[str]:
    """One login more than a host allows in five minutes; complaints if the refusal is not understood as one."""
    service = Service(name="host", provider="bluesky", base=network.pds)
    secret = Secret(name="reader", values={"identifier": identifier, "app_password": password})
    provider, transport = Bluesky(), HttpTransport(clock, "bowerbird test")
    try:
        answers = [await transport.send(service, provider.login(secret)) for _ in range(_LOGINS + 1)]
    finally:
        await transport.close()
    opened = [answer for answer in answers if provider.session(secret, answer)]
    page = provider.parse(Ask("status", ("did:plc:nobody",)), answers[-1], service)
    complaints = _misread(page.outcome, answers[-1])
    if page.reading is None or page.reading.remaining != 0 or page.retry_after is None:
        complaints.append(f"the limit was not read: {page.reading}, retry after {page.retry_after}")
    if len(opened) < _LOGINS - 1:
        complaints.append(f"only {len(opened)} of {_LOGINS} logins opened a session")
    return complaints


def _misread(outcome: Outcome, answer: Answer) -> list[str]:
    is_right = outcome is Outcome.RATE_LIMITED and answer.status == 429
    return [] if is_right else [f"login {_LOGINS + 1} was answered {answer.status} and read as {outcome}"]
