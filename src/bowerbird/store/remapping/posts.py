"""Posts whose payloads are read again: what that changes is written, and what hangs on them is completed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from bowerbird.model import KeptItem, Post, PostKind, Subject
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.context import Origin, SaveContext
from bowerbird.store.fields import POST_FIELDS, Values, post_values
from bowerbird.store.forgetting.tombstones import Tombstones
from bowerbird.store.payloads.frames import Frames, Slot
from bowerbird.store.payloads.raw import Unpacker
from bowerbird.store.payloads.repeated import REPEATED, columns_of, without_repeated
from bowerbird.store.remapping.deciding import POST_WRITTEN, Change, change_of_post, is_outdated
from bowerbird.store.remapping.parts import MissingParts
from bowerbird.store.remapping.reading import ReadAgain, read_items, unpacked
from bowerbird.store.remapping.runs import Run

_stored = itemgetter(*POST_FIELDS)


class PostRemapper:
    """Reads a batch of posts again in the transaction it is given."""

    def __init__(self, database: Database, read_again: ReadAgain, batch: int) -> None:
        several = database.any("bigint")
        columns = ", ".join(f"p.{name}" for name in ("post_no", "id", "network", "raw", "raw_dictionary", *POST_FIELDS))
        lock = " for no key update of p" if database.dialect == "postgresql" else ""
        self._batch = (
            f"select {columns}, p.frame, p.frame_place, u.id as author_id from posts p join users u on u.user_no = p.author "
            "where p.post_no > ? and p.post_no <= ? and (p.raw is not null or p.frame is not null) and p.deleted_at is null "
            f"and coalesce(u.opts_out, 0) = 0 order by p.post_no limit {batch}{lock}"
        )
        self._history = f"select post_no as number, before from post_history where post_no {several}"
        self._write = f"update posts set {', '.join(f'{name} = ?' for name in POST_WRITTEN)} where post_no = ?"
        self._database, self._read_again, self._size = database, read_again, batch
        self._frames, self._unpacker, self._parts = Frames(database), Unpacker(), MissingParts(database)

    async def step(self, tx: Transaction, run: Run, tombstones: Tombstones, at: int) -> None:
        """The next posts of a run; it is noted there what came of them."""
        rows = {row["id"]: row for row in await tx.fetch(self._batch, run.posts_at, run.posts_to)}
        payloads = await self._payloads(tx, list(rows.values()))
        kept = [_kept(row, payloads[known]) for known, row in rows.items() if payloads[known]]
        read = {item.id: item for item in read_items(self._read_again, tombstones, kept) if isinstance(item, Post)}
        for network in sorted({rows[known]["network"] for known in read}):
            s = SaveContext(tx=tx, database=self._database, origin=Origin(network=network), at=at)
            own = {known: post for known, post in read.items() if rows[known]["network"] == network}
            await self._take(s, run, rows, own, payloads)
        run.items += len(rows)
        run.unread += len(rows) - len(read)
        run.posts_at = max(row["post_no"] for row in rows.values()) if len(rows) == self._size else run.posts_to

    async def _payloads(self, tx: Transaction, rows: Sequence[Row]) -> dict[str, bytes]:
        framed = await self._frames.payloads(tx, rows)
        return {
            row["id"]: await unpacked(tx, self._unpacker, row) if row["frame"] is None else framed.get(_slot(row), b"")
            for row in rows
        }

    async def _take(
        self, s: SaveContext, run: Run, rows: Mapping[str, Row], read: Mapping[str, Post], payloads: Mapping[str, bytes]
    ) -> None:
        found = {known: change_of_post(_stored(rows[known]), post_values(post)) for known, post in read.items()}
        changes = {known: change for known, change in found.items() if change is not None}
        outdated = await self._outdated(s, {rows[known]["post_no"]: each for known, each in changes.items() if each})
        changes = {known: change for known, change in changes.items() if rows[known]["post_no"] not in outdated}
        changed = {known: change for known, change in changes.items() if change}
        await self._write_rows(s, {known: rows[known] for known in changed}, changed, payloads)
        whole = {rows[known]["post_no"]: read[known] for known in changes if _is_whole(rows[known], changes[known], read[known])}
        counts, completed = await self._parts.add(s, whole)
        run.fields.update(Counter(f"posts.{name}" for change in changed.values() for name in change) + counts)
        run.changed += len({rows[known]["post_no"] for known in changed} | completed)

    async def _outdated(self, s: SaveContext, changes: Mapping[int, Change]) -> set[int]:
        history: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
        for row in await s.fetch_in(self._history, sorted(changes)):
            history[row["number"]].append(msgspec.json.decode(row["before"]))
        return {number for number, change in changes.items() if is_outdated(change, history[number])}

    async def _write_rows(
        self, s: SaveContext, rows: Mapping[str, Row], changed: Mapping[str, Change], payloads: Mapping[str, bytes]
    ) -> None:
        slots: dict[Slot, bytes] = {}
        for known, change in changed.items():
            if rows[known]["frame"] is not None and not change.keys().isdisjoint(REPEATED):
                now = [change.get(name, value) for name, value in zip(REPEATED, columns_of(rows[known]), strict=True)]
                slots[_slot(rows[known])] = without_repeated(payloads[known], now)
        written = [(_values(rows[known], change), rows[known]["post_no"]) for known, change in changed.items()]
        await s.execute_many(self._write, [(*values, number) for values, number in sorted(written, key=itemgetter(1))])
        await self._frames.change(s, slots)


def _slot(row: Row) -> Slot:
    return row["frame"], row["frame_place"]


def _values(row: Row, change: Change) -> Values:
    return tuple(change.get(name, row[name]) for name in POST_WRITTEN)


def _kept(row: Row, raw: bytes) -> KeptItem:
    return KeptItem(
        network=row["network"],
        subject=Subject.POST,
        id=row["id"],
        raw=raw,
        author=row["author_id"],
        kind=PostKind(row["kind"]),
        repost_of=row["repost_of"],
        quote_of=row["quote_of"],
    )


def _is_whole(row: Row, change: Change, post: Post) -> bool:
    """Whether the payload has the words that the post has now, and parts of its own: those of a repost belong to the original."""
    is_repost = row["kind"] == PostKind.REPOST and row["repost_of"] is not None
    return not is_repost and post.text == change.get("text", row["text"])
