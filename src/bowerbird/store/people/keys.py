"""What services call the accounts and posts of a store, for those who ask about them by number."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bowerbird.model import Service, Subject
from bowerbird.ports import Database, Transaction
from bowerbird.store.people.names import has_local_keys, key_in

_ASKABLE = {
    Subject.USER: ("users", "user_no", "coalesce(o.opts_out, 0) = 0"),
    Subject.POST: ("posts", "post_no", "o.deleted_at is null"),
}
"""Table, number, and whom one may ask about: not those who opted out, nor what is deleted."""
_KEYS = {Subject.USER: "user_keys", Subject.POST: "post_keys"}


class StoredKeys:
    """Implements `ports.Keys`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ids = {subject: self._by_id(subject) for subject in _ASKABLE}
        self._local = {subject: self._by_key(subject) for subject in _ASKABLE}

    async def of(
        self, tx: Transaction, subject: Subject, service: Service, network: str, numbers: Collection[int]
    ) -> Mapping[int, str]:
        if not numbers:
            return {}
        members = self._database.members(list(numbers))
        if has_local_keys(network):
            rows = await tx.fetch(self._local[subject], service.name, network, members)
            return {row["number"]: row["key"] for row in rows}
        named = ((row["number"], key_in(network, row["id"])) for row in await tx.fetch(self._ids[subject], network, members))
        return {number: key for number, key in named if key}

    def _by_id(self, subject: Subject) -> str:
        table, number, is_askable = _ASKABLE[subject]
        return (
            f"select o.{number} as number, o.id from {table} o "
            f"where o.network = ? and {is_askable} and o.{number} {self._database.any('bigint')}"
        )

    def _by_key(self, subject: Subject) -> str:
        table, number, is_askable = _ASKABLE[subject]
        return (
            f"select k.{number} as number, max(k.key) as key from {_KEYS[subject]} k join services s on s.service = k.service "
            f"join {table} o on o.{number} = k.{number} "
            f"where s.name = ? and o.network = ? and {is_askable} and k.{number} {self._database.any('bigint')} "
            f"group by k.{number}"
        )
