"""Credentials tried before a crawl: one cheap call each shows whether the service takes them, booked like any other call."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from msgspec import Struct, structs

from bowerbird.crawl.access.how_to_add import how_to_add, renew_line
from bowerbird.crawl.access.logins import count_made
from bowerbird.crawl.access.signing import Signer
from bowerbird.crawl.access.surveys import of_limits
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.patience import patiently
from bowerbird.crawl.work.bookkeeping import SURVEY, QueryLog, Timings, count_call
from bowerbird.errors import Taken
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Answer, Answered, Ask, Call, Charge, Credential, Outcome, Page, Request, Service
from bowerbird.ports import Clock, Database, Transaction
from bowerbird.providers.base import Provider

_REFUSALS = (Outcome.BAD_TOKEN, Outcome.FORBIDDEN_SCOPE)
_MOMENT = timedelta(seconds=5)
_LEASE = timedelta(minutes=2)
"""Longer than any answer is waited for."""
_OTHER_KIND = {"user": "app", "app": "user"}


class Candidate(Struct, frozen=True):
    """A credential to be tried at a service: the call that shows whether it is taken, and what that takes from its limits."""

    speaks: Provider
    service: Service
    credential: Credential
    request: Request
    charges: tuple[Charge, ...]
    taken: tuple[str, ...] = ()
    """The names that new credentials cannot have."""


class Tried(Struct, frozen=True):
    """What a trial showed of a credential."""

    service: Service
    credential: Credential
    outcome: Outcome | None = None
    """None: not tried now, because its limit is used up. A credential that used up its limit works."""
    words: str = ""
    """The service's own."""
    answers: tuple[Answer, ...] = ()
    taken: tuple[str, ...] = ()

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
        again = renew_line(self.credential.name, self.credential.provider)
        if self.outcome is Outcome.FORBIDDEN_SCOPE:
            other = _OTHER_KIND.get(self.credential.kind, "user")
            return (
                f"say what it is with: {again} --kind {other}; or {how_to_add(self.service, [self.credential.kind], self.taken)}"
            )
        return f"it is mistyped, revoked, or another server's; give the right one with: {again}"


class BookedTrials(Protocol):
    """Where trials are booked."""

    async def begin(self, one: Candidate) -> Call | None:
        """Before the call is sent; None when the limits speak against it now."""
        ...

    async def end(self, call: Call, answer: Answer, outcome: Outcome) -> None: ...


class Trier:
    """Tries credentials, each with one call, or with two where a session has expired."""

    def __init__(self, signer: Signer, trials: BookedTrials | None) -> None:
        self._signer = signer
        self._trials = trials

    async def tried(self, one: Candidate) -> Tried:
        """Makes the call, unless the limits speak against it now."""
        answers: list[Answer] = []
        outcome, words = await self._once(one, answers)
        if outcome is Outcome.BAD_TOKEN and self._signer.may_have_expired(one.credential.name, one.speaks):
            self._signer.renew(one.credential.name)
            outcome, words = await self._once(one, answers)
        return Tried(one.service, one.credential, outcome, words, tuple(answers), one.taken)

    async def _once(self, one: Candidate, answers: list[Answer]) -> tuple[Outcome | None, str]:
        lease = await self._trials.begin(one) if self._trials else None
        if self._trials and lease is None:
            return None, ""
        answer = await self._asked(one)
        answers.append(answer)
        outcome, words = one.speaks.credential_outcome(answer)
        # Whom it asks about may be nobody: to say so, the service took the credential.
        outcome = Outcome.OK if outcome.is_about_target else outcome
        if self._trials and lease:
            await self._trials.end(lease, answer, outcome or of_limits(answer))
        return outcome, words

    async def _asked(self, one: Candidate) -> Answer:
        signed = await self._signer.signed(one.request, one.credential.name, one.speaks, one.service)
        return signed if isinstance(signed, Answer) else await self._signer.transport.send(one.service, signed)


class CalledTrials:
    """Implements `BookedTrials` for a crawl: a trial is a call of it, charged and logged before it is sent, lost with its process
    like any other."""

    def __init__(self, database: Database, ledgers: RateLimits, log: QueryLog, crawl: int, clock: Clock) -> None:
        self._database = database
        self._ledgers = ledgers
        self._log = log
        self._crawl = crawl
        self._clock = clock

    async def begin(self, one: Candidate) -> Call | None:
        if not await _is_time(self._ledgers, one.charges, self._clock):
            return None
        try:
            return await patiently(partial(self._begun, one), self._clock, lambda why, at: None)
        except Taken:
            return None

    async def _begun(self, one: Candidate) -> Call:
        async with self._database.transaction() as tx:
            return await self._charged(tx, one, self._clock.now())

    async def _charged(self, tx: Transaction, one: Candidate, now: datetime) -> Call:
        # As a settle does: first what is known of the service, then its limits.
        service = await registry.enrol_service(tx, one.service, one.speaks.network)
        lane = await registry.enrol_lane(tx, self._crawl, service, SURVEY)
        taken = await self._ledgers.charge(tx, one.charges, now)
        call = _call(one, tuple(taken), now, self._log.me())
        return structs.replace(call, call=await self._log.begin(tx, lane, call))

    async def end(self, call: Call, answer: Answer, outcome: Outcome) -> None:
        await patiently(partial(self._ended, call, answer, outcome), self._clock, lambda why, at: None)

    async def _ended(self, call: Call, answer: Answer, outcome: Outcome) -> None:
        async with self._database.transaction() as tx:
            # Taken for lost by others, it has been booked by them.
            if await self._log.end(tx, Answered(call, answer, Page(outcome=outcome)), Timings(), self._clock.now()):
                await self._ledgers.settle(tx, call.charges, Page(outcome=of_limits(answer)), answer)
                await count_call(tx, self._crawl)


class CountedTrials:
    """Implements `BookedTrials` where there is a store and no crawl to log anything: counted when the answer is there."""

    def __init__(self, database: Database, ledgers: RateLimits, clock: Clock) -> None:
        self._database = database
        self._ledgers = ledgers
        self._clock = clock

    async def begin(self, one: Candidate) -> Call | None:
        is_time = await _is_time(self._ledgers, one.charges, self._clock)
        return _call(one, one.charges, self._clock.now()) if is_time else None

    async def end(self, call: Call, answer: Answer, outcome: Outcome) -> None:
        counted = partial(count_made, self._database, self._ledgers, call.charges, Page(outcome=of_limits(answer)), answer)
        await patiently(counted, self._clock, lambda why, at: None)


async def _is_time(ledgers: RateLimits, charges: Sequence[Charge], clock: Clock) -> bool:
    """Whether the limits allow a call, if need be after a moment: between two windows nobody knows which one it is."""
    at = ledgers.available_at(charges, clock.now())
    if at - clock.now() > _MOMENT:
        return False
    await clock.sleep_until(at)
    return True


def _call(one: Candidate, charges: tuple[Charge, ...], now: datetime, worker: int = 0) -> Call:
    return Call(
        worker=worker, ask=Ask(SURVEY, ()), credential=one.credential.name, charges=charges, leased_at=now, until=now + _LEASE
    )
