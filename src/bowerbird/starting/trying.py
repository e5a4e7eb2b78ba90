"""Tries a credential with the one call that costs nothing, outside of any crawl."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.clock import RealClock
from bowerbird.crawl.access.signing import Signer
from bowerbird.crawl.access.trials import Candidate, Tried, Trier
from bowerbird.model import Credential, Outcome, Service
from bowerbird.ports import Clock, Vault
from bowerbird.providers import provider
from bowerbird.settings import Settings
from bowerbird.transport import HttpTransport


class Told(Struct, frozen=True):
    """What its server says of a credential."""

    words: str = ""
    """A sentence; empty where it cannot be tried for nothing."""
    is_taken: bool | None = None
    """None: there is no telling."""


async def told_of(credential: Credential, vault: Vault, settings: Settings, clock: Clock | None = None) -> Told:
    """Makes the one call, where it costs nothing."""
    clock = clock or RealClock()
    base = credential.home[0] if credential.home else ""
    speaks = provider(credential.provider, now=clock.now, base=base)
    trial = speaks.credential_check(credential.kind)
    if trial is None or not base:
        return Told()
    if any(limit.is_money for limit in trial.facet.limits):
        return Told()
    service = Service(name=base, provider=credential.provider, base=base)
    one = Candidate(speaks, service, credential, trial.request, ())
    transport = HttpTransport(clock, settings.user_agent)
    try:
        tried = await Trier(Signer(vault, transport, clock, None), None).tried(one)
        return _told(tried, base, speaks.account_name(tried.answers[-1]))
    finally:
        await transport.close()


def _told(tried: Tried, base: str, owner: str | None) -> Told:
    if tried.is_refused:
        return Told(f"Tried: {tried.sentence}; {tried.advice}.", is_taken=False)
    if tried.outcome is Outcome.OK:
        return Told(f"Tried: {base} takes it{f'; it belongs to @{owner}' if owner else ''}.", is_taken=True)
    return Told(f"Tried, without an answer that tells whether {base} takes it{f' ({tried.words})' if tried.words else ''}.")
