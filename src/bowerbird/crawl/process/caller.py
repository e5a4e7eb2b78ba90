"""Makes the calls of this process: signs what it is given to ask, and sends it. Secrets do not leave it in any other way."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bowerbird.crawl.access.signing import Signer
from bowerbird.model import Answer, Later, Lease, Offer
from bowerbird.ports import Provider


class Caller:
    """What a worker can do: which credentials it holds, and which services it speaks to."""

    def __init__(self, signer: Signer, providers: Mapping[str, Provider], facets: frozenset[str], me: Callable[[], int]) -> None:
        """`providers`: by service, who signs for it; `me`: the number of this worker, as it is now."""
        self._signer = signer
        self._providers = providers
        self._facets = facets
        self._credentials = frozenset(signer.names())
        self._me = me

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
        return await self._signer.transport.send(lease.service, request)

    def may_have_expired(self, lease: Lease) -> bool:
        """Whether a refusal would only mean that the session has run out."""
        if lease.credential is None:
            return False
        return self._signer.may_have_expired(lease.credential, self._providers[lease.service.name])

    def renew(self, credential: str | None) -> None:
        """The next call with this credential opens a new session."""
        if credential is not None:
            self._signer.renew(credential)
