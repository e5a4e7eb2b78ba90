"""What would tell of somebody who was forgotten, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from bowerbird.evaluate.leaks.stored import plain_values
from bowerbird.ports import Database, Transaction

Secret = str
"""An id, a key, a handle, or words that nobody else wrote."""
_PHRASES = 20
"""Texts of one person that are looked for."""
_SHORTEST = 24
"""Characters of a text that nobody else wrote by chance."""
_HOLDS = "replace({0}, ?, '') <> {0}"


async def secrets_of(tx: Transaction, people: Sequence[int]) -> set[Secret]:
    """Ids, handles and texts of accounts that nothing may be left of."""
    found: set[Secret] = set()
    for number in people:
        row = await tx.fetch_one("select id, handle from users where user_no = ?", number)
        found |= {str(value) for value in (row["id"], row["handle"]) if value} if row else set()
        posts = await tx.fetch("select id from posts where author = ? and text is not null order by post_no", number)
        found |= {str(post["id"]) for post in posts[:_PHRASES]}
    return found | await texts_of(tx, people, ())


async def texts_of(tx: Transaction, people: Collection[int], posts: Collection[int]) -> set[Secret]:
    """What accounts wrote, of themselves and otherwise, and what stands in posts; nothing that anybody else wrote as well."""
    found: set[Secret] = set()
    for number in people:
        written = await tx.fetch("select text from posts where author = ? and text is not null order by post_no", number)
        found |= {str(row["text"]) for row in written[:_PHRASES]}
        row = await tx.fetch_one("select description from users where user_no = ?", number)
        found |= {str(row["description"])} if row and row["description"] else set()
    for number in posts:
        row = await tx.fetch_one("select text from posts where post_no = ?", number)
        found |= {str(row["text"])} if row and row["text"] else set()
    gone = {*people}, {*posts}
    return {text for text in found if len(text) >= _SHORTEST and await _is_theirs(tx, text, *gone)}


async def _is_theirs(tx: Transaction, text: str, people: Collection[int], posts: Collection[int]) -> bool:
    """Whether nobody else wrote a text, alone or as a part of another one."""
    holding = await tx.fetch(f"select post_no, author from posts where {_HOLDS.format('text')}", text)
    described = await tx.fetch(f"select user_no from users where {_HOLDS.format('description')}", text)
    theirs = all(row["author"] in people or row["post_no"] in posts for row in holding)
    return theirs and all(row["user_no"] in people for row in described)


async def found_in_tables(database: Database, secrets: Sequence[Secret]) -> set[Secret]:
    """Those that a column of any table holds, payloads unpacked; what was set aside is looked at apart."""
    return await _found(database, secrets, is_aside=False)


async def found_in_quarantine(database: Database, secrets: Sequence[Secret]) -> set[Secret]:
    return await _found(database, secrets, is_aside=True)


async def _found(database: Database, secrets: Sequence[Secret], *, is_aside: bool) -> set[Secret]:
    found: set[Secret] = set()
    async for where, values in plain_values(database):
        if where.startswith("quarantine") is is_aside:
            found |= found_in(values, secrets)
    return found


def found_in(body: bytes, secrets: Sequence[Secret]) -> set[Secret]:
    """Whole words only: the handle of one may begin that of another."""
    there = [secret for secret in secrets if secret.encode() in body]
    return {each for each in there if re.search(rb"(?<![\w.-])" + re.escape(each.encode()) + rb"(?![\w-])", body)}
