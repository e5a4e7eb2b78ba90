"""Looks for secrets in a whole database, table by table as the schema has them, and in files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import zstandard

from bowerbird.crawl.access.redaction import Redactor
from bowerbird.evaluate.leaks.witness import Leak
from bowerbird.ports import Database, Transaction, Vault

_TABLES = {
    "sqlite": "select name from sqlite_master where type = 'table' order by name",
    "postgresql": "select table_name as name from information_schema.tables where table_schema = current_schema() order by 1",
}
_MAGIC = b"\x28\xb5\x2f\xfd"
_LARGEST = 64 * 1024 * 1024


async def stored_leaks(database: Database, vault: Vault) -> list[Leak]:
    """Every secret of the vault that a column of a table holds, compressed ones included: as `table.column`."""
    found = [(where, _told(values, vault)) async for where, values in plain_values(database)]
    return sorted({Leak(credential, where) for where, credentials in found for credential in credentials})


async def plain_values(database: Database) -> AsyncIterator[tuple[str, bytes]]:
    """Everything that a database holds, column by column (`table.column`), compressed values unpacked."""
    async with database.reading() as tx:
        unpackers = await _unpackers(tx)
        for table in [row["name"] for row in await tx.fetch(_TABLES[database.dialect])]:
            columns: dict[str, list[bytes]] = {}
            for row in await tx.fetch(f'select * from "{table}"'):
                for name in row.keys():  # noqa: SIM118 - rows of SQLite iterate over values
                    columns.setdefault(name, []).append(_plain(row[name], unpackers))
            for name, values in columns.items():
                yield f"{table}.{name}", b"\n".join(values)


def file_leaks(files: Iterable[Path], vault: Vault) -> list[Leak]:
    """Every secret of the vault that stands in the bytes of a file."""
    return sorted(Leak(name, str(file)) for file in files if file.is_file() for name in _told(file.read_bytes(), vault))


def _told(text: bytes, vault: Vault) -> set[str]:
    names = set()
    for credential in vault.credentials():
        redactor = Redactor()
        redactor.learn(vault.secret(credential.name))
        if redactor.finds(text):
            names.add(credential.name)
    return names


async def _unpackers(tx: Transaction) -> list[zstandard.ZstdDecompressor]:
    rows = await tx.fetch("select body from dictionaries")
    bodies = [zstandard.ZstdCompressionDict(bytes(row["body"])) for row in rows]
    return [zstandard.ZstdDecompressor(), *(zstandard.ZstdDecompressor(dict_data=body) for body in bodies)]


def _plain(value: Any, unpackers: Iterable[zstandard.ZstdDecompressor]) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        return str(value).encode(errors="replace")
    body = bytes(value)
    for unpacker in unpackers if body.startswith(_MAGIC) else ():
        try:
            return unpacker.decompress(body, max_output_size=_LARGEST)
        except zstandard.ZstdError:
            continue
    return body
