"""Fills every text of a store with markup that must not come to life on any page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.db.sqlite.short_columns import SHORT_COLUMNS, shortened
from bowerbird.evaluate.web.first_rows import WHEN, add_first_rows
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.absences.content import PURGED, WITHOUT_CONTENT

CALL = "bowerbird_marked()"
"""What markup calls when it comes to life."""
MARK = "bb-mark"
"""An element that no page of ours has."""
RIGHT_TO_LEFT = "\u202e\u05d0\u05d1" * 3_333
"""A display name of 10,000 characters."""
TEXTS = (
    f"\"'><{MARK} onmouseover={CALL}>x</{MARK}><script>{CALL}</script><img src=x onerror={CALL}>",
    f"</title></textarea></script></style><script>{CALL}</script><{MARK}>",
    f"\u202e<svg onload={CALL}><{MARK}>\u2066",
    f"{{{{ 7*7 }}}}{{% raw %}}${{{CALL}}}<{MARK}>",
    f"' onfocus={CALL} autofocus x='<{MARK}>",
    f"javascript:{CALL}//<{MARK}>",
    f"<a href='javascript:{CALL}'>x</a><{MARK}>",
)
LINKS = (
    f"javascript:{CALL}//",
    f"JaVaScRiPt:{CALL}",
    f"\tjava\nscript:{CALL}",
    f"data:text/html,<script>{CALL}</script>",
    f'https://x.example/"onmouseover="{CALL}" \'><{MARK}>',
    f"//x.example/<{MARK}>",
)
_JSON = frozenset({"poll", "emoji", "labels", "links", "place", "evidence", "before", "after"})
_URLS = frozenset({"url", "avatar", "base", "links", "source"})
_CHOSEN = "from a fixed list of words"
_KEYS: Mapping[str, frozenset[str]] = {
    "crawls": frozenset({"flow", "settings"}), "plans": frozenset({"document", "whole"}), "lanes": frozenset({"facet"}),
    "services": frozenset({"provider", "flavour"}), "calls": frozenset({"facet", "charges", "targets"}),
    "streams": frozenset({"channel", "options", "tuned"}), "modules": frozenset({"name", "memory"}),
    "module_runs": frozenset({"module"}), "keyword_methods": frozenset({"name", "state"}),
    "judgements": frozenset({"judge", "id"}), "judgement_history": frozenset({"judge", "id"}), "growth": frozenset({"name"}),
    "labels": frozenset({"judge"}), "label_samples": frozenset({"judge"}), "community_models": frozenset({"judge"}),
    "quarantine": frozenset({"facet"}), "quarantine_sources": frozenset({"facet"}), "prepared": frozenset({"name", "document"}),
    "claims": frozenset({"name"}), "tombstones": frozenset({"mark"}), "tombstone_state": frozenset({"after_key"}),
    "dashboard_people": frozenset({"name", "hash"}), "dashboard_sessions": frozenset({"hash", "person"}),
    "dashboard_tries": frozenset({"key"}), "dictionaries": frozenset({"kind"}),
    "worker_tokens": frozenset({"hash"}), "forget_requests": frozenset({"who"}), "credentials": frozenset({"credential"}),
}  # fmt: skip
"""What code looks things up by, or reads as a whole by its own rules: it comes from us, or the page would not be found."""
_TABLES = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name"
_FAILURE = "json_object('code', 'unreadable', 'problem', ?, 'advice', 'x')"
_MORE = (
    f"update lanes set left_out = {_FAILURE}, left_out_at = {WHEN} where lane = (select min(lane) from lanes)",
    "update calls set detail = ? where call < 5",
    f"update tasks set failure = {_FAILURE} where task < 5",
    "update workers set label = ?",
    "update users set labels = json_array(?) where user_no % 2 = 0",
    "update posts set labels = json_array(?), links = json_array('javascript:alert(1)') where post_no % 2 = 0",
    "update word_studies set error = ?",
)
"""What is empty in a small store, and where it stands if it is not."""
_PEOPLE_JUDGED = "update judgements set id = (select id from users order by user_no limit 1)"
_MOST_ROWS = 400


class Marked(Struct):
    """How much of a store was filled."""

    fields: int = 0
    rows: int = 0
    left_out: tuple[str, ...] = ()
    """Columns of text without markup."""


async def mark(database: Database) -> Marked:
    """Fills the texts of a SQLite store, and adds a row to each table that has none."""
    told, left_out = Marked(), []
    async with database.transaction() as tx:
        for table in [str(row["name"]) for row in await tx.fetch(_TABLES)]:
            columns = await tx.fetch(f"select name, type, pk from pragma_table_info('{table}')")
            await add_first_rows(tx, table, list(columns))
            texts = [str(each["name"]) for each in columns if str(each["type"]).lower() == "text"]
            wanted = [name for name in texts if _is_marked(table, name)]
            left_out += [f"{table}.{name}" for name in texts if name not in wanted]
            for name in wanted:
                done = await _mark_column(tx, table, name)
                told.rows += done
                told.fields += done > 0
                left_out += [f"{table}.{name}"] if not done else []
        for statement in _MORE:
            await tx.execute(statement, TEXTS[0])
        await tx.execute(_PEOPLE_JUDGED)
    told.left_out = tuple(left_out)
    return told


def _is_marked(table: str, column: str) -> bool:
    plain = column.removeprefix("short_")
    return plain not in _KEYS.get(table, ()) and plain not in WITHOUT_CONTENT[_CHOSEN].get(table, ())


async def _mark_column(tx: Transaction, table: str, column: str) -> int:
    rows = await tx.fetch(f'select rowid as row, "{column}" as value from "{table}" limit {_MOST_ROWS}')
    done = 0
    for number, (row, value) in enumerate(_changed(rows, table, column)):
        stored = shortened(value) if column.startswith("short_") else value
        # What must stay unique, or belong to another row, stays as it was.
        try:
            done += await tx.execute(f'update "{table}" set "{column}" = ? where rowid = ?', stored, row)
        except Exception:
            if number == 0:
                break
    return done


def _is_id(column: str) -> bool:
    plain = column.removeprefix("short_")
    return plain in (*SHORT_COLUMNS, "key", "target", "record", "item", "handle", "tag", "term")


def _changed(rows: Sequence[Row], table: str, column: str) -> Iterator[tuple[int, str]]:
    is_url = column.removeprefix("short_") in _URLS
    choices = (TEXTS[2],) if (table, column) == ("crawls", "name") else LINKS + TEXTS if is_url else TEXTS
    is_id = _is_id(column)
    is_filled = column in PURGED.get(table, ()) and not is_id and column not in _JSON
    for number, row in enumerate(rows):
        # Half of the ids stay, so that what names others by them leads somewhere; and what is empty says something by that.
        if (is_id and number % 2) or (row["value"] is None and not is_filled):
            continue
        yield row["row"], _payload(row["value"], choices[number % len(choices)], number, is_long=column == "name" and number == 1)


def _payload(value: Any, text: str, number: int, *, is_long: bool) -> str:
    structure = _structure(value)
    if structure is not None:
        return msgspec.json.encode(_filled(structure, text)).decode()
    return RIGHT_TO_LEFT + text if is_long else f"{text} {number}"


def _structure(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except msgspec.DecodeError:
            return None
    return None


def _filled(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return text
    if isinstance(value, list):
        return [_filled(each, text) for each in value]
    return {name: _filled(each, text) for name, each in value.items()} if isinstance(value, dict) else value
