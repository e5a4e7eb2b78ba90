"""`bowerbird gone`: what the services no longer show."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from heapq import nlargest
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct

from bowerbird.cli.screens.line_files import LineFile
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import StoreArgument, find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.model import Outcome
from bowerbird.model.wording import outcome_words
from bowerbird.ports import Database
from bowerbird.reports.histories.absences import TABLES, AbsentUser, DeletedPost, EndedRelation, Line, read_absences


class What(StrEnum):
    USERS = "users"
    RELATIONS = "relations"
    POSTS = "posts"


_COLUMNS: dict[str, tuple[str, ...]] = {
    "users": AbsentUser.__struct_fields__,
    "relations": EndedRelation.__struct_fields__,
    "posts": DeletedPost.__struct_fields__,
}
_TITLES = {
    "users": ("account that was not to be had", "accounts that were not to be had"),
    "relations": ("relation that ended", "relations that ended"),
    "posts": ("post that is not there (deleted, or never existed)", "posts that are not there (deleted, or never existed)"),
}


class Found(Struct, frozen=True):
    """What there is of one sort: how many, how many of them are absent still, where that is told, and the latest."""

    count: int
    absent: int
    lines: list[Line]


def command(
    place: StoreArgument = None,
    what: Annotated[What | None, typer.Option("--what", help="Only users, relations or posts; default: all three.")] = None,
    top: Annotated[int, typer.Option("--top", min=0, help="How many of each to show, the latest first.")] = 20,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write every line of --what to a new .csv, .jsonl or .txt (ids) file.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Say which accounts are or were not to be had, which relations ended and which posts are not there. Changes nothing."""
    output, found = Output(as_json=as_json), find_store(place)
    if out is not None and what is None:
        raise UserError("say with --what which of users, relations and posts --out is to hold", code="needs_option")

    async def read() -> dict[str, Found]:
        async with read_store(found, RealClock()) as database:
            return {name: await _read(database, name, top, out) for name in ([what.value] if what else TABLES)}

    for name, each in (parts := asyncio.run(read())).items():
        _show(output, name, each)
    if out is not None:
        output.line(f"Every line is in {out}.")
    values = {name: {"count": each.count, "lines": msgspec.to_builtins(each.lines)} for name, each in parts.items()}
    if "users" in parts:
        values["users"]["absent_now"] = parts["users"].absent
    output.result({"store": found.shown, "out": out, **values})


async def _read(database: Database, what: str, top: int, out: Path | None) -> Found:
    count, absent, kept, last = 0, 0, list[Line](), None
    file = LineFile(out, _COLUMNS[what]) if out is not None else None
    try:
        async for line in read_absences(database, what):
            is_again = _is_same_account(last, line)
            count += not is_again
            absent += _is_absent(line) - (is_again and last is not None and _is_absent(last))
            last = line
            kept = _latest([*kept, line], top) if len(kept) >= 2 * top + 100 else [*kept, line]
            if file is not None:
                file.write(msgspec.to_builtins(line))
    finally:
        if file is not None:
            file.close()
    return Found(count, absent, _latest(kept, top))


def _is_absent(line: Line) -> bool:
    return isinstance(line, AbsentUser) and line.until is None


def _is_same_account(line: Line | None, other: Line) -> bool:
    return isinstance(line, AbsentUser) and isinstance(other, AbsentUser) and line.id == other.id


def _latest(lines: list[Line], top: int) -> list[Line]:
    return nlargest(top, lines, key=_time)


def _time(line: Line) -> Any:
    match line:
        case AbsentUser():
            return line.since
        case EndedRelation():
            return line.before
        case DeletedPost():
            return line.at


def _show(output: Output, what: str, found: Found) -> None:
    lines, back = found.lines, found.count - found.absent
    since = f", {back:,} of them back since" if what == "users" and back else ""
    output.line(f"{found.count:,} {_TITLES[what][found.count != 1]}{since}", style="bold")
    if lines:
        columns = _COLUMNS[what]
        rows = [[_cell(getattr(line, name)) for name in columns] for line in lines]
        output.table(
            "",
            ("  " + columns[0], *(name.replace("_", " ") for name in columns[1:])),
            [("  " + row[0], *row[1:]) for row in rows],
        )
    output.line()


def _cell(value: Any) -> str:
    if isinstance(value, str) and value in Outcome.__members__.values():
        return outcome_words(value)
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:%Y-%m-%d %H:%M:%S}" if hasattr(value, "strftime") else "" if value is None else str(value)
