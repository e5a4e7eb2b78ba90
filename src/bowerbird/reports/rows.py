"""Structs from rows of the database: times from microseconds, flags from 0 and 1."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, get_args

from msgspec import Struct, structs

from bowerbird.clock import from_micros
from bowerbird.ports import Row

T = TypeVar("T", bound=Struct)


def from_row(kind: type[T], row: Row) -> T:
    """Return a struct whose fields are the columns of the same names."""
    return kind(**{name: row[name] if make is None or row[name] is None else make(row[name]) for name, make in _makers(kind)})


@cache
def _makers(kind: type[Struct]) -> tuple[tuple[str, Callable[[Any], Any] | None], ...]:
    known: dict[Any, Callable[[Any], Any]] = {datetime: from_micros, bool: bool}
    fields = [(field.name, get_args(field.type) or (field.type,)) for field in structs.fields(kind)]
    return tuple((name, next((known[each] for each in types if each in known), None)) for name, types in fields)
