"""Counts accounts by what their profiles say: numbers alone, part by part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from bowerbird.db.sqlite.millions import by_number
from bowerbird.model.subjects.telling import is_hidden
from bowerbird.ports import Row, Transaction

COUNTERS = ("followers", "following", "posts")
_USERS = f"""
select u.user_no, u.followers, u.following, u.posts, u.seen_at,
    (select count(*) from listings l where l.user_no = u.user_no and l.kind = 'follow' and l.side = 'followers') as has_followers,
    (select count(*) from listings l where l.user_no = u.user_no and l.kind = 'follow' and l.side = 'following') as has_following,
    (select p.post_no from posts p where p.author = u.user_no order by {by_number("p.post_no", "asc")} limit 1) as first_post
from users u where u.user_no > ? and u.user_no <= ? and not {is_hidden("u")}
"""


class Spread(Struct):
    """The values of one counter."""

    accounts: int = 0
    total: int = 0
    least: int | None = None
    most: int | None = None
    whose: int = 0
    """The account with the most."""
    zero: int = 0

    def add(self, value: int, user: int) -> None:
        self.accounts += 1
        self.total += value
        self.zero += value == 0
        self.least = value if self.least is None else min(self.least, value)
        if self.most is None or value > self.most:
            self.most, self.whose = value, user

    def join(self, other: Spread) -> None:
        if other.least is None or other.most is None:
            return
        self.accounts, self.total, self.zero = self.accounts + other.accounts, self.total + other.total, self.zero + other.zero
        self.least = other.least if self.least is None else min(self.least, other.least)
        if self.most is None or other.most > self.most:
            self.most, self.whose = other.most, other.whose


class AccountSums(Struct):
    """What is known of some accounts together."""

    accounts: int = 0
    seen: int = 0
    """Whose profile is stored."""
    with_posts: int = 0
    with_followers: int = 0
    """Whose list of followers was read."""
    with_following: int = 0
    counters: dict[str, Spread] = {}
    degrees: dict[str, int] = {}
    """`3 5`: accounts with 4 to 7 followers that follow 16 to 31; binary digits of both numbers."""

    def add(self, row: Row) -> None:
        self.accounts += 1
        self.seen += row["seen_at"] is not None
        self.with_posts += row["first_post"] is not None
        self.with_followers += row["has_followers"] > 0
        self.with_following += row["has_following"] > 0
        for name in COUNTERS:
            if row[name] is not None and row[name] >= 0:
                self.counters.setdefault(name, Spread()).add(row[name], row["user_no"])
        followers, following = row["followers"], row["following"]
        if followers is not None and following is not None and followers >= 0 and following >= 0:
            cell = f"{followers.bit_length()} {following.bit_length()}"
            self.degrees[cell] = self.degrees.get(cell, 0) + 1

    def join(self, other: AccountSums) -> None:
        for name in ("accounts", "seen", "with_posts", "with_followers", "with_following"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, spread in other.counters.items():
            self.counters.setdefault(name, Spread()).join(spread)
        for cell, n in other.degrees.items():
            self.degrees[cell] = self.degrees.get(cell, 0) + n


def joined(bodies: Iterable[str]) -> AccountSums:
    whole = AccountSums()
    for body in bodies:
        whole.join(read_people(body))
    return whole


def read_people(body: str | None) -> AccountSums:
    return msgspec.json.decode(body, type=AccountSums) if body else AccountSums()


async def read_users(tx: Transaction, after: int, through: int) -> Sequence[Row]:
    return await tx.fetch(_USERS, after, through)
