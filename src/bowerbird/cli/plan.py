"""`bowerbird plan`: says what a crawl will take and bring, before anything is called."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs

from bowerbird.app import Outside, vocabulary
from bowerbird.cli.credentials import VaultOption, open_vault
from bowerbird.cli.output import JsonFlag, Output
from bowerbird.clock import RealClock
from bowerbird.crawl.files.crawl_file import CrawlPlan, read_crawl_file
from bowerbird.crawl.http import HttpTransport
from bowerbird.errors import UserError
from bowerbird.planning.course import HORIZONS, NEVER
from bowerbird.planning.plan import USUAL, Inquiry, Plan, Range, figures, hours, notes, plan_crawl
from bowerbird.planning.prices import AS_OF, X_PRICES
from bowerbird.planning.probe import Found, fitted, probe
from bowerbird.policies.registry import RANKERS
from bowerbird.settings import Settings, load_settings

_ROWS = {
    "calls": "calls",
    "items": "new items",
    "users": "accounts",
    "posts": "posts",
    "bytes": "disk, MB",
    "dollars": "dollars on X",
}
_MEGABYTE = 1e6


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The crawl file.")],
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="Plan for so many seeds, not those of the file.")] = None,
    rankers: Annotated[
        list[str] | None,
        typer.Option("--ranker", metavar="FACET=NAME", help="Compare with this policy; may be given several times."),
    ] = None,
    probing: Annotated[
        int | None,
        typer.Option("--probe", metavar="N", min=1, max=100, help="First look up some seeds with at most N real calls."),
    ] = None,
    is_agreed: Annotated[bool, typer.Option("--yes", help="Make the calls of --probe without asking.")] = False,
    variants: Annotated[bool, typer.Option(help="Also rehearse another credential and another policy.")] = True,
    vault: VaultOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Rehearse the crawl of a file in virtual time and say what it will take and bring. About a minute.

    Nothing is called, unless --probe says so.
    """
    output = Output(as_json=as_json)
    plan = read_crawl_file(file, vocabulary())
    settings = load_settings(vault=vault)
    found = _probed(plan, settings, probing, output, is_agreed=is_agreed) if probing else None
    inquiry = Inquiry(
        seeds=seeds or _count(plan),
        credentials=tuple(open_vault(settings).credentials()),
        world=USUAL if found is None else fitted(USUAL, found),
        rankers=_rankers(rankers or (), plan),
        has_variants=variants,
    )
    made = plan_crawl(plan, inquiry, output.line)
    _show(output, made, is_on_x=any(each.service.provider == "x" for each in plan.services))
    probe_values = None if found is None else structs.asdict(found)
    output.result(
        {**figures(made), "probe": probe_values, "seeds": inquiry.seeds, "prices": {"as_of": str(AS_OF), "dollars": X_PRICES}}
    )


def _probed(plan: CrawlPlan, settings: Settings, calls: int, output: Output, *, is_agreed: bool) -> Found:
    """Asks for consent, then makes the calls."""
    service = plan.services[0].service
    if not is_agreed:
        typer.confirm(f"Make at most {calls} calls to {service.name} ({service.base})?", abort=True, err=True)
    found = asyncio.run(_probe(plan, settings, calls))
    rate = "" if found.posts_per_day is None else f", {found.posts_per_day:.2f} a day"
    output.line(f"{found.calls} calls: {found.accounts} accounts with {found.posts:,.0f} posts each on average{rate}.")
    return found


async def _probe(plan: CrawlPlan, settings: Settings, calls: int) -> Found:
    clock = RealClock()
    transport = HttpTransport(clock, load_settings(contact=plan.contact or settings.contact).user_agent)
    try:
        return await probe(plan, Outside(clock=clock, transport=transport, vault=open_vault(settings)), calls)
    finally:
        await transport.close()


def _count(plan: CrawlPlan) -> int:
    if plan.seeds.query is not None:
        raise UserError("the seeds are chosen from a store when the crawl starts: say with --seeds how many you expect")
    return max(1, sum(1 for _ in plan.seeds))


def _rankers(written: list[str] | tuple[str, ...], plan: CrawlPlan) -> dict[str, str]:
    facets = [use.name for use in plan.flow.facets]
    pairs = {}
    for text in written:
        facet, _, name = text.partition("=")
        if facet not in facets or name not in RANKERS:
            raise UserError(f"--ranker {text} must be FACET=NAME with one of {', '.join(facets)} and one of {', '.join(RANKERS)}")
        pairs[facet] = name
    return pairs


def _show(output: Output, plan: Plan, *, is_on_x: bool) -> None:
    likely = plan.likely
    ending = "Everything is asked" if likely.is_finished else "The crawl goes on for ever; it has caught up"
    output.line(f"{ending} after {_hours(plan.spread(hours))}.")
    bottleneck = plan.bottleneck()
    output.line(f"What holds it up: the limit {bottleneck}." if bottleneck else "No limit holds it up.")
    output.table("", ("", *(f"after a {name}" for name in HORIZONS)), _table(plan, is_on_x=is_on_x))
    uses = [(u.service, u.facet, u.credential or "none", _number(u.calls), f"{u.hours:.2f}") for u in likely.uses]
    output.table(
        f"In the rehearsed {likely.length.total_seconds() / 3600:.1f} hours, usual world:",
        ("service", "facet", "credential", "calls", "hours the limits need"),
        uses,
    )
    for name, course in plan.variants.items():
        day = HORIZONS["day"]
        change = f"{course.complete(day):.1%} instead of {likely.complete(day):.1%} complete after a day"
        calls = f"{_number(course.count('calls', day))} instead of {_number(likely.count('calls', day))} calls on the first day"
        output.line(f"With {name}: {_span(hours(course))} instead of {_span(hours(likely))}, {change}, {calls}.")
    if is_on_x:
        output.line(f"Prices of X as of {AS_OF}; each object is charged once a day.")
    for note in notes(plan):
        output.line(note)


def _table(plan: Plan, *, is_on_x: bool) -> Iterator[tuple[str, ...]]:
    for what, title in _ROWS.items():
        if what != "dollars" or is_on_x:
            unit = _MEGABYTE if what == "bytes" else 1
            yield title, *(_range(plan.spread(lambda c, a=at, w=what: c.count(w, a)), unit) for at in HORIZONS.values())  # type: ignore[misc]
    yield "complete", *(_percent(plan.spread(lambda c, a=at: c.complete(a))) for at in HORIZONS.values())  # type: ignore[misc]


def _range(spread: Range, unit: float) -> str:
    return f"{_number(spread.likely / unit)} ({_number(spread.low / unit)} to {_number(spread.high / unit)})"


def _percent(spread: Range) -> str:
    return f"{spread.likely:.1%} ({spread.low:.1%} to {spread.high:.1%})"


def _hours(spread: Range) -> str:
    return f"{_span(spread.likely)} ({_span(spread.low)} to {_span(spread.high)})"


def _span(value: float) -> str:
    if value >= NEVER / timedelta(hours=1):
        return "more than a year"
    return f"{value * 60:.1f} minutes" if value < 2 else f"{value:.1f} hours" if value < 72 else f"{value / 24:.1f} days"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.2g}"
