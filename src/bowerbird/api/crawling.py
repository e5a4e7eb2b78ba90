"""Crawls from Python: the same plans, checks, budgets and promises as `bowerbird crawl`, and an end that can be read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from msgspec import Struct, structs

from bowerbird.api.loops import LoopThread
from bowerbird.app import NO_EXTENSIONS, Crawl, Outside, Participation, apply_seeds, open_crawl
from bowerbird.cli.checks.changed import applies, seeds_line
from bowerbird.cli.checks.consent import check_consent, keep_consent
from bowerbird.cli.checks.start import check_start
from bowerbird.cli.checks.trials import check_tokens
from bowerbird.cli.live.run import end_in_vain, failed_by_seeds
from bowerbird.cli.live.watcher import Watcher
from bowerbird.cli.store_addresses import read_plan as read_file
from bowerbird.clock import RealClock
from bowerbird.crawl.life.extensions import Extensions
from bowerbird.crawl.process.endings import Ending
from bowerbird.crawl.process.process import Process
from bowerbird.db.addresses import public
from bowerbird.errors import Failure, UserError
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.flows.files.flow_check import check
from bowerbird.flows.files.flow_file import parse_flow
from bowerbird.flows.files.sections.seed_list import SeedList
from bowerbird.flows.flow import Flow, Size
from bowerbird.flows.language.spelling import listed, meant
from bowerbird.limits.vault import FileVault
from bowerbird.model import TRAITS, CrawlState, Service
from bowerbird.providers import provider as speaking
from bowerbird.reports.rerun import RerunCommand
from bowerbird.settings import load_settings
from bowerbird.transport import HttpTransport
from bowerbird.transport.media import HttpMedia
from bowerbird.transport.messages import OutsideMessenger
from bowerbird.vocabulary import vocabulary

_LOOK = timedelta(seconds=2)


class Result(Struct, frozen=True, kw_only=True):
    """How a crawl ended in this run, and what it has collected over all its runs."""

    state: CrawlState
    """`finished`, `stopped`, `paused` or `failed`."""
    reason: Failure
    size: Size
    store: str
    notes: tuple[str, ...] = ()


class Limits(Struct, frozen=True, kw_only=True):
    """So much more in this run; what the plan says holds besides."""

    calls: int | None = None
    items: int | None = None
    dollars: float | None = None
    duration: timedelta | None = None

    def __post_init__(self) -> None:
        if self.duration is not None and not isinstance(self.duration, timedelta):
            raise UserError(f"duration is {self.duration!r}", "write a timedelta, such as timedelta(minutes=5)")
        for name in ("calls", "items", "dollars", "duration"):
            value = getattr(self, name)
            if value is not None and value <= (timedelta(0) if name == "duration" else 0):
                raise UserError(f"{name} is {value}: it must be more than nothing")

    def values(self) -> Mapping[str, object]:
        return structs.asdict(self)


def read_plan(file: str | Path, *, seeds: Sequence[str] = ()) -> CrawlPlan:
    """The plan in a crawl file, with more seeds."""
    return read_file(Path(file), seeds)


def make_plan(
    flow: Flow | str, *, seeds: Sequence[str], on: str, base: str | None = None, store: str = "", name: str = ""
) -> CrawlPlan:
    """A plan without a file: a flow of your own or the name of a built-in one, on one service.

    `on`: the API, such as `mastodon`; `base`: where, if not at the usual address; `store`: a SQLite file or an address of
    PostgreSQL, by default `NAME.db`.
    """
    speaks, words = speaking(on), vocabulary()
    if isinstance(seeds, str):
        raise UserError(f"seeds is one text, {seeds!r}", f"write a list, such as [{seeds!r}]")
    if isinstance(flow, str):
        if flow not in words.flows:
            raise UserError(
                f"there is no built-in flow {flow!r}{meant(flow, words.flows)}",
                f"there are: {listed(words.flows)}",
                code="unknown_flow",
            )
        flow = parse_flow(words.flows[flow], f"flow {flow!r}", speaks.facets, words.rankers, words.methods, words.modules)
    check(flow, speaks.facets, words.rankers)
    service = Service(name=on, provider=on, base=base or TRAITS[on].base)
    called = name or flow.name
    return CrawlPlan(
        name=called,
        store=store or f"{called}.db",
        flow=flow,
        services=(ServicePlan(service=service),),
        seeds=SeedList(tuple(seeds)),
    )


def run(
    plan: CrawlPlan | str | Path,
    *,
    limits: Limits | None = None,
    agree: bool = False,
    apply: bool = False,
    extensions: Extensions = NO_EXTENSIONS,
    say: Callable[[str], object] = print,
) -> Result:
    """Runs a crawl to its end, or goes on with it where it stopped; an interrupt (Ctrl-C) ends it in order.

    `agree`: to what the plan lets it spend; `apply`: follow the plan where it differs from what the crawl followed before, and
    retire the seeds that it no longer names.
    """
    wanted = plan if isinstance(plan, CrawlPlan) else read_plan(plan)
    mine = _Run(wanted, limits or Limits(), extensions, say)
    loop = LoopThread()
    try:
        return loop.run(mine.crawl(agree=agree, apply=apply), mine.end)
    finally:
        loop.close()


class _Run:
    """One run of a crawl."""

    def __init__(self, plan: CrawlPlan, limits: Limits, extensions: Extensions, say: Callable[[str], object]) -> None:
        self._plan = plan
        self._limits = limits
        self._extensions = extensions
        self._say = say
        self._process: Process | None = None
        self._is_ended = False

    def end(self) -> None:
        """Asks for an orderly end."""
        self._is_ended = True
        if self._process is not None:
            self._process.end("interrupted")

    async def crawl(self, *, agree: bool, apply: bool) -> Result:
        settings, clock = load_settings(), RealClock()
        agent = load_settings(contact=self._plan.contact or settings.contact).user_agent
        transport, media = HttpTransport(clock, agent), HttpMedia(agent)
        vault = FileVault(settings.vault, settings.vault_password)
        outside = Outside(
            clock=clock,
            transport=transport,
            vault=vault,
            media=media,
            messenger=OutsideMessenger(vault),
            participation=Participation(is_alone=True),
        )
        try:
            return await self._checked(outside, agree=agree, apply=apply)
        finally:
            await transport.close()
            await media.close()

    async def _checked(self, outside: Outside, *, agree: bool, apply: bool) -> Result:
        start = await check_start(self._plan, outside, self._limits.values(), may_join=False, say=self._tell)
        command = RerunCommand(file=f"{self._plan.name}.toml")
        applied = await applies(self._plan, outside, command, is_told=apply, say=self._tell)
        outside = structs.replace(outside, participation=structs.replace(outside.participation, applies=applied))
        agreed = await check_consent(start.plan, outside, is_given=agree, say=self._tell)
        async with open_crawl(start.plan, outside, self._extensions, asked=start.asked) as opened:
            notes = (*await check_tokens(opened, outside), *start.notes, *opened.notes)
            for note in notes:
                self._tell(note)
            if apply and (line := seeds_line(await apply_seeds(opened.database, self._plan, outside.clock))):
                self._tell(line)
            if agreed is not None:
                await keep_consent(opened.database, start.plan, agreed, outside.clock.now())
            self._process = opened.process
            if self._is_ended:
                opened.process.end("interrupted")
            ending = await self._ended(opened, outside)
            return Result(
                state=ending.state,
                reason=ending.reason,
                size=opened.tally.size(in_all=True),
                store=public(self._plan.store),
                notes=notes,
            )

    async def _ended(self, opened: Crawl, outside: Outside) -> Ending:
        """How it ended; with nothing because none of its seeds is there, it has failed."""
        doubting = asyncio.create_task(end_in_vain(opened, Watcher(opened, outside.clock), outside.clock))
        try:
            ending = await opened.process.run(opened.seeds, slots=opened.plan.concurrency, watch_every=_LOOK)
        finally:
            doubting.cancel()
            await asyncio.gather(doubting, return_exceptions=True)
        return await failed_by_seeds(opened, ending)

    def _tell(self, words: str) -> None:
        self._say(words)
