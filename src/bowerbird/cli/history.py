"""`bowerbird history`: how an account or a post changed."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any

import msgspec
import typer

from bowerbird.cli.output import JsonFlag, Output
from bowerbird.cli.place import PlaceArgument, find_place, opened_place
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.store.histories import Change, History, find_history

_LONGEST = 80


def command(
    who: Annotated[
        str, typer.Argument(metavar="USER|POST", help="An id, a handle, a service's own key, or the address of a post.")
    ],
    place: PlaceArgument = None,
    as_json: JsonFlag = False,
) -> None:
    """Show how an account or a post changed, in the order of time: fields, handles, follows, edits, absences. Changes nothing."""
    output, found = Output(as_json=as_json), find_place(place)

    async def read() -> list[History]:
        async with opened_place(found, RealClock()) as database:
            return await find_history(database, who)

    histories = asyncio.run(read())
    if not histories:
        raise UserError(f"{found.shown} knows no account and no post {who!r}; give an id, a handle or the address of a post")
    for history in histories:
        _show(output, history)
    output.result({"store": found.shown, "histories": [_values(each) for each in histories]})


def _show(output: Output, history: History) -> None:
    name = f" @{history.name}" if history.name else ""
    output.line(f"{history.subject} {history.id}{name}", style="bold")
    output.table("", ("  when (UTC)", "what", "field", "before", "after"), [_row(change) for change in history.changes])
    output.line()


def _row(change: Change) -> tuple[str, ...]:
    when = f"{change.at:%Y-%m-%d %H:%M:%S}"
    if change.after is not None:
        when = f"{change.after:%Y-%m-%d %H:%M} to {change.at:%Y-%m-%d %H:%M}"
    return (f"  {when}", change.what, change.field, _short(change.before), _short(change.now))


def _short(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:%Y-%m-%d %H:%M}" if isinstance(value, datetime) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _values(history: History) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(history)
    return values
