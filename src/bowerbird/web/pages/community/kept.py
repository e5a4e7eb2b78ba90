"""What takes long to count, kept for a while: whoever looks sees the last count with its age, and a newer one is made beside."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from msgspec import Struct

from bowerbird.errors import BowerbirdError, Failure
from bowerbird.ports import Clock

T = TypeVar("T")
_FRESH = timedelta(minutes=5)
_PATIENCE = timedelta(seconds=2)
"""How long the first who looks waits for a count; after that the page says that it is being made."""


class Counted(Struct, Generic[T], frozen=True):
    """A count and when it was made."""

    value: T | None
    as_of: datetime
    problem: Failure | None = None
    """Why there is none: it took longer than a page may ask."""


class Kept(Generic[T]):
    """Counts by name, each made once for all who ask."""

    def __init__(self, clock: Clock, count: Callable[[str], Awaitable[T]]) -> None:
        self._clock = clock
        self._count = count
        self._known: dict[str, Counted[T]] = {}
        self._making: dict[str, asyncio.Task[None]] = {}
        self._tried: dict[str, datetime] = {}

    async def read(self, name: str, *, is_new: bool = False) -> Counted[T] | None:
        """The last count; None where the first is still being made. `is_new`: somebody wants one of now."""
        known = self._known.get(name)
        if known is None or is_new or self._clock.now() - self._tried[name] > _FRESH:
            making = self._making.get(name) or self._begin(name)
            if known is None or is_new:
                await self._patiently(making)
        return self._known.get(name)

    def is_making(self, name: str) -> bool:
        """Whether a newer count is under way."""
        return name in self._making

    def _begin(self, name: str) -> asyncio.Task[None]:
        async def make() -> None:
            try:
                found = Counted(await self._count(name), self._clock.now())
            except BowerbirdError as error:
                found = Counted(None, self._clock.now(), error.failure)
            finally:
                self._making.pop(name, None)
                # What failed is not tried anew with every look at the page.
                self._tried[name] = self._clock.now()
            # An older count is better than none.
            if found.value is not None or name not in self._known:
                self._known[name] = found

        self._making[name] = asyncio.create_task(make(), name=f"count {name}")
        return self._making[name]

    async def _patiently(self, making: asyncio.Task[None]) -> None:
        done = asyncio.Event()
        making.add_done_callback(lambda _: done.set())
        await self._clock.wait(done, self._clock.now() + _PATIENCE)
