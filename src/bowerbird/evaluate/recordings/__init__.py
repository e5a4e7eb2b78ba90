"""Drives the parsers over recorded HTTP exchanges: what of them is understood, and what no shape reads."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from bowerbird.errors import UserError
from bowerbird.evaluate.recordings.cassettes import Exchange, recorded, streamed
from bowerbird.evaluate.recordings.fields import FieldCount
from bowerbird.evaluate.recordings.routes import Aside, Route, route
from bowerbird.model import Ask, Outcome, Page, Service
from bowerbird.providers import provider

_ITEMS = ("users", "posts", "relations", "user_tags", "trends", "lists", "members", "versions", "volumes")
_LISTED = 50


class Tally(Struct):
    """What was found so far."""

    reads: int = 0
    writes: int = 0
    streams: int = 0
    withheld: int = 0
    """Good answers of which nothing was kept, because all of it is for followers only."""
    items: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    asides: dict[str, Counter[str]] = field(default_factory=dict)
    quarantined: list[str] = []
    unmapped: list[str] = []
    fields: FieldCount = field(default_factory=FieldCount)

    def figures(self) -> dict[str, Any]:
        """The machine's answer: every number, and the calls to look at."""
        besides = {reason: dict(sorted(paths.items())) for reason, paths in sorted(self.asides.items())}
        not_mapped = sum(sum(paths.values()) for paths in self.asides.values())
        return {
            "calls": self.reads + self.writes + self.streams + not_mapped + len(self.unmapped),
            "read_calls": self.reads + len(self.unmapped),
            "items": sum(self.items[name] for name in _ITEMS),
            **{name: self.items[name] for name in (*_ITEMS, "gone")},
            "quarantined": len(self.quarantined),
            "unmapped": len(self.unmapped),
            "withheld_calls": self.withheld,
            "unknown_fields": self.fields.unknown(),
            "not_reads": self.writes + self.streams,
            "writes": self.writes,
            "stream_events": self.streams,
            "outcomes": dict(sorted(self.outcomes.items())),
            "besides": besides,
            "quarantined_calls": self.quarantined[:_LISTED],
            "unmapped_calls": self.unmapped[:_LISTED],
        }


def evaluate_recordings(folder: Path) -> dict[str, Any]:
    """The figures of all recordings in a folder and below it."""
    if not folder.is_dir():
        raise UserError(
            f"{folder} is not a folder",
            "name one with recorded exchanges (*.json cassettes, *.jsonl stream events)",
            code="file_not_found",
        )
    tally = Tally(streams=streamed(folder))
    for exchange in recorded(folder):
        _take(tally, exchange)
    figures = tally.figures()
    if not figures["calls"]:
        raise UserError(
            f"{folder} holds no recordings: *.json files with a list of `interactions`, or *.jsonl files of events",
            code="missing_value",
        )
    return figures


def _take(tally: Tally, exchange: Exchange) -> None:
    found = route(exchange)
    if exchange.method != "GET":
        tally.writes += 1
    elif "/streaming/" in exchange.path or exchange.path.endswith("/stream"):
        tally.streams += 1
    elif found is None:
        tally.unmapped.append(f"{exchange.address}: no facet reads this path")
    elif isinstance(found, Aside):
        tally.asides.setdefault(found.reason, Counter())[exchange.pattern] += 1
    else:
        _read(tally, exchange, found)


def _read(tally: Tally, exchange: Exchange, found: Route) -> None:
    """Parses one answer as the provider would, and asks whether anything was understood."""
    reader = provider(found.provider)
    service = Service(name="recorded", provider=found.provider, base=exchange.base)
    page = reader.parse(Ask(found.facet, found.targets), exchange.answer, service)
    why = _misunderstood(exchange, page)
    if why:
        tally.unmapped.append(f"{exchange.address}: {why}")
        return
    tally.reads += 1
    tally.outcomes[page.outcome] += 1
    for name in (*_ITEMS, "gone"):
        tally.items[name] += len(getattr(page, name))
    if page.outcome is Outcome.OK and page.results and not any(getattr(page, name) for name in (*_ITEMS, "gone", "broken")):
        tally.withheld += 1
    tally.quarantined += [f"{exchange.address}: {broken.why}" for broken in page.broken]
    tally.fields.take(found.provider, page)


def _misunderstood(exchange: Exchange, page: Page) -> str:
    """Why an answer counts as not understood: it is unreadable, or the server was content and we say that it was not."""
    is_good = 200 <= exchange.answer.status < 300
    if page.outcome is Outcome.UNREADABLE:
        return page.detail
    if is_good and page.outcome in (Outcome.BAD_REQUEST, Outcome.OVERLOADED, Outcome.UNANSWERED):
        return f"a good answer read as {page.outcome}"
    return ""
