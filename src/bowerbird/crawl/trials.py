"""Credentials tried before a crawl: one cheap call each shows whether the service takes them, booked like any other call."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from msgspec import Struct, structs

from bowerbird.crawl import roster
from bowerbird.crawl.credentials import how_to_add
from bowerbird.crawl.flavours import SURVEY
from bowerbird.crawl.log import QueryLog
from bowerbird.crawl.sessions import Sessions
from bowerbird.errors import Busy
from bowerbird.model import Answer, Charge, Credential, Outcome, Page, Request, Service
from bowerbird.ports import Clock, Database, Ledgers, Transaction, TriedProvider

_REFUSALS = (Outcome.BAD_TOKEN, Outcome.FORBIDDEN_SCOPE)
_MOMENT = timedelta(seconds=5)
_OTHER_KIND = {"user": "app", "app": "user"}


class Candidate(Struct, frozen=True):
    """A credential to be tried at a service: the call that shows whether it is taken, and what that takes from its limits."""

    speaks: TriedProvider
    service: Service
    credential: Credential
    request: Request
    charges: tuple[Charge, ...]


class Tried(Struct, frozen=True):
    """What a trial showed of a credential."""

    service: Service
    credential: Credential
    outcome: Outcome | None = None
    """None: it was not tried now, for its limit is used up; whoever uses it up is taken."""
    words: str = ""
    """The service's own."""
    answers: tuple[Answer, ...] = ()

    @property
    def is_refused(self) -> bool:
        return self.outcome in _REFUSALS

    @property
    def sentence(self) -> str:
        """What is wrong, for a user."""
        name, place = self.credential.name, self.service.name
        if self.outcome is Outcome.FORBIDDEN_SCOPE:
            return f"{place} does not take the credential {name!r} for one of kind {self.credential.kind} ({self.words})"
        return f"{place} refuses the credential {name!r} ({self.words})"

    @property
    def advice(self) -> str:
        """What to do about it."""
        again = f"bowerbird credentials add {self.credential.name} --provider {self.credential.provider} --replace"
        if self.outcome is Outcome.FORBIDDEN_SCOPE:
            other = _OTHER_KIND.get(self.credential.kind, "user")
            return f"say what it is with: {again} --kind {other}; or {how_to_add(self.service, [self.credential.kind])}"
        return f"it is mistyped, revoked, or another server's; give the right one with: {again}"


class Trier:
    """Tries credentials; with a store, its ledgers are asked first and charged."""

    def __init__(self, sessions: Sessions, clock: Clock, database: Database | None, ledgers: Ledgers | None) -> None:
        self._sessions = sessions
        self._clock = clock
        self._database = database
        self._ledgers = ledgers

    async def tried(self, one: Candidate) -> Tried:
        """Makes the call, unless the limits speak against it now."""
        answers: list[Answer] = []
        outcome, words = await self._once(one, answers)
        if outcome is Outcome.BAD_TOKEN and self._sessions.has_expired(one.credential.name, one.speaks):
            self._sessions.renew(one.credential.name)
            outcome, words = await self._once(one, answers)
        return Tried(one.service, one.credential, outcome, words, tuple(answers))

    async def _once(self, one: Candidate, answers: list[Answer]) -> tuple[Outcome | None, str]:
        if not await self._may_ask(one.charges):
            return None, ""
        answers.append(await self._asked(one))
        await self._hear(one.charges, answers[-1])
        return one.speaks.tried(answers[-1])

    async def _asked(self, one: Candidate) -> Answer:
        signed = await self._sessions.signed(one.request, one.credential.name, one.speaks, one.service)
        return signed if isinstance(signed, Answer) else await self._sessions.transport.send(one.service, signed)

    async def _may_ask(self, charges: Sequence[Charge]) -> bool:
        """Takes one call from the limits, if need be after a moment: between two windows nobody knows which one it is."""
        if self._database is None or self._ledgers is None:
            return True
        at = self._ledgers.when(charges, self._clock.now())
        if at - self._clock.now() > _MOMENT:
            return False
        await self._clock.sleep_until(at)
        now = self._clock.now()
        try:
            async with self._database.transaction() as tx:
                # Spent before it is sent: a process that dies leaves nothing in flight, nothing uncounted.
                await self._ledgers.lost(tx, await self._ledgers.charge(tx, charges, now), now)
        except Busy:
            self._ledgers.forget()
            return False
        return True

    async def _hear(self, charges: Sequence[Charge], answer: Answer) -> None:
        """Learns what an answer says of the limits; it was paid for."""
        if self._database is None or self._ledgers is None:
            return
        paid = [structs.replace(charge, amount=0) for charge in charges]
        try:
            async with self._database.transaction() as tx:
                taken = await self._ledgers.charge(tx, paid, answer.received_at, is_made=True)
                await self._ledgers.settle(tx, taken, Page(outcome=_counted(answer)), answer)
        except Busy:
            self._ledgers.forget()


async def note_trial(tx: Transaction, log: QueryLog, crawl: int, found: Tried, network: str) -> None:
    """Writes the calls of a trial into the query log of a crawl, as its own."""
    service = await roster.enrol_service(tx, found.service, network)
    lane = await roster.enrol_lane(tx, crawl, service, SURVEY)
    for answer in found.answers:
        await log.surveyed(tx, lane, SURVEY, answer, found.outcome or _counted(answer))
        await roster.count(tx, crawl, 0, 0, 0)
    if found.outcome is Outcome.BAD_TOKEN:
        await roster.refuse_credential(tx, found.service.name, found.credential.name, found.words, found.answers[-1].received_at)


def _counted(answer: Answer) -> Outcome:
    """What matters to the account of a limit: whether the server was there, and whether it asked us to slow down."""
    if answer.status == 0:
        return Outcome.UNANSWERED
    return Outcome.RATE_LIMITED if answer.status == 429 else Outcome.OK
