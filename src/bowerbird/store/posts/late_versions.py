"""Versions of a post that come after a newer one: they take their place in its history, and the post stays as it is.

Servers send an edit before the post it changes, and a stream repeats itself: history follows the edits, not their arrival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from bowerbird.ports import Database, Row
from bowerbird.store.context import SaveContext
from bowerbird.store.fields import POST_FIELDS, VERSIONED, Values, as_json

Version = dict[str, Any]
"""The fields that an edit may change, as one version has them."""
_MEND = "update post_history set before = ?, after = ? where post_no = ? and at = ? and call = ? and after = ?"
_ADD = "insert into post_history (post_no, at, call, before, after) values (?, ?, ?, ?, ?)"


class Late(NamedTuple):
    """A version that is older than the one stored."""

    row: Row
    values: Values


class Step(NamedTuple):
    """One line of history: what a post was before and after a change."""

    at: int
    call: int
    before: Version
    after: Version


class Placing(NamedTuple):
    """How a late version enters the history: a line of its own, and the line after it as it reads then."""

    added: Step
    mended: tuple[Step, Step] | None = None


class LateStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        self.steps = f"select post_no, at, call, before, after from post_history where post_no {database.any('bigint')}"


def place(current: Version, steps: Sequence[Step], late: Version, found_at: int, call: int) -> Placing | None:
    """Where a late version belongs; None when it is known. Pure."""
    edits = sorted((step for step in steps if "edited_at" in step.after), key=lambda step: _order(step.after), reverse=True)
    newer = current
    for step in edits:
        older = newer | {name: value for name, value in step.before.items() if name in newer}
        if _order(older) < _order(late) < _order(newer):
            mended = step._replace(before=_kept(step.before) | _diff(late, newer), after=_kept(step.after) | _diff(newer, late))
            return Placing(Step(step.at - 1, call, _diff(older, late), _diff(late, older)), (step, mended))
        newer = older
    if _order(late) >= _order(newer):
        return None
    first = min((step.at - 1 for step in edits), default=found_at)
    return Placing(Step(min(found_at, first), call, _diff(late, newer), _diff(newer, late)))


def _order(version: Mapping[str, Any]) -> int:
    return version["edited_at"] or 0


def _kept(fields: Version) -> Version:
    """What the line says besides the edit."""
    return {name: value for name, value in fields.items() if name not in VERSIONED}


def _diff(one: Version, other: Version) -> Version:
    return {name: value for name, value in one.items() if value != other[name]}


async def save_late(s: SaveContext, sql: LateStatements, late: Sequence[Late]) -> None:
    """Writes late versions into the history of their posts, each once."""
    steps: dict[int, list[Step]] = {}
    for row in await s.fetch_in(sql.steps, {each.row["post_no"] for each in late}):
        read = (msgspec.json.decode(row["before"]), msgspec.json.decode(row["after"]))
        steps.setdefault(row["post_no"], []).append(Step(row["at"], row["call"], *read))
    for each in late:
        number = each.row["post_no"]
        current = {name: each.row[name] for name in VERSIONED}
        version = {name: value for name, value in zip(POST_FIELDS, each.values, strict=True) if name in VERSIONED}
        placing = place(current, steps.get(number, ()), version, each.row["found_at"], s.call)
        if placing is not None:
            await _write(s, number, placing)


async def _write(s: SaveContext, number: int, placing: Placing) -> None:
    if placing.mended is not None:
        old, new = placing.mended
        await s.tx.execute(_MEND, as_json(new.before), as_json(new.after), number, old.at, old.call, as_json(old.after))
    added = placing.added
    await s.tx.execute(_ADD, number, added.at, added.call, as_json(added.before), as_json(added.after))
