"""How parameters are marked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings


def long(*values: Any) -> list[Any]:
    """Parameters that only `make test-long` takes: the others beside them keep the same promise in `make test`."""
    return [pytest.param(value, marks=pytest.mark.long) for value in values]


long_on_postgresql = pytest.mark.parametrize(
    "database_url", ["sqlite", *long("postgresql")], indirect=True
)
"""For whole crawls: on PostgreSQL, which takes three times as long, others of their kind keep the promise in `make test`."""


def examples(number: int) -> int:
    """How many random examples to try: all of them in `make test-long`, a quarter in `make test`."""
    return max(10, number * settings.default.max_examples // 100)
