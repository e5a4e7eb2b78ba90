"""A transport behind which a service turns hostile: the answers to one kind of question are attacked, the others are good."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import structs

from bowerbird.evaluate.hostile.attacks import ASKED, POSITIONS, Attack
from bowerbird.evaluate.hostile.echoes import echoed_answer, secret_in
from bowerbird.model import Answer, Ask, Request, Service
from bowerbird.providers.base import Provider
from bowerbird.simulated.serving.transport import InProcessTransport

_TARGET = "7654321"
MOST_ATTACKED = 14
"""More than it takes until a task is given up."""


def asks(provider: Provider, facet: str, target: str = _TARGET) -> re.Pattern[str]:
    """What the addresses of a facet's requests look like, whatever they ask about."""
    path = provider.request(Ask(facet, (target,))).path
    return re.compile(re.escape(path).replace(re.escape(target), "[^/]+"))


class HostileTransport:
    """Implements `ports.Transport`. Limits are counted by the service behind it, and sizes are bounded as over HTTP."""

    def __init__(self, inner: InProcessTransport, victims: re.Pattern[str], attack: Attack, enough: Callable[[], object]) -> None:
        """`enough` is called when so many answers were attacked that nothing new will come of it."""
        self._inner = inner
        self._victims = victims
        self._attack = attack
        self._enough = enough
        self.attacked: list[Request] = []
        self.has_changed = False
        """Whether any answer became another one."""

    async def send(self, service: Service, request: Request) -> Answer:
        answer = await self._inner.send(service, request)
        if answer.status != 200 or not self._victims.fullmatch(request.path):
            return answer
        self.attacked.append(request)
        if len(self.attacked) >= MOST_ATTACKED:
            self._enough()
        asked = f"{request.path} {[value for name, value in request.query if name not in POSITIONS]}"
        known = structs.replace(answer, headers={**answer.headers, ASKED: asked})
        attacked = echoed_answer(self._attack(known, len(self.attacked) - 1), secret_in(request))
        self.has_changed |= structs.replace(attacked, headers={}) != structs.replace(answer, headers={}) or any(
            answer.headers.get(name) != value for name, value in attacked.headers.items() if name != ASKED
        )
        if len(attacked.body) > request.most and attacked.status == 200:
            return structs.replace(attacked, status=0, headers={}, body=b"", failure=f"larger than {request.most} bytes")
        return attacked

    async def close(self) -> None:
        await self._inner.close()
