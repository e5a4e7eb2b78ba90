"""What tests share: a real PostgreSQL server of the suite's own, and migrated databases of every kind."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg
import hypothesis
import hypothesis.internal.conjecture.optimiser  # see below
import pytest

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.addresses import is_postgres
from bowerbird.evaluate.postgres import start_postgres
from bowerbird.ports import Database
from migrated import Kept, Migrated
from snapshots import snapshot as snapshot

if TYPE_CHECKING:
    from web_site import Crawled

# Hypothesis imports its optimiser in the middle of a test, deep in the stack. Where no compiled copy of it lies there yet,
# CPython 3.11 may then fail to parse it ("AST constructor recursion depth mismatch"): it is loaded here instead.
_numbers = count(1)
_LONG = "long or hypothesis"
_MARKED = re.compile(r"\bmark\.long\b|^from marks import |^from hypothesis import ", re.MULTILINE)
"""How files with long tests, and with tests that try random examples, are known."""
_MEMORY = Path("/dev/shm")
# As in the Makefile: without compiled modules each process that a test starts would compile everything anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# How long one example takes says something about the machine alone. `make test` tries a quarter of the random examples, and
# `make test-long` all of them (`examples` in marks.py).
hypothesis.settings.register_profile("all", deadline=None, max_examples=100)
hypothesis.settings.register_profile("few", deadline=None, max_examples=25)
hypothesis.settings.load_profile("few")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--mutations",
        type=int,
        default=5_000,
        help="how many mutated pages the providers must stand",
    )
    parser.addoption(
        "--months",
        type=float,
        default=1 / 30,
        help="how many simulated months a crawl with a dying process lasts",
    )
    parser.addoption(
        "--write-golden",
        action="store_true",
        help="keep today's outputs of the golden crawls as the expected ones",
    )
    parser.addoption(
        "--write-snapshots",
        action="store_true",
        help="keep today's screens as the expected ones (snapshots.py)",
    )
    parser.addoption(
        "--kills",
        type=int,
        default=6,
        help="how often crawls are killed; a third of them on PostgreSQL",
    )


def pytest_configure() -> None:
    """Files of tests lie in memory where there is room: a crawl would wait for the disk at every commit."""
    if _has_room(_MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


def _has_room(folder: Path) -> bool:
    """Whether many files can be written there, and programs run: in containers it is often small, or for data alone."""
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize >= 4 << 30 and not found.f_flag & os.ST_NOEXEC


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make test-long` reads only the files that have long tests, one in five: others need not be imported."""
    is_other = (
        config.option.markexpr == _LONG
        and collection_path.name.startswith("test_")
        and collection_path.is_file()
    )
    return True if is_other and not _MARKED.search(collection_path.read_text("utf-8")) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that ask for more time than usual go first: started last, one of them would keep a worker busy after all others."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)


def pytest_collection_finish() -> None:
    """Thousands of tests and all they import stay to the end: nobody need look through them for garbage again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of a server that starts with the first test that wants one and ends with the session; under xdist one per worker."""
    with start_postgres() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """URL of an empty database of the test's own."""
    name = f"test_{next(_numbers)}"
    _aside(_command(postgres_server, f"create database {name} strategy file_copy"))
    yield postgres_server.replace("/postgres?", f"/{name}?")
    _aside(_command(postgres_server, f"drop database {name} with (force)"))


@pytest.fixture(scope="session")
def migrated(postgres_server: str) -> Iterator[Migrated]:
    made = Migrated(postgres_server)
    yield made
    made.close()


@pytest.fixture
def migrated_url(migrated: Migrated) -> Iterator[str]:
    """URL of a database that has our tables and nothing in them."""
    migrated.ready()
    yield migrated.url
    migrated.empty()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Where a test may open a database of each kind, for those that run their own (virtual) loop."""
    return ":memory:" if request.param == "sqlite" else str(request.getfixturevalue("migrated_url"))


@pytest.fixture(scope="session")
async def kept() -> AsyncIterator[Kept]:
    made = Kept()
    yield made
    await made.close()


@pytest.fixture
async def database(database_url: str, kept: Kept) -> AsyncIterator[Database]:
    """An open, migrated, empty bowerbird database of each kind."""
    if is_postgres(database_url):
        yield await kept.open(database_url)
        return
    opened = await open_database(database_url, RealClock())
    await opened.create_tables()
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """A store that a small crawl of the simulated world has filled, for tests of the dashboard."""
    from web_site import Crawled

    return Crawled(tmp_path_factory.mktemp("crawled"))


@pytest.fixture
async def crawled_database(crawled: Crawled, tmp_path: Path) -> AsyncIterator[Database]:
    """A copy of it, open."""
    opened = await open_database(str(crawled.copy(tmp_path)), RealClock())
    await opened.create_tables()
    yield opened
    await opened.close()


async def _command(url: str, sql: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


def _aside(work: Coroutine[Any, Any, None]) -> None:
    # In a thread of its own: `asyncio.run` here would take away the loop that an asynchronous test is about to use.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()
