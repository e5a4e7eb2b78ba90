"""Raises inside a settle, at every line of ours that it runs, one line after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count, cycle
from linecache import getline
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Never

from msgspec import structs

import bowerbird
from bowerbird.crawl.work.source import LocalWorkSource
from bowerbird.model import Answer, Request, Service
from bowerbird.ports import Transport

_HOUSE = str(Path(bowerbird.__file__).parent)
# A connection that is not given back to its pool stays away: no exception of ours comes between the two lines that do it.
_SPARED = ("db/postgres/database.py",)
# Of kinds that no reader of a malformed item expects: those lose the item alone, as they should.
_KINDS = (RuntimeError, MemoryError, AttributeError, ArithmeticError)


class Breaker:
    """Breaks one call in so many, each at the first line under one of the given functions that was never broken before."""

    def __init__(self, *, every: int, under: Sequence[CodeType] = (LocalWorkSource.settle.__code__,), stride: int = 1) -> None:
        """`stride`: of so many lines one is broken, the others are passed over."""
        self._stride = stride
        self._passed: set[tuple[str, int]] = set()
        self._under = frozenset(under)
        self._every = every
        self._calls = count(1)
        self._is_at_work = False
        self._kinds = cycle(_KINDS)
        self.is_due = False
        """The next line that was not broken yet is broken now."""
        self.lines: set[tuple[str, int]] = set()
        """Where something was raised."""

    def arm(self) -> None:
        """A call has been answered. A trace function that raises is unset by the interpreter, so each call sets it again."""
        self.is_due = self._is_at_work and next(self._calls) % self._every == 0
        sys.settrace(self._entered if self.is_due else None)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        before, self._is_at_work = sys.gettrace(), True
        try:
            yield
        finally:
            self._is_at_work = False
            sys.settrace(before)

    def _entered(self, frame: FrameType, event: str, argument: object) -> Any:
        is_ours = frame.f_code.co_filename.startswith(_HOUSE) and not frame.f_code.co_filename.endswith(_SPARED)
        return self._at_line if self.is_due and is_ours and self._is_under(frame) else None

    def _is_under(self, frame: FrameType | None) -> bool:
        while frame is not None and frame.f_code not in self._under:
            frame = frame.f_back
        return frame is not None

    def _at_line(self, frame: FrameType, event: str, argument: object) -> Any:
        place = (frame.f_code.co_filename, frame.f_lineno)
        if not self.is_due or event != "line" or place in self._passed or _is_bare_try(*place):
            return self._at_line
        self._passed.add(place)
        if len(self._passed) % self._stride:
            return self._at_line
        self.lines.add(place)
        self.is_due = False
        raise next(self._kinds)(f"injected at {Path(place[0]).name}:{place[1]}")


def _is_bare_try(file: str, line: int) -> bool:
    """No exception can come from there, and the interpreter does not unwind the block around it if one is forced to."""
    return getline(file, line).strip() == "try:"


class BreakingTransport:
    """Carries requests as another does, and breaks what is done with their answers."""

    def __init__(self, transport: Transport, breaker: Breaker, *, spoils: bool = False) -> None:
        """`spoils`: whether the answers of broken calls cannot be settled in any case."""
        self._transport = transport
        self._breaker = breaker
        self._spoils = spoils

    async def send(self, service: Service, request: Request) -> Answer:
        answer = await self._transport.send(service, request)
        self._breaker.arm()
        return structs.replace(answer, headers=_Indigestible()) if self._spoils and self._breaker.is_due else answer

    async def close(self) -> None:
        await self._transport.close()


class _Indigestible(dict[str, str]):
    """Headers that nobody can read."""

    def get(self, *_: object) -> Never:
        raise RuntimeError("indigestible")

    __getitem__ = __contains__ = items = get
