"""What a person means by a handle, an id or an address: accounts and posts of the store, or names that nobody bears there."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.model import Subject
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.histories.find_account import find_accounts
from bowerbird.store.forgetting.names import is_whole, wished
from bowerbird.store.posts.by_id import with_ids

_BY_HANDLE = """
select user_no, id, handle from users where network = ? and lower(handle) = ?
union select u.user_no, u.id, u.handle from former_handles f join users u on u.user_no = f.user_no
    where u.network = ? and f.name = ?
"""
_BY_KEY = """
select p.post_no, p.id from post_keys k join posts p on p.post_no = k.post_no
where k.service in (select service from services) and k.key = ?
union select post_no, id from posts where id in (select network || ':' || ? from services)
"""


class Meant(Struct):
    """What was found, by number, and the names that keep out what was not."""

    users: set[int]
    posts: set[int]
    names: set[str]


class Finder:
    """Finds what is meant in one store; `network` and `subject` narrow it down."""

    def __init__(self, database: Database, tx: Transaction, network: str | None = None, subject: Subject | None = None) -> None:
        self._database = database
        self._tx = tx
        self._network = network
        self._subject = subject

    async def find(self, written: Sequence[str]) -> Meant:
        """All that is meant; raises `UserError` for what may mean several, or cannot be understood."""
        found = Meant(set(), set(), set())
        for text in written:
            await self._find(text, found)
        return found

    async def _find(self, text: str, found: Meant) -> None:
        names = wished(text, self._network, self._subject)
        users, posts = await self._users(text, names), await self._posts(text, names)
        if len(users) + len(posts) > 1:
            listed = ", ".join(sorted(str(row["id"]) for row in (*users.values(), *posts.values()))[:5])
            raise UserError(
                f"{text!r} may mean several: {listed}",
                "write the id of one, with --as user or --as post where needed",
                code="ambiguous",
            )
        if not users and not posts and not names and self._network and "@" in text and not is_whole(self._network, text):
            raise UserError(
                f"nobody in the store is called {text!r}, and many may be called so on {self._network}",
                "write the whole handle, "
                "with its server (@alice@mastodon.social, @alice.bsky.social), or the address of the account",
                code="unknown_account",
            )
        if not users and not posts and not names:
            raise UserError(
                f"cannot tell whom {text!r} means, nobody in the store is called so",
                "write the address of the account or post, "
                "its id (did:…, x:123 with --as user or --as post), or a handle (@alice) with --on NETWORK",
                code="unknown_account",
            )
        found.users |= users.keys()
        found.posts |= posts.keys()
        found.names |= names

    async def _users(self, text: str, names: Collection[str]) -> dict[int, Row]:
        if self._subject is Subject.POST:
            return {}
        rows: list[Row] = []
        for name in names:
            kind, _, rest = name.partition(" ")
            if kind == "handle":
                network, _, handle = rest.partition(" ")
                rows += await self._tx.fetch(_BY_HANDLE, network, handle, network, handle)
            elif kind == "user":
                rows += await self._tx.fetch("select user_no, id, handle from users where id in (?, ?)", rest, f"{rest}/")
        if not names:
            accounts = await find_accounts(self._database, self._tx, text)
            wanted = [each for each in accounts if self._network in (None, each.network)]
            rows += [{"user_no": each.number, "id": each.id, "handle": each.handle} for each in wanted]
        return {row["user_no"]: row for row in rows}

    async def _posts(self, text: str, names: Collection[str]) -> dict[int, Row]:
        if self._subject is Subject.USER:
            return {}
        ids = [name.removeprefix("post ") for name in names if name.startswith("post ")]
        members = self._database.members(ids)
        rows = [*await self._tx.fetch(f"select post_no, id from posts where {with_ids(self._database)}", members)] if ids else []
        if not names:
            rows += await self._tx.fetch(_BY_KEY, text, text)
        elif ids and not rows and "://" in text:
            # Not indexed: addresses are looked for in the whole table, for those who have nothing but one.
            rows += await self._tx.fetch(f"select post_no, id from posts where url {self._database.any('text')}", members)
        return {row["post_no"]: row for row in rows}
