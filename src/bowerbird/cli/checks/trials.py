"""Tries the credentials of a crawl, for `bowerbird crawl` at its start and for `bowerbird doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from bowerbird.app import Crawl, Outside
from bowerbird.crawl.access.credentials import names_in, own_credentials, stream_credentials
from bowerbird.crawl.access.logins import BookedLogins
from bowerbird.crawl.access.needed import channel_of
from bowerbird.crawl.access.signing import Signer
from bowerbird.crawl.access.trials import BookedTrials, CalledTrials, Candidate, CountedTrials, Tried, Trier
from bowerbird.crawl.life import registry
from bowerbird.errors import CredentialError
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.limits.rate_limits import RateLimits, call_charges, login_charges
from bowerbird.model import Credential, Outcome
from bowerbird.ports import Database
from bowerbird.providers import provider, with_limits


def candidates(plan: CrawlPlan, outside: Outside) -> Iterator[Candidate]:
    """Every credential that the crawl would ask with, at each of its services."""
    for planned in plan.services:
        speaks = with_limits(provider(planned.service.provider, now=outside.clock.now, base=planned.service.base), planned.limits)
        for credential in _asking(plan, planned, outside):
            trial = speaks.credential_check(credential.kind)
            if trial is not None:
                charges = call_charges(trial.facet, planned.service.name, credential)
                yield Candidate(speaks, planned.service, credential, trial.request, charges, names_in(outside.vault))


def _asking(plan: CrawlPlan, planned: ServicePlan, outside: Outside) -> list[Credential]:
    asking = [each for use in plan.flow.facets for each in own_credentials(use, planned, plan.services, outside.vault)]
    asking += [each for each in _listening(plan, planned, outside) if each.belongs_to(planned.service.base)]
    return list({each.name: each for each in asking}.values())


def _listening(plan: CrawlPlan, planned: ServicePlan, outside: Outside) -> Iterator[Credential]:
    """Those that the streams of a service may be opened as."""
    speaks = provider(planned.service.provider)
    for each in plan.streams:
        if each.service.name == planned.service.name:
            # A stream that nobody may open has a line of its own.
            with suppress(CredentialError):
                yield from stream_credentials(each, channel_of(each, speaks), plan.services, outside.vault)


async def try_all(
    plan: CrawlPlan, outside: Outside, database: Database | None, ledgers: RateLimits | None, crawl: Crawl | None = None
) -> list[Tried]:
    """What each credential of the crawl is worth; booked where there is a store, and logged where there is a crawl."""
    logins: BookedLogins | None = None
    trials: BookedTrials | None = None
    if database is not None and ledgers is not None:
        async with database.reading() as tx:
            await ledgers.load(tx)
        logins = BookedLogins(database, ledgers, outside.clock, partial(login_charges, outside.vault))
        trials = CountedTrials(database, ledgers, outside.clock)
        if crawl is not None:
            trials = CalledTrials(database, ledgers, crawl.dispatch.log, crawl.number, outside.clock)
    trier = Trier(Signer(outside.vault, outside.transport, outside.clock, logins), trials)
    return [await trier.tried(each) for each in candidates(plan, outside)]


async def check_tokens(crawl: Crawl, outside: Outside) -> list[str]:
    """Tries the credentials of a crawl that is about to start; answers what is wrong with some of them, in sentences.

    Raises `CredentialError` when a service refuses all that there are for it.
    """
    found = await try_all(crawl.plan, outside, crawl.database, crawl.ledgers, crawl)
    async with crawl.database.transaction() as tx:
        for each in found:
            if each.outcome is Outcome.BAD_TOKEN:
                at = each.answers[-1].received_at
                await registry.refuse_credential(tx, each.service.name, each.credential.name, each.words, at)
                # The crawl is open already: it must not go on to ask with what it was just refused.
                lanes = [number for number, lane in crawl.lanes.items() if lane.service.name == each.service.name]
                tx.after_commit(partial(crawl.dispatch.scheduler.refuse, lanes, each.credential.name))
    crawl.tally.asked(sum(len(each.answers) for each in found))
    for service in {each.service.name for each in found}:
        own = [each for each in found if each.service.name == service]
        if all(each.is_refused for each in own):
            problem = "; ".join(each.sentence for each in own)
            error = CredentialError(problem, "; ".join(each.advice for each in own), code="credential_refused")
            await crawl.process.abandon(error.failure)
            raise error
    return [f"{each.sentence}; {each.advice}." for each in found if each.is_refused]
