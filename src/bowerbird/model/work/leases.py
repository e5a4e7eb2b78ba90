"""What passes between who hands out work and who does it: plain values, each of which can be sent to another machine."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bowerbird.errors import Failure
from bowerbird.model.kinds import Outcome
from bowerbird.model.work.calls import Lease


class Offer(Struct, frozen=True, kw_only=True):
    """What a worker can do now."""

    worker: int
    """Its number, under which its calls are logged."""
    room: int = 1
    """How many calls it can begin."""
    credentials: frozenset[str] = frozenset()
    """Names of those it can sign with. What may be asked without one needs none."""
    facets: frozenset[str] = frozenset()
    """What it can ask for."""


class Leased(Struct, frozen=True, tag=True):
    """Calls to make now: at least one."""

    leases: tuple[Lease, ...]


class Later(Struct, frozen=True, tag=True):
    """There is work, but none that may be done before this time."""

    at: datetime


class Nothing(Struct, frozen=True, tag=True):
    """Nothing is ready; `WorkSource.wake` says whether anything comes due."""


class Due(Struct, frozen=True):
    """When there may be work again."""

    at: datetime | None = None
    """Now where something is ready, or when the next task comes due; None: none ever does by itself."""
    stuck: Failure | None = None
    """Why what is ready cannot be asked by anybody, and what to do; None: it can be, or nothing is ready."""


class Loss(Struct, frozen=True):
    """Why the answer of a call, if there was one, is not written; the call counts as spent."""

    outcome: str
    """A word for the query log, such as `fenced`, `unasked` or `fault`."""
    why: str
    sets_back: bool = False
    """Its tasks are tried again soon, as after an answer that cannot be read; otherwise they come back when the lease ends."""


class CallReport(Struct, frozen=True, kw_only=True):
    """What one call brought, for those who watch."""

    facet: str
    service: str = ""
    outcome: Outcome
    results: int
    new_items: int
    new_users: int = 0
    new_posts: int = 0
    detail: str = ""
    given_up: int = 0
    left_alone: tuple[str, ...] = ()
    """Seeds that turned out to have asked not to be collected."""
    not_offered: Failure | None = None
    """What the server does not offer, as a sentence, when the call has found that out."""
    has_expired: bool = False
    """The session that the call was signed with has run out: the next call needs a new one."""
