"""The frontier's nouns: tasks, how they arrive, what a visit learned, where they go."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from bowerbird.errors import Failure
from bowerbird.model.items import Judged, Relation
from bowerbird.model.kinds import Outcome


class Progress(Struct, frozen=True, gc=False):
    """How far a task has come: where the next page starts, and which newest item is known."""

    cursor: str | None = None
    newest: str | None = None
    """Everything up to this key has been listed."""
    head: str | None = None
    """Newest key of the listing under way; becomes `newest` when it ends."""


class Task(Struct, frozen=True, gc=False, kw_only=True):
    """Facet + target + progress: one row of the frontier, as leased."""

    task: int
    lane: int
    target: str
    token: int
    progress: Progress = Progress()
    priority: float = 0.0
    depth: int = 0
    attempts: int = 0
    pages: int = 0
    """Calls already made for the listing under way."""
    visits: int = 0
    added_at: datetime | None = None
    visited_at: datetime | None = None
    due: datetime | None = None
    """Since when it waited: among equals, its place in the queue."""
    memory: bytes | None = None

    @property
    def was_shown(self) -> bool:
        """Whether its listing has brought anything before."""
        return bool(self.progress.cursor or self.progress.newest or self.progress.head)

    """What the lane's ranker learned about this target, in the ranker's own encoding."""


class Arrival(Struct, frozen=True, gc=False, kw_only=True):
    """A target that a seed or a page adds to a lane, or wakes there."""

    lane: int
    target: str
    depth: int = 0
    wakes: bool = True
    """Makes an already known, sleeping task ready again."""
    nears: bool = False
    """Makes a known task ready again that was reached by a longer way before: what it leads to was judged by its depth."""
    newest: str | None = None
    """Everything up to this key is known from elsewhere (a stream): the listing may end there. Empty: nothing is known."""
    is_paged: bool = False
    """The first request then carries a position."""
    news: int = 1
    """How much the page says is new about it: posts that its counter moved by, or how often the page names it."""
    memory: bytes | None = None
    """A message of the lane's ranker to itself: a walker on its way."""
    belief: bytes | None = None
    """What the ranker of the lane that found it remembers of the same target, for one that understands it."""
    score: float | None = None
    """How likely it belongs to the crawl's community, by the judged accounts around it; None where nobody asked."""
    is_asked: bool = False
    """It is what the page was asked for, by this or by another name."""


class Visit(Struct, frozen=True, kw_only=True):
    """What one settled call learned about one task: all a ranker may judge by."""

    task: Task
    at: datetime
    outcome: Outcome
    is_finished: bool
    """The listing ended with this call; otherwise its next page waits."""
    results: int = 0
    new: int = 0
    """Items not stored before."""
    removed: int = 0
    """Relations that a finished listing no longer showed."""
    shows_posts: bool = False
    """The page held a post by the target itself, such as the newest one in a profile."""
    post_times: tuple[datetime, ...] = ()
    """When the new posts were written."""
    posts_before: int | None = None
    posts_now: int | None = None
    """The profile's own post counter, before and after."""
    created_at: datetime | None = None
    """When the account was made, where the page says it."""
    relations: tuple[Relation, ...] = ()
    """What a listing of relations showed, for rankers that walk."""
    left_alone: frozenset[str] = frozenset()
    """Of those, the accounts that asked not to be collected."""
    linked_by: tuple[str, ...] = ()
    """At the end of a listing that shows one side only: targets of the lane whose own listings showed this one."""
    judged: frozenset[Judged] = frozenset()
    """What judges say of the account that was asked about."""
    around: dict[str, bytes] = {}
    """What the lane remembers of the accounts in `relations` and `linked_by`."""


class Placement(Struct, frozen=True, gc=False):
    """A ranker's word on one task: how urgent, and when it may be asked again."""

    priority: float = 0.0
    due: datetime | None = None
    """None: sleeps until an edge of the flow wakes it."""
    memory: bytes | None = None
    moves: bool = False
    """Also a task that waits already goes there, as against only one that is unknown or asleep; after a visit also one that was
    woken meanwhile, because its ranker has seen who came."""
    leads: tuple[Arrival, ...] = ()
    """Targets the ranker itself names next: the step of a walk."""


class Draw(Struct, frozen=True, gc=False):
    """A part of the next choice, which grows up to `count` tasks in all by ready ones with `low <= priority < high`.

    The parts follow each other: what one leaves empty, the next may fill."""

    count: int
    low: float = float("-inf")
    high: float = float("inf")


class Turn(NamedTuple):
    """What the scheduler gives turns to: the tasks of a lane whose next request carries a position, or those whose does not.

    Some services limit requests with a position apart, so the two halves of a lane may be asked at different times.
    """

    lane: int
    is_paged: bool = False


class Setback(Struct, frozen=True, gc=False):
    """A leased task whose call our own code could not settle: tried again at `due`, or given up with its reason."""

    task: Task
    due: datetime
    failure: Failure | None = None


class Settled(Struct, frozen=True, gc=False, kw_only=True):
    """The new state of one leased task."""

    task: Task
    progress: Progress
    placement: Placement
    attempts: int = 0
    pages: int = 0
    is_visit: bool = True
    """A completed visit, as against a page in the middle or a failed try."""
    is_paged: bool = False
    """The next request of this task will carry a position."""
    failure: Failure | None = None
    """Set when the task is given up; it stays in the frontier as failed."""
