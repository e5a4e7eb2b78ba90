"""Logins for services whose credentials must first be turned into a session (Bluesky's app passwords).

A session is kept in the vault, so that a process which is killed and started again does not log in again and again: logins have
tight limits of their own. An expired session is renewed once; one refused at once after a login means that the credential is bad.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from msgspec import structs

from bowerbird.crawl.logins import LoginBook
from bowerbird.model import Answer, Outcome, Secret, Service
from bowerbird.ports import Clock, LoginProvider, Provider, Transport, Vault

FRESH = timedelta(minutes=1)
"""A session refused sooner than this after its login will not get better by another one."""
_TOO_MANY = 429


class Sessions:
    """The secret to sign with, for each credential: as the vault has it, or with the session that it opens."""

    def __init__(self, vault: Vault, transport: Transport, clock: Clock, book: LoginBook | None = None) -> None:
        """`book` keeps the account of logins; without it they are not counted."""
        self._vault = vault
        self._transport = transport
        self._clock = clock
        self._book = book
        self._locks: dict[str, asyncio.Lock] = {}
        self._opened_at: dict[str, datetime] = {}
        self._stale: set[str] = set()
        self._unopened: set[str] = set()
        """Credentials whose last login failed."""
        self._closed: dict[str, datetime] = {}

    async def secret(self, credential: str, provider: Provider, service: Service) -> Secret | Answer:
        """What to sign with, or the service's answer to a login that failed."""
        secret = self._vault.secret(credential)
        if not isinstance(provider, LoginProvider) or not provider.needs_login(secret):
            return secret
        async with self._locks.setdefault(credential, asyncio.Lock()):
            secret = self._vault.secret(credential)
            if provider.has_session(secret) and credential not in self._stale:
                return secret
            return await self._open(credential, secret, provider, service)

    def closed_until(self, credential: str) -> datetime | None:
        """When the next login with this credential may be tried, if there were too many; None when it may be tried now."""
        until = self._closed.get(credential)
        return until if until is not None and until > self._clock.now() else None

    async def _open(self, credential: str, secret: Secret, provider: LoginProvider, service: Service) -> Secret | Answer:
        if provider.has_session(secret):
            opened = provider.session(secret, await self._transport.send(service, provider.refresh(secret)))
            if opened is not None:
                return self._kept(opened)
        if self._book is not None:
            self._closed[credential] = self._book.when(credential, provider, service)
            if (until := self.closed_until(credential)) is not None:
                return self._too_many(until)
        answer = await self._transport.send(service, provider.login(secret))
        opened = provider.session(secret, answer)
        if self._book is not None:
            outcome = await self._book.book(credential, provider, service, answer, is_open=opened is not None)
            if outcome is Outcome.RATE_LIMITED:
                self._closed[credential] = self._book.when(credential, provider, service)
        if opened is not None:
            return self._kept(opened)
        self._unopened.add(credential)
        # Its limits are those of logins, not of the call that needed it.
        own = {name: value for name, value in answer.headers.items() if "ratelimit" not in name}
        return structs.replace(answer, headers=own)

    def _kept(self, opened: Secret) -> Secret:
        self._vault.keep(opened)
        self._stale.discard(opened.name)
        self._unopened.discard(opened.name)
        self._opened_at[opened.name] = self._clock.now()
        return opened

    def _too_many(self, until: datetime) -> Answer:
        """The answer that the service would give: it is not asked when we know it."""
        now = self._clock.now()
        wait = {"retry-after": str(-(-(until - now) // timedelta(seconds=1)))}
        return Answer(status=_TOO_MANY, headers=wait, sent_at=now, received_at=now, failure="too many logins")

    def has_expired(self, credential: str, provider: Provider) -> bool:
        """Whether a refused token may only have run out; when `renew` was said the next call opens a new session."""
        if not isinstance(provider, LoginProvider) or not provider.needs_login(self._vault.secret(credential)):
            return False
        opened = self._opened_at.get(credential)
        return credential not in self._unopened and (opened is None or self._clock.now() - opened >= FRESH)

    def renew(self, credential: str) -> None:
        """The session has run out: the next call opens a new one."""
        self._stale.add(credential)
