"""What a careful programmer writes by hand with asyncpg to save one Mastodon page, one transaction each.

It writes the same columns of the same tables (profiles, keys, posts, tags, mentions, media, compressed payloads) with upserts
in sorted order, so that several processes do not deadlock. It has no history, no tombstones, no authority and no joining of
people: a mention that races with a profile leaves two rows of one person.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import zstandard

from bowerbird.clock import RealClock, to_micros
from bowerbird.model import Page, PostKind, tags_by_form
from bowerbird.store.fields import POST_FIELDS, USER_FIELDS, post_values, user_values

_USER = ("id", "network", *USER_FIELDS, "found_at", "found_by", "seen_at", "seen_by", "raw")
_POST = ("id", "network", "author", *POST_FIELDS, "found_at", "found_by", "seen_at", "seen_by", "raw")


def _upsert(table: str, columns: tuple[str, ...]) -> str:
    kept = {"id", "network", "author", "found_at", "found_by"}
    changed = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in kept)
    return f"insert into {table} ({', '.join(columns)}) values ({_places(columns)}) on conflict (id) do update set {changed}"


def _places(columns: Iterable[object]) -> str:
    return ", ".join(f"${n}" for n, _ in enumerate(columns, 1))


_SAVE_USER = _upsert("users", _USER)
_SAVE_POST = _upsert("posts", _POST)
_STUB = "insert into users (id, network, found_at, found_by) values ($1, 'mastodon', $2, $3) on conflict (id) do nothing"
_USER_KEYS = "select key, user_no from user_keys where service = 1 and key = any($1)"
_USER_NUMBERS = "select id, user_no from users where id = any($1)"
_POST_NUMBERS = "select id, post_no from posts where id = any($1)"
_KEY = "insert into user_keys (service, key, user_no) values (1, $1, $2) on conflict do nothing"
_POST_KEY = "insert into post_keys (service, key, post_no) values (1, $1, $2) on conflict do nothing"
_TAG = "insert into post_tags (tag, post_no) values ($1, $2) on conflict do nothing"
_MENTION = "insert into post_mentions (post_no, user_no) values ($1, $2) on conflict do nothing"
_MEDIA = "insert into media (id, post_no, place, kind, url, description) values ($1, $2, $3, $4, $5, $6) on conflict do nothing"


class BareFleet:
    """Saves pages over one connection of a pool."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._pack = zstandard.ZstdCompressor(level=3).compress
        self._clock = RealClock()

    async def save(self, page: Page, call: int) -> None:
        async with self._pool.acquire() as connection, connection.transaction():
            people = await self._save_users(connection, page, call)
            await self._save_posts(connection, page, call, people)

    async def _save_users(self, connection: Any, page: Page, call: int) -> dict[str, int]:
        """Writes profiles, and stubs for people only mentioned; answers numbers by id and by key."""
        at = to_micros(self._clock.now())
        users = {user.id: user for user in page.users}
        rows = [(u.id, "mastodon", *user_values(u), at, call, at, call, self._pack(u.raw)) for u in users.values()]
        await connection.executemany(_SAVE_USER, sorted(rows, key=_first))
        keys = {user.key: user.id for user in page.users}
        mentioned = {key for post in page.posts for key in post.mentions} - keys.keys()
        known = dict(await connection.fetch(_USER_KEYS, list(mentioned)))
        stubs = {key: f"mastodon:bench/{key}" for key in mentioned - known.keys()}
        await connection.executemany(_STUB, [(stub, at, call) for stub in sorted(stubs.values())])
        wanted = [*users, *stubs.values(), *(post.author for post in page.posts)]
        numbers = dict(await connection.fetch(_USER_NUMBERS, wanted))
        fresh = {key: numbers[known_id] for key, known_id in (keys | stubs).items()}
        await connection.executemany(_KEY, sorted(fresh.items()))
        return {**numbers, **known, **fresh}

    async def _save_posts(self, connection: Any, page: Page, call: int, people: dict[str, int]) -> None:
        at = to_micros(self._clock.now())
        posts = {post.id: post for post in page.posts}
        rows = [
            (p.id, "mastodon", people[p.author], *post_values(p), at, call, at, call, self._pack(p.raw)) for p in posts.values()
        ]
        await connection.executemany(_SAVE_POST, sorted(rows, key=_first))
        numbers = dict(await connection.fetch(_POST_NUMBERS, list(posts)))
        await connection.executemany(_POST_KEY, sorted((post.key, numbers[post.id]) for post in page.posts))
        whole = [(numbers[p.id], p) for p in posts.values() if p.kind is not PostKind.REPOST]
        await connection.executemany(_TAG, sorted((form, n) for n, p in whole for form in tags_by_form(p.tags)))
        await connection.executemany(_MENTION, sorted((n, people[key]) for n, p in whole for key in p.mentions))
        media = [(m.id, n, place, m.kind, m.url, m.description) for n, p in whole for place, m in enumerate(p.media, 1)]
        await connection.executemany(_MEDIA, media)


def _first(row: tuple[Any, ...]) -> str:
    return str(row[0])
