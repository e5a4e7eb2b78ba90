"""`bowerbird plan`: says what a crawl will take and bring, before anything is called."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs

from bowerbird.app import Outside
from bowerbird.cli.commands.crawling.credentials import VaultOption, open_vault
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.screens.plan_page import learned, show
from bowerbird.cli.store_addresses import read_plan
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.planning.company import rehearsals_at_once
from bowerbird.planning.plan import USUAL, Inquiry, figures, plan_crawl
from bowerbird.planning.prices import AS_OF, X_PRICES
from bowerbird.planning.probe import Found, check_seeds, fitted, most_dollars, probe
from bowerbird.policies.registry import RANKERS
from bowerbird.settings import Settings, load_settings
from bowerbird.transport import HttpTransport


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The crawl file.")],
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="Plan for so many seeds, not those of the file.")] = None,
    rankers: Annotated[
        list[str] | None,
        typer.Option(
            "--ranker",
            metavar="WHAT=NAME",
            help="Compare with another order of who is asked next, such as timeline=circular; may be given several times.",
        ),
    ] = None,
    probing: Annotated[
        int | None,
        typer.Option("--probe", metavar="N", min=1, max=100, help="First look up some seeds with at most N real calls."),
    ] = None,
    is_agreed: Annotated[bool, typer.Option("--yes", help="Make the calls of --probe without asking.")] = False,
    variants: Annotated[bool, typer.Option(help="Also rehearse another credential and another policy.")] = True,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, help="Rehearse so many at the same time.", show_default="one more than processors"),
    ] = None,
    vault: VaultOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Rehearse the crawl of a file in virtual time and say what it will take and bring. Less than a minute; of a
    community, whose worlds are larger, some minutes.

    Nothing is called, unless --probe says so.
    """
    output = Output(as_json=as_json)
    settings = load_settings(vault=vault)
    plan = read_plan(file, vault=open_vault(settings))
    found = _probed(plan, settings, probing, output, is_agreed=is_agreed) if probing else None
    inquiry = Inquiry(
        seeds=seeds or _count(plan),
        credentials=tuple(open_vault(settings).credentials()),
        world=USUAL if found is None else fitted(USUAL, found),
        rankers=_rankers(rankers or (), plan),
        has_variants=variants,
    )
    made = plan_crawl(plan, inquiry, output.progress, jobs=jobs or rehearsals_at_once())
    show(output, made, is_on_x=any(each.service.provider == "x" for each in plan.services))
    probe_values = None if found is None else structs.asdict(found)
    output.result(
        {**figures(made), "probe": probe_values, "seeds": inquiry.seeds, "prices": {"as_of": str(AS_OF), "dollars": X_PRICES}}
    )


def _probed(plan: CrawlPlan, settings: Settings, calls: int, output: Output, *, is_agreed: bool) -> Found:
    """Asks for consent, then makes the calls."""
    check_seeds(plan)
    service, dollars = plan.services[0].service, most_dollars(plan, calls)
    if not is_agreed:
        price = "" if dollars is None else f" and cost at most ${dollars:,.2f}"
        asked = f"Make at most {calls} calls to {service.name} ({service.base}), which count against the crawl's limits{price}?"
        typer.confirm(asked, abort=True, err=True)
    found = asyncio.run(_probe(plan, settings, calls))
    output.progress(learned(found))
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
        raise UserError(
            "the seeds are chosen from a store when the crawl starts", "say with --seeds how many you expect", code="needs_option"
        )
    return max(1, sum(1 for _ in plan.seeds))


def _rankers(written: list[str] | tuple[str, ...], plan: CrawlPlan) -> dict[str, str]:
    facets = [use.name for use in plan.flow.facets]
    pairs = {}
    for text in written:
        facet, _, name = text.partition("=")
        if facet not in facets or name not in RANKERS:
            raise UserError(
                f"--ranker {text} must be FACET=NAME with one of {', '.join(facets)} and one of {', '.join(RANKERS)}",
                code="unknown_name",
            )
        pairs[facet] = name
    return pairs
