"""Results as flat rows, with the columns of the input in front."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import structs

from bowerbird.cli.everyday.asking import Asking
from bowerbird.export.rows.flat import stored_post, stored_user
from bowerbird.export.rows.shapes import Column, Kind, Row, Shape
from bowerbird.reports.browsing.results import Line, ResultReader
from bowerbird.store.results.wanted import What

RAW = Column("raw", Kind.DOCUMENT, "as the network sent it")
_Row = Callable[[Line, str, str], Row | None]


def carried_names(carried: Sequence[str], shape: Shape) -> dict[str, str]:
    """What the columns of an input are called in the output: one that a row has already is told apart."""
    return {name: f"input_{name}" if name in shape.names else name for name in carried if name}


def shape_of(asking: Asking, carried: Sequence[str], *, with_raw: bool) -> Shape:
    shape = asking.shape
    names = carried_names(carried, shape)
    if with_raw and asking.what in (What.POSTS, What.USERS):
        shape = structs.replace(shape, columns=(*shape.columns, RAW))
    return shape.with_columns(list(names.values()))


class RowMaker:
    """Makes rows of results, one for each input that led to it."""

    def __init__(
        self, asking: Asking, reader: ResultReader, services: Mapping[int, tuple[str, str]], carried: Sequence[str]
    ) -> None:
        """`services`: by number, name and network."""
        self._make = _MAKERS[asking.what]
        self._is_following = "following" in asking.answers
        self._reader = reader
        self._services = services
        self._carried = [name for name in carried if name]
        self.width = len(self._carried)
        """Columns of the input in front of a row."""
        self._known: dict[tuple[int, str], list[Row]] = {}

    async def rows(self, lines: Sequence[Line], *, with_raw: bool) -> list[Row]:
        self._known.clear()
        found = []
        for line in lines:
            row = self._row(line)
            if row is None:
                continue
            if with_raw and self._make in (_post, _user):
                row = (*row, _document((line.post or line.user or {}).get("raw")))
            found += [(*beside, *row) for beside in await self._beside(line)]
        return found

    def _row(self, line: Line) -> Row | None:
        name, network = self._services[line.service]
        row = self._make(line, name, network)
        if self._make is _follow and row is not None and self._is_following:
            return (*row[2:4], *row[:2], *row[4:])
        return row

    async def _beside(self, line: Line) -> list[Row]:
        """The columns of every input that asked for it."""
        if not self._carried:
            return [()]
        place = (line.service, line.target)
        if place not in self._known:
            inputs = await self._reader.inputs(*place) or [("", {})]
            self._known[place] = [tuple(columns.get(name) for name in self._carried) for _, columns in inputs]
        return self._known[place]


def _post(line: Line, service: str, network: str) -> Row | None:
    return None if line.post is None else stored_post(line.post, service)


def _user(line: Line, service: str, network: str) -> Row | None:
    return None if line.user is None else stored_user(line.user, service)


def _follow(line: Line, service: str, network: str) -> Row | None:
    """Who follows, then who is followed, of a list of followers."""
    user, owner = line.user, line.owner
    if user is None:
        return None
    seen = user["found_at"], user["seen_at"]
    return (user["id"], user["handle"], owner and owner["id"], owner and owner["handle"], network, service, *seen)


def _repost(line: Line, service: str, network: str) -> Row | None:
    user, told = line.user, line.told
    if user is None:
        return None
    return (line.target, user["id"], user["handle"], user["name"], network, _time(told.get("at")), told.get("repost"))


def _trend(line: Line, service: str, network: str) -> Row | None:
    told = line.told
    return (told["rank"], told["word"], told["volume"], told["place"], network)


def _count(line: Line, service: str, network: str) -> Row | None:
    told = line.told
    return (told["query"], _time(told["begins_at"]), _time(told["ends_at"]), told["posts"], network)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _document(raw: Any) -> str | None:
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) and raw else None


_MAKERS: Mapping[What, _Row] = {
    What.POSTS: _post,
    What.USERS: _user,
    What.FOLLOWS: _follow,
    What.REPOSTS: _repost,
    What.TRENDS: _trend,
    What.VOLUMES: _count,
}
