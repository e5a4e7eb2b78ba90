"""Rows as the cells of a table, in HTML. Every text is escaped here as templates do it, several times as quickly: a page has
hundreds of cells, and a macro for each would take longer than the search. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup, escape

from bowerbird.export.rows.shapes import Kind
from bowerbird.reports.blocks.picking import Picked
from bowerbird.reports.sheets.accounts import Hours
from bowerbird.web import words

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_NONE = f'<span class="none">{words.NONE}</span>'
_POSTS = frozenset({"reply_to", "repost_of", "quote_of", "root", "post_id"})
_USERS = frozenset({"author_id", "source_id", "target_id"})
_HANDLES = {"author_handle": "author_id", "source_handle": "source_id", "target_handle": "target_id", "handle": "id"}
_LONG, _SHORT, _ADDRESS = 280, 200, 48
_MINUTE = len("2026-05-01 12:00")
_SHADES = 5


def table_rows(what: str, rows: Sequence[Picked], columns: Sequence[str], kinds: Mapping[str, str]) -> Markup:
    """The rows of a table, each with these columns."""
    opened = {name: f"<td{_class(name, kinds[name])}>" for name in columns}
    lines = []
    for row in rows:
        lines.append("<tr>")
        lines += [f"{opened[name]}{cell(what, name, row, kinds[name])}</td>" for name in columns]
        lines.append("</tr>\n")
    return Markup("".join(lines))  # noqa: S704 - of parts that are escaped


def _class(name: str, kind: str) -> str:
    if kind in (Kind.NUMBER, Kind.REAL):
        return ' class="n"'
    if name in ("text", "description"):
        return ' class="text"'
    return ' class="time"' if kind == Kind.TIME else ""


def cell(what: str, name: str, row: Picked, kind: str) -> str:
    """One value, with what it leads to."""
    value = row[name]
    if name in _HANDLES:
        return person(row[_HANDLES[name]], value)
    if name == "id" and what == "media":
        return picture(row)
    if value is None or value == []:
        return _NONE
    if name == "text":
        return _quiet(row["id"], value)
    if name == "description" and what == "media":
        return _quiet(row["post_id"], value)
    if name == "created_at" and what == "posts":
        return f'<a href="/posts/{words.in_path(row["id"])}">{when(value)}</a>'
    if name in _POSTS or (name == "id" and what == "posts"):
        return f'<a href="/posts/{words.in_path(value)}">{escape(value)}</a>'
    if name in _USERS or (name == "id" and what == "users"):
        return f'<a href="/users/{words.in_path(value)}">{escape(value)}</a>'
    return _BY_NAME[name](value) if name in _BY_NAME else _BY_KIND.get(kind, _text)(value)


def person(id_: str | None, handle: str | None) -> str:
    if not id_:
        return _NONE
    return f'<a class="handle" href="/users/{words.in_path(id_)}"><bdi>{escape(f"@{handle}" if handle else id_)}</bdi></a>'


def when(time: datetime | None) -> str:
    if time is None:
        return _NONE
    exact = words.exact(time)
    return f'<time title="{exact}">{exact[:_MINUTE]}</time>'


def cut(text: Any, most: int = _LONG) -> str:
    told = str(text)
    return told if len(told) <= most else f"{told[: most - 1]}…"


def picture(row: Picked) -> str:
    """A small picture where the file is kept, else what it is."""
    if row["state"] != "kept" or not row["path"]:
        return f'<span class="muted">{escape(row["kind"])}, not kept</span>'
    name = words.in_path(row["id"])
    if str(row["type"] or "").startswith("image/"):
        told = escape(cut(row["description"] or "No description"))
        return f'<a href="/media/{name}"><img class="thumb" src="/media/{name}" alt="{told}" loading="lazy"></a>'
    return f'<a href="/media/{name}">{escape(row["kind"])}</a>'


def heat(hours: Hours) -> Markup:
    """Posts by weekday and hour as the rows of a table; the more, the darker."""
    lines, most = [], hours.most or 1
    for day, counts in zip(DAYS, hours.table, strict=True):
        cells = "".join(
            f'<td class="heat-{-(-count * _SHADES // most)}" title="{day} {hour}:00, {count} posts">{count or ""}</td>'
            for hour, count in enumerate(counts)
        )
        lines.append(f'<tr><th scope="row">{day}</th>{cells}</tr>')
    return Markup("".join(lines))  # noqa: S704 - numbers and our own words


def _text(value: Any) -> str:
    return f"<bdi>{escape(cut(value, _SHORT))}</bdi>"


def _external(value: Any) -> str:
    safe = words.safe_link(value)
    if not safe:
        return _text(value)
    told = escape(cut(value, _ADDRESS))
    return f'<a class="external" href="{escape(safe)}" rel="noreferrer noopener nofollow" target="_blank"><bdi>{told}</bdi></a>'


def _state(value: Any) -> str:
    word = str(value)
    kind = word.lower().replace("_", "-").replace(" ", "-")
    return f'<span class="state state-{escape(kind)}">{escape(word.replace("_", " "))}</span>'


def _quiet(post: str, value: Any) -> str:
    return f'<a class="quiet-link" data-row href="/posts/{words.in_path(post)}"><bdi>{escape(cut(value))}</bdi></a>'


_BY_NAME: Mapping[str, Callable[[Any], str]] = {
    "bytes": words.size,
    "state": _state,
    "url": _external,
    "avatar": _external,
}
_BY_KIND: Mapping[str, Callable[[Any], str]] = {
    Kind.TIME: when,
    Kind.NUMBER: words.number,
    Kind.REAL: words.number,
    Kind.FLAG: lambda value: "yes" if value else "no",
    Kind.LIST: lambda value: _text(", ".join(value)),
}
