"""An event loop in a thread of its own, so that plain code can use what is asynchronous, in notebooks too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")
_AT_ONCE = 500
"""Items that come over from the loop together: one by one, the way would cost more than the item."""


_PATIENCE = 5.0
"""Seconds that a run which is broken off may take to let go."""


class LoopThread:
    """Runs coroutines one after the other until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="bowerbird", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], end: Callable[[], None] | None = None) -> T:
        """What the coroutine returns. `end`: called in the loop when the user interrupts, and then waited for."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            if end is None:
                future.cancel()
                raise
            self._loop.call_soon_threadsafe(end)
            return self._landed(future)

    def _landed(self, future: Future[T]) -> T:
        """Waits for the orderly end; a second interrupt breaks it off, as a killed process would."""
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            with suppress(CancelledError, Exception):
                future.result(_PATIENCE)
            raise KeyboardInterrupt from None

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        while some := self.run(_some(items)):
            yield from some

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _some(items: AsyncIterator[T]) -> list[T]:
    found: list[T] = []
    async for item in items:
        found.append(item)
        if len(found) == _AT_ONCE:
            break
    return found
