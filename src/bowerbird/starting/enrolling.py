"""Writes the rows that say who takes part in a crawl, and gathers what its services bring."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec import Struct

from bowerbird.crawl.access.credentials import check_named
from bowerbird.crawl.access.surveys import Survey, Surveyor
from bowerbird.crawl.life import controls, not_asked, registry
from bowerbird.crawl.life.extensions import Extensions
from bowerbird.crawl.life.plan_versions import agree
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.process.workers.enrolment import Enrolment, enrol, go_on
from bowerbird.crawl.seeding.admission import Admission
from bowerbird.crawl.work.bookkeeping import QueryLog
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.keywords.setup import EventCrawl, open_event
from bowerbird.limits.budget import money_charges
from bowerbird.limits.credentials import CombinedVault
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import ServerInfo
from bowerbird.ports import Database, Transaction, Vault
from bowerbird.starting.asking.services import add_service
from bowerbird.starting.asking.views import unknown_servers
from bowerbird.starting.gathered import Gathered, Given
from bowerbird.starting.outside import Outside


class Enrolled(Struct, frozen=True, kw_only=True):
    """A crawl whose rows are written."""

    crawl: int
    me: Enrolment
    log: QueryLog
    tally: Tally
    gathered: Gathered
    admission: Admission
    event: EventCrawl | None = None


class Opening(Struct, frozen=True):
    """What a crawl is opened with."""

    plan: CrawlPlan
    outside: Outside
    database: Database
    extensions: Extensions
    ledgers: RateLimits

    async def enrolled(self, asked: Mapping[str, Survey]) -> Enrolled:
        """Asks servers of many kinds what they are, then writes down in one transaction who takes part."""
        plan, outside = self.plan, self.outside
        vault = self._vault()
        check_named(plan.flow.facets, plan.services, vault)
        surveyor = Surveyor(self.database, self.ledgers, outside.transport, outside.clock)
        flavours = {each.service.name: await surveyor.learn(each, asked) for each in unknown_servers(plan, outside.clock)}
        now = outside.clock.now()
        async with self.database.transaction() as tx:
            row = await self._row(tx, now)
            me = await self._enrolment(tx, row, now)
            log, tally = QueryLog(row.crawl, me.number), Tally(now, row.size)
            tally.asked(await surveyor.log(tx, log, row.crawl))
            event = open_event(plan, row.crawl, self.database)
            if event is not None:
                await event.begin(tx, [seed.text for seed in plan.seeds.located()], now)
            given = self._given(row.crawl, me, vault, flavours, event)
            gathered = await self._gathered(tx, given)
            admission = Admission(self.database, row.crawl, gathered.lanes | gathered.waiting, plan.flow.filters.max_users)
            await admission.open(tx)
        return Enrolled(crawl=row.crawl, me=me, log=log, tally=tally, gathered=gathered, admission=admission, event=event)

    def _vault(self) -> Vault:
        how = self.outside.participation
        return CombinedVault(self.outside.vault if how.makes_calls else None, how.offered)

    async def _row(self, tx: Transaction, now: datetime) -> registry.CrawlRow:
        plan = self.plan
        if plan.is_joined:
            return await registry.join_crawl(tx, plan.name, now)
        return await registry.enrol_crawl(tx, plan.name, msgspec.json.encode(plan.flow).decode(), plan.told(), now)

    async def _enrolment(self, tx: Transaction, row: registry.CrawlRow, now: datetime) -> Enrolment:
        """This process among those of the crawl, with the plan that all of them follow."""
        how = self.outside.participation
        me = await enrol(tx, self.plan.name, now, is_alone=how.is_alone, label=how.label)
        await controls.begin(tx, row.crawl, me.label)
        await agree(tx, self.plan, row.crawl, me, now, applies=how.applies)
        if not how.is_continued:
            await go_on(tx, row, me, now)
        return me

    def _given(
        self, crawl: int, me: Enrolment, vault: Vault, flavours: Mapping[str, ServerInfo], event: EventCrawl | None
    ) -> Given:
        return Given(
            plan=self.plan,
            event=event,
            vault=vault,
            stream_vault=self.outside.vault,
            crawl=crawl,
            me=me,
            extensions=self.extensions,
            flavours=flavours,
            now=self.outside.clock.now,
            database=self.database,
        )

    async def _gathered(self, tx: Transaction, given: Given) -> Gathered:
        """Lanes, streams and limits of all services."""
        gathered, now = Gathered(), given.now()
        for service in given.plan.services:
            await add_service(tx, given, gathered, service)
        await not_asked.mark(tx, given.crawl, given.me, gathered.waiting, now)
        charges = [each for options in gathered.charges.values() for taken in options.values() for each in taken]
        await self.ledgers.open(
            tx, money_charges((*charges, *(each for stream in gathered.streams for each in stream.charges))), now
        )
        # A new start is a new chance: the user may have mended what the service refused.
        asking = ((gathered.lanes[lane].service.name, options) for lane, options in gathered.charges.items())
        await registry.accept_credentials(tx, (*asking, *((each.service.name, each.keys.names) for each in gathered.streams)))
        return gathered
