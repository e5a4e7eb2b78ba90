"""How `bowerbird plan` shows a plan to people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

from bowerbird.cli.screens.output import Output
from bowerbird.planning.budget import MONEY
from bowerbird.planning.course import HORIZONS, NEVER, Course, hours_of
from bowerbird.planning.plan import FAR, USUAL, Plan, Range, expected_dollars, hours, in_words, notes, reckoned
from bowerbird.planning.prices import AS_OF, of_an_event
from bowerbird.planning.probe import Found
from bowerbird.reports.status.limit_names import limit_word

_MEGABYTE = 1e6
_COUNTS = {"calls": "calls", "items": "items", "users": "accounts", "posts": "posts"}


def learned(found: Found) -> str:
    """What a probe saw, on average, and what it did not see."""
    counts = [(found.posts, "posts"), (found.followers, "followers"), (found.following, "followed")]
    means = ", ".join(f"{value:,.0f} {what}" for value, what in counts if value is not None)
    seen = f"{found.calls} calls: {found.accounts} accounts with {means} each"
    if found.posts_per_day is None:
        usual = f"the usual {USUAL.posts_per_day:g} posts are taken"
        return f"{seen}. No timeline was seen, so how much they write a day was not learned: {usual}."
    return f"{seen}, {found.posts_per_day:.2f} posts a day."


def show(output: Output, plan: Plan, *, is_on_x: bool) -> None:
    """How long, what holds it up, what it brings, who asks how much, what would change it, and how all that was found."""
    likely = plan.likely
    output.line(_ending(plan))
    output.line(_bottleneck(plan))
    output.line()
    times = _times(plan)
    output.table("", ("", *times), rows_of(plan, times, is_on_x=is_on_x))
    output.line()
    _show_uses(output, likely)
    output.line()
    for name, course in plan.variants.items():
        output.line(f"With {name}: {_change(likely, course)}.")
    if is_on_x:
        output.line(f"Prices of X as of {AS_OF}; each thing is paid once per UTC day.")
        if plan.is_event:
            output.line(of_an_event())
        if plan.likely.means is not None and not plan.likely.is_spent:
            output.line(f"{_money(plan.likely.means.dollars)} may be spent: it does not come so far.")
    for note in notes(plan):
        output.line(note)


def _ending(plan: Plan) -> str:
    likely = plan.likely
    caught_up = _ranged(plan.spread(hours), in_words)
    if likely.end is None:
        return f"The crawl goes on for ever; it has caught up after {caught_up}."
    at, why = likely.end
    if not why:
        return f"Everything is asked after {caught_up}."
    ending = f"Ends after {_ranged(plan.spread(_end), in_words)}: {why}."
    return ending if likely.is_finished or likely.done_after >= at else f"{ending} It has caught up after {caught_up}."


def _end(course: Course) -> float:
    return hours_of(NEVER if course.end is None else course.end[0])


def _bottleneck(plan: Plan) -> str:
    bottleneck = plan.bottleneck()
    if bottleneck is None:
        return "No limit holds it up."
    if bottleneck == MONEY and plan.likely.means is not None:
        spent, allowed = plan.spread(expected_dollars), _money(plan.likely.means.dollars)
        return f"What holds it up: money. {_ranged(spent, _money)} of the {allowed} that may be spent."
    used = next(each.used for each in plan.likely.buckets if each.name == bottleneck)
    return f"What holds it up: {limit_word(bottleneck)}, of which {used:.0%} are used until then."


def _times(plan: Plan) -> Mapping[str, timedelta]:
    """The columns; of a crawl that ends on its first day in every world, the end alone."""
    is_short = all(course.end is not None and course.end[0] <= HORIZONS["day"] for course in plan.courses)
    return {"in all": HORIZONS["day"]} if is_short else {f"after a {name}": at for name, at in HORIZONS.items()}


def rows_of(plan: Plan, times: Mapping[str, timedelta], *, is_on_x: bool) -> Iterator[tuple[str, ...]]:
    def row(title: str, figure: Callable[[Course, timedelta], float], words: Callable[[float], str]) -> tuple[str, ...]:
        return title, *(_cell(plan, figure, at, words) for at in times.values())

    for what, title in _COUNTS.items():
        yield row(title, lambda course, at, what=what: course.count(what, at), _number)  # type: ignore[misc]
    yield row("disk, MB", lambda course, at: course.count("bytes", at), _size)
    if is_on_x:
        yield row("spent", lambda course, at: course.count("dollars", at), _money)
    yield row(f"{_complete_of(plan.likely)}, %", lambda course, at: 100 * course.complete(at), _tenths)


def _cell(plan: Plan, figure: Callable[[Course, timedelta], float], at: timedelta, words: Callable[[float], str]) -> str:
    """A figure at a time; what is multiplied from a shorter rehearsal says so, and what would be many times is left open."""
    times = reckoned(plan, at)
    if times > FAR:
        return f"over {words(min(figure(course, min(at, course.length)) for course in plan.courses))}"
    return ("~ " if times > 1 else "") + _ranged(plan.spread(lambda course: figure(course, at)), words)


def _complete_of(course: Course) -> str:
    return "posts of the seeds" if course.is_about_posts else "questions answered"


def _show_uses(output: Output, likely: Course) -> None:
    rehearsed = in_words(hours_of(likely.length))
    title = f"Calls in the {rehearsed} that were rehearsed, and the time that limits need for them, usual world:"
    rows = [
        (each.service, each.facet, each.credential or "none", _number(each.calls), in_words(each.hours)) for each in likely.uses
    ]
    output.table(title, ("service", "asks for", "credential", "calls", "time"), rows)
    names = dict.fromkeys(each.credential for each in likely.uses)
    if len(names) > 1:
        uses = {name: [each for each in likely.uses if each.credential == name] for name in names}
        sums = [
            (name or "none", _number(sum(each.calls for each in own)), in_words(max(e.hours for e in own)))
            for name, own in uses.items()
        ]
        output.table("By credential, with the time of what takes it longest:", ("credential", "calls", "time"), sums)


def _change(likely: Course, course: Course) -> str:
    """What is different, and nothing else."""
    day = HORIZONS["day"]
    figures = [
        ("", in_words(hours(likely)), in_words(hours(course))),
        (" complete after a day", _percent(likely.complete(day)), _percent(course.complete(day))),
        (" calls on the first day", _number(likely.count("calls", day)), _number(course.count("calls", day))),
    ]
    changes = [f"{after} instead of {before}{words}" for words, before, after in figures if before != after]
    return ", ".join(changes) or "nothing changes"


def _ranged(spread: Range, words: Callable[[float], str]) -> str:
    """The likely figure, and the range where it has one."""
    likely, low, high = words(spread.likely), words(spread.low), words(spread.high)
    return likely if low == high == likely else f"{likely} ({low} to {high})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.2g}"


def _size(value: float) -> str:
    return _tenths(value / _MEGABYTE)


def _money(value: float) -> str:
    return f"${value:,.2f}"


def _tenths(value: float) -> str:
    return f"{value:,.1f}"


def _percent(value: float) -> str:
    return f"{value:.1%}"
