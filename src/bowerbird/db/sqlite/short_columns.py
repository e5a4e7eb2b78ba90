"""Columns that SQLite keeps short: `short_id` is what is stored, `id` is read from it.

Whoever reads, with bowerbird or with any other program, reads `id`: a generated column that takes no room. Whoever writes on
SQLite writes `short_id`. PostgreSQL has the plain columns alone. Short are ids of posts, what another column of the same post
says too, and addresses of media (`short_addresses.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bowerbird.model import NETWORKS

SHORT_FORMS = tuple(form for network in NETWORKS.values() for form in network.short_forms)
PLAIN = "="
"""Begins an id that is kept whole although it begins like a short one; no network has such, but servers send anything."""
MARKS = PLAIN + "".join(form.mark for form in SHORT_FORMS)
_SPECIAL = (*MARKS, *(form.begins for form in SHORT_FORMS))
"""How ids begin that are not kept as they are."""
_CUTS = tuple(
    (form.begins, len(form.begins), form.middle, (at := len(form.begins) + form.characters), at + len(form.middle), form.mark)
    for form in SHORT_FORMS
)
"""Of each form what must stand in an id, and where: how it begins, its middle, and where name, middle and key begin."""
SHORT_COLUMNS = ("id", "reply_to", "repost_of", "quote_of", "root", "via")
"""Ids in `posts`."""
SAME_AS = {"seen_at": "found_at", "seen_by": "found_by"}
"""Columns of `posts` that say the same as another until the post is seen again: 0 is stored as long as they do."""
IMPLIED_COLUMNS = ("network", *SAME_AS)
"""Columns of `posts` that are stored only where others do not say it."""
_NETWORK_OF = {form.mark: network.name for network in NETWORKS.values() for form in network.short_forms}
_SHORT_NETWORKS = frozenset(_NETWORK_OF.values())
_PREFIX = "short_"


def shortened(id_: str) -> str:
    """The id as it is kept; `whole_in_sql` reads the whole one."""
    if not id_.startswith(_SPECIAL):
        return id_
    for begins, name_at, middle, middle_at, key_at, mark in _CUTS:
        if id_.startswith(middle, middle_at) and id_.startswith(begins):
            return mark + id_[name_at:middle_at] + id_[key_at:]
    return PLAIN + id_ if id_[0] in MARKS else id_


def written(dialect: str, column: str) -> str:
    """The name under which a column of `posts` is written."""
    is_short = column in SHORT_COLUMNS or column in IMPLIED_COLUMNS
    return f"{_PREFIX}{column}" if dialect == "sqlite" and is_short else column


def read(column: str) -> str:
    """The name under which a column is read that is written under this one."""
    return column.removeprefix(_PREFIX)


def written_rows(dialect: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
    """The values of rows of `posts` as they are written; columns that are not named stand behind those that are."""
    places = [place for place, column in enumerate(columns) if column in SHORT_COLUMNS]
    return rows if dialect != "sqlite" else [_shortened(row, places) for row in rows]


def filled_columns(told: Mapping[str, Sequence[Any]]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """New rows of `posts` as SQLite is told them, without columns that none of them fills: each null that is bound takes a tenth
    of a microsecond, and most columns of a post are of other networks."""
    filled = {name: column for name, column in told.items() if _is_filled(column)}
    return tuple(written("sqlite", name) for name in filled), _kept(filled)


def kept_rows(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Whole rows of `posts` as SQLite keeps them, with all their columns."""
    return _kept(dict(zip(columns, zip(*rows, strict=True), strict=True)))


def _kept(told: Mapping[str, Sequence[Any]]) -> list[tuple[Any, ...]]:
    kept = dict(told)
    for name in SHORT_COLUMNS:
        if name in told:
            kept[name] = [value and shortened(value) for value in told[name]]
    for name, other in SAME_AS.items():
        if name in told:
            kept[name] = _unsaid(told[name], told[other], 0)
    # Of Mastodon no id tells the network.
    if not _SHORT_NETWORKS.isdisjoint(told.get("network", ())):
        kept["network"] = _unsaid(told["network"], [_NETWORK_OF.get(id_[:1]) for id_ in kept["id"]], "")
    return list(zip(*kept.values(), strict=True))


def _unsaid(column: Sequence[Any], said: Sequence[Any], nothing: Any) -> list[Any]:
    """The column, with nothing where another one says it; of new posts all is said."""
    if list(column) == list(said):
        return [nothing] * len(column)
    return [nothing if value == other else value for value, other in zip(column, said, strict=True)]


def _is_filled(column: Sequence[Any]) -> bool:
    # `any` alone ends at the first value of nearly all that are filled; a column of zeros is filled too.
    return any(column) or column.count(None) < len(column)


def _shortened(row: tuple[Any, ...], places: Sequence[int]) -> tuple[Any, ...]:
    values = list(row)
    for place in places:
        if values[place]:
            values[place] = shortened(values[place])
    return tuple(values)


def whole_in_sql(column: str) -> str:
    """The id that is kept short in a column."""
    forms = (
        f"when {_text(form.mark)} then {_text(form.begins)} || substr({column}, 2, {form.characters}) || {_text(form.middle)} "
        f"|| substr({column}, {form.characters + 2})"
        for form in SHORT_FORMS
    )
    return f"case substr({column}, 1, 1) {' '.join(forms)} when {_text(PLAIN)} then substr({column}, 2) else {column} end"


def implied_in_sql(column: str, posts: str = "") -> str:
    """What a column says, wherever that is stored; `posts`: before each name, such as `p.`."""
    stored = f"{posts}{_PREFIX}{column}"
    if column in SAME_AS:
        return f"case {stored} when 0 then {posts}{SAME_AS[column]} else {stored} end"
    told = " ".join(f"when {_text(mark)} then {_text(network)}" for mark, network in _NETWORK_OF.items())
    return f"case {stored} when '' then case substr({posts}{_PREFIX}id, 1, 1) {told} end else {stored} end"


def _text(value: str) -> str:
    return f"'{value}'"
