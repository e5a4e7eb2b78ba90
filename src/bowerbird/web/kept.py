"""Answers that are kept for some seconds: whoever asks for the same meanwhile gets the same, and the store is asked once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from bowerbird.ports import Clock

T = TypeVar("T")
_MOST = 200


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

    async def get(self, about: str) -> Answer[T]:
        """What is known, asked anew when it is too old; those who ask at the same time wait for one answer."""
        async with self._asking.setdefault(about, asyncio.Lock()):
            known = self._answers.get(about)
            if known is None or self._clock.now() - known.at >= self._lasts:
                at = self._clock.now()
                known = self._answers[about] = Answer(await self._ask(about), at)
                self._forget_some()
            return known

    def _forget_some(self) -> None:
        """The oldest, where there are very many."""
        for about in list(self._answers)[:-_MOST]:
            self._answers.pop(about, None)
            self._asking.pop(about, None)
