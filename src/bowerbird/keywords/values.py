"""What a keyword method reads and what it decides. All values can be written as JSON and read again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct

from bowerbird.model.terms import Reading

PROBE_POSTS = 40
"""Posts that a probe reads at most."""
HISTORY = 6_000
"""Earlier collected posts, and background posts, that a frame contains at most."""
SPAN_FRAMES = 20
"""Frames for which a frame lists the volume of the network, itself included."""


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of a crawl that apply to every method."""

    frame: timedelta = timedelta(minutes=5)
    """Methods decide at the end of each frame."""
    slots: int = 10
    """Parts of a frame in which traffic is counted."""
    max_keywords: int = 400
    """Keywords at once, seeds included: what a network accepts in one subscription."""
    min_posts: int = 3
    """Posts of a frame in which a term must occur to become a candidate."""
    quiet_frames: int = 12
    """A keyword leaves after this many frames in a row with fewer than `min_posts` posts each."""
    may_drop_seeds: bool = False
    """Whether the rule for quiet keywords applies to seeds."""
    blacklist: tuple[str, ...] = ()
    """Terms in normal form that never become keywords."""


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


class Load(Struct, frozen=True, kw_only=True):
    """How full a stream with a cap was in a frame."""

    used: int = 0
    cap: int | None = None
    """Posts that the network sends at most in a frame; None: no cap."""
    lost: int = 0
    """Posts that the network did not send because of the cap, as reported or estimated."""


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
    load: Load = Load()

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
    is_seed: bool = False
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

    method: str
    seeds: tuple[str, ...]
    keywords: dict[str, Keyword]
    pinned: tuple[str, ...] = ()
    """Terms that a user wants to keep."""
    blocked: tuple[str, ...] = ()
    """Terms that a user does not want."""
    frames: int = 0
    """Frames decided so far."""
    pool: dict[str, Keyword] = {}
    """The keywords of SKwA, from which RKwA chooses."""
    memory: bytes = b""
    """What the method needs besides, encoded by itself. It contains no text of a post."""


class Change(Struct, frozen=True, kw_only=True):
    """A keyword that enters or leaves, with the reason."""

    term: str
    reason: str
    numbers: dict[str, float] = {}
    """The figures behind the reason."""


class Candidate(Struct, frozen=True, kw_only=True):
    """A term that was considered in a frame."""

    term: str
    counts: tuple[int, ...]
    """Collected posts with it in each slot of the frame."""
    verdict: str
    """`enters`, `in`, or why it stays out: `infrequent`, `unlike the event`, `full`, …"""
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
    precision: Estimate | None = None
    """Of the whole collection so far; None: not estimated."""
    numbers: dict[str, float] = {}
    """Other figures of the frame, for the report."""


class Method(Protocol):
    """A way to adapt keywords to an event. Pure: the same state and frame give the same decision."""

    name: str

    def begin(self, seeds: tuple[str, ...], settings: Settings) -> State: ...

    def decide(self, state: State, frame: Frame, settings: Settings) -> Decision: ...
