"""Signs requests and sends them: the one place where a secret leaves the vault, and only towards a server that it belongs to.

Some services' credentials must first be turned into a session (Bluesky's app passwords). A session is kept in the
vault, so that a process which is killed and started again does not log in again and again: logins have tight limits of their
own. An expired session is renewed once; one refused at once after a login means that the credential is bad.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from msgspec import structs

from bowerbird.crawl.access.logins import BookedLogins
from bowerbird.crawl.access.ownership import check_belongs
from bowerbird.crawl.access.redaction import DiscreetTransport, Redactor
from bowerbird.errors import CredentialError
from bowerbird.model import Answer, Credential, Later, Lease, Offer, Outcome, Request, Secret, Service, origin
from bowerbird.ports import Clock, Transport, Vault
from bowerbird.providers.base import Provider

FRESH = timedelta(minutes=1)
"""A session refused sooner than this after its login will not get better by another one."""
_TOO_MANY = 429
_TOO_MANY_LOGINS = "too many logins"


class Signer:
    """Signs with each credential: with its secret as the vault has it, or with the session that it opens."""

    def __init__(self, vault: Vault, transport: Transport, clock: Clock, logins: BookedLogins | None = None) -> None:
        """`logins` keeps the account of logins; without it they are not counted."""
        self._vault = vault
        self._redactor = Redactor()
        self.transport = DiscreetTransport(transport, self._redactor)
        """The way for everything that is signed here: no answer that it brings repeats a secret."""
        self._transport = transport
        self._clock = clock
        self._logins = logins
        self._locks: dict[str, asyncio.Lock] = {}
        self._opened_at: dict[str, datetime] = {}
        self._stale: set[str] = set()
        self._unopened: set[str] = set()
        """Credentials whose last login failed."""
        self._closed: dict[str, datetime] = {}

    async def signed(
        self, request: Request, credential: str, provider: Provider, service: Service, host: Service | None = None
    ) -> Request | Answer:
        """The request with what shows who asks, or the service's answer to a login that failed.

        `host` is where the request goes, if not to the service itself. Raises `CredentialError` where the secret does not belong.
        """
        place = host or service
        owner = self._owner(credential)
        # With the path: what is compared is the very address that will be asked.
        if not owner.belongs_to(address := place.base + request.path):
            check_belongs(owner, address)
        secret = await self._secret(owner, provider, service)
        if isinstance(secret, Answer):
            return secret
        if provider.needs_login(secret) and origin(place.base) != origin(service.base):
            raise CredentialError(
                f"the session of {credential!r} was opened at {service.base} and is not sent to {place.base}",
                "take the credential away from what is asked there",
                code="credential_of_other_server",
            )
        return provider.sign(request, secret)

    def _owner(self, name: str) -> Credential:
        found = next((each for each in self._vault.credentials() if each.name == name), None)
        if found is None:
            raise CredentialError(
                f"the credential {name!r} was taken out of the vault while it was in use",
                "add it again",
                code="unknown_credential",
            )
        return found

    async def _secret(self, owner: Credential, provider: Provider, service: Service) -> Secret | Answer:
        """What to sign with, or the service's answer to a login that failed."""
        credential = owner.name
        secret = self._known(credential)
        if not provider.needs_login(secret):
            return secret
        async with self._locks.setdefault(credential, asyncio.Lock()):
            secret = self._known(credential)
            if provider.has_session(secret) and credential not in self._stale:
                return secret
            check_belongs(owner, service.base)
            return await self._open(credential, secret, provider, service)

    def _known(self, credential: str) -> Secret:
        secret = self._vault.secret(credential)
        self._redactor.learn(secret)
        return secret

    def names(self) -> list[str]:
        """Of all credentials that can be signed with; a new one cannot have these."""
        return [each.name for each in self._vault.credentials()]

    def closed_until(self, credential: str) -> datetime | None:
        """When the next login with this credential may be tried, if there were too many; None when it may be tried now."""
        until = self._closed.get(credential)
        return until if until is not None and until > self._clock.now() else None

    async def _open(self, credential: str, secret: Secret, provider: Provider, service: Service) -> Secret | Answer:
        """A session, renewed if there is one that can be; only where the service will not renew it is it opened anew."""
        renewal = provider.refresh(secret) if provider.has_session(secret) else None
        if renewal is not None and renewal != provider.login(secret):
            opened = await self._asked(credential, secret, renewal, provider, service, renews=True)
            if isinstance(opened, Secret) or _is_no_answer(opened):
                return opened
        opened = await self._asked(credential, secret, provider.login(secret), provider, service, renews=False)
        if isinstance(opened, Answer) and opened.failure != _TOO_MANY_LOGINS:
            self._unopened.add(credential)
        return opened

    async def _asked(
        self, credential: str, secret: Secret, request: Request, provider: Provider, service: Service, *, renews: bool
    ) -> Secret | Answer:
        """Sends a login or a renewal when its limits allow it, and books it."""
        if self._logins is not None:
            self._closed[credential] = await self._logins.allowed(credential, provider, service, renews=renews)
            if (until := self.closed_until(credential)) is not None:
                return self._too_many(until)
        answer = await self._transport.send(service, request)
        opened = provider.session(secret, answer)
        if self._logins is not None:
            told = structs.replace(answer, body=_refusal(answer))
            is_open = opened is not None
            outcome = await self._logins.book(credential, provider, service, told, is_open=is_open, renews=renews)
            if outcome is Outcome.RATE_LIMITED:
                self._closed[credential] = self._logins.when(credential, provider, service, renews=renews)
        if opened is not None:
            return self._kept(opened)
        # Its limits are those of logins, not of the call that needed it.
        own = {name: value for name, value in answer.headers.items() if "ratelimit" not in name}
        return self._redactor.cleaned(structs.replace(answer, headers=own, body=_refusal(answer)))

    def _kept(self, opened: Secret) -> Secret:
        self._redactor.learn(opened)
        self._vault.keep(opened)
        self._stale.discard(opened.name)
        self._unopened.discard(opened.name)
        self._opened_at[opened.name] = self._clock.now()
        return opened

    def _too_many(self, until: datetime) -> Answer:
        """The refusal that the service would give. We know it, so we do not ask."""
        now = self._clock.now()
        wait = {"retry-after": str(-(-(until - now) // timedelta(seconds=1)))}
        return Answer(status=_TOO_MANY, headers=wait, sent_at=now, received_at=now, failure=_TOO_MANY_LOGINS)

    def may_have_expired(self, credential: str, provider: Provider) -> bool:
        """Whether a refused token may only have run out; when `renew` was said the next call opens a new session."""
        if not provider.needs_login(self._vault.secret(credential)):
            return False
        return credential not in self._unopened and not self.is_fresh(credential)

    def is_fresh(self, credential: str) -> bool:
        """Whether the session was opened a moment ago."""
        opened = self._opened_at.get(credential)
        return opened is not None and self._clock.now() - opened < FRESH

    def session_of(self, credential: str) -> datetime | None:
        """When the session that is signed with now was opened; None: before this process, or there is none."""
        return self._opened_at.get(credential)

    def was_renewed(self, credential: str, session: datetime | None) -> bool:
        """Whether another session than that one is signed with now."""
        return credential not in self._unopened and session != self._opened_at.get(credential)

    def renew(self, credential: str) -> None:
        """The session has run out: the next call opens a new one."""
        self._stale.add(credential)


class Caller:
    """Makes the calls of one process, and says what it can do: which credentials it holds, and which services it speaks to."""

    def __init__(self, signer: Signer, providers: Mapping[str, Provider], facets: frozenset[str], me: Callable[[], int]) -> None:
        """`providers`: by service, who signs for it; `me`: the number of this worker, as it is now."""
        self._signer = signer
        self._providers = providers
        self._facets = facets
        self._credentials = frozenset(signer.names())
        self._me = me
        self._sessions: dict[int, datetime | None] = {}
        """By call that is out: the session that it was signed with."""

    def offer(self, room: int) -> Offer:
        return Offer(worker=self._me(), room=room, credentials=self._credentials, facets=self._facets)

    async def call(self, lease: Lease) -> Answer | Later:
        """The service's answer, or when the call may be made: there were too many logins with its credential."""
        request = lease.request
        if lease.credential is not None:
            provider = self._providers[lease.service.name]
            signed = await self._signer.signed(request, lease.credential, provider, lease.service)
            if isinstance(signed, Answer):
                until = self._signer.closed_until(lease.credential)
                return signed if until is None else Later(until)
            request = signed
            self._sessions[lease.call] = self._signer.session_of(lease.credential)
        return await self._signer.transport.send(lease.service, request)

    def may_have_expired(self, lease: Lease) -> bool:
        """Whether a refusal would only mean that the session has run out. Of the calls that were in flight then, the first one
        renews it, and the others come home when the new one is fresh."""
        if lease.credential is None:
            return False
        if lease.call in self._sessions and self._signer.was_renewed(lease.credential, self._sessions.pop(lease.call)):
            return True
        return self._signer.may_have_expired(lease.credential, self._providers[lease.service.name])

    def renew(self, credential: str | None) -> None:
        """The next call with this credential opens a new session, unless another call has just done so."""
        if credential is not None and not self._signer.is_fresh(credential):
            self._signer.renew(credential)


def _refusal(answer: Answer) -> bytes:
    """What a failed login said. One that was granted and could not be read may hold tokens that nobody knows yet."""
    return b"" if 200 <= answer.status < 300 else answer.body


def _is_no_answer(answer: Answer) -> bool:
    """Whether a service said nothing of the session: it is out of order, or asks us to wait. A login would only add to that."""
    return answer.status in (0, _TOO_MANY) or answer.status >= 500
