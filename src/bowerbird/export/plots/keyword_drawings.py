"""The course of an event as a figure: how much came, which keywords were followed when, and the traffic of one tag."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bowerbird.export.plots.canvas import COLOURS, QUIET, Canvas
from bowerbird.reports.keywords.courses import Course

_HEIGHTS = (1.2, 1.8, 1.0)
_SIZE = (7.0, 8.0)
_DWARFED = 10
"""Times as many posts in the background as any method has."""


def draw_keywords(course: Course, note: str) -> Canvas:
    """Three panels below each other, with one axis of time."""
    canvas = Canvas(f"Keywords of {course.crawl}" if course.crawl else "Keywords", note)
    if not course.posts:
        canvas.empty('No frame is decided yet: keywords come with flow = "event", frame by frame.')
        return canvas
    canvas.figure.clear()
    canvas.figure.set_size_inches(*_SIZE)
    volume, bars, traffic = canvas.figure.subplots(3, 1, sharex=True, height_ratios=_HEIGHTS)
    _draw_volume(volume, course)
    _draw_bars(bars, course)
    _draw_traffic(traffic, course)
    canvas.axes = traffic
    canvas.label("frame (UTC)", "posts with it")
    canvas.by_time(list(course.background))
    return canvas


def _draw_volume(axes: Any, course: Course) -> None:
    axes.set_title(f"Keywords of {course.crawl}")
    for colour, (method, posts) in zip(COLOURS * 8, course.posts.items(), strict=False):
        times, counts = list(posts), list(posts.values())
        axes.plot(times, counts, color=colour, label=f"{method}: posts")
        if method in course.noise:
            noise = [count * course.noise[method] for count in counts]
            axes.plot(times, noise, color=colour, linestyle=":", label=f"{method}: noise, by labels")
    if any(course.background.values()):
        times, counts = list(course.background), list(course.background.values())
        axes.plot(times, counts, color=QUIET, linewidth=0.8, label="background sample")
    axes.set_ylabel("posts per frame")
    if _is_dwarfed(course):
        axes.set_yscale("symlog", linthresh=10)
        axes.set_ylabel("posts per frame (log.)")
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _is_dwarfed(course: Course) -> bool:
    """Whether the background is so much more than what methods collect that one scale would show them as nothing."""
    collected = max((count for posts in course.posts.values() for count in posts.values()), default=0)
    return max(course.background.values(), default=0) > _DWARFED * max(collected, 1)


def _draw_bars(axes: Any, course: Course) -> None:
    """Each keyword from its entry to its exit, the first ones above."""
    end = _end(course)
    for place, bar in enumerate(course.bars):
        axes.plot([bar.since, bar.until or end], [place, place], color=COLOURS[0 if bar.until is None else 1], linewidth=4)
    axes.set_yticks(range(len(course.bars)), [bar.term for bar in course.bars], fontsize=6)
    axes.invert_yaxis()
    axes.set_ylabel("keywords (orange: left)")


def _end(course: Course) -> datetime:
    """The end of the last frame, or a frame after the newest keyword: what came in last is seen too."""
    *_, before, last = (*[min(course.background)] * 2, *sorted(course.background))
    return max([last, *(bar.since for bar in course.bars)]) + (last - before)


def _draw_traffic(axes: Any, course: Course) -> None:
    axes.set_title(course.term, fontsize=9)
    for colour, (method, counts) in zip(COLOURS * 8, course.traffic.items(), strict=False):
        axes.plot(list(counts), list(counts.values()), color=colour, label=method)
    axes.set_ylim(bottom=0)
    if course.traffic:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
