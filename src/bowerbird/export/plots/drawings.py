"""One drawing for each figure: numbers in, a canvas out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from bowerbird.export.plots.canvas import COLOURS, QUIET, Canvas
from bowerbird.reports.completeness import Entry
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.figures.delays import Silence
from bowerbird.reports.figures.distributions import at_least, top_share
from bowerbird.reports.figures.growth import Grown
from bowerbird.reports.figures.volumes import Volume
from bowerbird.reports.figures.word_counts import WordHistory

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_KINDS = {"post": "posts", "reply": "replies", "repost": "reposts", "quote": "quotes", "comment": "comments"}
_DELAY_MARKS = {
    10: "10 s",
    60: "1 min",
    600: "10 min",
    3_600: "1 h",
    21_600: "6 h",
    86_400: "1 day",
    604_800: "1 week",
    2_592_000: "30 days",
}
_FEW = 20
"""Silences: a share of fewer says nothing."""
_NOTHING = "No post whose time is known has been stored yet."
_WIDTH = {Unit.HOUR: timedelta(hours=1), Unit.DAY: timedelta(days=1), Unit.MONTH: timedelta(days=30)}


def draw_volumes(volumes: Sequence[Volume], unit: Unit, note: str) -> Canvas:
    """Posts by stretch of time, one colour for each kind, on top of each other."""
    canvas = Canvas(f"Posts per {unit}", note)
    if not volumes:
        canvas.empty(_NOTHING)
        return canvas
    kinds = sorted({kind for volume in volumes for kind in volume.posts}, key=lambda kind: (kind not in _KINDS, kind))
    times = [volume.since for volume in volumes]
    heights = [[volume.posts.get(kind, 0) for volume in volumes] for kind in kinds]
    canvas.axes.stackplot(
        [*times, times[-1] + _WIDTH[unit]],
        *([*row, row[-1]] for row in heights),
        labels=[_KINDS.get(kind, kind) for kind in kinds],
        colors=COLOURS,
        step="post",
        linewidth=0,
    )
    canvas.label("written (UTC)", f"posts per {unit}")
    canvas.by_time(times)
    canvas.count_up()
    canvas.legend()
    return canvas


def draw_rhythm(rhythm: Sequence[Sequence[int]], note: str) -> Canvas:
    """Hours of the week as a field of colours: each as a share of all posts."""
    canvas = Canvas("When people write", note)
    total = sum(map(sum, rhythm))
    if not total:
        canvas.empty(_NOTHING)
        return canvas
    shares = [[100 * posts / total for posts in day] for day in rhythm]
    field = canvas.axes.pcolormesh(range(25), range(8), shares, cmap="Blues", vmin=0, edgecolors="white", linewidth=0.4)
    canvas.figure.colorbar(field, ax=canvas.axes, label="share of all posts, %")
    canvas.axes.set_yticks([day + 0.5 for day in range(7)], _DAYS)
    canvas.axes.set_xticks(range(0, 25, 3))
    canvas.axes.invert_yaxis()
    canvas.axes.grid(visible=False)
    canvas.label("hour of the day (UTC)", "")
    return canvas


def draw_growth(growth: Sequence[Grown], note: str) -> Canvas:
    """What the store held, over the time of its crawls."""
    canvas = Canvas("What was stored over time", note)
    if not growth:
        canvas.empty("No crawl has been started yet.")
        return canvas
    times = [grown.at for grown in growth]
    for name, label, colour in (("posts", "posts", COLOURS[0]), ("users", "accounts", COLOURS[1])):
        canvas.axes.plot(times, [getattr(grown, name) for grown in growth], color=colour, label=f"{label} known", marker=".")
    canvas.label("collected (UTC)", "stored")
    canvas.by_time(times)
    canvas.count_up()
    canvas.legend()
    return canvas


def draw_degrees(tables: Mapping[str, Mapping[int, int]], note: str) -> Canvas:
    """The share of accounts with at least so many followers or follows, both axes by powers of ten."""
    canvas = Canvas("Followers and follows of accounts", note)
    if not any(any(size > 0 for size in table) for table in tables.values()):
        canvas.empty("No profile with counters and no list of followers has been stored yet.")
        return canvas
    for number, (name, table) in enumerate(tables.items()):
        _draw_tail(canvas, table, COLOURS[number], name)
    canvas.label("followers or follows, at least", "share of accounts")
    canvas.legend()
    return canvas


def draw_activity(table: Mapping[int, int], note: str) -> Canvas:
    """The share of authors who wrote at least so much, and what the most active ones wrote of all."""
    canvas = Canvas("How unevenly people write", note)
    if not table:
        canvas.empty(_NOTHING)
        return canvas
    _draw_tail(canvas, table, COLOURS[0], "authors")
    busiest = top_share(table, 0.01)
    canvas.axes.text(
        *(0.97, 0.95, f"the most active 1 % wrote {100 * busiest:.0f} % of the posts"),
        transform=canvas.axes.transAxes,
        ha="right",
        va="top",
        color=QUIET,
    )
    canvas.label("stored posts of an author, at least", "share of authors")
    return canvas


def draw_delays(delays: Mapping[int, int], note: str) -> Canvas:
    """The share of reposts that came within so much time after the post."""
    canvas = Canvas("How soon posts are passed on", note)
    if not delays:
        canvas.empty("No repost is stored whose own time and whose post's time are known.")
        return canvas
    total, so_far = sum(delays.values()), 0
    xs: list[int] = []
    ys: list[float] = []
    for seconds in sorted(delays):
        so_far += delays[seconds]
        xs.append(max(seconds, 1) + 10)
        ys.append(100 * so_far / total)
    canvas.axes.semilogx(xs, ys, color=COLOURS[0], drawstyle="steps-post")
    marks = [mark for mark in _DELAY_MARKS if mark <= max(xs) * 3]
    canvas.axes.set_xticks(marks, [_DELAY_MARKS[mark] for mark in marks])
    canvas.axes.minorticks_off()
    canvas.axes.set_ylim(0, 102)
    canvas.label("time after the post", "share of reposts, %")
    return canvas


def draw_silence(curve: Sequence[Silence], note: str) -> Canvas:
    """Who comes back after so many days of silence: what a rule that freezes the inactive would lose."""
    canvas = Canvas("Who writes again after a silence", note)
    if not curve:
        canvas.empty("Nobody has been silent for a day yet, among accounts whose posts are stored.")
        return canvas
    known = [point for point in curve if point.silent >= _FEW] or curve
    days = [point.days for point in known]
    canvas.axes.plot(days, [100 * point.share for point in known], color=COLOURS[0], label="wrote again, %")
    canvas.axes.set_ylim(0, 102)
    canvas.axes.margins(x=0.01)
    canvas.label("days of silence, at least", "share that wrote again by now, %")
    return canvas


def draw_words(histories: Sequence[WordHistory], unit: Unit, note: str) -> Canvas:
    """One line for each word; a bar below the axis shows when it was asked for."""
    canvas = Canvas(f"Words and hashtags per {unit}", note)
    times = sorted({at for history in histories for at in history.posts})
    if not times:
        canvas.empty("None of these words occurs in a stored post whose time is known.")
        return canvas
    for number, history in enumerate(histories):
        colour = COLOURS[number % len(COLOURS)]
        stretches = _stretches(times[0], times[-1], unit)
        canvas.axes.plot(stretches, [history.posts.get(at, 0) for at in stretches], color=colour, label=history.word)
        if history.asked_since is not None:
            end = history.asked_until or times[-1]
            begin = max(history.asked_since, times[0])
            canvas.axes.plot([begin, max(begin, end)], [0, 0], color=colour, linewidth=5, alpha=0.45, solid_capstyle="butt")
    asked = "; bars: asked for" if any(history.asked_since for history in histories) else ""
    canvas.label(f"written (UTC){asked}", f"posts per {unit}")
    canvas.by_time(times)
    canvas.count_up()
    canvas.legend()
    return canvas


def draw_completeness(days: Sequence[Entry], note: str) -> Canvas:
    """What was captured of each day, and on top of it what is known to be missing, by cause."""
    canvas = Canvas("What was captured, and what is known to be missing", note)
    dated = [(datetime.fromisoformat(day.subject), day) for day in days if day.subject[:1].isdigit()]
    undated = _undated_words([day for day in days if not day.subject[:1].isdigit()])
    if not dated:
        canvas.empty(f"{_NOTHING} Of no known day: {undated}." if undated else _NOTHING)
        return canvas
    times = [at for at, _ in dated]
    causes = sorted({part.cause for _, day in dated for part in day.missing})
    below = [day.captured for _, day in dated]
    canvas.axes.bar(times, below, width=1.0, color=COLOURS[0], label="captured")
    for number, cause in enumerate(causes):
        heights = [sum(part.likely for part in day.missing if part.cause == cause) for _, day in dated]
        if any(heights):
            label = f"missing: {cause.replace('_', ' ')}"
            canvas.axes.bar(times, heights, width=1.0, bottom=below, color=COLOURS[1 + number % 7], label=label)
            below = [had + more for had, more in zip(below, heights, strict=True)]
    canvas.label(f"written (UTC); of no known day: {undated}" if undated else "written (UTC)", "posts per day")
    canvas.by_time(times)
    canvas.count_up()
    canvas.legend()
    return canvas


def _undated_words(days: Sequence[Entry]) -> str:
    """What is captured and missing of no day that is known, in words: it has no place among the days."""
    captured, missing = sum(day.captured for day in days), sum(part.likely for day in days for part in day.missing)
    return f"{captured:,} captured, {missing:,} missing" if captured or missing else ""


def _draw_tail(canvas: Canvas, table: Mapping[int, int], colour: str, name: str) -> None:
    points = [(size, share) for size, share in at_least(table) if size > 0]
    canvas.axes.loglog(
        [size for size, _ in points], [share for _, share in points], color=colour, label=name, marker=".", markersize=3
    )


def _stretches(first: datetime, last: datetime, unit: Unit) -> list[datetime]:
    found = [first]
    while found[-1] < last:
        found.append(unit.next(found[-1]))
    return found
