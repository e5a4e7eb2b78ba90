"""Tries a credential with the one call that costs nothing, outside of any crawl."""

from __future__ import annotations

from bowerbird.clock import RealClock
from bowerbird.crawl.access.signing import Signer
from bowerbird.crawl.access.trials import Candidate, Tried, Trier
from bowerbird.model import Credential, Outcome, Service
from bowerbird.ports import Clock, TriedProvider, Vault
from bowerbird.providers import provider
from bowerbird.settings import Settings
from bowerbird.transport import HttpTransport


async def tried_line(credential: Credential, vault: Vault, settings: Settings, clock: Clock | None = None) -> str:
    """What its server says of a credential, in a sentence; empty where it cannot be tried for nothing."""
    clock = clock or RealClock()
    base = credential.home[0] if credential.home else ""
    speaks = provider(credential.provider, now=clock.now, base=base)
    trial = speaks.trial(credential.kind) if isinstance(speaks, TriedProvider) else None
    if not isinstance(speaks, TriedProvider) or trial is None or not base:
        return ""
    if any(limit.is_money for limit in trial.facet.limits):
        return ""
    service = Service(name=base, provider=credential.provider, base=base)
    one = Candidate(speaks, service, credential, trial.request, ())
    transport = HttpTransport(clock, settings.user_agent)
    try:
        return _words(await Trier(Signer(vault, transport, clock, None), None).tried(one), base)
    finally:
        await transport.close()


def _words(tried: Tried, base: str) -> str:
    if tried.is_refused:
        return f"Tried: {tried.sentence}; {tried.advice}."
    if tried.outcome is Outcome.OK:
        return f"Tried: {base} takes it."
    return f"Tried, without an answer that tells whether {base} takes it{f' ({tried.words})' if tried.words else ''}."
