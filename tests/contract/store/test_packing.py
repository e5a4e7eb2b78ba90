"""Dictionaries for payloads where a transaction fails, on both databases."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bowerbird.db.texts import all_storable, storable
from bowerbird.model import Subject
from bowerbird.ports import Database, Transaction
from bowerbird.store.payloads.raw import SAMPLES, Packer, Unpacker

KIND = ("mastodon", Subject.POST)


async def trained(packer: Packer, tx: Transaction, raw: bytes, at: int) -> None:
    await packer.prepare(tx)
    for _ in range(SAMPLES):
        packer.pack(KIND, raw)
    await packer.learn(tx, at)


async def _trained_in_vain(database: Database, packer: Packer) -> None:
    async with database.transaction() as tx:
        await trained(packer, tx, b'{"first_name":"x","first_place":"y"}', 1)
        await tx.execute("update dictionaries set dictionary = 1")
        # A page that shares the commit reads it before that fails.
        await packer.prepare(tx)
        raise RuntimeError("the disk is full")


async def test_a_dictionary_that_was_rolled_back_is_not_taken_for_the_next_one_of_its_number(database: Database) -> None:
    packer, elsewhere = Packer(), Packer()
    with pytest.raises(RuntimeError):
        await _trained_in_vain(database, packer)
    async with database.transaction() as tx:
        await trained(elsewhere, tx, b'{"other_thing":"x","other_matter":"y","more":1}', 2)
        await tx.execute("update dictionaries set dictionary = 1")
    async with database.transaction() as tx:
        await packer.prepare(tx)
        raw = b'{"first_name":"one","first_place":"two"}'
        body, dictionary = packer.pack(KIND, raw)
        assert dictionary == 1
        assert await Unpacker().unpack(tx, body, dictionary) == raw


@pytest.mark.parametrize("bad", ["a\0b", "a\ud800b", ["good", "a\0b"], ["a\ud800b"]])
def test_of_many_rows_only_what_no_database_takes_is_mended(bad: object) -> None:
    good: Sequence[object] = ("plain", "höher 🐦", 1, None, b"\0", ["list"])
    rows = [good, (bad, 2)]
    mended = all_storable(rows)
    assert (mended[0], mended[1]) == (good, storable((bad, 2)))
    assert "\\x00" not in repr(mended[1])
    assert all_storable([good, good]) == [good, good]
