"""DuckDB with the tables of a store: it gets their rows as Parquet files of its own, and nothing else of this machine.

DuckDB's extension for SQLite is downloaded when it is first used and cannot be relied on. So the tables that a query names are
written to a temporary folder, as `export` writes them, and DuckDB reads these. Then the door is closed: no other file, network,
extension or setting can be reached by the query, and only one statement that reads is let in.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bowerbird.errors import UserError
from bowerbird.export.jobs.manifest import Source
from bowerbird.export.jobs.request import Request, export
from bowerbird.export.needed import needed
from bowerbird.export.rows.other_shapes import SHAPES
from bowerbird.ports import Clock, Database

_READING = ("SELECT", "EXPLAIN")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def named_tables(sql: str) -> list[str]:
    """The tables of a store that a query may name: `posts` or `v_posts`, and so on."""
    words = {word.lower() for word in _NAME.findall(sql)}
    return [name for name in SHAPES if name in words or f"v_{name}" in words]


@contextmanager
def opened(folders: dict[str, str]) -> Iterator[Any]:
    """A connection in which each name is what the Parquet files of a pattern hold; it can read nothing else."""
    duckdb = needed("duckdb", "a query")
    connection = duckdb.connect(config={"autoload_known_extensions": "false", "autoinstall_known_extensions": "false"})
    try:
        for name, pattern in folders.items():
            connection.execute(f"create view {name} as select * from read_parquet({_quoted(pattern)}, union_by_name = true)")
            connection.execute(f"create view v_{name} as select * from {name}")
        allowed = ", ".join(
            "'" + str(Path(pattern).parent).split("*")[0].replace("'", "''") + "'" for pattern in folders.values()
        )
        connection.execute(f"set allowed_directories = [{allowed}]")
        connection.execute("set temp_directory = ''")
        connection.execute("set enable_external_access = false")
        connection.execute("set lock_configuration = true")
        yield connection
    finally:
        connection.close()


def _quoted(text: str) -> str:
    inside = text.replace("'", "''")
    return f"'{inside}'"


def ask(connection: Any, sql: str) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """Names of columns, and rows in batches as they come; raises `UserError` for what is not one statement that reads."""
    duckdb = needed("duckdb", "a query")
    try:
        statements = connection.extract_statements(sql)
        kinds = [str(statement.type).rpartition(".")[2].upper() for statement in statements]
        if len(kinds) != 1 or not kinds[0].startswith(_READING):
            raise UserError("a query is one statement that reads, such as `select … from posts`: nothing is written or changed")
        result = connection.execute(statements[0])
        names = [column[0] for column in result.description or ()]
        reader = result.to_arrow_reader(10_000)
    except duckdb.Error as error:
        raise UserError(f"DuckDB cannot answer that: {error}") from error
    return names, _rows(duckdb, reader)


def _rows(duckdb: Any, reader: Any) -> Iterator[Sequence[Any]]:
    try:
        for batch in reader:
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
    except (duckdb.Error, needed("pyarrow", "a query").ArrowException, OSError) as error:
        raise UserError(f"DuckDB cannot answer that: {error}") from error


@contextmanager
def folder_for(prefix: str = "bowerbird-query-") -> Iterator[Path]:
    """A temporary folder that only its owner can read, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        yield Path(name)


async def written(database: Database, tables: Sequence[str], folder: Path, clock: Clock) -> dict[str, str]:
    """The tables as Parquet files in a folder; by name the pattern of their files."""
    for table in tables:
        await export(database, Request(what=table, out=str(folder / table / "rows.parquet")), Source("", 0), clock)
    return {table: str(folder / table / "*.parquet") for table in tables}


def exported(folder: Path) -> dict[str, str]:
    """The tables in a folder of exports: by its manifests, or all Parquet files of it as `posts` where there is none."""
    manifests = sorted(folder.glob("_*.manifest.json"))
    names = [path.name.removeprefix("_").removesuffix(".manifest.json") for path in manifests]
    found = {name: str(folder / "**" / f"{name}-*.parquet") for name in names if any(folder.rglob(f"{name}-*.parquet"))}
    if not found and folder.suffix == ".parquet":
        return {"posts": str(folder)}
    if not found:
        raise UserError(
            f"{folder} holds no export as Parquet",
            f"make one with `bowerbird export posts -o {folder}`",
            code="file_not_found",
        )
    return found
