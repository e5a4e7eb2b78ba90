"""Packs payloads anew that need a dictionary learned from content, as earlier versions made them, and drops those."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import zstandard

from bowerbird.clock import to_micros
from bowerbird.model import Subject
from bowerbird.ports import Clock, Database, Row, Transaction
from bowerbird.store.payloads.raw import Packed, Packer, Unpacker

BATCH = 500
"""Rows of one transaction: a kill loses no more than these, and what is done is not done again."""
Said = Callable[[str, int], None]
"""Hears the table and how many of its payloads are packed anew."""
_OLD = "select dictionary from dictionaries where kind is null"
_TABLES = (("users", "user_no", Subject.USER), ("posts", "post_no", Subject.POST))


async def repack(database: Database, clock: Clock, said: Said = lambda table, rows: None) -> int:
    """Packs everything anew that needs a dictionary with content, then drops these; answers how many payloads it was."""
    async with database.reading() as tx:
        if not await tx.fetch(_OLD):
            return 0
    packer, unpacker, done = Packer(), Unpacker(), 0
    for table, number, subject in _TABLES:
        last, rows = 0, 0
        while batch := await _batch(database, table, number, last):
            async with database.transaction() as tx:
                await packer.prepare(tx)
                await _write(tx, table, number, [(row, await _anew(tx, row, subject, packer, unpacker)) for row in batch])
                await packer.learn(tx, to_micros(clock.now()))
            last, rows = batch[-1]["number"], rows + len(batch)
            said(table, rows)
        done += rows
    async with database.transaction() as tx:
        await tx.execute("delete from dictionaries where kind is null")
    return done


async def _batch(database: Database, table: str, number: str, last: int) -> Sequence[Row]:
    async with database.reading() as tx:
        return await tx.fetch(
            f"select {number} as number, network, raw, raw_dictionary from {table} "
            f"where {number} > ? and raw_dictionary in ({_OLD}) order by {number} limit ?",
            last,
            BATCH,
        )


async def _anew(tx: Transaction, row: Row, subject: Subject, packer: Packer, unpacker: Unpacker) -> Packed:
    try:
        raw = await unpacker.unpack(tx, row["raw"], row["raw_dictionary"])
    except zstandard.ZstdError:
        # Damaged long ago: nobody can read it, with or without its dictionary.
        raw = None
    return packer.pack((row["network"], subject), raw or b"")


async def _write(tx: Transaction, table: str, number: str, packed: Sequence[tuple[Row, Packed]]) -> None:
    """Only where nobody has written a newer payload meanwhile."""
    rows = [(body, dictionary, row["number"], row["raw_dictionary"]) for row, (body, dictionary) in packed]
    await tx.execute_many(
        f"update {table} set raw = ?, raw_dictionary = ? where {number} = ? and raw_dictionary = ?",
        rows,
    )
