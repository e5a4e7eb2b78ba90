"""The crawls of the real network, and what each must find."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from compare import Comparison, Stock, take_stock
from crawls import EVERYTHING, Crawls
from firehose import Firehose, Heard
from msgspec import Struct, field
from network import Network
from refusals import FLOW, crawl_beside_a_stranger, log_in_too_often
from written import POST, REPOST, Record, Written

from bowerbird.ports import Clock

_FAST = '[service.limits."*".address]\nallowance = 30000\n'
"""An AppView on the same machine publishes no limit and has none."""
_UNHURRIED = '[service.limits."*".address]\nallowance = 9000\n'
"""Thirty calls a second: the crawl lasts long enough to be killed in the middle."""
_KILLS = 4


class Figures(Struct):
    """What all scenes came to."""

    compared: int = 0
    calls: int = 0
    kills: int = 0
    refusals_handled: int = 0
    events: int = 0
    firehose: Heard = field(default_factory=Heard)
    differences: int = 0


class Scenes:
    """Each method is one crawl, compared with what was written."""

    def __init__(self, network: Network, written: Written, folder: Path, clock: Clock) -> None:
        self._network = network
        self.written = written
        self._crawls = Crawls(folder, clock)
        self._clock = clock
        self.figures = Figures()

    async def timelines(self) -> None:
        """Every account is looked up in batches and the timelines of those with posts are read."""
        everybody = [account.did for account in self.written.accounts]
        file = self._crawls.written("timelines", 'use = "timelines"', everybody, self._network.appview, _FAST)
        await self._crawls.run_until_idle(file)
        comparison, stock = await self._compared(file)
        self._compare_timelines(comparison)
        comparison.counters(uri for uri, record in self.written.posts.items() if record.author in self.written.open)
        # A batch leaves out whom it does not show, without a reason; asked about alone, each is told with one.
        comparison.gone(self.written.gone)
        self._report(comparison, stock)

    async def logged_in(self) -> None:
        """The same through the reader's own host: with a session opened by password, which the host passes on."""
        file = self._crawls.written("logged_in", 'use = "timelines"', self.written.open, self._network.pds)
        reader = self.written.accounts[0]
        values = {"identifier": reader.handle, "app_password": self.written.password}
        self._crawls.add_credential(file, values, self._network.pds)
        await self._crawls.run_until_idle(file)
        comparison, stock = await self._compared(file)
        self._compare_timelines(comparison, self.written.open)
        self._report(comparison, stock)

    async def graph(self) -> None:
        """From two accounts over followers and followed to everybody."""
        flow = 'use = "graph"\nfilters.max_depth = 20'
        file = self._crawls.written("graph", flow, self.written.open[5:7], self._network.appview, _FAST)
        await self._crawls.run(file)
        comparison, stock = await self._compared(file)
        comparison.users(self._shown)
        comparison.relations(self.written.follows)
        comparison.gone({})
        self._report(comparison, stock)

    async def hydrate(self) -> None:
        """Every post ever written, by id: those that are gone must be known as gone."""
        written = self.written
        file = self._crawls.written("hydrate", 'use = "hydrate"', written.every_post, self._network.appview, _FAST)
        await self._crawls.run(file)
        comparison, stock = await self._compared(file)
        comparison.posts(written.posts, written.posts)
        comparison.counters(uri for uri, record in written.posts.items() if record.author not in written.shy)
        comparison.buried([uri for uri in written.every_post if uri not in written.posts])
        self._report(comparison, stock)

    async def standing(self) -> None:
        """One by one, the AppView and the host say why an account is not to be had."""
        everybody = [account.did for account in self.written.accounts]
        for facet, base in (("profile", self._network.appview), ("status", self._network.pds)):
            flow = f'seeds = ["{facet}"]\n[flow.facets.{facet}]\n'
            file = self._crawls.written(f"standing_{facet}", flow, everybody, base, _FAST)
            await self._crawls.run(file)
            comparison, stock = await self._compared(file)
            comparison.gone(self._gone_by_name("not_found") if facet == "status" else self.written.gone)
            self._report(comparison, stock)

    async def repositories(self) -> None:
        """Whole repositories as their host exports them: also what an AppView does not show."""
        written = self.written
        flow = 'seeds = ["repo"]\n[flow.facets.repo]\n'
        everybody = [account.did for account in written.accounts]
        file = self._crawls.written("repositories", flow, everybody, self._network.pds)
        await self._crawls.run(file)
        comparison, stock = await self._compared(file)
        records = self._every_record()
        comparison.posts(records, records)
        comparison.users(self._shown, is_viewed=False)
        comparison.relations({pair for pair in written.follow_records if pair[0] not in written.gone})
        comparison.gone(self._gone_by_name("not_found", "deactivated"))
        self._report(comparison, stock)

    def _gone_by_name(self, *unknown: str) -> dict[str, str]:
        """Who is gone by the word of a host that has never shown the repository: what says only that it is not there (an account
        that has moved is deactivated at its old host, too) proves nothing."""
        return {did: reason for did, reason in self.written.gone.items() if reason not in unknown}

    async def killed(self) -> None:
        """Everything about everybody, by a process that is killed again and again."""
        file = self._crawls.written("killed", EVERYTHING, self.written.open[5:7], self._network.appview, _UNHURRIED)
        self.figures.kills += await self._crawls.run_killed(file, _KILLS, random.Random(1))
        comparison, stock = await self._compared(file)
        comparison.users(self._shown)
        comparison.relations(self.written.follows)
        shown = {**self.written.posts, **self.written.reposts}
        comparison.posts({uri: each for uri, each in shown.items() if each.author in self.written.open}, shown)
        self._report(comparison, stock)

    async def refused(self) -> None:
        """Raw timelines under a tight limit that a stranger shares; then too many logins."""
        written = self.written
        file = self._crawls.written("refused", FLOW, written.open, self._network.pds)
        met = await crawl_beside_a_stranger(self._crawls, file, self._network, self._clock)
        comparison, stock = await self._compared(file)
        own = {uri: each for uri, each in written.posts.items() if each.author in written.open}
        comparison.posts(own, own)
        reader = written.accounts[4]
        logins = await log_in_too_often(self._network, reader.handle, written.password, self._clock)
        for complaint in (*met.complaints(), *logins):
            comparison.differs("refusal", complaint)
        self.figures.refusals_handled += len(met.times) + (not logins)
        self._report(comparison, stock)

    async def firehose(self) -> None:
        """What people write from now on is heard, through every cut and kill; the scenes after this one compare with that."""
        firehose = Firehose(self._network, self._crawls, self._clock, self._report)
        self.written = await firehose.run(self.written)
        self.figures.firehose = firehose.figures
        self.figures.events += firehose.figures.events
        self.figures.kills += firehose.figures.kills

    def _compare_timelines(self, comparison: Comparison, everybody: list[str] | None = None) -> None:
        written = self.written
        comparison.users(everybody or self._shown)
        shown = {**written.posts, **written.reposts}
        comparison.posts({uri: each for uri, each in shown.items() if each.author in written.open}, shown)

    @property
    def _shown(self) -> list[str]:
        return [account.did for account in self.written.accounts if not account.is_gone]

    def _every_record(self) -> Mapping[str, Record]:
        """Posts and reposts of everybody who is still there, also reposts of what is gone."""
        return {each.uri: each for collection in (POST, REPOST) for each in self.written.visible(collection)}

    async def _compared(self, file: Path) -> tuple[Comparison, Stock]:
        stock = await take_stock(self._crawls.store(file), self._clock)
        return Comparison(file.stem, self.written, stock), stock

    def _report(self, comparison: Comparison, stock: Stock) -> None:
        self.figures.compared += comparison.compared
        self.figures.calls += stock.calls
        self.figures.differences += len(comparison.differences)
        for line in comparison.differences:
            print(f"  DIFFERENT {line}", flush=True)
        print(f"{comparison.name}: {stock.told()}; {comparison.told()}", flush=True)
