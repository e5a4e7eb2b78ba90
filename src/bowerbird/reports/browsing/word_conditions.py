"""Words as conditions in SQL that let in every row that may have them; the rows themselves tell whether they do.

Databases do not fold letters as we do (SQLite knows the case of ASCII alone). So a text of ASCII is judged by the database, and
every other one is let in to be looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.errors import UserError
from bowerbird.ports import Database
from bowerbird.reports.blocks.selection.choosing import Conditions, folded, hashtags
from bowerbird.reports.blocks.tables import Table

_ALIKE = {"sqlite": "{0} like ? escape '!'", "postgresql": "{0} ilike ? escape '!'"}
_NOT_ASCII = {"sqlite": "length({0}) < length(cast({0} as blob))", "postgresql": "char_length({0}) < octet_length({0})"}
_TAGGED = "p.post_no in (select t.post_no from post_tags t where t.tag {several} and t.post_no >= ? and t.post_no < ?)"


def tags_of(table: Table, words: Sequence[str]) -> list[str]:
    """The hashtags, in the spellings that may be stored."""
    return sorted({each for word in hashtags(table, words) for each in (word[1:].lower(), folded(word[1:]))})


def in_texts(database: Database, table: Table, parts: Sequence[str]) -> Conditions:
    """That one of the texts may contain one of the parts."""
    if not table.words:
        raise UserError(f"{table.name} have no text", "search for something else than words", code="unsupported")
    dialect, columns = database.dialect, [table.columns[name] for name in table.words]
    found = [_NOT_ASCII[dialect].format(column) for column in columns]
    plain = [part for part in parts if part.isascii()]
    found += [_ALIKE[dialect].format(column) for column in columns for _ in plain]
    return Conditions(f"({' or '.join(found)})", tuple(f"%{_escaped(part)}%" for _ in columns for part in plain))


def with_tags(database: Database, tags: Sequence[str], low: int, high: int) -> Conditions:
    """That a post of these numbers has one of the hashtags."""
    return Conditions(_TAGGED.format(several=database.any("text")), (database.members(tags), low, high))


def _escaped(part: str) -> str:
    return "".join(f"!{each}" if each in "!%_" else each for each in part)
