"""Server-sent events: one computation for all who watch the same, and none when nobody does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from bowerbird.ports import Clock
from bowerbird.web.answers.crowd import UnderWay

Compute = Callable[[str], Awaitable[str]]
"""Told what stands behind the topic in the address, gives the part of the page that watchers see."""
EVERY = timedelta(seconds=1)
_SIGN_OF_LIFE = timedelta(seconds=15)
_MOST_WATCHERS, _MOST_OF_ONE = 500, 100
_AT_ONCE = 4
"""Topics that are worked out at the same time: whoever watches a hundred of them waits, and the pages of others do not."""
_log = logging.getLogger(__name__)
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class _Channel:
    """What the watchers of one topic see: always the newest, so that a slow one misses steps and holds up nobody."""

    def __init__(self) -> None:
        self.text: str | None = None
        self.number = 0
        self.watchers = 0
        self.changed = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def tell(self, text: str) -> None:
        if text != self.text:
            self.text, self.number = text, self.number + 1
            self.changed.set()
            self.changed = asyncio.Event()


class Live:
    """All topics that can be watched."""

    def __init__(self, clock: Clock, every: timedelta = EVERY) -> None:
        self._clock = clock
        self._every = every
        self._topics: dict[str, Compute] = {}
        self._channels: dict[tuple[str, str], _Channel] = {}
        self._is_closed = False
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._under_way = UnderWay(_MOST_OF_ONE, _MOST_WATCHERS)

    def add(self, topic: str, compute: Compute) -> None:
        """Lets `/live/<topic>/<argument>` be watched; `compute` is called at most once a second for all who watch the same."""
        self._topics[topic] = compute

    @property
    def topics(self) -> tuple[str, ...]:
        """What can be watched."""
        return tuple(self._topics)

    @property
    def watchers(self) -> int:
        return sum(channel.watchers for channel in self._channels.values())

    def close(self) -> None:
        """Ends what everybody watches."""
        self._is_closed = True
        for channel in self._channels.values():
            channel.changed.set()

    async def respond(self, request: Request) -> Response:
        """The stream of one watcher."""
        topic, argument = request.path_params["topic"], request.path_params.get("argument", "")
        if topic not in self._topics:
            return PlainTextResponse("nothing of this name is live", 404)
        return self._under_way.answer(request, self.stream(topic, argument), "text/event-stream", _HEADERS)

    async def stream(self, topic: str, argument: str = "") -> AsyncGenerator[str, None]:
        """What one watcher is sent, until it goes."""
        channel = self._entered(topic, argument)
        seen = 0
        try:
            while not self._is_closed:
                if channel.number != seen and channel.text is not None:
                    seen = channel.number
                    yield event(channel.text)
                    continue
                changed = channel.changed
                await self._clock.wait(changed, self._clock.now() + _SIGN_OF_LIFE)
                if channel.number == seen and not self._is_closed:
                    yield ": still here\n\n"
        finally:
            self._left(topic, argument, channel)

    def _entered(self, topic: str, argument: str) -> _Channel:
        channel = self._channels.setdefault((topic, argument), _Channel())
        channel.watchers += 1
        if channel.task is None:
            channel.task = asyncio.create_task(self._run(channel, self._topics[topic], argument), name=f"live {topic}")
        return channel

    def _left(self, topic: str, argument: str, channel: _Channel) -> None:
        channel.watchers -= 1
        if not channel.watchers and channel.task is not None:
            channel.task.cancel()
            self._channels.pop((topic, argument), None)

    async def _run(self, channel: _Channel, compute: Compute, argument: str) -> None:
        problem = ""
        while True:
            begun = self._clock.now()
            try:
                async with self._turns:
                    channel.tell(await compute(argument))
                problem = ""
            except Exception as error:
                # What was told last stands, with its age, until it can be told again. The same trouble is told once.
                said = f"{type(error).__name__}: {error}"
                if said != problem:
                    _log.warning("%.200r could not be computed: %.300r", argument or "a live page", said)
                problem = said
            await self._clock.sleep_until(begun + max(self._every, 2 * (self._clock.now() - begun)))


def event(text: str) -> str:
    """One message in the wire format."""
    return "".join(f"data: {line}\n" for line in text.splitlines() or [""]) + "\n"
