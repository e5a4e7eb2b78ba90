"""What passes between a coordinator and its workers, and how it is written: MessagePack, or JSON for people who look."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from bowerbird.crawl.process.workers.identity import Process
from bowerbird.model import Answer, CallReport, Credential, Later, Leased, Loss, Nothing, Offer

T = TypeVar("T")

WIRE = 1
"""The version of all this. A coordinator serves workers from `OLDEST` to its own: so it is upgraded first, they follow."""
OLDEST = 1
PREFIX = f"/fleet/v{WIRE}"
VERSION_HEADER = "bowerbird-wire"
TIME_HEADER = "bowerbird-time"
"""In every answer: the coordinator's time in microseconds, by which its workers go."""
MESSAGEPACK, JSON = "application/msgpack", "application/json"


class Enrol(Struct, frozen=True, kw_only=True):
    """A process that wants to work: who it is, and which credentials it holds, without their secrets."""

    process: Process
    version: str
    """Of bowerbird."""
    credentials: tuple[Credential, ...] = ()


class Orders(Struct, frozen=True, kw_only=True):
    """What a worker is to do from now on."""

    is_paused: bool = False
    stop: str = ""
    """Why it has to stop; empty: it goes on."""
    facets: frozenset[str] = frozenset()
    """What the crawl asks for; empty while the coordinator is still opening it."""


class Enrolled(Struct, frozen=True, kw_only=True):
    """A worker of the crawl, under its number."""

    worker: int
    crawl: str
    contact: str = ""
    """Told to the services in the User-Agent, as all others of the crawl do."""
    orders: Orders


class Get(Struct, frozen=True, kw_only=True):
    """Asks for calls; who asks again with the same word gets the same calls, if the first answer was lost on its way."""

    offer: Offer
    once: str


class Settle(Struct, frozen=True, tag=True):
    """A call with its answer."""

    call: int
    answer: Answer
    has_expired: bool = False


class GiveBack(Struct, frozen=True, tag=True):
    """A call that could not be made: its credential may log in again at that time."""

    call: int
    until: datetime


class Drop(Struct, frozen=True, tag=True):
    """A call without an answer."""

    call: int
    loss: Loss


class Put(Struct, frozen=True, kw_only=True):
    """Calls that have ended, as many as there are."""

    worker: int
    calls: tuple[Settle, ...]


class PutError(Struct, frozen=True, kw_only=True):
    """Calls that have no answer to put."""

    worker: int
    calls: tuple[GiveBack | Drop, ...]


class Settled(Struct, frozen=True, tag=True):
    report: CallReport


class Returned(Struct, frozen=True, tag=True):
    """A call was given back."""


class Dropped(Struct, frozen=True, tag=True):
    given_up: int


class Refused(Struct, frozen=True, tag=True):
    """What could not be done, and what the worker does next: see `PROBLEMS` of `problems.py`."""

    kind: str
    code: str
    problem: str
    advice: str = ""


Ended = Settled | Returned | Dropped | Refused


class Endings(Struct, frozen=True):
    """What became of each call that was put, in its order."""

    calls: tuple[Ended, ...]


class Login(Struct, frozen=True, kw_only=True):
    """Asks whether a session may be opened, or renewed: limits of logins are an account's, whoever logs in."""

    worker: int
    service: str
    credential: str
    renews: bool = False


class Beat(Struct, frozen=True, kw_only=True):
    """A sign of life."""

    worker: int


Work = Leased | Later | Nothing


def written(value: Any, manner: str = MESSAGEPACK) -> bytes:
    return msgspec.json.encode(value) if manner == JSON else msgspec.msgpack.encode(value)


def read(body: bytes, kind: type[T] | Any, manner: str = MESSAGEPACK) -> T:
    """The value in a body; raises `msgspec.DecodeError`, also for one of another kind."""
    decoded: T = (msgspec.json.decode if manner == JSON else msgspec.msgpack.decode)(body, type=kind)
    return decoded
