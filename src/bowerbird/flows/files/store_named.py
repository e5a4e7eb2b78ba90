"""What a crawl file calls its crawl and where it keeps the store: all of it that commands need which only read."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from bowerbird.db.addresses import in_vault, public
from bowerbird.errors import FlowError
from bowerbird.flows.language.tables import Table
from bowerbird.flows.language.toml_lines import read

_SQLITE = b"SQLite format 3\0"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class StoreNamed(Struct, frozen=True):
    """A crawl and its store, as a crawl file names them."""

    crawl: str
    store: str
    """Path of a SQLite file, a `postgresql://` address, or `vault:NAME`."""
    is_written: bool
    """Whether the file says where; otherwise the store is named after the crawl."""
    has_media: bool
    """Whether pictures are asked for."""


def read_store_named(path: Path) -> StoreNamed:
    """The crawl and the store of a file, whatever else it says; raises `FlowError` naming the line."""
    table = Table(read(read_text(path), str(path)))
    name = crawl_name(table, path)
    return StoreNamed(name, store_of(table, path, name), "store" in table.values, "media" in table.values)


def read_text(path: Path) -> str:
    """The text of a crawl or flow file; raises `FlowError` that says what to do."""
    try:
        content = path.read_bytes()
        if content.startswith(_SQLITE):
            hint = f"; its crawl file is perhaps {path.with_suffix('.toml')}" if path.with_suffix(".toml").is_file() else ""
            raise FlowError("this is a database", f"name the crawl file (.toml) that says what to collect{hint}", file=str(path))
        return content.decode("utf-8")
    except FileNotFoundError:
        raise FlowError(
            "there is no such file", "`bowerbird init` writes one to start from", code="file_not_found", file=str(path)
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FlowError(f"cannot be read as UTF-8 text: {error}", code="file_damaged", file=str(path)) from None


def crawl_name(table: Table, path: Path, called: str | None = None) -> str:
    """What the crawl is called: as the command line says, as its file says, or after its file."""
    name = called or table.text("name", path.stem)
    if not _NAME.fullmatch(name):
        raise table.wrong("name", f"name {name!r} must be made of letters, digits, '-', '_' and '.'")
    return name


def store_of(table: Table, path: Path, name: str) -> str:
    """Where a crawl of that name keeps what it collects."""
    store = table.text("store", f"{name}.db")
    if in_vault(store) is not None:
        return store
    if re.match(r"[a-z0-9+]+://", store):
        if not store.startswith(("postgresql://", "postgres://")):
            raise table.wrong(
                "store",
                f"store {public(store)!r:.60} is not understood",
                "write a file name or postgresql://…",
                code="invalid_address",
            )
        return store
    return str(path.parent / Path(store).expanduser())
