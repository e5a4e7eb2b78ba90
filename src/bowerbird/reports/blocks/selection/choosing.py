"""Which rows are wanted: what the options of an export mean, in SQL and for what only the rows themselves tell."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.errors import UserError
from bowerbird.model.items import Judged
from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.block import Block, text
from bowerbird.reports.blocks.columns import Lists
from bowerbird.reports.blocks.tables import Table
from bowerbird.reports.histories.find_account import find_accounts

_MOST_DIGITS = 18
"""Of numbers that every database takes."""
_TAGGED = ("posts",)
"""What has hashtags of its own; in the texts of everything else they are words like any other."""


class Choice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Every condition must hold; of several words, languages, accounts or places one must."""

    since: datetime | None = None
    until: datetime | None = None
    languages: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    """Ids or handles."""
    followed: tuple[str, ...] = ()
    """Of follows: whom, by id or handle."""
    words: tuple[str, ...] = ()
    """Parts of texts, whatever their case, or `#hashtags`."""
    places: tuple[str, ...] = ()
    """Names of a crawl's areas."""
    judged: tuple[Judged, ...] = ()
    found_after: datetime | None = None
    """Only what was found later, up to `found_until`."""
    found_until: datetime | None = None
    deleted: bool = False
    """Also what was deleted, where a crawl keeps that."""
    networks: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """Of posts: `post`, `reply`, `repost`, `quote`; of media: `image`, `video` and so on."""
    crawls: tuple[str, ...] = ()
    """Names of the crawls that brought it first."""
    has_media: bool = False
    at_least: tuple[tuple[str, int], ...] = ()
    """Counters and what they must have reached."""


class Conditions(NamedTuple):
    sql: str
    values: tuple[Any, ...]


def at_least(written: str) -> tuple[str, int]:
    """What is meant by `likes=100`; raises `UserError` for anything else."""
    counter, _, least = written.partition("=")
    if not (counter.strip() and least.strip().isdecimal() and len(least.strip()) <= _MOST_DIGITS):
        raise UserError(f"{written[:60]!r} is no counter with a number", "write it as likes=100")
    return counter.strip(), int(least)


async def conditions(database: Database, tx: Transaction, table: Table, choice: Choice) -> Conditions:
    """What can be asked of the database; raises `UserError` for what rows of this kind do not have, and for unknown accounts."""
    found: list[Conditions] = [Conditions(table.where, ())]
    for what, when in (("since", choice.since), ("until", choice.until)):
        if when is not None:
            found.append(Conditions(table.chosen_by(what), (to_micros(when),)))
    for sign, when in ((">", choice.found_after), ("<=", choice.found_until)):
        if when is not None:
            found.append(Conditions(f"{table.chosen_by('found')} {sign} ?", (to_micros(when),)))
    if choice.languages:
        found.append(_language(table.chosen_by("language"), choice.languages))
    for what, users in (("user", choice.users), ("followed", choice.followed)):
        if users:
            numbers = [number for user in users for number in await _numbers(database, tx, user)]
            found.append(_one_of(database, table.chosen_by(what), numbers))
    if choice.places:
        found.append(_any_of([_judged(table, Judged("place", place)) for place in choice.places]))
    found += [_judged(table, each) for each in choice.judged]
    found += [*_among(database, table, choice), *_counted(table, choice)]
    return Conditions(" and ".join(each.sql for each in found), tuple(value for each in found for value in each.values))


def _among(database: Database, table: Table, choice: Choice) -> Iterator[Conditions]:
    """What is one of several texts, or hangs on a row."""
    several = database.any("text")
    for what, wanted in (("network", choice.networks), ("kind", choice.kinds)):
        if wanted:
            yield Conditions(f"{table.chosen_by(what)} {several}", (database.members(wanted),))
    if choice.crawls:
        brought = (
            f"exists (select 1 from calls y join crawls z on z.crawl = y.crawl where y.call = {table.chosen_by('call')} "
            f"and z.name {several})"
        )
        yield Conditions(brought, (database.members(choice.crawls),))
    if choice.has_media:
        yield Conditions(table.chosen_by("media"), ())


def _counted(table: Table, choice: Choice) -> Iterator[Conditions]:
    for counter, least in choice.at_least:
        yield Conditions(f"{table.counted_by(counter)} >= ?", (least,))


def keep_words(table: Table, block: Block, words: Sequence[str]) -> None:
    """Leaves in a block what has one of the words."""
    if not words:
        return
    if not table.words:
        raise UserError(f"{table.name} have no text", "leave --word out", code="unsupported")
    parts = parts_of(table, words)
    tags = {folded(word[1:]) for word in hashtags(table, words)}
    found = has_one_of(parts, *(block.values(name) for name in table.words))
    listed = block.columns.get("tags")
    if tags and isinstance(listed, Lists):
        tagged = [any(folded(text(tag)) in tags for tag in each) for each in listed.listed()]
        found = [one or other for one, other in zip(found, tagged, strict=True)]
    block.keep(found)


def parts_of(table: Table, words: Sequence[str]) -> list[str]:
    """The words that are looked for in texts, folded."""
    tags = hashtags(table, words)
    return [folded(word) for word in words if word not in tags]


def hashtags(table: Table, words: Sequence[str]) -> list[str]:
    """Those of the words that are looked for among the hashtags of rows."""
    return [word for word in words if word.startswith("#")] if table.name in _TAGGED else []


def has_one_of(parts: Sequence[str], *columns: Sequence[Any]) -> list[bool]:
    """Of each row whether one of its texts contains one of the parts, which are folded already."""
    found = [[each is not None and _contains(each, parts) for each in column] for column in columns]
    return [any(each) for each in zip(*found, strict=True)]


def _contains(value: Any, parts: Sequence[str]) -> bool:
    told = folded(text(value))
    return any(part in told for part in parts)


def folded(word: str) -> str:
    """A text without what case and ways of writing make of it."""
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()


def _language(column: str, languages: Sequence[str]) -> Conditions:
    """`pt` is `pt-BR` too."""
    each = Conditions(f"(lower({column}) = ? or lower({column}) like ?)", ())
    return _any_of([Conditions(each.sql, (language.lower(), f"{language.lower()}-%")) for language in languages])


async def _numbers(database: Database, tx: Transaction, user: str) -> list[int]:
    accounts = await find_accounts(database, tx, user)
    if not accounts:
        raise UserError(f"the store knows no account {user}", "write its id or its handle", code="unknown_account")
    return [account.number for account in accounts]


def _judged(table: Table, judged: Judged) -> Conditions:
    said, values = "j.judge = ?", [judged.judge]
    if judged.value is not None:
        said, values = f"{said} and j.value = ?", [*values, judged.value]
    return Conditions(table.is_judged(said), tuple(values * len(table.judged)))


def _one_of(database: Database, column: str, numbers: Sequence[int]) -> Conditions:
    if len(numbers) == 1:
        # The rows of one account are in the order of their numbers in an index; those of several would have to be sorted.
        return Conditions(f"{column} = ?", (numbers[0],))
    return Conditions(f"{column} {database.any('bigint')}", (database.members(numbers),))


def _any_of(several: Sequence[Conditions]) -> Conditions:
    sql = " or ".join(each.sql for each in several)
    return Conditions(f"({sql})", tuple(value for each in several for value in each.values))
