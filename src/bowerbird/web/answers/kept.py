"""Answers that are kept for some seconds: whoever asks for the same meanwhile gets the same, and the store is asked once."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from bowerbird.ports import Clock

T = TypeVar("T")
_MOST = 200
_AT_ONCE = timedelta(minutes=1)
_log = logging.getLogger(__name__)


class Answer(Generic[T]):
    """A value and when it was true."""

    def __init__(self, value: T, at: datetime) -> None:
        self.value = value
        self.at = at


class Kept(Generic[T]):
    """The last answers to some question, by what it was about."""

    def __init__(self, clock: Clock, lasts: timedelta, ask: Callable[[str], Awaitable[T]]) -> None:
        """`ask`: works one out; `lasts`: how long it is as good as new."""
        self._clock, self._lasts, self._ask = clock, lasts, ask
        self._answers: dict[str, Answer[T]] = {}
        self._asking: dict[str, asyncio.Lock] = {}
        self._waiting: Counter[str] = Counter()
        self._newer: dict[str, asyncio.Task[None]] = {}

    @property
    def asked_now(self) -> int:
        """About how much somebody waits for an answer."""
        return len(self._asking)

    async def get(self, about: str) -> Answer[T]:
        """What is known, asked anew when it is too old; those who ask at the same time wait for one answer."""
        lock = self._asking.setdefault(about, asyncio.Lock())
        self._waiting[about] += 1
        try:
            async with lock:
                known = self._answers.get(about)
                if known is None or self._clock.now() - known.at >= self._lasts:
                    at = self._clock.now()
                    known = self._answers[about] = Answer(await self._ask(about), at)
                    self._forget_some()
                return known
        finally:
            self._waiting[about] -= 1
            if not self._waiting[about]:
                # Whatever was asked about, and whether or not there was an answer: what nobody waits for is not held.
                del self._waiting[about], self._asking[about]

    async def at_once(self, about: str) -> Answer[T]:
        """What is known unless it is more than a minute old, for pages that say how old it is: where it is not as good as new,
        a newer answer is made beside, for whoever asks next."""
        known = self._answers.get(about)
        if known is None or (age := self._clock.now() - known.at) > _AT_ONCE:
            return await self.get(about)
        if age >= self._lasts and about not in self._newer:
            self._newer[about] = asyncio.create_task(self._renew(about), name=f"renew {about}")
        return known

    async def _renew(self, about: str) -> None:
        try:
            await self.get(about)
        except Exception as error:
            # What is known stands, with its age; who finds it too old asks anew and is told.
            _log.warning("%.200r could not be read anew: %s: %.300r", about or "a page", type(error).__name__, str(error))
        finally:
            self._newer.pop(about, None)

    def _forget_some(self) -> None:
        """The oldest, where there are very many."""
        for about in list(self._answers)[:-_MOST]:
            self._answers.pop(about, None)
