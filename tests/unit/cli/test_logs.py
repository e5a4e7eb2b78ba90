"""What reaches the terminal as a log message."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from bowerbird.cli.logs import set_up_logs


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    pool, root = logging.getLogger("asyncpg.pool"), logging.getLogger()
    levels, handlers = (pool.level, root.level), root.handlers[:]
    yield
    root.handlers[:] = handlers
    pool.setLevel(levels[0])
    root.setLevel(levels[1])


@pytest.mark.parametrize(("level", "is_heard"), [("debug", True), ("info", True), ("warning", False), ("error", False)])
def test_the_pool_of_connections_speaks_only_to_those_who_asked_for_more(level: str, is_heard: bool) -> None:
    set_up_logs(level)
    assert logging.getLogger("asyncpg.pool").isEnabledFor(logging.WARNING) == is_heard
    assert logging.getLogger("asyncpg.other").isEnabledFor(logging.ERROR)
