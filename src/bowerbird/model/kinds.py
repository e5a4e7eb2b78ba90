"""The closed lists: outcomes, kinds."""

from __future__ import annotations

from enum import StrEnum


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
    BAD_TOKEN = "bad_token"  # noqa: S105  the name of an outcome
    FORBIDDEN_SCOPE = "forbidden_scope"
    NOT_OFFERED = "not_offered"
    """The server has no such route, or does not offer this kind of question: a fact about the route, never about the target."""
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


class Signal(StrEnum):
    """A sign by which an account says that it does not wish to be collected, indexed or recommended, by its network's name."""

    NOINDEX = "noindex"
    INDEXABLE = "indexable"
    NOBOT = "nobot"
    DISCOVERABLE = "discoverable"
    NO_UNAUTHENTICATED = "no-unauthenticated"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    Signal.NOINDEX: "Mastodon: asks search engines to leave the profile and its posts out",
    Signal.INDEXABLE: "Mastodon: public posts are not to be searched or indexed",
    Signal.NOBOT: "Mastodon: #nobot, #nobots, #noindex, #noarchive or #nosearch in the profile",
    Signal.DISCOVERABLE: "Mastodon: is not to be recommended or listed in directories",
    Signal.NO_UNAUTHENTICATED: "Bluesky: is not to be shown to people who are not logged in",
}
COUNTED_SIGNALS = frozenset(Signal) - {Signal.DISCOVERABLE}
"""The signs that count unless a crawl file says otherwise. Not to be recommended is what is said of all who never chose."""


class PostKind(StrEnum):
    POST = "post"
    REPLY = "reply"
    REPOST = "repost"
    QUOTE = "quote"
    COMMENT = "comment"


class ReactionKind(StrEnum):
    """What somebody did to a post without writing one."""

    REPOST = "repost"
    LIKE = "like"


class RelationKind(StrEnum):
    FOLLOW = "follow"
    MEMBER = "member"


class Side(StrEnum):
    """Which end of the relations a listing shows: `following` lists out-edges of the target, `followers` in-edges."""

    FOLLOWING = "following"
    FOLLOWERS = "followers"
