"""What others wrote and name somebody in who was forgotten: the name is taken out, and the payload goes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import zstandard

from bowerbird.ports import Row, Transaction
from bowerbird.store.absences.purge import PurgeStatements
from bowerbird.store.context import SaveContext
from bowerbird.store.forgetting.names import Kind
from bowerbird.store.forgetting.tombstones import Tombstones
from bowerbird.store.payloads.frames import Frames
from bowerbird.store.payloads.raw import Unpacker

_TEXTS = {
    "posts": ("text", "warning", "links"),
    "post_history": ("before", "after"),
    "post_versions": ("text", "warning", "links"),
}


async def drop_payloads(
    s: SaveContext, sql: PurgeStatements, tombstones: Tombstones, table: str, rows: Sequence[Row], changed: Collection[Any]
) -> set[Any]:
    """Drops the payloads of those rows of `users` or `posts` that were changed, or that name a forgotten one in it; answers which
    (`row_at` of each)."""
    if table not in ("users", "posts"):
        return set()
    raws = await _payloads(s.tx, Frames(s.database) if table == "posts" else None, rows)
    # Payloads are read with the columns of their rows: where one was changed they cannot be read any more.
    found = [row for row in rows if row["row_at"] in changed or _names(tombstones, raws.get(row["row_at"], b""), row)]
    if table == "users":
        number = s.database.any("bigint")
        await s.execute_in(
            f"update users set raw = null, raw_dictionary = null where user_no {number}", [row["user_no"] for row in found]
        )
    else:
        await drop_post_payloads(s, sql, [row["post_no"] for row in found])
    return {row["row_at"] for row in found}


async def drop_post_payloads(s: SaveContext, sql: PurgeStatements, posts: Collection[int]) -> None:
    await sql.frames.drop(s, await s.fetch_in(sql.payloads, sorted(posts)))


def _names(tombstones: Tombstones, raw: bytes, row: Row) -> bool:
    return tombstones.named_in(raw.decode(errors="replace").replace("\\/", "/"), Kind.PAYLOAD, row["network"])


async def _payloads(tx: Transaction, frames: Frames | None, rows: Sequence[Row]) -> dict[Any, bytes]:
    unpacker, found = Unpacker(), dict[Any, bytes]()
    framed = await frames.payloads(tx, rows) if frames is not None else {}
    for row in rows:
        try:
            raw = await unpacker.unpack(tx, row["raw"], row["raw_dictionary"])
        except zstandard.ZstdError:
            # Damaged long ago: nobody can read it, and so nobody can say that it names nobody.
            raw = b"\xff"
        if frames is not None and row["frame"] is not None:
            raw = framed.get((row["frame"], row["frame_place"]), raw)
        if raw:
            found[row["row_at"]] = raw
    return found


async def redact_mentions(s: SaveContext, sql: PurgeStatements, tombstones: Tombstones, posts: Collection[int]) -> None:
    """Takes the names out of posts that are known to mention the forgotten, and out of what these posts were before."""
    number = s.database.any("bigint")
    for table, columns in _TEXTS.items():
        place = {"posts": "post_no", "post_history": "at", "post_versions": "at"}[table]
        key = f"t.post_no, t.{place} as place" if table != "posts" else "t.post_no, t.post_no as place"
        network = "t.network" if table == "posts" else "(select network from posts p where p.post_no = t.post_no) as network"
        rows = await s.fetch_in(f"select {key}, {network}, {', '.join(columns)} from {table} t where t.post_no {number}", posts)
        for row in rows:
            await _redact(s, tombstones, table, (place, columns), row)
    await drop_post_payloads(s, sql, posts)


async def _redact(s: SaveContext, tombstones: Tombstones, table: str, of: tuple[str, Sequence[str]], row: Row) -> None:
    place, columns = of
    read = {name: tombstones.redacted(row[name], Kind.TEXT, row["network"], is_mention=True) for name in columns if row[name]}
    changed = {name: text for name, text in read.items() if text != row[name]}
    if changed:
        assigned = ", ".join(f"{name} = ?" for name in changed)
        statement = f"update {table} set {assigned} where post_no = ? and {place} = ?"
        await s.tx.execute(statement, *changed.values(), row["post_no"], row["place"])
