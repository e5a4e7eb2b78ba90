"""Which rows are wanted: what the options of an export mean, in SQL and for what only the rows themselves tell."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
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


class Choice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Every condition must hold; of several words, languages, accounts or places one must."""

    since: datetime | None = None
    until: datetime | None = None
    languages: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    """Ids or handles."""
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


class Conditions(NamedTuple):
    sql: str
    values: tuple[Any, ...]


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
    if choice.users:
        numbers = [number for user in choice.users for number in await _numbers(database, tx, user)]
        found.append(Conditions(f"{table.chosen_by('user')} {database.any('bigint')}", (database.members(numbers),)))
    if choice.places:
        found.append(_any_of([_judged(table, Judged("place", place)) for place in choice.places]))
    found += [_judged(table, each) for each in choice.judged]
    return Conditions(" and ".join(each.sql for each in found), tuple(value for each in found for value in each.values))


def keep_words(table: Table, block: Block, words: Sequence[str]) -> None:
    """Leaves in a block what has one of the words."""
    if not words:
        return
    if table.words is None:
        raise UserError(f"{table.name} have no text: leave --word out")
    parts = [_folded(word) for word in words if not word.startswith("#")]
    tags = {_folded(word[1:]) for word in words if word.startswith("#")}
    found = [each is not None and any(part in _folded(text(each)) for part in parts) for each in block.values(table.words)]
    listed = block.columns.get("tags")
    if tags and isinstance(listed, Lists):
        tagged = [any(_folded(text(tag)) in tags for tag in each) for each in listed.listed()]
        found = [one or other for one, other in zip(found, tagged, strict=True)]
    block.keep(found)


def _folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def _language(column: str, languages: Sequence[str]) -> Conditions:
    """`pt` is `pt-BR` too."""
    each = Conditions(f"(lower({column}) = ? or lower({column}) like ?)", ())
    return _any_of([Conditions(each.sql, (language.lower(), f"{language.lower()}-%")) for language in languages])


async def _numbers(database: Database, tx: Transaction, user: str) -> list[int]:
    accounts = await find_accounts(database, tx, user)
    if not accounts:
        raise UserError(f"the store knows no account {user}: write its id or its handle")
    return [account.number for account in accounts]


def _judged(table: Table, judged: Judged) -> Conditions:
    said, values = "j.judge = ?", [judged.judge]
    if judged.value is not None:
        said, values = f"{said} and j.value = ?", [*values, judged.value]
    return Conditions(table.is_judged(said), tuple(values * len(table.judged)))


def _any_of(several: Sequence[Conditions]) -> Conditions:
    sql = " or ".join(each.sql for each in several)
    return Conditions(f"({sql})", tuple(value for each in several for value in each.values))
