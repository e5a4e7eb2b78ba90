"""How `bowerbird status` looks: a page that says first what matters first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec
from msgspec import Struct

from bowerbird.cli.hints import continue_line
from bowerbird.cli.screens.amounts import numbers, post_counts
from bowerbird.cli.screens.amounts.money import month_words, spent_lines
from bowerbird.cli.screens.amounts.not_asked import show_left_out
from bowerbird.cli.screens.output import Output
from bowerbird.cli.screens.sample_page import show_sample
from bowerbird.cli.which import NamedStore
from bowerbird.crawl.access.how_to_add import renew_line
from bowerbird.crawl.process.endings import EXHAUSTED
from bowerbird.crawl.process.workers.running import Member
from bowerbird.crawl.work.bookkeeping import SURVEY
from bowerbird.limits.budget import is_budget
from bowerbird.model import CallState, CrawlState, TaskState
from bowerbird.reports.counting.counts import Count
from bowerbird.reports.keywords.method_counts import MethodCounts
from bowerbird.reports.status import health
from bowerbird.reports.status.limit_names import limit_words
from bowerbird.reports.status.money import months, own_purse
from bowerbird.reports.status.status import Status
from bowerbird.reports.status.streams import GapReport, StreamReport, gap_words
from bowerbird.reports.status.summary import CrawlReport, LaneReport, LedgerReport, Summary
from bowerbird.reports.studies.sample import Sample

_MOST_BUCKETS = 8
_MOST_GAPS = 5
_STATES = {
    TaskState.WAITING: "waiting",
    TaskState.LEASED: "being asked",
    TaskState.ASLEEP: "answered",
    TaskState.FAILED: "given up",
}
_SELDOM = {TaskState.RETIRED: "no longer asked"}
"""Shown where there are any."""
"""What tasks may be, and the words for it."""


class StatusPage(Struct, frozen=True, kw_only=True):
    """Everything `status` shows."""

    status: Status
    samples: tuple[Sample, ...] = ()
    commands: Mapping[str, str] = {}
    """By crawl that no process runs and that is not complete: the command that continues it."""


_KEYWORD_COLUMNS = ("  crawl", "method", "keywords", "posts", "last hour", "newest")


def show_status(output: Output, place: NamedStore, page: StatusPage) -> None:
    """The whole page, for people."""
    summary = page.status.summary
    if not summary.crawls:
        output.line(f"{place.shown} holds no crawl yet; start one with `bowerbird crawl FILE`.")
    for crawl in summary.crawls:
        _show_crawl(output, page, crawl)
    output.line()
    _show_stored(output, place, page)
    _show_frontier(output, summary)
    show_left_out(output, page.status.left_out)
    _show_streams(output, page)
    _show_keywords(output, page)
    for sample in page.samples:
        show_sample(output, sample)
    _show_money(output, page)
    _show_ledgers(output, page)
    _show_trouble(output, page)
    for name, command in page.commands.items():
        output.line()
        output.line((f"{name}: " if len(summary.crawls) > 1 else "") + continue_line(command))


def _show_crawl(output: Output, page: StatusPage, crawl: CrawlReport) -> None:
    processes = [process for process in page.status.processes if process.crawl == crawl.name]
    flow = msgspec.json.decode(crawl.flow)["name"]
    output.line(f"{crawl.name} (flow {flow}): {_state(crawl, processes)}", style="bold")
    for process in processes:
        time, silent = (numbers.span(page.status.now - when) for when in (process.started_at, process.seen_at))
        output.line(f"  process {process.pid} on {process.host}, for {time}, last seen {silent} ago")
    since = numbers.at(crawl.created_at, page.status.now)
    amounts = numbers.amounts(posts=crawl.posts, users=crawl.users, items=crawl.items, calls=crawl.calls)
    output.line(f"  {amounts} since {since}")
    if own := own_purse(page.status.purses, crawl.name):
        output.line(f"  {spent_lines([own], page.status.now)[0]}")
    if seeds := page.status.left_alone.get(crawl.crawl):
        output.line(f"  {numbers.many(seeds, 'seed')} asked not to be collected, in all runs")


def _state(crawl: CrawlReport, processes: list[Member]) -> str:
    if processes or crawl.state not in (CrawlState.RUNNING, CrawlState.PAUSED):
        asked = f", asked to be {crawl.wanted}" if processes and crawl.wanted != crawl.state else ""
        is_told = crawl.state == CrawlState.FINISHED and crawl.reason is not None and crawl.reason.code not in EXHAUSTED
        return ("ended as told" if is_told else crawl.state) + asked + (f": {crawl.reason}" if crawl.reason else "")
    return "no process runs it, though none said goodbye (killed?); nothing is lost"


def _show_stored(output: Output, place: NamedStore, page: StatusPage) -> None:
    stored, more = page.status.summary.stored, page.status.health
    output.line("stored", style="bold")
    output.line(f"  {post_counts.told(more.posts)}")
    reactions = f", {_many(stored.reactions, 'reaction')}" if stored.reactions.value else ""
    output.line(f"  {_many(stored.users_seen, 'profile')}, {_many(stored.relations, 'relation')}{reactions}")
    output.line(f"  {_many(stored.users_stubs, 'more account')} known only by id; {place.shown} takes {numbers.size(more.size)}")
    if more.completeness.claimed:
        part = numbers.share(more.completeness.stored, more.completeness.claimed)
        output.line(f"  {part} of the posts that {_authors(more.completeness)} (private ones included)")
    if any((more.gone.users, more.gone.relations, more.gone.posts)):
        output.line(f"  gone: {_gone(more.gone)}; `bowerbird gone` lists them")
    if more.media or place.has_media:
        output.line(f"  media: {_media(more)}")
    output.line(f"  {_pace(page)}")
    output.line()


def _authors(completeness: health.Completeness) -> str:
    """Of which authors' listings it was told: all that were listed, or a sample of them."""
    if completeness.users == 1:
        return "the profile of the one author listed so far counts"
    drawn = ", drawn evenly from all that were," if completeness.is_sample else ""
    return f"the profiles of {completeness.users:,} authors listed so far{drawn} count"


def _media(more: health.Health) -> str:
    counts = ", ".join(f"{_count(count)} {state}" for state, count in more.media.items()).replace("_", " ")
    return (counts or "none yet") + (f"; last trouble: {more.media_trouble}" if more.media_trouble else "")


def _gone(gone: health.GoneCounts) -> str:
    parts = ((gone.users, "absent account"), (gone.relations, "ended relation"), (gone.posts, "post"))
    named = ", ".join(numbers.many(count, what) for count, what in parts if count)
    return named + (" deleted or never there" if gone.posts else "")


def _pace(page: StatusPage) -> str:
    pace = page.status.health.pace
    seconds = pace.span.total_seconds()
    if not pace.calls or seconds <= 0 or pace.until is None:
        return "no calls yet" if not pace.calls else f"{numbers.many(pace.calls, 'call')} so far"
    rates = f"{numbers.rate(pace.calls / seconds)} calls and {numbers.rate(pace.items / seconds)} items"
    newest = numbers.span(page.status.now - pace.until)
    return f"{rates} over the last {numbers.many(pace.calls, 'call')}, the newest {newest} ago"


def _show_frontier(output: Output, summary: Summary) -> None:
    apart = len(summary.crawls) > 1
    states = _STATES | {state: words for state, words in _SELDOM.items() if any(state in lane.tasks for lane in summary.lanes)}
    rows = [
        (f"  {lane.facet}", *((lane.crawl,) if apart else ()), lane.service, *_counts(lane, states))
        for lane in summary.lanes
        # A stream has a lane for its calls, but no tasks. So has what a server is asked about itself.
        if not lane.facet.startswith(("stream ", SURVEY))
    ]
    if rows:
        output.line("questions, by what is asked for", style="bold")
        output.table("", ("  asks for", *(("crawl",) if apart else ()), "service", *states.values()), rows)
        output.line()


def _counts(lane: LaneReport, states: Iterable[TaskState]) -> list[str]:
    return [_count(lane.tasks.get(state, Count(0))) for state in states]


def _show_streams(output: Output, page: StatusPage) -> None:
    if not page.status.streams:
        return
    output.line("streams", style="bold")
    columns = ("  stream", "service", "state", "events", "behind", "connections", "gaps", "not filled")
    output.table("", columns, [_stream(one) for one in page.status.streams])
    shown = [gap for gap in page.status.gaps if not gap.is_filled][:_MOST_GAPS]
    for gap in shown:
        output.line(f"  gap of {gap.name}: {_gap(gap, page.status.now)}")
    rest = sum(one.open_gaps for one in page.status.streams) - len(shown)
    if rest > 0:
        output.line(f"  + {numbers.many(rest, 'more gap')} that nothing has filled")
    output.line()


def _show_keywords(output: Output, page: StatusPage) -> None:
    if not page.status.keywords:
        return
    output.line("keywords", style="bold")
    output.table("", _KEYWORD_COLUMNS, [_keywords(each) for each in page.status.keywords])
    for crawl, silence in {each.crawl: each.silence for each in page.status.keywords if each.silence}.items():
        output.line(f"  ! {crawl}: {silence}", style="yellow")
    output.line()


def _keywords(each: MethodCounts) -> tuple[str, ...]:
    names = ", ".join(each.newest)
    return f"  {each.crawl}", each.method, f"{each.keywords:,}", f"{each.posts:,}", f"{each.entered} in, {each.left} out", names


def _stream(one: StreamReport) -> tuple[str, ...]:
    state = one.state + (f": {one.reason}" if one.reason else "")
    behind = numbers.span(one.lag) if one.lag is not None else ""
    counts = (one.connections, one.gaps, one.open_gaps)
    return (f"  {one.name}", one.service, state, f"{one.events:,}", behind, *(f"{each:,}" for each in counts))


def _gap(gap: GapReport, now: datetime) -> str:
    length = numbers.span((gap.ended_at or now) - gap.began_at)
    missing = f", {gap.missing:,} messages not delivered" if gap.missing is not None else ""
    fate = "being filled" if gap.asked_at is not None else "waits to be filled" if gap.can_be_filled else "nothing can fill it"
    return f"{gap_words(gap.cause)}, {length} from {numbers.at(gap.began_at, now)}{missing}; {fate}"


def _show_money(output: Output, page: StatusPage) -> None:
    if not (found := months(page.status.purses)):
        return
    output.line("money", style="bold")
    for purse in found:
        resets = f"; resets on {purse.resets_at.day} {purse.resets_at:%B %Y} (UTC)" if purse.resets_at else ""
        output.line(f"  {month_words(purse, page.status.now)}{resets}")
    output.line()


def _show_ledgers(output: Output, page: StatusPage) -> None:
    limits = [one for one in page.status.summary.ledgers if not is_budget(one.bucket)]
    ledgers = sorted(limits, key=lambda one: one.remaining / max(1, one.allowance))
    if not ledgers:
        return
    output.line("limits", style="bold")
    names = limit_words(one.bucket for one in ledgers)
    rows = [(f"  {names[one.bucket]}", *_ledger(one, page.status.now)) for one in ledgers[:_MOST_BUCKETS]]
    output.table("", ("  limit", "left", "spent in all", "refused", "resets in"), rows)
    if len(ledgers) > _MOST_BUCKETS:
        output.line(f"  + {len(ledgers) - _MOST_BUCKETS} more")
    output.line()


def _ledger(one: LedgerReport, now: datetime) -> tuple[str, ...]:
    is_over = one.reset_at is not None and one.reset_at <= now
    left = one.allowance if is_over else max(0, one.remaining - one.in_flight)
    resets = "" if one.reset_at is None else "full again" if is_over else numbers.span(one.reset_at - now)
    return (f"{left:,} / {one.allowance:,}", f"{one.spent:,}", f"{one.refused:,}", resets)


def _show_trouble(output: Output, page: StatusPage) -> None:
    summary, more = page.status.summary, page.status.health
    calls = {name: count for name, count in summary.calls.items() if name not in ("ok", CallState.FLYING)}
    output.line("trouble", style="bold")
    for refusal in more.refusals:
        output.line(
            f"  {refusal.service} refused the credential {refusal.credential}: {refusal.reason}; "
            f"unless you did since, renew it with: {renew_line(refusal.credential, refusal.provider)}"
        )
    for each in page.status.failing:
        output.line(
            f"  the module {each.name} of {each.crawl} failed {numbers.many(each.failures, 'time')} in a row: {each.error}"
        )
    if calls:
        other = ", ".join(numbers.answers(_count(count), name) for name, count in calls.items())
        output.line(f"  answers without what was asked for: {other}")
    for group in more.quarantine:
        kept = "" if group.kept == group.items else f" (kept {group.kept:,} of {group.items:,})"
        output.line(f"  in quarantine: {numbers.many(group.items, 'item')} of {group.facet}: {group.why}{kept}")
    for error in summary.errors:
        said = f"{numbers.outcome_words(error.outcome)}: {error.message}" if error.outcome else error.message
        output.line(f"  {numbers.span(page.status.now - error.at)} ago, {error.part}: {said}".rstrip(": "))
    if not (more.refusals or calls or more.quarantine or summary.errors or page.status.failing):
        output.line("  none")


def _many(count: Count, word: str) -> str:
    return f"{_count(count)} {word}" + ("" if count.value == 1 else "s")


def _count(count: Count) -> str:
    return f"{count.value:,}" if count.is_exact else f"~{count.value:,}"
