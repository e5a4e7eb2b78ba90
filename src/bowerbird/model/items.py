"""What a page carries: users, posts, relations, and what could not be had."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from bowerbird.model.kinds import Outcome, PostKind, ReactionKind, RelationKind, Signal, Subject


class Judged(NamedTuple):
    """What a condition asks: did this judge say this value of the target, or any value where none is named."""

    judge: str
    value: str | None = None

    def is_said(self, said: Iterable[Judged]) -> bool:
        return any(each.judge == self.judge and self.value in (None, each.value) for each in said)


class User(Struct, frozen=True, gc=False, omit_defaults=True):
    id: str
    key: str
    handle: str | None = None
    name: str | None = None
    description: str | None = None
    location: str | None = None
    url: str | None = None
    language: str | None = None
    avatar: str | None = None
    gender: str | None = None
    """`m`, `f`, or empty where the account does not say; only where the network itself tells it (Weibo)."""
    time_zone: str | None = None
    """As the account set it, in the network's own words (v1.1: `Lisbon`), or hours from UTC (`UTC+01:00`)."""
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
    signals: tuple[Signal, ...] = ()
    """The signs of it that the account gives, also those that do not count by themselves."""
    is_there: bool = False
    """The service says by itself that the account is there, perhaps again, whatever else it says of it."""
    labels: tuple[str, ...] = ()
    """What moderation or the author says about the account (`!no-unauthenticated`, `bot` …)."""
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


class PollOption(Struct, frozen=True, gc=False):
    title: str
    votes: int | None = None
    """None as long as the service keeps the result to itself."""


class Poll(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A question put with a post, and how it stands: `votes` are given, by `voters` accounts."""

    options: tuple[PollOption, ...]
    votes: int | None = None
    voters: int | None = None
    is_multiple: bool | None = None
    is_closed: bool | None = None
    ends_at: datetime | None = None


class Post(Struct, frozen=True, gc=False, omit_defaults=True):
    id: str
    key: str
    author: str
    """Global id of the author; the author's own row comes in the same page where the service sends it."""
    kind: PostKind = PostKind.POST
    created_at: datetime | None = None
    """The network's own time of writing, as the author's software claims it."""
    listed_at: datetime | None = None
    """When the service itself took the post in, where it says so or the id tells."""
    is_time_doubtful: bool = False
    """`created_at` cannot be true: before the network existed, or after the service had the post."""
    text: str | None = None
    is_cut: bool | None = None
    """The service sent only the beginning of the text, and says so."""
    language: str | None = None
    reply_to: str | None = None
    """Global ids of the posts this one answers, passes on or quotes."""
    repost_of: str | None = None
    quote_of: str | None = None
    root: str | None = None
    """Global id of the post that opened the conversation."""
    via: str | None = None
    """Global id of the repost through which a repost came, where the service tells it."""
    edit_of: str | None = None
    """Global id of the post that this one replaces, on networks where an edit is a post of its own."""
    replies: int | None = None
    reposts: int | None = None
    likes: int | None = None
    quotes: int | None = None
    emoji: dict[str, int] | None = None
    """How often each emoji was given as a reaction."""
    poll: Poll | None = None
    edited_at: datetime | None = None
    url: str | None = None
    source: str | None = None
    warning: str | None = None
    is_sensitive: bool | None = None
    labels: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """Hashtags as they were written, without the sign."""
    cashtags: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    """Keys of the mentioned users, as the service names them."""
    links: tuple[str, ...] = ()
    media: tuple[Media, ...] = ()
    place: Place | None = None
    raw: bytes = b""


class KeptItem(Struct, frozen=True, gc=False, kw_only=True):
    """A payload as the store kept it, with what its row tells that a page around it told before."""

    network: str
    subject: Subject
    """USER or POST."""
    id: str
    raw: bytes
    author: str = ""
    """Global id of a post's author."""
    kind: PostKind = PostKind.POST
    repost_of: str | None = None
    quote_of: str | None = None


class Relation(Struct, frozen=True, gc=False):
    """`source` follows (or belongs to) `target`; both are keys of the service that was asked."""

    kind: RelationKind
    source: str
    target: str
    record: str | None = None
    """What the source calls the relation itself (Bluesky's record key): its end may be told by that name alone."""


class RelationEnd(Struct, frozen=True, gc=False):
    """The service says that a relation has ended, naming its record, its target or both."""

    kind: RelationKind
    source: str
    record: str | None = None
    target: str | None = None


class Reaction(Struct, frozen=True, gc=False):
    """`user` passed on or liked `post`; both are keys of the service that was asked."""

    kind: ReactionKind
    post: str
    user: str
    at: datetime | None = None
    """When, where the service tells it; most lists tell only the order, newest first."""


class UserTag(Struct, frozen=True, gc=False):
    """A tag that a user gave himself (Weibo); `user` is the service's key."""

    user: str
    tag: str
    name: str
    weight: int | None = None


class Trend(Struct, frozen=True, gc=False):
    """A word the service says is popular now; rank 1 is the first."""

    word: str
    rank: int
    place: str = ""
    volume: int | None = None


class UserList(Struct, frozen=True, gc=False, kw_only=True):
    """A list of accounts that somebody keeps under a name; `owner` is the service's key, where it is told."""

    id: str
    key: str
    owner: str | None = None
    kind: str | None = None
    """What it is for, where the network tells: `curated`, `moderation`, `reference`."""
    name: str | None = None
    description: str | None = None
    members: int | None = None
    followers: int | None = None
    created_at: datetime | None = None


class Member(Struct, frozen=True, gc=False):
    """An account on a list; both are the service's keys."""

    list: str
    user: str


class Version(Struct, frozen=True, gc=False, kw_only=True):
    """One version of a post that was edited, the first one included; `post` is the service's key."""

    post: str
    at: datetime
    text: str | None = None
    warning: str | None = None
    is_sensitive: bool | None = None
    links: tuple[str, ...] = ()


class Volume(Struct, frozen=True, gc=False):
    """How many posts match a query in a stretch of time, as the service counts them."""

    query: str
    begins_at: datetime
    ends_at: datetime
    posts: int


class Gone(Struct, frozen=True, gc=False):
    """A target the service says is not to be had, with the reason."""

    subject: Subject
    key: str
    reason: Outcome
    is_vague: bool = False
    """Left out of a batch without a word: asked about alone, the service may give another reason."""
    is_stated: bool = False
    """The service shows the subject itself and says that it is gone, whatever was asked: a mark on the account or the post."""


class WithdrawnPlaces(Struct, frozen=True, gc=False):
    """An author wants the places of all posts up to a key forgotten (v1.1 `scrub_geo`); `user` is the service's key."""

    user: str
    up_to: str


class Broken(Struct, frozen=True, gc=False):
    """One item that could not be mapped; it goes to quarantine alone and the page goes on."""

    subject: Subject
    raw: bytes
    why: str
    is_part: bool = False
    """Only a part of an item, which itself was kept."""


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
    along: frozenset[str] = frozenset()
    """Ids of the posts that were not listed themselves: they came inside or beside one that refers to them."""
    relations: tuple[Relation, ...] = ()
    ended: tuple[RelationEnd, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    """In the order of the service's list: newest first."""
    user_tags: tuple[UserTag, ...] = ()
    trends: tuple[Trend, ...] = ()
    lists: tuple[UserList, ...] = ()
    members: tuple[Member, ...] = ()
    versions: tuple[Version, ...] = ()
    volumes: tuple[Volume, ...] = ()
    gone: tuple[Gone, ...] = ()
    withdrawn_places: tuple[WithdrawnPlaces, ...] = ()
    broken: tuple[Broken, ...] = ()
    results: int = 0
    """How many items the service listed, mapped or not."""
    about: str | None = None
    """Key of the account that answers a question for one: others on the page came along with it."""
    billed: tuple[str, ...] = ()
    """What of these the service charges for, where it charges the same thing once a day: a name for each that has one."""
    cursor: str | None = None
    """How to ask for the next page of the same task; None when the list has ended."""
    is_whole: bool = True
    """False when the listing was broken off: what it did not show may exist all the same."""
    is_doubtful: bool = False
    """Of a whole batch not one target was listed: that is asked again before it is believed."""
    perhaps: Outcome | None = None
    """What an answer without the API's own words (a page of HTML) means, should it be the API's and not a proxy's: believed only
    when it comes again and again while the service answers about others."""
    head: str | None = None
    """Key of the newest item listed: the next incremental visit starts above it."""
    reading: Reading | None = None
    retry_after: timedelta | None = None
    detail: str = ""
    """The service's own words, shortened, when the outcome is not ok."""
