"""Which stretch of time plots show, and on which scale: chosen with a form that needs no script, and kept in the address."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import JSONResponse

from bowerbird.errors import UserError
from bowerbird.reports.blocks.moments import end_moment, moment

BETWEEN = "between"
SPANS: Mapping[str, tuple[str, timedelta]] = {
    "hour": ("Last hour", timedelta(hours=1)),
    "day": ("Last day", timedelta(days=1)),
    "week": ("Last week", timedelta(weeks=1)),
}
_OWN = ("span", "from", "to", "log", "said")
"""Names in an address; searches of other pages have `since` and `until`, which mean something else."""


class Range(Struct, frozen=True, kw_only=True):
    """What somebody chose; nothing: all of it, on an even scale."""

    span: str = ""
    since: datetime | None = None
    until: datetime | None = None
    is_log: bool = False
    others: tuple[tuple[str, str], ...] = ()
    """What else the address of the page says, which the form keeps."""

    @property
    def query(self) -> str:
        """The choice as a part of an address."""
        told = {"span": self.span, "from": local(self.since), "to": local(self.until), "log": "yes" if self.is_log else ""}
        return urlencode({name: value for name, value in told.items() if value})

    @property
    def is_all(self) -> bool:
        return not self.span

    def bounds(self, now: datetime) -> tuple[float, float]:
        """From and until when, in seconds."""
        if self.span in SPANS:
            return (now - SPANS[self.span][1]).timestamp(), now.timestamp()
        low, high = self.since, self.until
        return (low.timestamp() if low else float("-inf")), (high.timestamp() if high else float("inf"))


def range_of(request: Request) -> Range:
    """What an address chooses; raises `UserError` for what is no time, or ends before it begins."""
    asked = request.query_params
    span, low, high = asked.get("span", ""), asked.get("from", ""), asked.get("to", "")
    since, until = moment(low) if low else None, end_moment(high) if high else None
    if span not in SPANS:
        span = BETWEEN if since or until else ""
    if span != BETWEEN:
        since = until = None
    if since and until and since > until:
        raise UserError(f"a stretch of time that begins at {local(since)} cannot end at {local(until)}", "change the two")
    others = tuple((name, value) for name, value in asked.multi_items() if name not in _OWN)
    return Range(span=span, since=since, until=until, is_log=bool(asked.get("log")), others=others)


def with_range(address: str, wanted: Range) -> str:
    """An address of the dashboard that keeps the choice."""
    path, mark, place = address.partition("#")
    return f"{path}{'&' if '?' in path else '?'}{wanted.query}{mark}{place}" if wanted.query else address


def plotted(request: Request, told: Mapping[str, Any], now: datetime) -> JSONResponse:
    """The numbers of a plot, as much of them as was asked for."""
    return JSONResponse(chosen(told, range_of(request), now))


def chosen(told: Mapping[str, Any], wanted: Range, now: datetime) -> dict[str, Any]:
    """What of a plot over time lies in a stretch, on the scale that is wanted."""
    return _scaled(_within(dict(told), wanted, now), wanted)


def _within(told: dict[str, Any], wanted: Range, now: datetime) -> dict[str, Any]:
    if wanted.is_all or told.get("x") != "time":
        return told
    low, high = wanted.bounds(now)
    # A bar that has begun before lies in the stretch with its end.
    step = 0 if told.get("place") == "middle" else told.get("step", 0)
    kept = [at for at, x in enumerate(told["xs"]) if low < _seconds(x) + max(step, 0.001) and _seconds(x) <= high]
    series = [{**one, "values": [one["values"][at] for at in kept]} for one in told["series"]]
    return {**told, "xs": [told["xs"][at] for at in kept], "series": series, "none": "Nothing lies in this stretch of time."}


def _scaled(told: dict[str, Any], wanted: Range) -> dict[str, Any]:
    """On a scale of powers of ten heights do not add up, and there is no nought: every kind is a line of its own."""
    if not wanted.is_log:
        return told
    series = [{**one, "values": [value or None for value in one["values"]]} for one in told["series"]]
    return {**told, "y": "log", "kind": "points" if told["kind"] == "points" else "lines", "series": series}


def local(when: datetime | None) -> str:
    """A time as the field of a form takes it, in UTC."""
    return "" if when is None else when.strftime("%Y-%m-%dT%H:%M")


def _seconds(x: float | str) -> float:
    return datetime.fromisoformat(x).timestamp() if isinstance(x, str) else float(x)
