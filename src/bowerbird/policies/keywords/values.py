"""What keyword adaptation is told and what it answers: plain values that can be written as JSON and read again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct

from bowerbird.model.terms import Kind

Counts = tuple[int, ...]
"""One number for each slot of a frame."""


class Settings(Struct, frozen=True, kw_only=True):
    """What holds for every method."""

    frame: timedelta = timedelta(minutes=5)
    slots: int = 10
    """The parts of a frame in which traffic is counted."""
    most: int = 400
    """Keywords at once, seeds included: what a network takes in one subscription."""
    minimum: int = 3
    """Posts of a frame in which a term must occur to be looked at."""
    quiet_frames: int = 12
    """A keyword leaves after so many frames in a row with fewer than `minimum` posts each."""
    may_lose_seeds: bool = False
    """Whether the rule for leaving holds for seeds too."""
    blacklist: tuple[str, ...] = ()
    """Terms in normal form that never become keywords."""


class Keyword(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One keyword that is followed."""

    since: datetime | None = None
    """The end of the frame after which it came in; None: from the beginning."""
    is_seed: bool = False
    posts: int = 0
    """Collected posts with it in the whole period: the second frequency list of the paper."""
    quiet: int = 0
    """Frames in a row with too few posts."""
    written: tuple[str, ...] = ()
    """How people write it, where that is more than capital letters: `#inundación`. A server may tell the two apart."""


class Familiar(Struct, frozen=True, gc=False, array_like=True):
    """How often a term occurs in different texts, older ones counting less."""

    event: float = 0.0
    """Of collected posts."""
    background: float = 0.0
    anchored: float = 0.0
    """Of collected posts with a seed, or with what the user pinned."""


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What probes have told of one term, older posts counting less."""

    posts: float = 0.0
    alike: float = 0.0
    """Of these, those that look like the event."""
    new: float = 0.0
    """Of these, those that carried no keyword."""
    looked_at: datetime | None = None
    """When it was probed last."""


class State(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that a method remembers between two frames. It is kept in the database, and a restart goes on from it."""

    method: str
    seeds: tuple[str, ...]
    keywords: dict[str, Keyword]
    pinned: tuple[str, ...] = ()
    """Chosen by the user: these stay."""
    blocked: tuple[str, ...] = ()
    """Refused by the user: these stay out."""
    frames: int = 0
    pool: dict[str, Keyword] = {}
    """Keywords that a first step has chosen, of which a second one follows some: SKwA's, of which RKwA refines."""
    evidence: dict[str, Evidence] = {}
    vocabulary: dict[str, Familiar] = {}
    """The terms that tell the event from everything else, and those that are common everywhere."""
    numbers: dict[str, float] = {}
    """Running numbers of the method's own."""


class Background(Struct, frozen=True, kw_only=True):
    """A sample of everything that was written in the frame, whatever its terms."""

    posts: Counts
    alike: int = 0
    """Posts that look like the event."""
    followed: int = 0
    """Of those that look like it, the ones that carry a keyword."""
    texts: dict[str, int] = {}
    """Different texts with each term: the terms that are common, and those that the collected posts have too."""
    distinct: int = 0
    """Different texts."""
    share: float = 1.0
    """The part of all posts that the sample holds, as far as it is known."""


class Probe(Struct, frozen=True, kw_only=True):
    """The newest posts with one term, found by a search that asked for nothing else."""

    term: str
    at: datetime
    posts: int
    """Looked at; the same text counts once."""
    alike: int
    """Of these, those that look like the event: by other terms than this one, such as another keyword."""
    new: int = 0
    """Of these, those that carry no keyword yet."""
    span: timedelta | None = None
    """From the oldest of the posts to the newest."""


class Volume(Struct, frozen=True, kw_only=True):
    """How full the stream was."""

    used: int = 0
    """Posts that came in the frame."""
    cap: int | None = None
    """Posts that the network sends at most in such a frame; None: no cap."""
    lost: int = 0
    """Posts that the network says, or we estimate, it did not send because of the cap."""


class Frame(Struct, frozen=True, kw_only=True):
    """What one method collected in one frame, counted."""

    began: datetime
    length: timedelta
    posts: Counts
    """Collected posts, slot by slot."""
    counts: dict[str, Counts]
    """Collected posts with each term, slot by slot: keywords, and all that is frequent enough to be a candidate."""
    together: dict[str, dict[str, int]] = {}
    """By candidate: collected posts that carry each keyword too."""
    texts: dict[str, int] = {}
    """By candidate: different texts with it. A post that is passed on a hundred times is one text."""
    distinct: int = 0
    """Different texts that were collected."""
    anchored: dict[str, int] = {}
    """By candidate: different texts with it that carry a seed, or what the user pinned."""
    anchors: int = 0
    """Different texts that carry a seed, or what the user pinned."""
    alike: dict[str, int] = {}
    """By keyword: posts with it that were read and look like the event, by other terms than this one."""
    judged: dict[str, int] = {}
    """By keyword: posts with it that were read as a whole."""
    written: dict[str, tuple[str, ...]] = {}
    """By hashtag: spellings with accents and the like, the most frequent first."""
    carried: dict[frozenset[str], int] = {}
    """By the keywords that a post carries together: how many posts do."""
    background: Background | None = None
    probes: tuple[Probe, ...] = ()
    """Those that came in since the last frame."""
    volume: Volume = Volume()

    @property
    def ended(self) -> datetime:
        return self.began + self.length

    def count(self, term: str) -> int:
        return sum(self.counts.get(term, ()))


class Change(Struct, frozen=True, kw_only=True):
    """A keyword that came in or left, and why."""

    term: str
    reason: str
    """In words, for people."""
    numbers: dict[str, float] = {}
    """Those that decided."""


class Candidate(Struct, frozen=True, kw_only=True):
    """A term that was looked at in a frame."""

    term: str
    counts: Counts
    verdict: str
    """`in`, `enters`, or why it stays out: `infrequent`, `unlike the seeds`, `full`, …"""
    numbers: dict[str, float] = {}


class Decision(Struct, frozen=True, kw_only=True):
    """What a method makes of a frame."""

    state: State
    entries: tuple[Change, ...] = ()
    exits: tuple[Change, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    probes: tuple[str, ...] = ()
    """Terms to search for next, the most useful first; as many as there is budget for."""
    numbers: dict[str, float] = {}
    """Of the frame as a whole: the threshold that held, estimates."""


class Method(Protocol):
    """A way to adapt keywords to an event. Pure: the same state and frame give the same decision."""

    name: str
    kinds: frozenset[Kind]
    """The terms that may come in; a `FrameCounter` counts no others."""

    def begins(self, seeds: tuple[str, ...], settings: Settings) -> State: ...

    def decides(self, state: State, frame: Frame, settings: Settings) -> Decision: ...
