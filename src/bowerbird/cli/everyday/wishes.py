"""What a command line says, as values."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import typer
from msgspec import Struct

from bowerbird.flows.language.spelling import duration

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class Wish(Struct, frozen=True, kw_only=True):
    """One command as it was written."""

    command: str
    inputs: tuple[str, ...] = ()
    file: str | None = None
    """`-`: standard input."""
    column: str | None = None
    on: str | None = None
    provider: str | None = None
    limit: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    languages: tuple[str, ...] = ()
    out: Path | None = None
    """None: standard output."""
    format: str | None = None
    appends: bool = False
    raw: bool = False
    budget: float | None = None
    override: tuple[str, ...] = ()
    reason: str = ""
    opt_out: Path | None = None
    store: Path | None = None
    fresh: bool = False
    skips_bad: bool = False
    span: timedelta | None = None
    granularity: str = "day"
    is_quiet: bool = False
    as_json: bool = False
    vault: Path | None = None


def time_span(text: str) -> timedelta:
    try:
        return duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
