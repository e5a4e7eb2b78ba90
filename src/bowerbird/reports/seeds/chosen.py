"""Stored accounts and posts that fulfil a condition, as keys of one service: what one crawl found may be the seeds of another."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from bowerbird.errors import UserError
from bowerbird.model import NETWORKS, Judged, PostKind, Service, Subject
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.judgements.rows import current_values, read_judgements
from bowerbird.store.people.names import has_local_keys, key_in

_BATCH = 1_000
Facts = Callable[[str | Judged], Any]
Heard = Mapping[tuple[Subject, str], frozenset[Judged]]

USER_WORDS: Mapping[str, str] = {
    **{name: name for name in ("handle", "name", "description", "location", "language", "followers", "following", "posts")},
    **{name: f"is_{name}" for name in ("protected", "bot", "verified")},
}
POST_WORDS: Mapping[str, str] = {
    **{name: name for name in ("text", "language", "replies", "reposts", "likes", "quotes")},
    **dict.fromkeys(("reply", "repost", "quote"), "kind"),
    "edited": "edited_at",
    "cut": "is_cut",
}
"""The words of a condition that the store can answer, and the column that does."""

# Stubs are known by id alone: nothing can be said about them, and who is gone or opted out is left alone.
_USERS = """
select u.user_no, u.id, {columns}, {key} as key from users u
where u.user_no > ? and u.network = ? and u.seen_at is not null and coalesce(u.opts_out, 0) = 0
and not exists (select 1 from deletions d where d.subject = 'user' and d.id = u.id)
order by u.user_no limit {batch}
"""
_POSTS = """
select p.post_no, p.id, p.author, u.id as author_id, {columns}, {key} as key
from posts p join users u on u.user_no = p.author
where p.post_no > ? and p.network = ? and p.deleted_at is null and coalesce(u.opts_out, 0) = 0
order by p.post_no limit {batch}
"""
_SERVICE = """
select service, network, base from services where base = ? or provider = ?
order by case when base = ? then 0 else 1 end, service limit 1
"""


async def chosen(
    database: Database, what: str, holds: Callable[[Facts], bool], service: Service, *, asks_judges: bool = False
) -> AsyncIterator[str]:
    """Keys of the `users`, `posts` or `authors` (of posts) for which the condition holds, each once, first found first."""
    async with database.reading() as tx:
        row = await service_row(tx, service)
    if row is None or (has_local_keys(row["network"]) and row["base"] != service.base):
        raise UserError(f"the store holds nothing of {service.base}, so nothing there can be chosen as a seed")
    known: set[str] = set()
    walk = _Walk(database, what, holds, asks_judges)
    async for key in walk.keys(row["service"], row["network"]):
        # A user or post comes once; an author as often as he wrote.
        if what != "authors":
            yield key
        elif key not in known:
            known.add(key)
            yield key


async def service_row(tx: Transaction, service: Service) -> Row | None:
    """A service as the store knows it: by its address, or else by its kind."""
    return await tx.fetch_one(_SERVICE, service.base, service.provider, service.base)


class _Walk(NamedTuple):
    """Goes through what is stored, batch by batch."""

    database: Database
    what: str
    holds: Callable[[Facts], bool]
    asks_judges: bool

    async def keys(self, service: int, network: str) -> AsyncIterator[str]:
        sql, words, number = _statement(self.what, service, network)
        name = "author_id" if self.what == "authors" else "id"
        rows, judged = await self._batch(sql, 0, network)
        while rows:
            for row in rows:
                key = row["key"] or key_in(network, row[name])
                facts = _facts(row, words, judged.get((self._subject, row["id"]), frozenset()))
                if key is not None and self.holds(facts) and (self.what != "posts" or is_askable(network, row["kind"])):
                    yield key
            rows, judged = await self._batch(sql, rows[-1][number], network)

    @property
    def _subject(self) -> Subject:
        return Subject.USER if self.what == "users" else Subject.POST

    async def _batch(self, sql: str, after: int, network: str) -> tuple[Sequence[Row], Heard]:
        async with self.database.reading() as tx:
            rows = await tx.fetch(sql, after, network)
            items = [(self._subject, row["id"]) for row in rows] if self.asks_judges else ()
            return rows, current_values(await read_judgements(tx, self.database, items))


def _statement(what: str, service: int, network: str) -> tuple[str, Mapping[str, str], str]:
    is_users = what == "users"
    words = USER_WORDS if is_users else POST_WORDS
    columns = ", ".join(sorted({f"{'u' if is_users else 'p'}.{name}" for name in words.values()}))
    key = _own_key(what == "posts", service) if has_local_keys(network) else "null"
    sql = (_USERS if is_users else _POSTS).format(columns=columns, key=key, batch=_BATCH)
    return sql, words, "user_no" if is_users else "post_no"


def _own_key(is_post: bool, service: int) -> str:
    """What the service calls it; it may know one thing under two keys, and one is enough.

    The plus keeps SQLite from reading all keys of the service in their order, which it thinks the way to the least one.
    """
    keys, here = ("post_keys k", "k.post_no = p.post_no") if is_post else ("user_keys k", "k.user_no = u.user_no")
    return f"(select min(k.key) from {keys} where +k.service = {int(service)} and {here})"


def _facts(row: Row, words: Mapping[str, str], judged: frozenset[Judged]) -> Facts:
    def fact(word: str | Judged) -> Any:
        if isinstance(word, Judged):
            return word.is_said(judged)
        value = row[words[word]]
        if words[word] == "kind":
            return value == word
        return value is not None if word == "edited" else value

    return fact


def is_askable(network: str, kind: str) -> bool:
    """Whether a post can be asked for by its id: a comment on Weibo and a repost on Bluesky are things of another sort."""
    return PostKind(kind) not in NETWORKS[network].not_askable
