"""What would tell of somebody who was forgotten, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from bowerbird.evaluate.leaks.stored import plain_values
from bowerbird.ports import Database, Transaction

Secret = str
"""An id, a key, a handle, or words that nobody else wrote."""
_PHRASES = 20
"""Texts of one person that are looked for."""
_SHORTEST = 24
"""Characters of a text that nobody else wrote by chance."""


async def secrets_of(tx: Transaction, people: Sequence[int]) -> list[Secret]:
    """Ids, handles and texts of accounts; a text counts where nobody else has written the same."""
    found: set[Secret] = set()
    for number in people:
        row = await tx.fetch_one("select id, handle from users where user_no = ?", number)
        found |= {str(value) for value in (row["id"], row["handle"]) if value} if row else set()
        posts = await tx.fetch("select id, text from posts where author = ? and text is not null order by post_no", number)
        found |= {str(post["id"]) for post in posts[:_PHRASES]}
        for text in {str(post["text"]) for post in posts[:_PHRASES] if len(post["text"]) >= _SHORTEST}:
            others = await tx.fetch_one("select 1 as there from posts where text = ? and author <> ? limit 1", text, number)
            found |= set() if others else {text}
    return sorted(found)


async def found_in_tables(database: Database, secrets: Sequence[Secret]) -> set[Secret]:
    """Those that a column of any table holds, payloads unpacked."""
    found: set[Secret] = set()
    async for _, values in plain_values(database):
        found |= found_in(values, secrets)
    return found


def found_in_file(path: Path, secrets: Sequence[Secret]) -> set[Secret]:
    """Those that stand in the bytes of a file as they are."""
    return found_in(path.read_bytes(), secrets)


def found_in(body: bytes, secrets: Sequence[Secret]) -> set[Secret]:
    """Whole words only: the handle of one may begin that of another."""
    there = [secret for secret in secrets if secret.encode() in body]
    return {each for each in there if re.search(rb"(?<![\w.-])" + re.escape(each.encode()) + rb"(?![\w-])", body)}
