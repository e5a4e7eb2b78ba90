"""Which rows of an earlier export must go, and what of the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bowerbird.export.cleaning.rules import COPIED, DOCUMENTS, RULES, Rules
from bowerbird.ports import Database
from bowerbird.reports.blocks.selection.withdrawn import hidden_profiles, withdrawn_posts, withdrawn_users
from bowerbird.store.forgetting.filtering import Filter
from bowerbird.store.forgetting.names import Kind, user_names
from bowerbird.store.forgetting.tombstones import Tombstones

Values = Mapping[str, Any]
Changed = dict[str, Any]
"""New values of a row's columns; none: it stays as it is."""


class Withdrawn(Struct, frozen=True):
    """What is deleted of the ids in some rows."""

    users: frozenset[str] = frozenset()
    posts: frozenset[str] = frozenset()


class Judge:
    """Looks over rows of one kind as the store is now; with `database` None only tombstones count."""

    def __init__(self, what: str, tombstones: Tombstones, database: Database | None) -> None:
        self._what = what
        self._rules: Rules = RULES[what]
        self._tombstones = tombstones
        self._database = database

    @property
    def columns(self) -> tuple[str, ...]:
        return self._rules.columns

    async def judge(self, rows: Sequence[Values]) -> list[Changed | None]:
        """For each row what changes of it; None: it goes."""
        gone = await self._withdrawn(rows) if rows else Withdrawn()
        return [None if self._goes(row, gone) else self._changes(row, gone) for row in rows]

    async def _withdrawn(self, rows: Sequence[Values]) -> Withdrawn:
        if self._database is None:
            return Withdrawn()
        users = {each for row in rows for each, _ in self._people(row)}
        posts = {each for row in rows for each in (*self._posts(row), row.get("repost_of")) if each}
        async with self._database.reading() as tx:
            gone = await withdrawn_users(self._database, tx, users) if users else set()
            if self._what == "users":
                gone |= await hidden_profiles(self._database, tx, users)
            dead = await withdrawn_posts(self._database, tx, posts) if posts else set()
        return Withdrawn(frozenset(gone), frozenset(dead))

    def _people(self, row: Values) -> list[tuple[str, str | None]]:
        """Whom a row is about, with their handles."""
        pairs = (*self._rules.users, *((("id", "handle"),) if self._is_judged(row, "user") else ()))
        return [(row[known], row.get(handle)) for known, handle in pairs if row.get(known)]

    def _posts(self, row: Values) -> list[str]:
        """Which posts a row is about."""
        names = (*self._rules.posts, *(("id",) if self._is_judged(row, "post") else ()))
        return [row[name] for name in names if row.get(name)]

    def _is_judged(self, row: Values, subject: str) -> bool:
        return self._what == "judgements" and row.get("subject") == subject

    def _goes(self, row: Values, gone: Withdrawn) -> bool:
        people, posts = self._people(row), self._posts(row)
        if any(known in gone.users or self._is_forgotten(row, known, handle) for known, handle in people):
            return True
        return any(each in gone.posts or self._is_forgotten_post(row, each) for each in posts)

    def _is_forgotten(self, row: Values, known: str, handle: str | None = None) -> bool:
        return self._tombstones.holds_any(user_names(row.get("network") or "", known, handle or None))

    def _is_forgotten_post(self, row: Values, known: str) -> bool:
        return Filter(self._tombstones, row.get("network") or "", "").names_one(known)

    def _changes(self, row: Values, gone: Withdrawn) -> Changed:
        changed: Changed = {
            name: None for name in self._rules.references if row.get(name) and self._is_forgotten_post(row, row[name])
        }
        if "repost_of" in changed or row.get("repost_of") in gone.posts:
            changed |= {name: [] if isinstance(row[name], list) else None for name in COPIED if row.get(name)}
        seen = {**row, **changed}
        mentioned = {name: self._left(row, seen[name]) for name in self._rules.mentions if seen.get(name)}
        changed |= {name: left for name, left in mentioned.items() if left != seen[name]}
        return changed | self._words(seen, is_mention=bool(changed.keys() & mentioned.keys()))

    def _left(self, row: Values, people: Sequence[str]) -> list[str]:
        return [each for each in people if not self._is_forgotten(row, each)]

    def _words(self, row: Values, *, is_mention: bool) -> Changed:
        changed: Changed = {}
        for names, kind in ((self._rules.texts, Kind.TEXT), (self._rules.lines, Kind.LINE)):
            for name in names:
                if row.get(name) and (read := self._read(row, name, kind, is_mention)) != row[name]:
                    changed[name] = read
        return changed

    def _read(self, row: Values, name: str, kind: Kind, is_mention: bool) -> Any:
        def redacted(text: str) -> str:
            return self._tombstones.redacted(text, kind, row.get("network") or None, is_mention=is_mention)

        value = row[name]
        if name in DOCUMENTS and isinstance(value, str):
            document = json.loads(value)
            read = _in_document(document, redacted)
            return value if read == document else json.dumps(read, ensure_ascii=False)
        return _in_document(value, redacted)


def _in_document(value: Any, redacted: Callable[[str], str]) -> Any:
    """The same with every text changed, however deep it stands."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [_in_document(each, redacted) for each in value]
    if isinstance(value, dict):
        return {name: _in_document(each, redacted) for name, each in value.items()}
    return value
