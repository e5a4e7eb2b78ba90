"""What a command wants of the pages that its calls bring. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from bowerbird.model import Page, Post


class What(StrEnum):
    """What of a page is a result."""

    POSTS = "posts"
    USERS = "users"
    FOLLOWS = "follows"
    REPOSTS = "reposts"
    TRENDS = "trends"
    VOLUMES = "volumes"


class Wanted(Struct, frozen=True, kw_only=True):
    """Which items of which facets are results, and how many of them are enough."""

    facets: Mapping[str, What] = {}
    """By facet."""
    leading: frozenset[str] = frozenset()
    """Facets whose pages say what names stand for, on the way to what is wanted."""
    heard: bool = False
    """Whether the posts of streams are results; others are not kept then."""
    keeps_raw: bool = True
    """Whether items are kept as they were sent as well: of no use in a store that is thrown away."""
    limit: int | None = None
    """Results for each target."""
    since: datetime | None = None
    until: datetime | None = None
    languages: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """One of these must be in the text or among the hashtags."""
    authors: frozenset[str] = frozenset()
    """Global ids: who may have written it, where it matters."""

    @property
    def is_narrow(self) -> bool:
        """Whether some of the posts listed may not be wanted."""
        return bool(self.since or self.until or self.languages or self.authors or self.words)

    def refuses(self, post: Post) -> str:
        """Why a post is not wanted; empty: it is."""
        at = post.created_at or post.listed_at
        if self.since is not None and at is not None and at < self.since:
            return "older than --since"
        if self.until is not None and at is not None and at >= self.until:
            return "not older than --until"
        if self.languages and not _is_in(post.language or "", self.languages):
            return "in another language, or in none that is told"
        if self.authors and post.author not in self.authors:
            return "by somebody else"
        return "" if not self.words or _has_any(post, self.words) else "without the words"

    def is_past(self, page: Page) -> bool:
        """Whether a list, newest first, has come to what is too old: then all that it lists is, whatever is pinned on top."""
        listed = [post.created_at for post in page.posts if post.id not in page.along and post.created_at is not None]
        return self.since is not None and bool(listed) and max(listed) < self.since


def _is_in(spoken: str, languages: tuple[str, ...]) -> bool:
    told = spoken.lower().replace("_", "-")
    return any(told == each or told.startswith(f"{each}-") for each in languages)


def _has_any(post: Post, words: tuple[str, ...]) -> bool:
    text = f"{post.text or ''} {' '.join(f'#{tag}' for tag in post.tags)}".casefold()
    return any(word.casefold() in text for word in words)
