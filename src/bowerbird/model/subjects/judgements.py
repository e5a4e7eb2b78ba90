"""What accounts and posts are said to be: by whom, why, and how certainly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from bowerbird.model.items import Page, Post, User
from bowerbird.model.kinds import Subject
from bowerbird.model.work.calls import Saved


class Judgement(Struct, frozen=True, gc=False, kw_only=True):
    """One value that one account or post is judged to have."""

    subject: Subject
    id: str
    value: str
    """In the judge's own words: the name of a place, a language, `member`."""
    reason: str
    """What decided, from the judge's own short list, such as `profile` or `text`."""
    confidence: float
    strength: int = 0
    """How much the reason counts: a stronger judgement of the same value replaces a weaker one."""
    evidence: Mapping[str, str | float | None] = {}
    holds_for_posts: bool = False
    """Said of an account: also true of its stored posts that have no place of their own."""


class Ruling(Struct, frozen=True, kw_only=True):
    """What one judge says of one page."""

    judgements: tuple[Judgement, ...] = ()
    reviewed: Mapping[tuple[Subject, str], frozenset[str]] = {}
    """By account or post, the reasons that were looked at again: what was said for these and is not repeated is withdrawn."""


class EarlierJudgement(Struct, frozen=True, gc=False, kw_only=True):
    """What stands of an account or post from before."""

    judge: str
    value: str
    reason: str
    evidence: str
    """JSON."""
    version: str
    strength: int = 0
    decided_by: str | None = None
    """A person; None: the judge itself."""


class Seen(Struct, frozen=True, kw_only=True):
    """A page as judges see it: what was saved of it, and what is known of the accounts that it names."""

    page: Page
    saved: Saved
    profiles: Mapping[str, User] = {}
    """By stored id: profiles that the page shows, and those stored before of the authors on it."""
    shown: frozenset[str] = frozenset()
    """Of these, the ids whose profile this page tells something of."""
    hidden: frozenset[str] = frozenset()
    """Ids of accounts and posts that are gone: nothing may be said of them."""
    before: Mapping[tuple[Subject, str], tuple[EarlierJudgement, ...]] = {}
    """What stands of them, whoever said it."""

    def accounts(self) -> Iterator[tuple[str, User]]:
        """The accounts whose profile this page tells something of, by stored id."""
        return ((known, self.profiles[known]) for known in sorted(self.shown - self.hidden))

    def posts(self) -> Iterator[tuple[str, str, Post]]:
        """Stored id, author's stored id and content of the posts that this page may speak for."""
        stored = {post.key: post for post in self.saved.posts if not post.is_view}
        for post in self.page.posts:
            known = stored.get(post.key)
            if known is not None and known.id not in self.hidden:
                yield known.id, known.author, post
