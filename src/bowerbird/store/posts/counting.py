"""What one page changes in the counts of posts kept by account and by day, gathered before it is written. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any

from msgspec import Struct, field

DAY = timedelta(days=1) // timedelta(microseconds=1)
UNDATED = -(2**31)
"""Stands for the day of posts of which nobody knows when they were written."""
_REPOST = "repost"
NewPosts = Sequence[Sequence[Any]]
"""Columns of posts: author, kind, when each was created, when listed, and whether the former is doubtful."""


class PostFacts(Struct, frozen=True, kw_only=True):
    """What of one stored post is counted."""

    author: int
    kind: str
    created_at: int | None
    listed_at: int | None
    is_time_doubtful: int | None
    found_at: int
    seen_at: int
    is_deleted: bool
    crawl: int
    """Which one brought it."""


class AccountChange(Struct, gc=False):
    """What a page changes for one account."""

    stored: int = 0
    deleted: int = 0
    reposts: int = 0
    """Of those that are not deleted."""
    first_found: int = 2**62
    last_written: int = -(2**62)
    last_seen: int = 0
    new: int = 0
    """Posts that the page itself brought."""
    is_new: bool = False
    """Nothing else is stored of it."""


class PostCounting(Struct):
    """Takes in posts as they come, go and change; memory holds one sum for each account and each day. New posts are added up by
    account only once it is known whose counts are kept (`settle`): most accounts of a stream have one post and no row."""

    accounts: dict[int, AccountChange] = field(default_factory=dict)
    brought: Counter[int] = field(default_factory=Counter)
    """How many new posts of each account are not added up yet."""
    strangers: Collection[int] = ()
    """Accounts of which the store knew nothing before this page."""
    days: dict[tuple[int, int | None], tuple[int, int]] = field(default_factory=dict)
    """By day and crawl (None: the one whose page is saved): stored, and deleted among them."""
    kept: set[int] = field(default_factory=set)
    """Authors of the page who have a row already, where that was asked beforehand."""
    crawl: int = 0
    """The one whose page is saved, where that was asked beforehand."""
    unsettled: list[tuple[NewPosts, int]] = field(default_factory=list)

    def add_new(self, posts: NewPosts, at: int) -> None:
        """Counts posts that the page brings; `at`: when it came. Nearly all posts go this way, so that it must be quick."""
        for day, stored in Counter(map(day_of, *posts[2:])).items():
            self._lay((day, None), stored, 0)
        self.brought.update(posts[0])
        self.unsettled.append((posts, at))

    @property
    def concerned(self) -> Collection[int]:
        """Accounts of which anything is counted."""
        return self.accounts.keys() | self.brought.keys()

    def settle(self, wanted: Collection[int]) -> None:
        """Adds up the new posts of some accounts; of the others nothing need be known."""
        for (authors, kinds, created, listed, _), at in self.unsettled:
            self._add_up((each for each in zip(authors, kinds, created, listed, strict=True) if each[0] in wanted), at)
        for author in self.accounts.keys() & set(self.strangers):
            self.accounts[author].is_new = True
        self.unsettled.clear()
        self.brought.clear()

    def _add_up(self, posts: Iterable[tuple[int, str, int | None, int | None]], at: int) -> None:
        last, account = 0, AccountChange()
        for author, kind, created_at, listed_at in posts:
            if author != last:
                last, account = author, self._account(author)
            account.stored += 1
            account.new += 1
            written = created_at if listed_at is None or (created_at or 0) > listed_at else listed_at
            if written is None:
                written = at
            if written > account.last_written:
                account.last_written = written
            if at < account.first_found:
                account.first_found = at
            account.last_seen = at
            if kind == _REPOST:
                account.reposts += 1

    def add(self, post: PostFacts) -> None:
        """Counts a stored post as it is now."""
        self._count(post, 1)
        account = self.accounts[post.author]
        account.first_found = min(account.first_found, post.found_at)
        account.last_written = max(account.last_written, written_by(post.created_at, post.listed_at, post.found_at))
        account.last_seen = max(account.last_seen, post.seen_at)

    def take(self, post: PostFacts) -> None:
        """No longer counts a stored post as it was."""
        self._count(post, -1)

    def note_seen(self, authors: Iterable[int], at: int) -> None:
        for author in authors:
            self._account(author).last_seen = at

    def _count(self, post: PostFacts, change: int) -> None:
        account, deleted = self._account(post.author), change if post.is_deleted else 0
        account.stored += change
        account.deleted += deleted
        account.reposts += change - deleted if post.kind == _REPOST else 0
        self._lay((day_of(post.created_at, post.listed_at, post.is_time_doubtful), post.crawl), change, deleted)

    def _lay(self, day: tuple[int, int | None], stored: int, deleted: int) -> None:
        had, had_deleted = self.days.get(day, (0, 0))
        self.days[day] = had + stored, had_deleted + deleted

    def _account(self, author: int) -> AccountChange:
        account = self.accounts.get(author)
        if account is None:
            account = self.accounts[author] = AccountChange()
        return account


def written_by(created_at: int | None, listed_at: int | None, found_at: int) -> int:
    """By when a post was written, whichever of its times is the right one."""
    known = [at for at in (created_at, listed_at) if at is not None]
    return max(known) if known else found_at


def day_of(created_at: int | None, listed_at: int | None, is_time_doubtful: int | None) -> int:
    """The day a post was written on, as databases divide: towards zero."""
    if created_at is None:
        return UNDATED
    written = listed_at if is_time_doubtful and listed_at is not None else created_at
    return written // DAY if written >= 0 else -(-written // DAY)
