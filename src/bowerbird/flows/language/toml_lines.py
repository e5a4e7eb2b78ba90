"""TOML that remembers where it was written: every key path has a file and a line, so that errors can name them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from bowerbird.errors import FlowError

Path = tuple[str | int, ...]
Place = tuple[str, int]

_AT_LINE = re.compile(r" ?\(at line (\d+), column \d+\)$")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN_END = re.compile(r"[,\]}\n#]|$")


class Document(Struct, frozen=True):
    """What a TOML text says and where it says it."""

    file: str
    values: dict[str, Any]
    places: dict[Path, Place]

    def place(self, path: Path) -> Place:
        """Where the path is written, or else the nearest table around it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.places:
                return self.places[path[:length]]
        return (self.file, 0)

    def naming(self, *words: str) -> Path | None:
        """Where a text stands that has all these words in it."""
        texts = _texts(self.values, ())
        return next((path for path, text in texts if all(word in text for word in words)), None)

    def wrong(self, path: Path, problem: str, advice: str = "", *, code: str = "") -> FlowError:
        file, line = self.place(path)
        return FlowError(problem, advice, code=code, file=file, line=line or None)

    def under(self, key: str, file: str = "") -> Document:
        """The table at `key` as a document of its own."""
        places = {path[1:]: place for path, place in self.places.items() if path[0] == key and len(path) > 1}
        return Document(file or self.file, self.values.get(key, {}), places)

    def over(self, lower: Document) -> Document:
        """This document laid over another: tables are merged, everything else replaces what is below."""
        values, replaced = _merge(lower.values, self.values, ())
        kept = {path: place for path, place in lower.places.items() if not any(path[: len(top)] == top for top in replaced)}
        return Document(self.file, values, kept | self.places)

    def without(self, *keys: str) -> Document:
        values = {key: value for key, value in self.values.items() if key not in keys}
        return Document(self.file, values, {path: place for path, place in self.places.items() if path[0] not in keys})


def read(text: str, file: str) -> Document:
    """The document; raises `FlowError` with the line when the text is no TOML."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = _AT_LINE.search(str(error))
        problem = f"this is not valid TOML: {_AT_LINE.sub('', str(error))}"
        at = int(line[1]) if line else text.count("\n") + 1
        raise FlowError(problem, code="invalid_toml", file=file, line=at) from None
    scan = _Scan(text)
    scan.document()
    return Document(file, values, {path: (file, line) for path, line in scan.lines.items()})


def _texts(value: Any, at: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield at, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from _texts(each, (*at, key))


def _merge(lower: dict[str, Any], upper: dict[str, Any], at: Path) -> tuple[dict[str, Any], list[Path]]:
    merged, replaced = dict(lower), []
    for key, value in upper.items():
        if isinstance(value, dict) and isinstance(lower.get(key), dict):
            merged[key], deeper = _merge(lower[key], value, (*at, key))
            replaced += deeper
        else:
            merged[key] = value
            replaced.append((*at, key))
    return merged, replaced


class _Scan:
    """Walks a text that is known to be valid TOML and notes the line of every key and list member."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")
        self.at = 0
        self.lines: dict[Path, int] = {}
        self.members: dict[Path, int] = {}
        self._line = 1
        self._counted = 0

    def document(self) -> None:
        table: Path = ()
        self._blank()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._assignment(table)
            self._blank()

    def _header(self) -> Path:
        is_list = self.text.startswith("[[", self.at)
        self.at += 2 if is_list else 1
        line = self._here()
        keys = self._keys()
        self.at += 2 if is_list else 1
        table = self._resolve(keys, is_list)
        self._note(table, line)
        return table

    def _resolve(self, keys: list[str], is_list: bool) -> Path:
        path: Path = ()
        for number, key in enumerate(keys, 1):
            path = (*path, key)
            if is_list and number == len(keys):
                self.members[path] = self.members.get(path, -1) + 1
            if path in self.members:
                path = (*path, self.members[path])
        return path

    def _assignment(self, table: Path) -> None:
        line = self._here()
        path = (*table, *self._keys())
        self.at += 1
        self._note(path, line, len(table))
        self._value(path)

    def _value(self, path: Path) -> None:
        self._blank(newlines=False)
        opening = self.text[self.at]
        if opening in "\"'":
            self._string()
        elif opening == "[":
            self._list(path)
        elif opening == "{":
            self._inline(path)
        else:
            found = _PLAIN_END.search(self.text, self.at)
            self.at = found.start() if found else len(self.text)

    def _list(self, path: Path) -> None:
        self.at += 1
        number = 0
        while not self._closes("]"):
            self._note((*path, number), self._here())
            self._value((*path, number))
            number += 1
        self.at += 1

    def _inline(self, path: Path) -> None:
        self.at += 1
        while not self._closes("}"):
            self._assignment(path)
        self.at += 1

    def _closes(self, bracket: str) -> bool:
        self._blank()
        if self.text[self.at] == ",":
            self.at += 1
            self._blank()
        return self.text[self.at] == bracket

    def _string(self) -> str:
        quote = self.text[self.at]
        fence = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        self.at += len(fence)
        start = self.at
        while not self.text.startswith(fence, self.at):
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        # A closing fence of three may be preceded by one or two more quotes that belong to the text.
        while len(fence) == 3 and self.text.startswith(quote, self.at + 3):
            self.at += 1
        content = self.text[start : self.at]
        self.at += len(fence)
        return content

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._blank(newlines=False)
            bare = _BARE.match(self.text, self.at)
            if bare:
                keys.append(bare[0])
                self.at = bare.end()
            else:
                keys.append(self._string())
            self._blank(newlines=False)
            if self.text[self.at] != ".":
                return keys
            self.at += 1

    def _blank(self, *, newlines: bool = True) -> None:
        while self.at < len(self.text):
            if self.text[self.at] == "#" and newlines:
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text[self.at] in (" \t\n" if newlines else " \t"):
                self.at += 1
            else:
                return

    def _here(self) -> int:
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def _note(self, path: Path, line: int, known: int = 0) -> None:
        for length in range(known + 1, len(path) + 1):
            self.lines.setdefault(path[:length], line)
