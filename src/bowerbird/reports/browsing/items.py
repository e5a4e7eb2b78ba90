"""Stored items decoded to plain dicts, batch by batch: memory stays bounded and the writer is never held up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from bowerbird.clock import from_micros
from bowerbird.model import post_address
from bowerbird.model.subjects.telling import is_gone
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.histories.find_account import find_accounts
from bowerbird.store.fields import POST_FIELDS, USER_FIELDS
from bowerbird.store.payloads.frames import Frames
from bowerbird.store.payloads.raw import Unpacker

_BATCH = 1_000
_TIMES = frozenset(
    {"created_at", "listed_at", "newest_post_at", "edited_at", "found_at", "seen_at", "changed_at", "deleted_at", "removed_at"}
)
_FLAGS = frozenset({"is_protected", "is_bot", "is_verified", "opts_out", "is_sensitive", "is_cut"})
_DOCUMENTS = frozenset({"links", "place", "labels", "poll", "emoji"})

_PARTS = ("tags", "written_tags", "cashtags", "mentions", "media")

_USER_COLUMNS = ("id", "network", *USER_FIELDS, "found_at", "found_by", "seen_at", "seen_by", "changed_at")
_POST_COLUMNS = ("id", "network", *POST_FIELDS, "found_at", "found_by", "seen_at", "seen_by", "deleted_at")
_RELATION_COLUMNS = ("kind", "found_at", "found_by", "seen_at", "removed_at")

_USERS = f"select user_no, {', '.join(_USER_COLUMNS)}, raw, raw_dictionary from users"
_NEXT_USERS = f"{_USERS} where user_no > ? order by user_no limit {_BATCH}"
_POSTS = (
    f"select p.post_no, {', '.join(f'p.{name}' for name in _POST_COLUMNS)}, u.id as author, u.handle as author_handle, "
    "p.raw, p.raw_dictionary, p.frame, p.frame_place from posts p join users u on u.user_no = p.author "
)
_NEXT_POSTS = f"{_POSTS} where p.post_no > ? order by p.post_no limit {_BATCH}"
_NEXT_RELATIONS = (
    f"select {', '.join(f'r.{name}' for name in _RELATION_COLUMNS)}, s.id as source, t.id as target, r.source as source_no, "
    "r.target as target_no from relations r join users s on s.user_no = r.source join users t on t.user_no = r.target "
    f"where (r.kind, r.source, r.target) > (?, ?, ?) order by r.kind, r.source, r.target limit {_BATCH}"
)


class ItemReader:
    """Walks the tables in key order."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unpacker = Unpacker()
        self._frames = Frames(database)
        several = database.any("bigint")
        self._numbered = f"{_USERS} where user_no {several} order by user_no"
        self._there = f"{_USERS} where user_no {several} and not {is_gone('users')} order by user_no"
        self._kept = f"{_POSTS} where p.post_no {several} and coalesce(u.opts_out, 0) = 0"
        self._posts = f"{self._kept} and p.deleted_at is null"
        self._tags = f"select post_no, tag, coalesce(written, tag) as written from post_tags where post_no {several} order by tag"
        self._cashtags = f"select post_no, cashtag from post_cashtags where post_no {several} order by cashtag"
        self._mentions = (
            "select m.post_no, u.id from post_mentions m join users u on u.user_no = m.user_no "
            f"where m.post_no {several} order by u.id"
        )
        self._media = f"select post_no, id, kind, url, description from media where post_no {several} order by media_no"

    async def users(self, with_raw: bool) -> AsyncIterator[dict[str, Any]]:
        after = 0
        while rows := await self._batch(_NEXT_USERS, after):
            after = rows[-1]["user_no"]
            for item in await self._decoded(rows, _USER_COLUMNS, with_raw):
                yield item

    async def users_by_handle(self, handle: str) -> list[dict[str, Any]]:
        async with self._database.reading() as tx:
            numbers = [account.number for account in await find_accounts(self._database, tx, f"@{handle}")]
            rows = await tx.fetch(self._there, self._database.members(numbers))
        return await self._decoded(rows, _USER_COLUMNS, with_raw=False)

    async def posts(self, with_raw: bool) -> AsyncIterator[dict[str, Any]]:
        after = 0
        while True:
            rows, payloads = await self._fetched(_NEXT_POSTS, after, with_raw)
            if not rows:
                return
            after = rows[-1]["post_no"]
            for item in (await self._whole(rows, payloads, with_raw)).values():
                yield item

    async def payloads(self, numbers: Sequence[int]) -> dict[int, bytes | None]:
        """What was sent of posts, deleted ones too where that is kept."""
        rows, payloads = await self._fetched(self._kept, self._database.members(numbers), True)
        return {number: item["raw"] for number, item in (await self._whole(rows, payloads, True)).items()}

    async def posts_numbered(self, numbers: Sequence[int], with_raw: bool) -> dict[int, dict[str, Any]]:
        """Posts by number: those that are there, and whose authors did not ask to be left alone."""
        if with_raw:
            rows, payloads = await self._fetched(self._posts, self._database.members(numbers), with_raw)
            return await self._whole(rows, payloads, with_raw)
        async with self._database.reading() as tx:
            columns = await tx.fetch_columns(self._posts, self._database.members(numbers))
        return _by_number(columns, await self._parts(list(numbers))) if columns else {}

    async def users_numbered(self, numbers: Sequence[int], with_raw: bool) -> dict[int, dict[str, Any]]:
        """Accounts by number: those that are there, and did not ask to be left alone."""
        rows = await self._batch(self._numbered, self._database.members(numbers))
        items = await self._decoded(rows, (*_USER_COLUMNS, "opts_out"), with_raw)
        return {row["user_no"]: item for row, item in zip(rows, items, strict=True) if not item["opts_out"]}

    async def _whole(self, rows: Sequence[Row], payloads: Mapping[Any, bytes], with_raw: bool) -> dict[int, dict[str, Any]]:
        """Posts with what hangs on them, by number."""
        items = await self._decoded(rows, (*_POST_COLUMNS, "author", "author_handle"), with_raw)
        for row, item in zip(rows, items, strict=True):
            item["url"] = item["url"] or (None if item["text"] is None else post_address(item["id"]))
            if with_raw:
                item["raw"] = item["raw"] or payloads.get((row["frame"], row["frame_place"]))
        parts = await self._parts([row["post_no"] for row in rows])
        return {row["post_no"]: item | parts[row["post_no"]] for row, item in zip(rows, items, strict=True)}

    async def relations(self) -> AsyncIterator[dict[str, Any]]:
        after: tuple[str, int, int] = ("", 0, 0)
        while rows := await self._batch(_NEXT_RELATIONS, *after):
            after = (rows[-1]["kind"], rows[-1]["source_no"], rows[-1]["target_no"])
            for row in rows:
                yield {name: _decoded_value(name, row[name]) for name in ("source", "target", *_RELATION_COLUMNS)}

    async def _batch(self, sql: str, *after: Any) -> Sequence[Row]:
        async with self._database.reading() as tx:
            return await tx.fetch(sql, *after)

    async def _decoded(self, rows: Sequence[Row], columns: Sequence[str], with_raw: bool) -> list[dict[str, Any]]:
        items = [{name: _decoded_value(name, row[name]) for name in columns} for row in rows]
        if with_raw:
            async with self._database.reading() as tx:
                for row, item in zip(rows, items, strict=True):
                    item["raw"] = await self._unpacker.unpack(tx, row["raw"], row["raw_dictionary"])
        return items

    async def _fetched(self, sql: str, value: Any, with_raw: bool) -> tuple[Sequence[Row], Mapping[Any, bytes]]:
        """Posts, with the payloads that are kept together with others: of one moment, for the number of a frame that
        goes may be given out again."""
        async with self._database.reading() as tx:
            rows = await tx.fetch(sql, value)
            return rows, await self._frames.payloads(tx, rows) if with_raw and rows else {}

    async def _parts(self, posts: list[int]) -> dict[int, dict[str, list[Any]]]:
        parts: dict[int, dict[str, list[Any]]] = defaultdict(lambda: {name: [] for name in _PARTS})
        async with self._database.reading() as tx:
            for row in await self._of(tx, self._tags, posts):
                parts[row["post_no"]]["tags"].append(row["tag"])
                parts[row["post_no"]]["written_tags"].append(row["written"])
            for row in await self._of(tx, self._cashtags, posts):
                parts[row["post_no"]]["cashtags"].append(row["cashtag"])
            for row in await self._of(tx, self._mentions, posts):
                parts[row["post_no"]]["mentions"].append(row["id"])
            for row in await self._of(tx, self._media, posts):
                parts[row["post_no"]]["media"].append({name: row[name] for name in ("id", "kind", "url", "description")})
        return parts

    async def _of(self, tx: Transaction, sql: str, posts: list[int]) -> Sequence[Row]:
        return await tx.fetch(sql, self._database.members(posts))


def _by_number(columns: Sequence[Sequence[Any]], parts: Mapping[int, Mapping[str, list[Any]]]) -> dict[int, dict[str, Any]]:
    """Posts by number, of what `_POSTS` selects, by columns: far quicker than value by value."""
    numbers, told = columns[0], (*_POST_COLUMNS, "author", "author_handle")
    decoded = [_decoded_column(name, values) for name, values in zip(told, columns[1:], strict=False)]
    decoded += [[parts[number][name] if number in parts else [] for number in numbers] for name in _PARTS]
    names = (*told, *_PARTS)
    items = {number: dict(zip(names, row, strict=True)) for number, *row in zip(numbers, *decoded, strict=True)}
    for item in items.values():
        item["url"] = item["url"] or (None if item["text"] is None else post_address(item["id"]))
    return items


def _decoded_column(name: str, values: Sequence[Any]) -> Sequence[Any]:
    if not any(values) and values.count(None) == len(values):
        return values
    if name in _TIMES:
        # All of a page was found at one time.
        known = {value: _decoded_value(name, value) for value in set(values)}
        return [known[value] for value in values]
    if name in _FLAGS or name in _DOCUMENTS:
        return [_decoded_value(name, value) for value in values]
    return [value.decode() if type(value) is bytes else value for value in values]


def _decoded_value(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _TIMES:
        return from_micros(value)
    if name in _FLAGS:
        return bool(value)
    return msgspec.json.decode(value) if name in _DOCUMENTS else value
