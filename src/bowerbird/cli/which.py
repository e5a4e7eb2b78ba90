"""Which crawl a command is about: a crawl file, a database, or what lies in the current folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct

from bowerbird.db import open_database
from bowerbird.db.addresses import in_vault, is_postgres, public
from bowerbird.db.moment import one_moment
from bowerbird.db.tables import check_store
from bowerbird.errors import UserError
from bowerbird.ports import Clock, Database
from bowerbird.reports.crawls import read_numbers, read_settings

DEFAULT_FILE = "crawl.toml"

StoreArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE|DATABASE]", help=f"A crawl file or its database; default: {DEFAULT_FILE}, or the only .db here."
    ),
]
CrawlOption = Annotated[
    str | None, typer.Option("--crawl", metavar="NAME", help="Which crawl, where the database holds several.")
]


class NamedStore(Struct, frozen=True):
    """A database, and the crawl in it that is meant, if a crawl file named one."""

    store: str
    crawl: str | None = None
    file: str | None = None
    has_media: bool = False
    """Whether the crawl file asks for pictures."""

    @property
    def shown(self) -> str:
        """The database without a password."""
        return public(self.store)


def find_store(written: str | None) -> NamedStore:
    """The place a user means; raises `UserError` that says what to write."""
    text = written or _default()
    if in_vault(text) is not None:
        from bowerbird.cli.store_addresses import store_address

        return NamedStore(store_address(text))
    if is_postgres(text):
        return NamedStore(text)
    if text.endswith(".toml"):
        return _from_crawl_file(Path(text))
    if not Path(text).is_file():
        raise UserError(
            f"there is no database {public(text)}",
            "name a crawl file (.toml) or a database that `bowerbird crawl` has made",
            code="database_not_found",
        )
    return NamedStore(text)


def is_database(written: str) -> bool:
    """Whether a user means a database, rather than a crawl by its name or file."""
    return not written.endswith(".toml") and (in_vault(written) is not None or is_postgres(written) or Path(written).is_file())


@asynccontextmanager
async def opened_store(place: NamedStore, clock: Clock) -> AsyncIterator[Database]:
    """Open an existing store. Nothing is created; `StoreError` for another database or a store of another version."""
    _check_there(place)
    database = await open_database(place.store, clock)
    try:
        await check_store(database, place.shown)
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def read_store(place: NamedStore, clock: Clock) -> AsyncIterator[Database]:
    """The same for those who only read: all they see is of one moment, whatever a crawl writes meanwhile."""
    async with opened_store(place, clock) as database, one_moment(database) as still:
        yield still


async def meant_crawl(database: Database, place: NamedStore, name: str | None = None) -> str | None:
    """The crawl that is meant by option or crawl file; None where nothing says. Raises `UserError` for one that is not there."""
    wanted = name or await crawl_of_file(database, place)
    async with database.reading() as tx:
        names = await read_numbers(tx)
    if wanted is not None and wanted not in names:
        there = ", ".join(names) or "none"
        raise UserError(
            f"{place.shown} holds no crawl called {wanted!r}",
            f"there are: {there}. Say which with --crawl NAME",
            code="unknown_crawl",
        )
    return wanted


async def one_crawl(database: Database, place: NamedStore, name: str | None = None) -> tuple[int, str]:
    """Number and name of the one crawl that is meant; raises `UserError` where there are several and nothing says which."""
    wanted = await meant_crawl(database, place, name)
    async with database.reading() as tx:
        crawls = await read_numbers(tx)
    guessed = likely_crawls(crawls)
    if wanted is None and len(guessed) != 1:
        raise UserError(
            f"{place.shown} holds {len(guessed)} crawls ({', '.join(guessed)})", "say which with --crawl NAME", code="ambiguous"
        )
    chosen = wanted or guessed[0]
    return crawls[chosen], chosen


def likely_crawls(names: Collection[str]) -> list[str]:
    """Those that somebody may mean who names none: not what was looked up in the browser, unless there is nothing else."""
    if len(names) < 2:
        return list(names)
    from bowerbird.steering.lookups import is_look_up

    return [name for name in names if not is_look_up(name)] or list(names)


async def crawl_of_file(database: Database, place: NamedStore) -> str | None:
    """The crawl of the file that was named: that of its own name, or else the only one that it was run as (`--as`)."""
    if place.file is None:
        return place.crawl
    async with database.reading() as tx:
        crawls = await read_settings(tx)
    run_as = [crawl for crawl, settings in crawls.items() if _is_run_with(settings, Path(place.file))]
    return run_as[0] if place.crawl not in crawls and len(run_as) == 1 else place.crawl


def _is_run_with(settings: Mapping[str, Any], file: Path) -> bool:
    """Whether a crawl was last run with this file."""
    called = settings.get("called") or {}
    return bool(called.get("file")) and Path(called["file"]) == file.absolute()


def _check_there(place: NamedStore) -> None:
    if "://" not in place.store and not Path(place.store).is_file():
        raise UserError(
            f"there is no database {place.shown} yet",
            f"`bowerbird crawl {place.file or 'FILE'}` makes it",
            code="database_not_found",
        )


def _default() -> str:
    if Path(DEFAULT_FILE).is_file():
        return DEFAULT_FILE
    databases = sorted(Path().glob("*.db"))
    if len(databases) == 1:
        return str(databases[0])
    raise UserError(
        f"say which crawl is meant: a crawl file or a database (here is no {DEFAULT_FILE} and not exactly one .db)",
        code="ambiguous",
    )


def _from_crawl_file(path: Path) -> NamedStore:
    from bowerbird.cli.store_addresses import read_plan, store_address
    from bowerbird.flows.files.store_named import read_store_named

    named = read_store_named(path)
    place = NamedStore(store_address(named.store), named.crawl, str(path), named.has_media)
    # What is stored can be read whatever became of the rest of the file, and reading that takes longer than most commands.
    if "://" in place.store or Path(place.store).exists():
        return place
    read_plan(path, may_lack_seeds=True)
    return place
