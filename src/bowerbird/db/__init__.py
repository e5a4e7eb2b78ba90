"""Connections, transactions and the schema; nothing about crawling."""

from __future__ import annotations

from bowerbird.db.addresses import in_vault, is_no_file, is_postgres, public
from bowerbird.db.sqlite.database import SqliteDatabase
from bowerbird.errors import StoreError
from bowerbird.ports import Clock, Database


async def open_database(where: str, clock: Clock, *, waits_for_disk: bool = True) -> Database:
    """Opens `:memory:`, a SQLite file, or `postgresql://…`; the caller creates the tables and closes it.

    `waits_for_disk`: whether a commit to a file ends when it is on the disk. Without, a killed process loses nothing, but a power
    cut takes the last moments; the file is whole either way.
    """
    if is_postgres(where):
        # The driver takes longer to load than most commands take to run.
        from bowerbird.db.postgres.database import PostgresDatabase

        return await PostgresDatabase.open(where, clock)
    if in_vault(where) is not None:
        raise StoreError(
            f"{where} names an entry of the vault, which is looked up by the command line alone",
            "give the address",
            code="invalid_address",
        )
    if is_no_file(where):
        raise StoreError(
            f"{public(where)} is no address of a database", "write a file's name, or postgresql://…", code="invalid_address"
        )
    return SqliteDatabase.open(where, clock, waits_for_disk=waits_for_disk)


__all__ = ["SqliteDatabase", "open_database"]
