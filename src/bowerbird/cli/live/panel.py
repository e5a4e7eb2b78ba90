"""The live picture of a crawl: a few calm, aligned lines that fit 80 columns and look right without colours."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.amounts.money import spent_lines
from bowerbird.cli.screens.output import printable
from bowerbird.model import ShownState
from bowerbird.reports.keywords.method_counts import MethodCounts
from bowerbird.reports.status.glimpse import Bucket, Glimpse, Lane, StreamGlimpse
from bowerbird.reports.status.limit_names import limit_words

_BAR = 16
_STYLES = {ShownState.RUNNING: "green", ShownState.PAUSED: "yellow"}
_GAP = 2
_MOST_BUCKETS = 8
_OTHER_LINES = 15
"""Lines that are neither facets nor buckets, and one to spare: a picture as high as the window would scroll."""


def panel(glimpse: Glimpse, console: Console) -> RenderableType:
    """The picture for this console; it leaves buckets out rather than grow beyond the window."""
    room = (
        console.height
        - _OTHER_LINES
        - len(glimpse.lanes)
        - len(glimpse.purses)
        - (len(glimpse.streams) + 2 if glimpse.streams else 0)
        - (len(glimpse.keywords) + 2 if glimpse.keywords else 0)
    )
    return Group(
        _head(glimpse, console.width),
        Text(),
        _totals(glimpse),
        _speed(glimpse),
        *_spent(glimpse),
        Text(),
        _lanes(glimpse.lanes),
        Text(),
        *_streams(glimpse.streams),
        *_keywords(glimpse.keywords),
        *_quota(glimpse, max(2, min(_MOST_BUCKETS, room)), console),
        Text(),
        _footer(glimpse, console.width),
    )


def _head(glimpse: Glimpse, width: int) -> RenderableType:
    table = Table.grid(expand=False, padding=0)
    table.width = min(width, 100)
    table.add_column(no_wrap=True, ratio=1)
    table.add_column(justify="right", no_wrap=True)
    name = Text.assemble(("bowerbird", "bold"), f"  {glimpse.name}", (f"  flow {glimpse.flow}", "dim"))
    style = _STYLES.get(glimpse.state, "")
    table.add_row(name, Text.assemble((glimpse.state, style), f"  {numbers.stopwatch(glimpse.elapsed)}"))
    return table


def _totals(glimpse: Glimpse) -> Text:
    whole = glimpse.whole
    cells = [("post", whole.posts), ("profile", whole.users), ("relation or reaction", glimpse.relations), ("call", whole.calls)]
    parts = [((f"{count:,}", "bold"), f" {_plural(name, count)}   ") for name, count in cells if count or "or" not in name]
    return Text.assemble(*(piece for part in parts for piece in part), no_wrap=True, overflow="crop")


def _plural(name: str, count: int) -> str:
    return name if count == 1 else " or ".join(f"{word}s" for word in name.split(" or "))


def _speed(glimpse: Glimpse) -> Text:
    calls, items = numbers.rate(glimpse.calls_per_second), numbers.rate(glimpse.items_per_second)
    return Text(f"{calls} calls   {items} items   (last half minute)", style="cyan", no_wrap=True, overflow="crop")


def _spent(glimpse: Glimpse) -> list[Text]:
    """What is spent, a line for each purse: money is never left out, however small the window."""
    lines = spent_lines(glimpse.purses, glimpse.now)
    return [Text(printable(line), style="bold", no_wrap=True, overflow="ellipsis") for line in lines]


def _lanes(lanes: tuple[Lane, ...]) -> RenderableType:
    table = _columns("asks for", "calls", "items", "waiting")
    for lane in lanes:
        about = "" if lane.is_exact else "~"
        table.add_row(lane.facet, f"{lane.calls:,}", f"{lane.items:,}", f"{about}{lane.waiting:,}")
    return table


def _streams(ears: tuple[StreamGlimpse, ...]) -> list[RenderableType]:
    if not ears:
        return []
    table = _columns("stream", "events", "behind", "open gaps", "state")
    for ear in ears:
        behind = numbers.span(ear.behind) if ear.behind is not None else ""
        table.add_row(printable(ear.name), f"{ear.events:,}", behind, f"{ear.gaps:,}", ear.state)
    return [table, Text()]


def _keywords(methods: tuple[MethodCounts, ...]) -> list[RenderableType]:
    if not methods:
        return []
    table = _columns("method", "keywords", "posts", "last hour", "newest")
    for each in methods:
        moved = f"+{each.entered} -{each.left}"
        table.add_row(each.method, f"{each.keywords:,}", f"{each.posts:,}", moved, printable(" ".join(each.newest)))
    silent = [Text(f"! {words}", style="yellow") for words in {each.silence for each in methods if each.silence}]
    return [table, *silent, Text()]


def _columns(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(first, no_wrap=True, min_width=12)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True, min_width=10)
    return table


def _quota(glimpse: Glimpse, most: int, console: Console) -> list[RenderableType]:
    if not glimpse.buckets:
        return [Text("no limit has been met yet", style="dim")]
    shown = glimpse.buckets[:most]
    lefts = [f"{bucket.remaining:,} / {bucket.allowance:,}" for bucket in shown]
    resets = [_reset(bucket, glimpse) for bucket in shown]
    others = _BAR + max(map(len, lefts)) + max(map(len, ("resets in", *resets))) + 3 * _GAP
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    # Only names give way: figures that are cut off say something else.
    table.add_column("limit", no_wrap=True, overflow="ellipsis", max_width=max(20, console.width - others - 1))
    table.add_column("quota left", no_wrap=True, min_width=_BAR)
    for name, values in (("", lefts), ("resets in", resets)):
        table.add_column(name, justify="right", no_wrap=True, min_width=max(map(len, (name, *values))))
    names = limit_words(bucket.name for bucket in glimpse.buckets)
    for bucket, left, reset in zip(shown, lefts, resets, strict=True):
        table.add_row(printable(names[bucket.name]), bar(bucket, console), left, reset)
    more = len(glimpse.buckets) - most
    return [table, *([Text(f"+ {more} more", style="dim")] if more > 0 else [])]


def bar(bucket: Bucket, console: Console) -> Text:
    """How much of a bucket is left; plain characters where the terminal has no others."""
    full, empty = ("█", "░") if console.encoding.lower().startswith("utf") else ("#", ".")
    filled = round(min(1.0, bucket.tightness) * _BAR)
    style = "green" if bucket.tightness > 0.25 else "yellow" if bucket.remaining else "red"
    return Text.assemble((full * filled, style), (empty * (_BAR - filled), "dim"))


def _reset(bucket: Bucket, glimpse: Glimpse) -> str:
    if bucket.waits_until is not None:
        return f"backs off {numbers.span(bucket.waits_until - glimpse.now)}"
    return "" if bucket.resets_at is None else numbers.span(bucket.resets_at - glimpse.now)


def _footer(glimpse: Glimpse, width: int) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=max(20, width - 12))
    table.add_row("now", printable(glimpse.doing))
    table.add_row("time left", glimpse.left)
    table.add_row("trouble", _trouble(glimpse))
    table.add_row("store", printable(glimpse.store))
    return table


def _trouble(glimpse: Glimpse) -> Text:
    if not glimpse.trouble:
        return Text("none")
    return Text(f"{numbers.span(glimpse.trouble_age)} ago: {printable(glimpse.trouble)}", style="yellow")
