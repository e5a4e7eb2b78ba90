"""Tables of keywords for the terminal, and the history of one term."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from bowerbird.cli.screens.output import Output
from bowerbird.keywords.grading import WORDS, Category
from bowerbird.keywords.methods import ABOUT
from bowerbird.keywords.values import Estimate
from bowerbird.reports.keywords.courses import Move
from bowerbird.reports.keywords.explaining import Explained, Looked, RelatedBy
from bowerbird.reports.keywords.grading import FrameGrade, Graded, MethodGrade
from bowerbird.reports.keywords.proposing import Proposed
from bowerbird.reports.keywords.reading import CandidateLine, FrameLine, KeywordLine, MethodLine

_MOST_RELATED = 25


def show_keywords(
    output: Output,
    crawl: str,
    lines: Sequence[KeywordLine],
    methods: Sequence[MethodLine],
    moves: Sequence[Move],
    candidates: Sequence[CandidateLine],
) -> None:
    known = ("  keyword", "method", "posts", "last frame", "precision", "since (UTC)", "reason")
    output.table(f"Keywords of {crawl}", known, [_keyword(each) for each in lines])
    output.line()
    shared = (f"also {each.name}" for each in methods)
    columns = ("  method", "keywords", "posts", "precision", "only this", *shared)
    output.table("", columns, [_method(each, methods) for each in methods])
    for each in methods:
        if each.name in ABOUT:
            output.line(f"{each.name}: {ABOUT[each.name]}.")
    if any(each.precision is not None for each in methods):
        output.line("Precision: the share of posts that belong to the event, estimated without labels,")
        output.line("with its 20 % and 80 % quantiles. `grade` measures it by labels.")
    if moves:
        output.line()
        rows = [(f"  {_at(each.at)}", "+" if each.is_entry else "-", each.term, each.method, each.why) for each in moves]
        output.table("Newest entries and exits", ("  at (UTC)", "", "keyword", "method", "reason"), rows)
    if candidates:
        output.line()
        rows = [(f"  {each.term}", each.method, f"{each.posts:,}", each.verdict, _plain(each.numbers)) for each in candidates]
        output.table("Candidates in the last frame", ("  term", "method", "posts", "verdict", "numbers"), rows)


def _keyword(line: KeywordLine) -> tuple[str, ...]:
    counts = _count(line.posts), _count(line.last)
    return f"  {line.term}", line.method, *counts, precision_text(line.precision), _at(line.since), line.why


def _method(line: MethodLine, methods: Sequence[MethodLine]) -> tuple[str, ...]:
    shared = (_count(line.shared.get(each.name)) for each in methods)
    name = line.name if line.until is None else f"{line.name} (ended {_at(line.until)})"
    return f"  {name}", f"{line.keywords:,}", f"{line.posts:,}", precision_text(line.precision), f"{line.alone:,}", *shared


def precision_text(precision: Estimate | None) -> str:
    """Return a claimed precision with its range; empty if there is none."""
    return "" if precision is None else f"{precision.mean:.0%} ({precision.low:.0%} to {precision.high:.0%})"


def show_frames(output: Output, frames: Sequence[FrameLine]) -> None:
    rows = [
        (f"  {_at(each.began)}", _by(each.posts), _by(each.keywords), f"{each.heard:,}", _lost(each), _moves(each))
        for each in frames
    ]
    output.table("", ("  frame (UTC)", "posts", "keywords", "received", "withheld by the cap", "changes"), rows)


def show_why(output: Output, explained: Explained, hint: str = "") -> None:
    """`hint`: which term was perhaps meant, where nothing is known of this one."""
    if not (explained.entries or explained.looked_at or explained.orders):
        output.line(f"{explained.term} was not considered{hint}: too few collected posts contain it. You can pin it.")
        return
    for at, said in sorted(_story(explained), key=lambda told: told[0]):
        output.line(f"{_at(at)}  {said}")
    if not explained.looked_at:
        return
    output.line()
    rows = [(f"  {_at(each.began)}", each.method, each.verdict, *_seen(each)) for each in explained.looked_at]
    output.table("", ("  frame (UTC)", "method", "verdict", "posts", "in each slot", "numbers"), rows)


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


def show_related(output: Output, term: str, found: Sequence[RelatedBy]) -> None:
    if not found:
        output.line(f"No method considered {term} in the last frames.")
        return
    rows = [
        (f"  {each.term}", each.method, f"{each.posts:,}", f"{each.together:,}", *_closeness(each))
        for each in found[:_MOST_RELATED]
    ]
    columns = ("  term", "method", "posts", "together", "share of both", "surprise", "correlation")
    output.table(f"Related to {term} in the last frames", columns, rows)


def show_proposals(output: Output, proposed: Proposed) -> None:
    found = proposed.proposals
    if not found:
        output.line(_unproposed(proposed))
        return
    output.table("", ("  term", "kind", "reason"), [(f"  {each.term}", each.kind, each.reason) for each in found])
    output.line()
    output.line("Choose from these and write into the crawl file:")
    output.line("  seeds = [" + ", ".join(f'"{each.term}"' for each in found[:5]) + "]")


def _unproposed(proposed: Proposed) -> str:
    if not proposed.posts:
        return "The store has no post of that time and place. Choose another time or place."
    if not proposed.others:
        return (
            f"The store has only these {proposed.posts:,} posts and no others to compare them with. "
            "Choose a shorter time or a smaller place, or collect other posts too."
        )
    compared = f"in {proposed.posts:,} posts, compared with {proposed.others:,} others"
    return f"No term is specific to the event {compared}. Choose another time or place, or give more examples."


def show_grades(output: Output, graded: Graded) -> None:
    said = f"{graded.labelled:,} terms labelled by {', '.join(graded.taggers)}"
    agreed = (
        "" if graded.agreement is None else f"; {graded.agreement:.0%} of their pairs of labels agree (alpha {graded.alpha:.2f})"
    )
    output.line(f"{said}{agreed}")
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


def _seen(each: Looked) -> tuple[str, str, str]:
    return f"{sum(each.counts):,}", " ".join(map(str, each.counts)), _plain(each.numbers)


def _closeness(each: RelatedBy) -> tuple[str, str, str]:
    return f"{each.jaccard:.0%}", f"{each.surprise:+.2f}", f"{each.correlation:+.2f}"


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
    return ", ".join(f"{name} {value:g}" for name, value in numbers.items())


def _numbers(numbers: Mapping[str, float]) -> str:
    return f" ({_plain(numbers)})" if numbers else ""
