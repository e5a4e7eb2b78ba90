"""The frozen nouns of bowerbird: one word per concept, values only.

Ids are text and global (`https://…` for Mastodon, `x:12` for X); a `key` is what one service calls the same thing.
Times are zoned UTC `datetime`; durations are `timedelta`; nothing here reads a clock or touches I/O.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct, field


class Network(StrEnum):
    BLUESKY = "bluesky"
    MASTODON = "mastodon"
    X = "x"
    WEIBO = "weibo"


class Outcome(StrEnum):
    """How one call, or one target within a call, ended. Everything but `ok` is still an answer."""

    OK = "ok"
    RATE_LIMITED = "rate_limited"
    SECOND_LIMIT = "second_limit"
    QUOTA_EXHAUSTED = "quota_exhausted"
    NOT_FOUND = "not_found"
    SUSPENDED = "suspended"
    DEACTIVATED = "deactivated"
    PROTECTED = "protected"
    BLOCKED = "blocked"
    BAD_TOKEN = "bad_token"
    FORBIDDEN_SCOPE = "forbidden_scope"
    BAD_REQUEST = "bad_request"
    OVERLOADED = "overloaded"
    UNREADABLE = "unreadable"
    UNANSWERED = "unanswered"

    @property
    def is_about_target(self) -> bool:
        """The service told us something lasting about the subject: no retry will change it now."""
        return self in _ABOUT_TARGET

    @property
    def is_passing(self) -> bool:
        """A fault that time may heal: the task is tried again after a back-off."""
        return self in _PASSING


_ABOUT_TARGET = frozenset({Outcome.NOT_FOUND, Outcome.SUSPENDED, Outcome.DEACTIVATED, Outcome.PROTECTED, Outcome.BLOCKED})
_PASSING = frozenset({Outcome.OVERLOADED, Outcome.UNREADABLE, Outcome.UNANSWERED})


class Subject(StrEnum):
    """What the targets of a facet are."""

    USER = "user"
    POST = "post"
    WORD = "word"


class PostKind(StrEnum):
    POST = "post"
    REPLY = "reply"
    REPOST = "repost"
    QUOTE = "quote"
    COMMENT = "comment"


class RelationKind(StrEnum):
    FOLLOW = "follow"
    MEMBER = "member"


class Side(StrEnum):
    """Which end of the relations a listing shows: `following` lists out-edges of the target, `followers` in-edges."""

    FOLLOWING = "following"
    FOLLOWERS = "followers"


# --- what a page carries -------------------------------------------------------------------------------------------


class User(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    id: str
    key: str
    handle: str | None = None
    name: str | None = None
    description: str | None = None
    location: str | None = None
    url: str | None = None
    language: str | None = None
    avatar: str | None = None
    created_at: datetime | None = None
    followers: int | None = None
    following: int | None = None
    posts: int | None = None
    newest_post_at: datetime | None = None
    """Time or date of the newest post, where the profile says it."""
    is_protected: bool | None = None
    is_bot: bool | None = None
    is_verified: bool | None = None
    opts_out: bool | None = None
    """The author asked not to be collected or indexed (`noindex`, `#nobot`, `indexable: false` …)."""
    raw: bytes = b""


class Media(Struct, frozen=True, gc=False, kw_only=True):
    id: str
    kind: str
    url: str
    description: str | None = None


class Place(Struct, frozen=True, gc=False, kw_only=True):
    name: str | None = None
    country: str | None = None
    longitude: float | None = None
    latitude: float | None = None


class Post(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    id: str
    key: str
    author: str
    """Global id of the author; the author's own row comes in the same page where the service sends it."""
    kind: PostKind = PostKind.POST
    created_at: datetime | None = None
    """The network's own time of writing."""
    text: str | None = None
    language: str | None = None
    reply_to: str | None = None
    """Global ids of the posts this one answers, passes on or quotes."""
    repost_of: str | None = None
    quote_of: str | None = None
    replies: int | None = None
    reposts: int | None = None
    likes: int | None = None
    edited_at: datetime | None = None
    url: str | None = None
    source: str | None = None
    warning: str | None = None
    is_sensitive: bool | None = None
    tags: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    """Keys of the mentioned users, as the service names them."""
    links: tuple[str, ...] = ()
    media: tuple[Media, ...] = ()
    place: Place | None = None
    raw: bytes = b""


class Relation(Struct, frozen=True, gc=False):
    """`source` follows (or belongs to) `target`; both are keys of the service that was asked."""

    kind: RelationKind
    source: str
    target: str


class Gone(Struct, frozen=True, gc=False):
    """A target the service says is not to be had, with the reason."""

    subject: Subject
    key: str
    reason: Outcome


class Broken(Struct, frozen=True, gc=False):
    """One item that could not be mapped; it goes to quarantine alone and the page goes on."""

    subject: Subject
    raw: bytes
    why: str


class Reading(Struct, frozen=True, gc=False):
    """What the server said about one of its limits, in the server's own time."""

    limit: int | None
    remaining: int | None
    reset_at: datetime | None


class Page(Struct, frozen=True, kw_only=True):
    """One answer, understood."""

    outcome: Outcome = Outcome.OK
    users: tuple[User, ...] = ()
    posts: tuple[Post, ...] = ()
    relations: tuple[Relation, ...] = ()
    gone: tuple[Gone, ...] = ()
    broken: tuple[Broken, ...] = ()
    results: int = 0
    """How many items the service listed, mapped or not."""
    cursor: str | None = None
    """How to ask for the next page of the same task; None when the list has ended."""
    head: str | None = None
    """Key of the newest item listed: the next incremental visit starts above it."""
    reading: Reading | None = None
    retry_after: timedelta | None = None
    detail: str = ""
    """The service's own words, shortened, when the outcome is not ok."""


# --- limits ---------------------------------------------------------------------------------------------------------


class WindowKind(StrEnum):
    ALIGNED = "aligned"
    """The window ends at the next multiple of its length since the epoch."""
    FIRST_CALL = "first_call"
    """The window starts with the first call after the previous one ended."""
    MONTH = "month"
    """The calendar month, UTC."""


class Limit(Struct, frozen=True, kw_only=True):
    """One server-side limit as the provider publishes it; `bucket` is a template filled per credential."""

    bucket: str
    """Template over `{service}`, `{credential}`, `{account}`, `{app}`, `{facet}`."""
    allowance: int
    window: timedelta
    kind: WindowKind = WindowKind.ALIGNED
    per_call: int = 1
    per_result: int = 0
    """Cost of one call: `per_call + per_result × results`; the most it may cost is charged, the rest refunded."""
    only_paged: bool = False
    """Counts only requests that carry a position (`max_id`, `since_id`, `min_id`, `page`)."""


class Facet(Struct, frozen=True, kw_only=True):
    """One kind of question and its limits; the table of these is the provider's contract."""

    name: str
    subject: Subject
    yields: frozenset[str]
    """Which of `users`, `posts`, `relations` its pages carry."""
    objects_per_call: int = 1
    results_per_call: int = 1
    total_results: int | None = None
    side: Side | None = None
    is_incremental: bool = False
    """A revisit can ask only for what is newer than `Progress.newest`."""
    limits: tuple[Limit, ...] = ()


class Credential(Struct, frozen=True, kw_only=True):
    """What opens a bucket, by name; the secret itself stays in the vault."""

    name: str
    provider: str
    kind: str = "user"
    """`user` or `app`: many services keep separate limits for the two."""
    account: str = ""
    app: str = ""


class Secret(Struct, frozen=True, kw_only=True):
    """The confidential part of a credential; it never prints itself."""

    name: str
    values: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Secret({self.name!r}, …)"

    __str__ = __repr__


# --- the frontier ---------------------------------------------------------------------------------------------------


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
    visits: int = 0
    added_at: datetime | None = None
    visited_at: datetime | None = None
    memory: bytes | None = None
    """What the lane's ranker learned about this target, in the ranker's own encoding."""


class Arrival(Struct, frozen=True, gc=False, kw_only=True):
    """A target that a seed or a page adds to a lane, or wakes there."""

    lane: int
    target: str
    depth: int = 0
    wakes: bool = True
    """Makes an already known, sleeping task ready again."""


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
    post_times: tuple[datetime, ...] = ()
    """When the new posts were written."""
    posts_before: int | None = None
    posts_now: int | None = None
    """The profile's own post counter, before and after."""


class Standing(Struct, frozen=True, gc=False):
    """A ranker's word on one task: how urgent, and when it may be asked again."""

    priority: float = 0.0
    due: datetime | None = None
    """None: sleeps until an edge of the flow wakes it."""
    memory: bytes | None = None


class Draw(Struct, frozen=True, gc=False):
    """A part of the next choice: up to `count` ready tasks with `low <= priority < high`, in lane order."""

    count: int
    low: float = float("-inf")
    high: float = float("inf")


class Settled(Struct, frozen=True, gc=False, kw_only=True):
    """The new state of one leased task."""

    task: Task
    progress: Progress
    standing: Standing
    attempts: int = 0
    is_visit: bool = True
    """A completed visit, as against a page in the middle or a failed try."""
    failure: str | None = None
    """Set when the task is given up; it stays in the frontier as failed."""


# --- one call -------------------------------------------------------------------------------------------------------


class Ask(Struct, frozen=True, gc=False):
    """A question to one service, before it is a request: facet, targets and where to go on."""

    facet: str
    targets: tuple[str, ...]
    progress: Progress = Progress()
    hints: dict[str, str] = {}
    """Options the crawl file sets for the facet, such as a smaller page size."""


class Request(Struct, frozen=True, kw_only=True):
    path: str
    method: str = "GET"
    query: tuple[tuple[str, str], ...] = ()
    headers: dict[str, str] = {}
    body: bytes = b""


class Answer(Struct, frozen=True, kw_only=True):
    """What came back, as it came; `status` 0 means nothing did and `failure` says why."""

    status: int
    headers: dict[str, str] = {}
    """Lower-case names."""
    body: bytes = b""
    sent_at: datetime
    received_at: datetime
    failure: str = ""


class Service(Struct, frozen=True, kw_only=True):
    """One reachable instance of a network."""

    name: str
    provider: str
    base: str
    """Scheme, host and port, without a trailing slash."""


class Charge(Struct, frozen=True, gc=False):
    """What one call takes from one bucket."""

    bucket: str
    amount: int
    limit: Limit
    finished_before: int = 0
    """How many calls the bucket had finished when this one was leased: bounds what its headers can know."""


class Lease(Struct, frozen=True, kw_only=True):
    """The right to make one call until a time."""

    call: int
    service: str
    ask: Ask
    tasks: tuple[Task, ...]
    credential: str | None
    charges: tuple[Charge, ...]
    leased_at: datetime
    expires_at: datetime
    rank_time: timedelta = timedelta(0)


class SavedUser(Struct, frozen=True, gc=False):
    id: str
    key: str
    is_new: bool
    is_changed: bool
    posts_before: int | None
    posts_now: int | None


class SavedPost(Struct, frozen=True, gc=False):
    id: str
    key: str
    author: str
    is_new: bool


class Saved(Struct, frozen=True, kw_only=True):
    """What a page changed in the store: the seeder's and the rankers' input."""

    users: tuple[SavedUser, ...] = ()
    posts: tuple[SavedPost, ...] = ()
    relations_new: int = 0
    relations_removed: int = 0
