"""What a careful programmer writes by hand to hand out timelines and take in their pages: Starlette, uvicorn, asyncpg.

`get` leases the next task with `for update skip locked` and logs a call; `put` unpacks and reads the page (with our parser, as
our side does), saves the same rows as `benchmarks/bare_fleet.py`, ends the call and moves the task on, in one transaction. It has
no limits, no history, no seeding, no fencing, no tokens, no controls, and hands out one call at a time.
"""

from __future__ import annotations

from typing import Any

import asyncpg
import msgspec
import zstandard
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.bare_fleet import BareFleet
from bowerbird.clock import RealClock
from bowerbird.model import Answer, Ask, Progress, Service
from bowerbird.providers import provider

_TABLES = """
create table bare_tasks (task bigserial primary key, target text not null, cursor text, state text not null default 'ready');
create index bare_ready on bare_tasks (task) where state = 'ready';
create table bare_calls (call bigserial primary key, task bigint not null, leased_at bigint, settled_at bigint, results bigint);
"""
_GET = """
update bare_tasks set state = 'leased' where task = (
    select task from bare_tasks where state = 'ready' order by task limit 1 for update skip locked
) returning task, target, cursor
"""
_CALL = "insert into bare_calls (task, leased_at) values ($1, $2) returning call"
_END = "update bare_calls set settled_at = $1, results = $2 where call = $3"
_MOVE = "update bare_tasks set state = $1, cursor = $2 where task = $3"


async def prepare(url: str, keys: list[str]) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(_TABLES)
    await connection.executemany("insert into bare_tasks (target) values ($1)", [(key,) for key in keys])
    await connection.close()


class BareCoordinator(BareFleet):
    """Two endpoints."""

    def __init__(self, pool: Any, service: Service) -> None:
        super().__init__(pool)
        self._service = service
        self._speaks = provider(service.provider)
        self._tasks: dict[int, tuple[int, Ask]] = {}

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/get", self.get, methods=["POST"]), Route("/put", self.put, methods=["POST"])])

    async def get(self, request: Request) -> Response:
        async with self._pool.acquire() as connection, connection.transaction():
            row = await connection.fetchrow(_GET)
            if row is None:
                return Response(msgspec.msgpack.encode(None))
            call = await connection.fetchval(_CALL, row["task"], int(self._clock.now().timestamp() * 1e6))
        ask = Ask("timeline", (row["target"],), Progress(row["cursor"]))
        self._tasks[call] = row["task"], ask
        return Response(msgspec.msgpack.encode((call, self._speaks.request(ask))))

    async def put(self, request: Request) -> Response:
        call, headers, body = msgspec.msgpack.decode(
            zstandard.ZstdDecompressor().decompress(await request.body()), type=tuple[int, dict[str, str], bytes]
        )
        (task, ask), now = self._tasks.pop(call), RealClock().now()
        answer = Answer(status=200, headers=headers, body=body, sent_at=now, received_at=now)
        page = self._speaks.parse(ask, answer, self._service)
        async with self._pool.acquire() as connection, connection.transaction():
            people = await self._save_users(connection, page, call)
            await self._save_posts(connection, page, call, people)
            await connection.execute(_END, int(now.timestamp() * 1e6), page.results, call)
            await connection.execute(_MOVE, "ready" if page.cursor else "done", page.cursor, task)
        return Response(msgspec.msgpack.encode(page.results))
