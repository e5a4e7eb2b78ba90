"""The work source of a worker without a database: everything is asked of its coordinator. Implements `ports.WorkSource`."""

from __future__ import annotations

import asyncio
from datetime import datetime
from uuid import uuid4

from bowerbird.errors import Busy, Fenced
from bowerbird.model import Answer, CallReport, Due, Later, Lease, Leased, Loss, Nothing, Offer
from bowerbird.remote.problems import Large, Problem, error_of
from bowerbird.remote.wire import Drop, Dropped, Ended, Endings, Get, GiveBack, Put, PutError, Refused, Settle, Settled
from bowerbird.remote.worker.link import MOST_BODY, Link

_MOST_TOGETHER = 64


class HttpWorkSource:
    """Gets calls and puts their answers; those that come home while others are being put go together with the next."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._once: str | None = None
        """The word with which calls were asked for, if nothing was heard since: asked again, the same ones come."""
        self._waiting: list[tuple[int, Settle, asyncio.Future[Ended]]] = []
        self._sender: asyncio.Task[None] | None = None
        self._most_together = _MOST_TOGETHER

    async def lease(self, offer: Offer) -> Leased | Later | Nothing:
        self._once = self._once or uuid4().hex
        work: Leased | Later | Nothing = await self._link.ask("get", Get(offer=offer, once=self._once))
        self._once = None
        return work

    async def settle(self, lease: Lease, answer: Answer, *, has_expired: bool = False) -> CallReport:
        coming: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        self._waiting.append((lease.worker, Settle(lease.call, answer, has_expired), coming))
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_all())
        ended = _granted(await coming)
        if not isinstance(ended, Settled):
            raise Busy(f"the coordinator says {type(ended).__name__} of call {lease.call}, which was to be settled")
        return ended.report

    async def give_back(self, lease: Lease, until: datetime) -> None:
        await self._put_error(lease, GiveBack(lease.call, until))

    async def drop(self, lease: Lease, loss: Loss) -> int:
        ended = await self._put_error(lease, Drop(lease.call, loss))
        return ended.given_up if isinstance(ended, Dropped) else 0

    async def wake(self) -> Due:
        due: Due = await self._link.ask("wake")
        return due

    async def _put_error(self, lease: Lease, sent: GiveBack | Drop) -> Ended:
        try:
            endings: Endings = await self._link.ask("put_error", PutError(worker=lease.worker, calls=(sent,)))
        except Fenced:
            # The coordinator does not know us any more, nor what we held: there is nothing left to end.
            return Dropped(0)
        return _granted(endings.calls[0])

    async def _send_all(self) -> None:
        while self._waiting:
            together = self._next()
            worker = together[0][0]
            try:
                endings: Endings = await self._link.ask("put", Put(worker=worker, calls=tuple(each for _, each, _ in together)))
            except Large as error:
                self._send_less(together, error)
                continue
            except Exception as error:
                for _, _, coming in together:
                    if not coming.done():
                        coming.set_exception(error)
                continue
            for (_, _, coming), ended in zip(together, endings.calls, strict=True):
                if not coming.done():
                    coming.set_result(ended)

    def _send_less(self, together: list[tuple[int, Settle, asyncio.Future[Ended]]], error: Large) -> None:
        """Sends fewer at once; what is too much alone the coordinator will never take."""
        if len(together) == 1:
            _, _, coming = together[0]
            if not coming.done():
                coming.set_exception(error)
            return
        self._waiting = together + self._waiting
        self._most_together = len(together) // 2

    def _next(self) -> list[tuple[int, Settle, asyncio.Future[Ended]]]:
        """Those that are sent now: of one worker, not too many and not too large together."""
        worker, size, together = self._waiting[0][0], 0, 0
        for number, each, _ in self._waiting[: self._most_together]:
            size += len(each.answer.body)
            if number != worker or (together and size > MOST_BODY):
                break
            together += 1
        taken, self._waiting = self._waiting[:together], self._waiting[together:]
        return taken


def _granted(ended: Ended) -> Ended:
    if isinstance(ended, Refused):
        raise error_of(Problem(ended.kind, ended.code, ended.problem, ended.advice))
    return ended
