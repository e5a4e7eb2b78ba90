"""Accounts whose payloads are read again: what that changes in their profiles is written."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from operator import itemgetter
from typing import Any

import msgspec

from bowerbird.model import KeptItem, Subject, User
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.fields import USER_FIELDS, user_values
from bowerbird.store.forgetting.tombstones import Tombstones
from bowerbird.store.payloads.raw import Unpacker
from bowerbird.store.remapping.deciding import USER_REMAPPED, Change, change_of_user, is_outdated
from bowerbird.store.remapping.reading import ReadAgain, read_items, unpacked
from bowerbird.store.remapping.runs import Run

_stored = itemgetter(*USER_FIELDS)
_WRITE = f"update users set {', '.join(f'{name} = ?' for name in USER_REMAPPED)} where user_no = ?"


class UserRemapper:
    """Reads a batch of accounts again in the transaction it is given."""

    def __init__(self, database: Database, read_again: ReadAgain, batch: int) -> None:
        lock = " for no key update" if database.dialect == "postgresql" else ""
        self._batch = (
            f"select user_no, id, network, raw, raw_dictionary, {', '.join(USER_FIELDS)} from users where user_no > ? "
            f"and user_no <= ? and raw is not null and coalesce(opts_out, 0) = 0 order by user_no limit {batch}{lock}"
        )
        self._history = f"select user_no as number, before from user_history where user_no {database.any('bigint')}"
        self._database, self._read_again, self._size, self._unpacker = database, read_again, batch, Unpacker()

    async def step(self, tx: Transaction, run: Run, tombstones: Tombstones) -> None:
        """The next accounts of a run; it is noted there what came of them."""
        rows = {row["id"]: row for row in await tx.fetch(self._batch, run.users_at, run.users_to)}
        raws = {known: await unpacked(tx, self._unpacker, row) for known, row in rows.items()}
        kept = [
            KeptItem(network=rows[known]["network"], subject=Subject.USER, id=known, raw=raw)
            for known, raw in raws.items()
            if raw
        ]
        read = {item.id: item for item in read_items(self._read_again, tombstones, kept) if isinstance(item, User)}
        found = {known: change_of_user(_stored(rows[known]), user_values(user)) for known, user in read.items()}
        changed = await self._current(tx, {rows[known]["user_no"]: change for known, change in found.items() if change})
        await self._write(tx, {row["user_no"]: row for row in rows.values()}, changed)
        run.fields.update(Counter(f"users.{name}" for change in changed.values() for name in change))
        run.changed += len(changed)
        run.items += len(rows)
        run.unread += len(rows) - sum(change is not None for change in found.values())
        run.users_at = max(row["user_no"] for row in rows.values()) if len(rows) == self._size else run.users_to

    async def _current(self, tx: Transaction, changes: Mapping[int, Change]) -> dict[int, Change]:
        """The changes whose payloads are not older than their rows."""
        history: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
        numbers = self._database.members(sorted(changes))
        for row in await tx.fetch(self._history, numbers) if changes else ():
            history[row["number"]].append(msgspec.json.decode(row["before"]))
        return {number: change for number, change in changes.items() if not is_outdated(change, history[number])}

    async def _write(self, tx: Transaction, rows: Mapping[int, Row], changed: Mapping[int, Change]) -> None:
        values = [
            (*(change.get(name, rows[number][name]) for name in USER_REMAPPED), number)
            for number, change in sorted(changed.items())
        ]
        if values:
            await tx.execute_many(_WRITE, values)
