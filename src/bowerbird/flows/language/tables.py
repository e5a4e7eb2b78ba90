"""One TOML table read key by key: the right type or an error that names the line and says what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from bowerbird.errors import BowerbirdError, FlowError
from bowerbird.flows.language.spelling import duration, listed, meant
from bowerbird.flows.language.toml_lines import Document, Path

_KINDS: dict[type, str] = {
    str: "a text in quotes",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


class Table:
    """A view of one table of a document; every reader takes a key and a default for when it is absent."""

    def __init__(self, document: Document, path: Path = (), values: dict[str, Any] | None = None) -> None:
        self.document = document
        self.path = path
        self.values = document.values if values is None else values

    def wrong(self, key: str | None, problem: str, advice: str = "", *, code: str = "") -> FlowError:
        return self.document.wrong(self.path if key is None else (*self.path, key), problem, advice, code=code)

    def failed(self, key: str | None, error: BowerbirdError) -> FlowError:
        """Return an error that occurred elsewhere, with the place of its cause in this file."""
        return self.wrong(key, error.problem, error.advice, code=error.code)

    def only(self, keys: Iterable[str], where: str) -> None:
        """Raises for the first key that nobody reads."""
        allowed = list(keys)
        for key in self.values:
            if key not in allowed:
                raise self.wrong(
                    key, f"unknown key {key!r} in {where}{meant(key, allowed)}", f"allowed: {listed(allowed)}", code="unknown_key"
                )

    def _typed(self, key: str, kind: type) -> Any:
        value = self.values.get(key)
        is_right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if value is not None and not is_right:
            raise self.wrong(key, f"{key} must be {_KINDS[kind]}, not {value!r:.60}")
        return value

    def text(self, key: str, default: str = "") -> str:
        value: str | None = self._typed(key, str)
        return default if value is None else value

    def required(self, key: str, example: str) -> str:
        value = self.text(key)
        if not value:
            raise self.wrong(
                key if key in self.values else None, f"{key} is missing", f"write for example: {example}", code="missing_value"
            )
        return value

    def truth(self, key: str, default: bool) -> bool:
        value: bool | None = self._typed(key, bool)
        return default if value is None else value

    def count(self, key: str, default: int | None = None) -> int | None:
        """A whole number above zero."""
        value: int | None = self._typed(key, int)
        if value is not None and value < 1:
            raise self.wrong(key, f"{key} must be 1 or more, not {value}")
        return default if value is None else value

    def number(self, key: str, default: float) -> float:
        if isinstance(self.values.get(key), int):
            self._typed(key, int)
            return float(self.values[key])
        value: float | None = self._typed(key, float)
        return default if value is None else value

    def dollars(self, key: str) -> float | None:
        """An amount of money."""
        if key not in self.values:
            return None
        value = self.number(key, 0.0)
        if not 0.001 <= value < 1e9:
            raise self.wrong(key, f"{key} must be an amount of dollars above 0, such as 10 or 2.50, not {value:g}")
        return value

    def span(self, key: str, default: timedelta | None = None) -> timedelta | None:
        if key not in self.values:
            return default
        value = self.values[key]
        try:
            if not isinstance(value, str):
                raise ValueError(f'{value!r} is not a duration; write a text with a unit, such as "90s", "15m" or "7d"')
            return duration(value)
        except ValueError as error:
            raise self.wrong(key, f"{key}: {error}") from None

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; a single text stands for a list of one."""
        value = self.values.get(key, [])
        members = [value] if isinstance(value, str) else value
        if not isinstance(members, list):
            raise self.wrong(key, f"{key} must be a list of texts, not {value!r:.60}")
        for number, member in enumerate(members):
            if not isinstance(member, str):
                path = (*self.path, key, number)
                raise self.document.wrong(path, f"{key} must hold texts in quotes, not {member!r:.60}")
        return tuple(members)

    def table(self, key: str) -> Table:
        return Table(self.document, (*self.path, key), self._typed(key, dict) or {})

    def named(self, key: str) -> list[tuple[str, Table]]:
        """The tables inside a table, by name."""
        outer = self.table(key)
        return [(name, outer.table(name)) for name in outer.values]

    def tables(self, key: str) -> list[Table]:
        """The members of a list of tables."""
        members = self._typed(key, list) or []
        found = []
        for number, member in enumerate(members):
            path = (*self.path, key, number)
            if not isinstance(member, dict):
                raise self.document.wrong(
                    path, f"{key} must be a list of tables", f"write [[{key}]] above each, not {member!r:.60}"
                )
            found.append(Table(self.document, path, member))
        return found
