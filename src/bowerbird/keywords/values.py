"""What a keyword method reads and what it decides. All values can be written as JSON and read again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.flows.keywords import Settings as Settings
from bowerbird.model.terms import Reading

PROBE_POSTS = 40
"""Posts that a probe reads at most."""
HISTORY = 6_000
"""Earlier collected posts, and background posts, that a frame contains at most."""
SPAN_FRAMES = 20
"""Frames for which a frame lists the volume of the network, itself included."""


class Post(Struct, frozen=True, gc=False):
    """A post as methods see it, without its id and its author."""

    at: datetime
    reading: Reading


class Probe(Struct, frozen=True, kw_only=True):
    """The newest posts with one term, found by a search for this term alone."""

    term: str
    at: datetime
    """When the search was made."""
    posts: tuple[Post, ...]
    """At most `PROBE_POSTS`, oldest first."""

    @property
    def is_full(self) -> bool:
        """True if there may be older posts with the term."""
        return len(self.posts) >= PROBE_POSTS


class Frame(Struct, frozen=True, kw_only=True):
    """What one method may know at the end of a frame."""

    start: datetime
    length: timedelta
    posts: tuple[Post, ...]
    """Posts that the method's keywords collected in this frame, oldest first."""
    earlier: tuple[Post, ...] = ()
    """The newest posts that they collected before this frame, oldest first, at most `HISTORY`."""
    background: tuple[Post, ...] = ()
    """A random sample of the whole network, whatever its terms: the newest up to the end of this frame, oldest first, at most
    `HISTORY` and none older than a day."""
    volumes: tuple[int, ...] = ()
    """Posts on the whole network in each of the last `SPAN_FRAMES` frames, as counted or estimated, this frame last. Empty if
    unknown. Shorter if the crawl is younger."""
    probes: tuple[Probe, ...] = ()
    """Probes answered since the last frame."""
    spellings: dict[str, tuple[str, ...]] = {}
    """Hashtags with accents and the like, as people write them, the most frequent first."""

    @property
    def end(self) -> datetime:
        return self.start + self.length


class Estimate(Struct, frozen=True, kw_only=True):
    """An estimated share of posts that belong to the event, with its 20 % and 80 % quantiles."""

    mean: float
    low: float
    high: float
    posts: int = 0
    """Posts that the estimate rests on."""


class Keyword(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A keyword that a method follows."""

    since: datetime | None = None
    """The end of the frame after which it entered; None: from the beginning."""
    posts: int = 0
    """Posts collected with it since the crawl began."""
    quiet: int = 0
    """Frames in a row with fewer than `Settings.min_posts` posts."""
    spellings: tuple[str, ...] = ()
    """How people write it, where that differs by more than case: `#inundación`. A server may tell the two apart."""
    precision: Estimate | None = None
    """Of the posts collected with it; None: not estimated."""


class State(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a method remembers from frame to frame. It is stored in the database; a restart continues from it."""

    seeds: tuple[str, ...] = ()
    keywords: dict[str, Keyword] = {}
    pinned: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    frames: int = 0
    pool: dict[str, Keyword] = {}
    """The keywords of SKwA, from which RKwA chooses."""
    precision: Estimate | None = None
    """Of all posts collected so far; None: not estimated."""
    memory: bytes = b""
    """What the method needs besides, encoded by itself. It contains no text of a post, but words, so that forgetting an account
    empties it."""


class Change(Struct, frozen=True, kw_only=True):
    """A keyword that enters or leaves, with the reason."""

    term: str
    reason: str
    numbers: dict[str, float] = {}


class Candidate(Struct, frozen=True, kw_only=True):
    """A term that was considered in a frame."""

    term: str
    counts: tuple[int, ...]
    """Collected posts with it in each slot of the frame."""
    verdict: str
    """`enters`, `in`, or why it stays out: `unlike the event`, `no burst`, `full`, …"""
    numbers: dict[str, float] = {}
    together: dict[str, int] = {}
    """By keyword: posts of the frame that contain both."""


class Decision(Struct, frozen=True, kw_only=True):
    """The result of one frame."""

    state: State
    entries: tuple[Change, ...] = ()
    exits: tuple[Change, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    probes: tuple[str, ...] = ()
    """Terms to probe before the next frame, the most useful first."""
    numbers: dict[str, float] = {}
    """Other figures of the frame, for the report."""


Method = Callable[[State, Frame, Settings], Decision]
"""A way to adapt keywords to an event. Pure: the same state and frame give the same decision."""
