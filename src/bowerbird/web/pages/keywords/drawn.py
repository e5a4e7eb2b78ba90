"""Keywords from entry to exit, drawn as bars over time, one line for each keyword and a bar for each method. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from html import escape

from markupsafe import Markup
from msgspec import Struct

from bowerbird.reports.keywords.courses import Bar

_LEFT, _WIDTH, _ROW, _TOP = 190.0, 1_000.0, 22.0, 24.0
_TICKS = 6
_MOST = 40


class _Axis(Struct, frozen=True):
    """Where times stand."""

    since: datetime
    span: timedelta

    def place(self, when: datetime) -> float:
        return _LEFT + (when - self.since) / self.span * (_WIDTH - _LEFT - 8)


def bars_svg(bars: Sequence[Bar], methods: Sequence[str], now: datetime) -> Markup:
    """The keywords that moved last, the earliest on top; nothing where there are none."""
    terms = set(list(dict.fromkeys(bar.term for bar in bars))[:_MOST])
    shown = sorted((bar for bar in bars if bar.term in terms), key=lambda bar: (bar.since, bar.term))
    if not shown:
        return Markup("")
    since, until = shown[0].since, max(bar.until or now for bar in shown)
    axis = _Axis(since, max(until - since, timedelta(seconds=1)))
    order = {term: number for number, term in enumerate(dict.fromkeys(bar.term for bar in shown))}
    height = _TOP + _ROW * len(order) + 8
    size = f'viewBox="0 0 {_WIDTH:.0f} {height:.0f}" width="{_WIDTH:.0f}" height="{height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="courses" {size} role="img" aria-label="keywords from entry to exit">',
        *_ticks(axis, height),
        *(
            f'<text class="term" x="{_LEFT - 8}" y="{_TOP + _ROW * number + 15:.1f}" text-anchor="end">{escape(term[:26])}</text>'
            for term, number in order.items()
        ),
        *(_bar(axis, bar, bar.until or until, order[bar.term], methods) for bar in shown),
        "</svg>",
    ]
    return Markup("\n".join(parts))  # noqa: S704 every text in it is escaped here


def _ticks(axis: _Axis, height: float) -> Iterator[str]:
    for tick in range(_TICKS):
        at = axis.since + axis.span * tick / (_TICKS - 1)
        anchor = "end" if tick == _TICKS - 1 else "middle" if tick else "start"
        words = f"{at:{_time_form(axis.span)}}"
        x = axis.place(at)
        yield f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{height}"/>'
        yield f'<text class="time" x="{x:.1f}" y="12" text-anchor="{anchor}">{words}</text>'


def _time_form(span: timedelta) -> str:
    """As much as tells one mark from the next."""
    forms = ((timedelta(minutes=10), "%H:%M:%S"), (timedelta(hours=20), "%H:%M"), (timedelta(days=20), "%d %b %H:%M"))
    return next((form for longest, form in forms if span < longest), "%Y-%m-%d")


def _bar(axis: _Axis, bar: Bar, end: datetime, row: int, methods: Sequence[str]) -> str:
    lane = methods.index(bar.method) if bar.method in methods else 0
    thin = max(3.0, (_ROW - 6) / max(1, len(methods)))
    left, top = axis.place(bar.since), _TOP + _ROW * row + 3 + thin * lane
    ends = f"to {end:%Y-%m-%d %H:%M}" if bar.until else "until now"
    words = escape(f"{bar.term}, {bar.method}: from {bar.since:%Y-%m-%d %H:%M} {ends}")
    place = f'x="{left:.1f}" y="{top:.1f}" width="{max(2.0, axis.place(end) - left):.1f}" height="{thin - 1:.1f}"'
    return f'<rect class="m{lane % 6}" {place} rx="1"><title>{words}</title></rect>'
