"""What the servers of a crawl are: asked once, remembered with the service, asked again after a while."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

import msgspec
from msgspec import Struct, structs

from bowerbird.clock import from_micros, to_micros
from bowerbird.crawl.access.logins import count_made
from bowerbird.crawl.life import registry
from bowerbird.crawl.life.not_asked import left_out_of
from bowerbird.crawl.process.patience import patiently
from bowerbird.crawl.process.supervisor import fault_words
from bowerbird.crawl.work.bookkeeping import SURVEY, QueryLog, count_call
from bowerbird.errors import Taken
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Answer, Ask, Charge, NotOffered, Outcome, Page, Request, ServerInfo, Service
from bowerbird.ports import Clock, Database, Transaction, Transport
from bowerbird.providers.base import Provider

FRESH = timedelta(days=1)
"""A start later than this asks again: servers are upgraded."""
REMEMBERED = timedelta(days=7)
"""After so long a refusal is no longer held against a server."""
PATIENCE = timedelta(seconds=60)
"""How long one question is waited for."""
_MOST_QUESTIONS = 6
_UNFORESEEN = (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RuntimeError, OSError)
_READ = "select flavour, surveyed_at from services where name = ?"
_KEEP = "update services set flavour = ?, surveyed_at = coalesce(?, surveyed_at) where name = ?"
_flavours = msgspec.json.Decoder(ServerInfo)


class Unknown(Struct, frozen=True):
    """A server to be asked what it is, and what a question to it takes from its limits."""

    speaks: Provider
    service: Service
    charges: tuple[Charge, ...]


class Survey(Struct, frozen=True):
    """What a server answered when it was asked about itself, and what that tells."""

    flavour: ServerInfo
    answers: tuple[Answer, ...]
    fault: str = ""
    """What broke while it was asked; then it is taken for the network's own software."""

    @property
    def failure(self) -> str:
        """Why the server cannot be reached; empty when it answered anything at all."""
        return self.answers[0].failure if self.answers and not any(answer.status for answer in self.answers) else ""


async def survey(
    speaks: Provider,
    transport: Transport,
    service: Service,
    clock: Clock,
    most: int = _MOST_QUESTIONS,
    before: Sequence[Answer] = (),
) -> Survey:
    """Asks a server what it is, without any credential. It always ends, and nothing that the server says breaks it: nobody
    watches over a crawl that has not begun. `before`: what it answered already."""
    answers = list(before)
    try:
        while isinstance(step := speaks.probe_server(answers), Request) and len(answers) < most:
            answers.append(await asked(transport, service, step, clock))
    except Exception as error:
        return Survey(ServerInfo(), tuple(answers), fault_words(error))
    return Survey(step if isinstance(step, ServerInfo) else ServerInfo(), tuple(answers))


async def asked(transport: Transport, service: Service, question: Request, clock: Clock) -> Answer:
    sent_at, answered = clock.now(), asyncio.Event()
    asking = asyncio.ensure_future(transport.send(service, question))
    asking.add_done_callback(lambda _: answered.set())
    try:
        await clock.wait(answered, sent_at + PATIENCE)
        if asking.done():
            return asking.result()
    finally:
        asking.cancel()
    return Answer(status=0, sent_at=sent_at, received_at=clock.now(), failure=f"no answer within {PATIENCE.seconds} s")


async def known_flavour(tx: Transaction, service: str, now: datetime) -> tuple[ServerInfo, bool]:
    """What is remembered of a server, without refusals of long ago, and whether that is fresh."""
    row = await tx.fetch_one(_READ, service)
    if row is None or row["flavour"] is None:
        return ServerInfo(), False
    known = _flavours.decode(row["flavour"])
    lately = {name: told for name, told in known.refused.items() if now - told.at < REMEMBERED}
    at = row["surveyed_at"]
    return structs.replace(known, refused=lately), at is not None and now - from_micros(at) < FRESH


async def keep_flavour(tx: Transaction, service: str, flavour: ServerInfo, surveyed_at: datetime | None) -> None:
    at = None if surveyed_at is None else to_micros(surveyed_at)
    await tx.execute(_KEEP, msgspec.json.encode(flavour).decode(), at, service)


async def keep_refusal(tx: Transaction, service: str, facet: str, words: str, now: datetime) -> ServerInfo:
    """What is known of a server with one more thing that it does not offer."""
    known, _ = await known_flavour(tx, service, now)
    learned = structs.replace(known, refused={**known.refused, facet: NotOffered(words, now)})
    await keep_flavour(tx, service, learned, None)
    return learned


def merged(known: ServerInfo, asked: ServerInfo) -> ServerInfo:
    """What a server says now, with what it refused before if it is still the same."""
    is_same = (known.software, known.version) == (asked.software, asked.version)
    return structs.replace(asked, refused=known.refused) if is_same else asked


class Surveyor:
    """Learns what the servers of a crawl are; its questions are charged like any call without a credential."""

    def __init__(self, database: Database, ledgers: RateLimits, transport: Transport, clock: Clock) -> None:
        self._database = database
        self._ledgers = ledgers
        self._transport = transport
        self._clock = clock
        self._asked: list[tuple[Unknown, Survey]] = []

    async def learn(self, server: Unknown, asked: Mapping[str, Survey]) -> ServerInfo:
        """What the server is: as remembered, or asked now as far as its limits allow it; `asked`: what it was just asked."""
        now, name = self._clock.now(), server.service.name
        async with self._database.transaction() as tx:
            await registry.enrol_service(tx, server.service, server.speaks.network)
            await self._ledgers.load(tx)
            known, is_fresh = await known_flavour(tx, name, now)
            # What it lacked the last time it may have by now.
            is_fresh &= server.speaks.missing_facets(known).keys().isdisjoint(await left_out_of(tx, name))
        before = asked[name].answers if name in asked else ()
        for answer in before:
            await self._surely(partial(self._hear, server, server.charges, answer))
        if is_fresh and not before:
            return known
        found = await self._ask(server, list(before))
        if not found.answers:
            return known
        told = Survey(merged(known, found.flavour) if found.flavour.software else known, found.answers)
        self._asked.append((server, told))
        return told.flavour

    async def book(self, server: Unknown, found: Survey) -> None:
        """Counts what a server was asked outside of a crawl."""
        for answer in found.answers:
            await self._surely(partial(self._hear, server, server.charges, answer))

    async def log(self, tx: Transaction, log: QueryLog, crawl: int) -> int:
        """Keeps what was learned, with the questions in the query log of a crawl as its calls: all of it or nothing. Answers how
        many there were."""
        questions = sum(len(found.answers) for _, found in self._asked)
        for server, found in self._asked:
            service = await registry.enrol_service(tx, server.service, server.speaks.network)
            last = found.answers[-1] if found.answers else None
            # A server that did not answer well this time is asked again at the next start.
            is_well = last is not None and last.status == 200 and bool(found.flavour.software)
            surveyed_at = last.received_at if last is not None and is_well else None
            await keep_flavour(tx, server.service.name, found.flavour, surveyed_at)
            lane = await registry.enrol_lane(tx, crawl, service, SURVEY)
            for answer in found.answers:
                await log.surveyed(tx, lane, SURVEY, answer, of_limits(answer))
                await count_call(tx, crawl)
        self._asked.clear()
        return questions

    async def _ask(self, server: Unknown, answers: list[Answer]) -> Survey:
        """What is left to be asked, each question when the limits allow it; whatever breaks, the crawl goes on without."""
        step: Request | ServerInfo = ServerInfo()
        with suppress(*_UNFORESEEN):
            while isinstance(step := server.speaks.probe_server(answers), Request) and len(answers) < _MOST_QUESTIONS:
                if not await self._may_ask(server):
                    break
                answers.append(await asked(self._transport, server.service, step, self._clock))
                paid = [structs.replace(charge, amount=0) for charge in server.charges]
                await self._surely(partial(self._hear, server, paid, answers[-1]))
        return Survey(step if isinstance(step, ServerInfo) else ServerInfo(), tuple(answers))

    async def _may_ask(self, server: Unknown) -> bool:
        """Waits a moment for the limits, and takes one question from them."""
        now = self._clock.now()
        at = self._ledgers.available_at(server.charges, now)
        if at - now > PATIENCE:
            return False
        await self._clock.sleep_until(at)
        try:
            await self._surely(partial(self._spend, server))
        except Taken:
            return False
        return True

    async def _spend(self, server: Unknown) -> None:
        """Counts a question before it is sent, as answered: a process that dies leaves nothing in flight, nothing uncounted."""
        now = self._clock.now()
        async with self._database.transaction() as tx:
            taken = await self._ledgers.charge(tx, server.charges, now)
            await self._ledgers.settle(tx, taken, Page(), Answer(status=200, sent_at=now, received_at=now))

    async def _hear(self, server: Unknown, charges: Sequence[Charge], answer: Answer) -> None:
        """Learns what an answer says of the limits, and takes from them what is not paid yet."""
        # Limits and refusals look the same whatever was asked.
        page = server.speaks.parse(Ask(next(iter(server.speaks.facets)), ("",)), answer, server.service)
        told = Page(outcome=of_limits(answer), reading=page.reading)
        await count_made(self._database, self._ledgers, charges, told, answer)

    async def _surely(self, book: Callable[[], Awaitable[None]]) -> None:
        await patiently(book, self._clock, lambda why, at: None)


def of_limits(answer: Answer) -> Outcome:
    """What matters to the account of a limit: whether the server was there, and whether it asked us to slow down."""
    if answer.status == 0:
        return Outcome.UNANSWERED
    return Outcome.RATE_LIMITED if answer.status == 429 else Outcome.OK
