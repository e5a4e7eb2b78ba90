"""Tables of keywords for the terminal, and the history of one term."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from bowerbird.cli.screens.output import Output
from bowerbird.keywords.grading import WORDS, Category
from bowerbird.keywords.methods import ABOUT
from bowerbird.keywords.values import Estimate
from bowerbird.reports.keywords.courses import Move
from bowerbird.reports.keywords.explaining import RELATED_FRAMES, Explained, Related
from bowerbird.reports.keywords.figures import FIGURES, Thresholds, name_figure, percent
from bowerbird.reports.keywords.grading import FrameGrade, Graded, MethodGrade
from bowerbird.reports.keywords.proposing import Proposed
from bowerbird.reports.keywords.reading import CandidateLine, FrameLine, KeywordLine, MethodLine

_MOST_RELATED = 25
_POSTS = ("posts_collected", "posts_in_frame", "posts_only_it_found")


def show_keywords(
    output: Output,
    crawl: str,
    lines: Sequence[KeywordLine],
    methods: Sequence[MethodLine],
    moves: Sequence[Move],
    candidates: Sequence[CandidateLine],
    thresholds: Mapping[str, Thresholds],
) -> None:
    columns = ("  keyword", "method", *_names(*_POSTS), "precision", "since (UTC)", "reason")
    output.table(f"Keywords of {crawl}", columns, [_keyword(each) for each in lines])
    output.line()
    shared = (f"also {each.name}" for each in methods)
    columns = ("  method", "keywords", *_names("posts_collected", "posts_only_it_found"), *shared, "precision")
    output.table("", columns, [_method(each, methods) for each in methods])
    for each in methods:
        if each.name in ABOUT:
            output.line(f"{each.name}: {ABOUT[each.name]}.")
    if moves:
        output.line()
        rows = [(f"  {_at(each.at)}", "+" if each.is_entry else "-", each.term, each.method, each.why) for each in moves]
        output.table("Newest entries and exits", ("  at (UTC)", "", "keyword", "method", "reason"), rows)
    if candidates:
        output.line()
        columns = ("  term", "method", *_names("posts_in_frame"), "precision", "needed", "verdict", "other figures")
        considered = [_candidate(each, thresholds.get(each.method)) for each in candidates]
        output.table("Candidates in the last frame, those closest to entering first", columns, considered)
    output.line()
    for key in (*_POSTS, "precision"):
        output.line(f"{FIGURES[key].name}: {FIGURES[key].meaning}")
    show_thresholds(output, thresholds)


def show_thresholds(output: Output, thresholds: Mapping[str, Thresholds]) -> None:
    for method, each in thresholds.items():
        output.line(f"Thresholds of {method}: {each}")


def _names(*keys: str) -> tuple[str, ...]:
    return tuple(name_figure(key).lower() for key in keys)


def _keyword(line: KeywordLine) -> tuple[str, ...]:
    counts = _count(line.posts_collected), _count(line.posts_in_frame), _count(line.posts_only_it_found)
    return f"  {line.term}", line.method, *counts, precision_text(line.precision), _at(line.since), line.why


def _method(line: MethodLine, methods: Sequence[MethodLine]) -> tuple[str, ...]:
    shared = (_count(line.shared.get(each.name)) for each in methods)
    name = line.name if line.until is None else f"{line.name} (ended {_at(line.until)})"
    counts = f"{line.keywords:,}", f"{line.posts_collected:,}", f"{line.posts_only_it_found:,}"
    return f"  {name}", *counts, *shared, precision_text(line.precision)


def _candidate(line: CandidateLine, thresholds: Thresholds | None) -> tuple[str, ...]:
    precision = _precisions(line.term, line.verdict, line.numbers, thresholds)
    return f"  {line.term}", line.method, f"{line.posts_in_frame:,}", *precision, line.verdict, _others(line.numbers)


def _precisions(term: str, verdict: str, numbers: Mapping[str, float], thresholds: Thresholds | None) -> tuple[str, str]:
    """Return an estimated precision with its range, and the precision needed."""
    if "precision" not in numbers:
        return "", ""
    estimate = Estimate(mean=numbers["precision"], low=numbers["low"], high=numbers["high"])
    return precision_text(estimate), "" if thresholds is None else thresholds.needed(term, verdict)


def _others(numbers: Mapping[str, float]) -> str:
    return _plain({key: value for key, value in numbers.items() if key not in ("precision", "low", "high")})


def precision_text(precision: Estimate | None) -> str:
    """Return a claimed precision with its range; empty if there is none."""
    if precision is None:
        return ""
    return f"{percent(precision.mean)} ({percent(precision.low)} to {percent(precision.high)})"


def show_frames(output: Output, frames: Sequence[FrameLine]) -> None:
    rows = [
        (f"  {_at(each.began)}", _by(each.posts), _by(each.keywords), f"{each.heard:,}", _lost(each), _moves(each))
        for each in frames
    ]
    output.table("", ("  frame (UTC)", "posts", "keywords", "received", "withheld by the cap", "changes"), rows)


def show_why(output: Output, explained: Explained, thresholds: Mapping[str, Thresholds], hint: str = "") -> None:
    """`hint`: which term was perhaps meant, where nothing is known of this one."""
    if not (explained.entries or explained.looked_at or explained.orders):
        output.line(f"{explained.term} was not considered{hint}: too few collected posts contain it. You can pin it.")
        return
    for at, said in sorted(_story(explained), key=lambda told: told[0]):
        output.line(f"{_at(at)}  {said}")
    if explained.looked_at:
        output.line()
        columns = ("  frame (UTC)", "method", "verdict", *_names("posts_in_frame"), "in each slot", "precision", "needed")
        rows = [
            (
                f"  {_at(each.began)}",
                each.method,
                each.verdict,
                f"{sum(each.counts):,}",
                " ".join(map(str, each.counts)),
                *_precisions(explained.term, each.verdict, each.numbers, thresholds.get(each.method)),
                _others(each.numbers),
            )
            for each in explained.looked_at
        ]
        output.table("", (*columns, "other figures"), rows)
    show_thresholds(output, thresholds)


def _story(explained: Explained) -> Iterator[tuple[datetime, str]]:
    """What happened to a term, and when."""
    for order in explained.orders:
        yield order.at, f"{order.said} by {order.who}"
    for each in explained.entries:
        yield each.since, f"{each.method}: entered: {each.why}{_numbers(each.numbers)}"
        if each.until is not None:
            yield each.until, f"{each.method}: left: {each.until_why}{_numbers(each.until_numbers or {})}"
    for probe in explained.probes[:5]:
        found = "no answer" if probe.answered_at is None else f"{probe.posts:,} posts"
        yield probe.asked_at, f"probe: {found}"


def show_related(output: Output, term: str, found: Sequence[Related]) -> None:
    if not found:
        output.line(f"No other term was counted in posts with {term} in the last {RELATED_FRAMES} frames.")
        return
    rows = [
        (f"  {each.term}", each.method, f"{each.posts:,}", f"{each.together:,}", f"{each.share:.0%}")
        for each in found[:_MOST_RELATED]
    ]
    columns = ("  term", "method", "posts with it", "posts with both", "share of both")
    output.table(f"In the same posts as {term}, in the last {RELATED_FRAMES} frames", columns, rows)


def show_proposals(output: Output, proposed: Proposed) -> None:
    if not proposed.posts:
        output.line("The store has no post of that time and place. Choose another time or place.")
        return
    if not proposed.proposals:
        output.line(
            f"No term distinguishes these {proposed.posts:,} posts from ordinary posts and from the {proposed.others:,} others "
            "of the store. Choose another time or place, or give more examples."
        )
        return
    rows = [(f"  {each.term}", f"{each.posts:,}", f"{each.others:,}", f"{each.lift:,.0f}") for each in proposed.proposals]
    columns = ("  term", f"of {proposed.posts:,} posts", f"of {proposed.others:,} others", "times as frequent")
    output.table("", columns, rows)
    output.line()
    output.line("Choose from these and write into the crawl file:")
    output.line("  seeds = [" + ", ".join(f'"{each.term}"' for each in proposed.proposals[:5]) + "]")


def show_grades(output: Output, graded: Graded) -> None:
    said = f"{graded.labelled:,} terms labelled by {', '.join(graded.taggers)}"
    if graded.agreement is not None:
        kappa = "" if graded.kappa is None else f" (kappa {graded.kappa:.2f})"
        said += f"; {graded.agreement:.0%} of their pairs of labels agree{kappa}"
    output.line(said)
    if graded.unlabelled:
        first = ", ".join(graded.unlabelled[:5])
        output.line(f"Without a label (counted as unknown): {len(graded.unlabelled):,} keywords, such as {first}")
    if graded.unknown:
        first = ", ".join(graded.unknown[:5])
        output.line(
            f"Not counted: {len(graded.unknown):,} labelled terms that were never keywords of this crawl, such as {first}. "
            "`bowerbird keywords` lists its keywords."
        )
    counts = ", ".join(f"{each} ({WORDS[each][0]}) {graded.categories[each]:,}" for each in Category)
    output.line(f"Keywords by category: {counts}")
    rows = [(f"  {each.method}", f"{each.related:,}", f"{each.noise:,}", *_shares(each)) for each in graded.methods]
    output.table("", ("  method", "related posts", "noise", "precision", *(f"{name} kept" for name in Category)), rows)


def show_graded_frames(output: Output, graded: Graded, most: int) -> None:
    """Frame by frame, the last ones: how many posts of each method are related, and which share is noise."""
    methods = {each.method: {one.frame: one for one in each.frames} for each in graded.methods}
    frames = sorted({frame for found in methods.values() for frame in found})[-most:]
    rows = [(f"  {_at(frame)}", *(cell for found in methods.values() for cell in _graded(found.get(frame)))) for frame in frames]
    output.line()
    output.table("", ("  frame (UTC)", *(cell for name in methods for cell in (f"{name}: related", "noise", "share"))), rows)


def _graded(each: FrameGrade | None) -> tuple[str, str, str]:
    if each is None:
        return "", "", ""
    return f"{each.related:,}", f"{each.noise:,}", _share(each.noise / (each.related + each.noise))


def _shares(each: MethodGrade) -> tuple[str, ...]:
    return _share(each.precision), *(_share(each.retained.get(name)) for name in Category)


def _at(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S}"


def _count(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _by(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _lost(frame: FrameLine) -> str:
    return "" if frame.cap is None and not frame.lost else f"{frame.lost:,}" + (f" (cap {frame.cap:,})" if frame.cap else "")


def _moves(frame: FrameLine) -> str:
    return " ".join([*(f"+{term}" for term in frame.entered), *(f"-{term}" for term in frame.left)])


def _plain(numbers: Mapping[str, float]) -> str:
    return ", ".join(f"{name_figure(key).lower()} {value:g}" for key, value in numbers.items())


def _numbers(numbers: Mapping[str, float]) -> str:
    return f" ({_plain(numbers)})" if numbers else ""
