"""`bowerbird history`: how an account or a post changed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any

import msgspec
import typer

from bowerbird.cli.screens.output import JsonFlag, Output, printable
from bowerbird.cli.which import StoreArgument, find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.providers import PROVIDERS, provider
from bowerbird.reports.histories.changes import Change, History, find_history
from bowerbird.store.fields import POST_COUNTERS, USER_COUNTERS

_LONGEST = 80
_MOST = 20
_COUNTERS = USER_COUNTERS | POST_COUNTERS


def command(
    who: Annotated[
        str,
        typer.Argument(metavar="ACCOUNT|POST", help="An id, a handle (also a former one), a service's own key, or an address."),
    ],
    place: StoreArgument = None,
    as_json: JsonFlag = False,
) -> None:
    """Show how an account or a post changed, in the order of time: fields, handles, follows, edits, absences. Changes nothing."""
    output, found = Output(as_json=as_json), find_store(place)

    async def read() -> list[History]:
        async with read_store(found, RealClock()) as database:
            for text, network in ((who, None), *_behind(who)):
                if histories := await find_history(database, text, network):
                    return histories
            return []

    histories = asyncio.run(read())
    if not histories:
        raise UserError(
            f"{found.shown} knows no account and no post {who!r}", "give an id, a handle or an address", code="unknown_account"
        )
    if len(histories) > 1:
        raise UserError(_choice(who, histories), code="ambiguous")
    _show(output, histories[0])
    output.result({"store": found.shown, "histories": [_values(each) for each in histories]})


def _behind(address: str) -> list[tuple[str, str]]:
    """The account at the address of a profile, as each network that understands it names it."""
    found: list[tuple[str, str]] = []
    for speaks in map(provider, PROVIDERS if address.startswith("http") else ()):
        with suppress(UserError):
            found.append((speaks.target(address, speaks.facets["profile"]), speaks.network))
    return found


def _choice(who: str, histories: list[History]) -> str:
    lines = [f"  {each.id}  {each.subject}{_names(each)}" for each in histories[:_MOST]]
    if len(histories) > _MOST:
        lines.append(f"  and {len(histories) - _MOST} more")
    return printable("\n".join((f"{who!r} may mean {len(histories)} accounts or posts; say which by its id:", *lines)))


def _names(history: History) -> str:
    """The handle it bears, and the one it was asked for by."""
    now = f" @{history.name}" if history.name else ""
    if history.until is None:
        return now
    return f"{now}, which had the handle @{history.had} until it was seen without it at {history.until:%Y-%m-%d %H:%M} UTC"


def _show(output: Output, history: History) -> None:
    output.line(f"{history.subject} {history.id}{_names(history)}", style="bold")
    output.table("", ("  when (UTC)", "what", "field", "before", "after"), [_row(change) for change in history.changes])
    output.line()


def _row(change: Change) -> tuple[str, ...]:
    when = f"{change.at:%Y-%m-%d %H:%M:%S}"
    if change.after is not None:
        when = f"{change.after:%Y-%m-%d %H:%M} to {change.at:%Y-%m-%d %H:%M}"
    # Counters are readings: those in between are thinned, so what one was just before would be on no line.
    before = None if change.field in _COUNTERS else change.before
    return (f"  {when}", change.what, change.field, _short(before), _short(change.now))


def _short(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:%Y-%m-%d %H:%M}" if isinstance(value, datetime) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _values(history: History) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(history)
    return values
