"""Rows as the cells of a table, in HTML. Every text is escaped here as templates do it, several times as quickly: a page has
hundreds of cells, and a macro for each would take longer than the search. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

from markupsafe import Markup

from bowerbird.export.rows.shapes import Kind
from bowerbird.reports.blocks.picking import Picked
from bowerbird.reports.sheets.accounts import Hours
from bowerbird.web import formats

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_NONE = f'<span class="none">{formats.NONE}</span>'
_POSTS = frozenset({"reply_to", "repost_of", "quote_of", "root", "post_id"})
_USERS = frozenset({"author_id", "source_id", "target_id"})
_HANDLES = {"author_handle": "author_id", "source_handle": "source_id", "target_handle": "target_id", "handle": "id"}
_PICTURE = ("kind", "state", "path", "type", "description", "post_id")
_LONG, _SHORT, _ADDRESS = 280, 200, 48
_MINUTE = len("2026-05-01 12:00")
_SHADES = 5


def needed(what: str, columns: Sequence[str]) -> frozenset[str]:
    """The columns that rows must have for these to be shown: links lead to ids."""
    also = {"id", *(_HANDLES[name] for name in columns if name in _HANDLES)}
    if what == "posts" and "text" in columns:
        also.add("repost_of")
    return frozenset({*columns, *also, *(_PICTURE if what == "media" else ())})


def table_rows(what: str, rows: Sequence[Picked], columns: Sequence[str], kinds: Mapping[str, str]) -> Markup:
    """The rows of a table, each with these columns."""
    cells = [(f"<td{_class(name, kinds[name])}>", _cell(what, name, kinds[name])) for name in columns]
    lines = ["".join([f"{opened}{cell(row)}</td>" for opened, cell in cells]) for row in rows]
    return Markup("".join([f"<tr>{line}</tr>\n" for line in lines]))  # noqa: S704 - of parts that are escaped


def _class(name: str, kind: str) -> str:
    if kind in (Kind.NUMBER, Kind.REAL):
        return ' class="n"'
    if name in ("text", "description"):
        return ' class="text"'
    return ' class="time"' if kind == Kind.TIME else ""


def _cell(what: str, name: str, kind: str) -> Callable[[Picked], str]:
    """How one value of a row is shown, with what it leads to: found out once for a column, not for each of its cells."""
    if name in _HANDLES:
        whose = _HANDLES[name]
        return lambda row: person(row[whose], row[name])
    if name == "id" and what == "media":
        return picture
    if name == "text":
        return _said
    if name == "description" and what == "media":
        return _known(name, lambda row: _quiet(row["post_id"], row[name]))
    if name == "created_at" and what == "posts":
        return _known(name, lambda row: f'<a href="/posts/{formats.in_path(row["id"])}">{when(row[name])}</a>')
    for kinds, of in ((_POSTS, "posts"), (_USERS, "users")):
        if name in kinds or (name == "id" and what == of):
            return _known(name, lambda row: f'<a href="/{of}/{formats.in_path(row[name])}">{escape(row[name])}</a>')  # noqa: B023 - returned at once
    told = _BY_NAME[name] if name in _BY_NAME else _BY_KIND.get(kind, _text)
    return _known(name, lambda row: told(row[name]))


def _said(row: Picked) -> str:
    """The text of a post; of a repost what it passes on, where that may be told."""
    if row["text"] is not None:
        return _quiet(row["id"], row["text"])
    original = row.get("original")
    if original is None:
        return (
            f'<span class="muted">{_quiet(row["id"], "reposted a post of which nothing is told")}</span>'
            if row.get("repost_of")
            else _NONE
        )
    return f'<span class="muted">reposted <bdi>{escape(original.label)}</bdi>:</span> {_quiet(row["id"], original.text)}'


def _known(name: str, told: Callable[[Picked], str]) -> Callable[[Picked], str]:
    """The same with a dash for what nobody knows."""
    return lambda row: _NONE if row[name] is None or row[name] == [] else told(row)


def person(id_: str | None, handle: str | None) -> str:
    if not id_:
        return _NONE
    return f'<a class="handle" href="/users/{formats.in_path(id_)}"><bdi>{escape(f"@{handle}" if handle else id_)}</bdi></a>'


def when(time: datetime | None) -> str:
    if time is None:
        return _NONE
    exact = formats.exact(time)
    return f'<time title="{exact}">{exact[:_MINUTE]}</time>'


def cut(text: Any, most: int = _LONG) -> str:
    told = str(text)
    return told if len(told) <= most else f"{told[: most - 1]}…"


def picture(row: Picked) -> str:
    """A small picture where the file is kept, else what it is."""
    if row["state"] != "kept" or not row["path"]:
        return f'<span class="muted">{escape(str(row["kind"]))}, not kept</span>'
    name = formats.in_path(row["id"])
    if str(row["type"] or "").startswith("image/"):
        told = escape(cut(row["description"] or "No description"))
        return f'<a href="/media/{name}"><img class="thumb" src="/media/{name}" alt="{told}" loading="lazy"></a>'
    return f'<a href="/media/{name}">{escape(str(row["kind"]))}</a>'


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
    safe = formats.safe_link(value)
    if not safe:
        return _text(value)
    told = escape(cut(value, _ADDRESS))
    return f'<a class="external" href="{escape(safe)}" rel="noreferrer noopener nofollow" target="_blank"><bdi>{told}</bdi></a>'


def _state(value: Any) -> str:
    word = str(value)
    kind = word.lower().replace("_", "-").replace(" ", "-")
    return f'<span class="state state-{escape(kind)}">{escape(word.replace("_", " "))}</span>'


def _quiet(post: str, value: Any) -> str:
    return f'<a class="quiet-link" data-row href="/posts/{formats.in_path(post)}"><bdi>{escape(cut(value))}</bdi></a>'


_BY_NAME: Mapping[str, Callable[[Any], str]] = {
    "bytes": formats.size,
    "state": _state,
    "url": _external,
    "avatar": _external,
}
_BY_KIND: Mapping[str, Callable[[Any], str]] = {
    Kind.TIME: when,
    Kind.NUMBER: formats.number,
    Kind.REAL: formats.number,
    Kind.FLAG: lambda value: "yes" if value else "no",
    Kind.LIST: lambda value: _text(", ".join(value)),
}
