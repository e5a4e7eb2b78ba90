"""A transport that notes which secrets each host gets to see."""

from __future__ import annotations

from collections.abc import Mapping

from bowerbird.model import Answer, Request, Service, Wire
from bowerbird.ports import Connection
from bowerbird.simulated.serving.transport import InProcessTransport


class WatchedTransport:
    """Carries everything as the transport inside does; a secret that a host gets and that is another's is a leak."""

    def __init__(self, inside: InProcessTransport, owners: Mapping[str, str]) -> None:
        """`owners`: by secret, the address it belongs to."""
        self._inside = inside
        self._owners = owners
        self.leaks: set[tuple[str, str]] = set()
        """Secret, and the address that should not have seen it."""
        self.seen: set[str] = set()

    async def send(self, service: Service, request: Request) -> Answer:
        self._look(service, request)
        return await self._inside.send(service, request)

    async def connect(self, service: Service, request: Request, wire: Wire) -> Connection | Answer:
        self._look(service, request)
        return await self._inside.connect(service, request, wire)

    async def close(self) -> None:
        await self._inside.close()

    def _look(self, service: Service, request: Request) -> None:
        said = "\n".join(
            [*request.headers.values(), *(value for _, value in request.query), request.body.decode("utf-8", "replace")]
        )
        for secret, owner in self._owners.items():
            if secret in said:
                self.seen.add(secret)
                if owner != service.base:
                    self.leaks.add((secret, service.base))
