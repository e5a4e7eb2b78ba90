"""The course of an event as a figure: how much came, which keywords were followed when, and the traffic of one tag."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bowerbird.export.plots.canvas import COLOURS, QUIET, Canvas
from bowerbird.reports.keywords.courses import Course

_HEIGHTS = (1.2, 1.8, 1.0)
_SIZE = (7.0, 8.0)
_BAR = 0.8
"""The height of all bars of a keyword, of 1 from one keyword to the next."""
_LINES = ((0, ()), (0, (5, 2)), (0, (1, 1)), (0, (5, 2, 1, 2)))
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
    for method, posts in course.posts.items():
        times, counts = list(posts), list(posts.values())
        colour, line = _look(course, method)
        axes.plot(times, counts, color=colour, linestyle=line, label=f"{method}: posts")
        if method in course.noise:
            noise = [course.noise[method].get(time, 0) for time in times]
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


def _look(course: Course, method: str) -> tuple[str, tuple[int, tuple[int, ...]]]:
    """The colour and line of a method, the same in every panel; lines differ so that one shows where it lies on another."""
    place = list(course.posts).index(method) if method in course.posts else len(course.posts)
    return COLOURS[place % len(COLOURS)], _LINES[place % len(_LINES)]


def _draw_bars(axes: Any, course: Course) -> None:
    """Each keyword from its entry to its exit, the first ones above; of several methods one below the other, in their colours."""
    end, methods = _end(course), list(course.posts)
    terms = list(dict.fromkeys(bar.term for bar in course.bars))
    width = _BAR / max(1, len(methods))
    for bar in course.bars:
        number = methods.index(bar.method) if bar.method in methods else 0
        place = terms.index(bar.term) + (number + 0.5) * width - _BAR / 2
        until = bar.until or end
        axes.barh(place, until - bar.since, width, left=bar.since, color=_look(course, bar.method)[0])
        if bar.until is not None:
            axes.plot([until], [place], marker="|", markersize=5, color="black")
    axes.set_yticks(range(len(terms)), terms, fontsize=6)
    axes.set_ylim(len(terms) - 0.5, -0.5)
    axes.set_ylabel("keywords (| left)")


def _end(course: Course) -> datetime:
    """The end of the last frame, or a frame after the newest keyword: what came in last is seen too."""
    *_, before, last = (*[min(course.background)] * 2, *sorted(course.background))
    return max([last, *(bar.since for bar in course.bars)]) + (last - before)


def _draw_traffic(axes: Any, course: Course) -> None:
    axes.set_title(course.term, fontsize=9)
    for method, counts in course.traffic.items():
        colour, line = _look(course, method)
        axes.plot(list(counts), list(counts.values()), color=colour, linestyle=line, label=method)
    axes.set_ylim(bottom=0)
    if course.traffic:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
