"""Logins for services whose credentials must first be turned into a session (Bluesky's app passwords).

A session is kept in the vault, so that a process which is killed and started again does not log in again and again: logins have
tight limits of their own. An expired session is renewed once; one refused at once after a login means that the credential is bad.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from bowerbird.model import Answer, Secret, Service
from bowerbird.ports import Clock, LoginProvider, Provider, Transport, Vault

FRESH = timedelta(minutes=1)
"""A session refused sooner than this after its login will not get better by another one."""


class Sessions:
    """The secret to sign with, for each credential: as the vault has it, or with the session that it opens."""

    def __init__(self, vault: Vault, transport: Transport, clock: Clock) -> None:
        self._vault = vault
        self._transport = transport
        self._clock = clock
        self._locks: dict[str, asyncio.Lock] = {}
        self._opened_at: dict[str, datetime] = {}
        self._stale: set[str] = set()

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

    async def _open(self, credential: str, secret: Secret, provider: LoginProvider, service: Service) -> Secret | Answer:
        ways = (provider.refresh(secret), provider.login(secret)) if provider.has_session(secret) else (provider.login(secret),)
        answer: Answer | None = None
        for request in ways:
            answer = await self._transport.send(service, request)
            opened = provider.session(secret, answer)
            if opened is not None:
                self._vault.keep(opened)
                self._stale.discard(credential)
                self._opened_at[credential] = self._clock.now()
                return opened
        if answer is None:
            raise LookupError(f"{credential}: no way to open a session")
        return answer

    def expired(self, credential: str, provider: Provider) -> bool:
        """Whether a refused token may only have run out; the next call then opens a new session."""
        if not isinstance(provider, LoginProvider) or not provider.needs_login(self._vault.secret(credential)):
            return False
        opened = self._opened_at.get(credential)
        if opened is not None and self._clock.now() - opened < FRESH:
            return False
        self._stale.add(credential)
        return True
