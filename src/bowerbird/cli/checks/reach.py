"""What `bowerbird doctor` asks of a crawl file: do its services answer, and its database, and whom are its streams opened as?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import aiohttp

from bowerbird.app import Outside, unknown_servers
from bowerbird.cli.checks.machine import OK, PROBLEM, WARNING, Check, as_problem
from bowerbird.cli.checks.services import Look, in_vain, look, lost_facets, missing
from bowerbird.cli.checks.start import exists
from bowerbird.cli.checks.trials import try_all
from bowerbird.clock import RealClock
from bowerbird.crawl.access.credentials import names_in, stream_credentials, usable_credentials
from bowerbird.crawl.access.how_to_add import NOBODY, how_to_add
from bowerbird.crawl.access.served import Note, Served
from bowerbird.crawl.access.surveys import Surveyor
from bowerbird.crawl.access.trials import Tried
from bowerbird.db import open_database
from bowerbird.db.addresses import public
from bowerbird.db.tables import is_store
from bowerbird.errors import BowerbirdError, CredentialError, Failure, UserError
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.flows.files.sections.stream_plans import StreamPlan
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Outcome, ServerInfo, Service
from bowerbird.model.wording import outcome_words, quoted
from bowerbird.ports import Database, Vault
from bowerbird.providers import provider
from bowerbird.starting.plan_checks import sorted_seeds, wanted_kinds
from bowerbird.transport.failures import said

_PATIENCE = timedelta(seconds=10)
_MOST_SKEW = timedelta(minutes=1)
_SERVER_ERROR = 500
Account = tuple[Database, RateLimits]


async def network_checks(places: Mapping[str, Service], database: str | None, user_agent: str) -> list[Check]:
    """Services and hosts of streams side by side, by what they are called; then the database, if one was named."""
    timeout = aiohttp.ClientTimeout(total=_PATIENCE.total_seconds())
    async with aiohttp.ClientSession(timeout=timeout) as session:
        asked = (_check_service(session, name, service, user_agent) for name, service in places.items())
        checks = list(await asyncio.gather(*asked))
    return checks + ([await check_database(database)] if database else [])


async def server_checks(plan: CrawlPlan, outside: Outside) -> list[Check]:
    """What each server of a crawl says it is, what of the crawl would be asked there in vain, and whether it takes the
    credentials: the same that a crawl looks at when it starts."""
    async with _account(plan, outside) as account:
        return await _server_checks(plan, outside, account)


async def _server_checks(plan: CrawlPlan, outside: Outside, account: Account | None) -> list[Check]:
    looks, checks = await _looks(plan, outside, account)
    flavours = {each.service.name: each.survey.flavour for each in looks if each.survey is not None}
    checks += [check for each in looks for check in _looked(each)]
    try:
        lost = lost_facets(plan, outside.vault, flavours)
    except CredentialError:
        # A missing credential has a line of its own.
        return checks
    try:
        checks += _check_seeds(plan, lost)
    except UserError as error:
        return [*checks, Check("seeds", PROBLEM, error.problem, error.advice)]
    vain = in_vain(plan, lost)
    for planned in plan.services:
        name = planned.service.name
        checks += _lacking(plan, planned.service, flavours.get(name), lost[name], vain)
    if any(each.problem for each in looks):
        return checks
    return checks + [_check_tried(each) for each in await try_all(plan, outside, *(account or (None, None)))]


async def _looks(plan: CrawlPlan, outside: Outside, account: Account | None) -> tuple[list[Look], list[Check]]:
    """What is seen of each service. What a server is asked about itself counts like any call without a credential: it is booked
    where there is a store, and not asked where nothing is left for it."""
    unknown, looks, checks = {each.service.name: each for each in unknown_servers(plan, outside.clock)}, [], []
    for planned in plan.services:
        name, now = planned.service.name, outside.clock.now()
        server = unknown.get(name)
        if account and server and account[1].available_at(server.charges, now) > now + _PATIENCE:
            checks.append(Check(f"server {name}", WARNING, "its limit for questions is used up for now", "try again later"))
            continue
        looks.append(await look(planned, outside))
        if account and server and (found := looks[-1].survey):
            await Surveyor(*account, outside.transport, outside.clock).book(server, found)
    return looks, checks


def _looked(found: Look) -> list[Check]:
    name = f"server {found.service.name}"
    if found.problem:
        return [Check(name, PROBLEM, found.problem, found.advice)]
    if found.survey is None:
        return []
    if found.survey.fault:
        return [Check(name, WARNING, f"it could not be asked what it is: {found.survey.fault}", "")]
    return [Check(name, OK, found.survey.flavour.title or "it does not say what it is: taken for the network's own software")]


def _check_seeds(plan: CrawlPlan, lost: Mapping[str, Mapping[str, Failure]]) -> list[Check]:
    """Whether the seeds can be understood, and asked about."""
    unusable = sorted_seeds(plan, lost)
    if not (unusable.good or unusable.bad or unusable.unaskable):
        return []
    checks = [Check("seeds", PROBLEM, each.problem, each.advice) for each in unusable.unaskable]
    if unusable.bad:
        found = "\n    ".join((f"{unusable.bad:,} of {unusable.bad + unusable.good:,} cannot be understood:", *unusable.first))
        checks.append(Check("seeds", PROBLEM, found, "mend them, or start the crawl with --skip-bad to leave them out"))
    return checks or [Check("seeds", OK, f"{unusable.good:,} can be asked about")]


def _lacking(
    plan: CrawlPlan, service: Service, flavour: ServerInfo | None, lost: Mapping[str, Failure], vain: frozenset[str]
) -> list[Check]:
    """What the crawl would ask in vain, or bring less of than one might expect: a warning for each, or a problem where it could
    do nothing of what it is there for."""
    notes: list[Note] = []
    served = Served(provider(service.provider), service, flavour, notes)
    missed = [missing(name, lost[name]) for name in lost if name in vain]
    problems = [Check(f"server {service.name}", PROBLEM, each.problem, each.advice) for each in missed]
    # Those that seeds need are named with them.
    served.note(plan.flow, {name: why for name, why in lost.items() if name not in plan.flow.seeds and name not in vain})
    streams = [each for each in plan.streams if each.service.name == service.name]
    served.streams(streams, [])
    if flavour and flavour.streaming and any(_host(each.host.base) != _host(flavour.streaming) for each in streams):
        problem = f"it says that it streams from {quoted(flavour.streaming)}"
        notes.append(Note(service.name, Failure("server_moved", problem, "write that as `base` of the stream")))
    found = [note.failure for note in notes]
    return problems + [Check(f"server {service.name}", WARNING, each.problem, each.advice) for each in found]


@asynccontextmanager
async def _account(plan: CrawlPlan, outside: Outside) -> AsyncIterator[Account | None]:
    """The crawl's store and its ledgers, where there is one of this version: calls are made on its account."""
    if not exists(plan.store):
        yield None
        return
    database, ledgers = await open_database(plan.store, outside.clock), RateLimits()
    try:
        if not await is_store(database, public(plan.store)):
            yield None
            return
        async with database.reading() as tx:
            await ledgers.load(tx)
        yield database, ledgers
    finally:
        await database.close()


def _check_tried(found: Tried) -> Check:
    name = f"credential {found.credential.name}"
    if found.is_refused:
        return Check(name, PROBLEM, found.sentence, found.advice)
    if found.outcome is Outcome.OK:
        return Check(name, OK, f"{found.service.name} takes it")
    why = "its limit is used up for now" if found.outcome is None else found.words or outcome_words(found.outcome)
    return Check(name, WARNING, f"{found.service.name} did not say whether it takes it ({why})", "try again later")


def _host(base: str) -> str:
    return urlsplit(base).netloc.lower()


def check_credentials(plan: CrawlPlan, vault: Vault) -> list[Check]:
    """Whom each service of a crawl would be asked as: those of its own server alone."""
    return [_check_credentials(plan, planned, vault) for planned in plan.services]


def _check_credentials(plan: CrawlPlan, planned: ServicePlan, vault: Vault) -> Check:
    name, service = f"credentials for {planned.service.name}", planned.service
    try:
        names = [each.name for each in usable_credentials(planned, vault)]
    except CredentialError as error:
        return Check(name, PROBLEM, error.problem, error.advice)
    if not names and NOBODY not in provider(service.provider).tables:
        found = f"none in the vault belongs to {service.base}, which answers nobody without"
        return Check(name, PROBLEM, found, how_to_add(service, wanted_kinds(plan, planned), names_in(vault)))
    return Check(name, OK, ", ".join(names) or "none: it is asked as anybody may ask")


def check_streams(plan: CrawlPlan, vault: Vault) -> list[Check]:
    """Whom each stream of a crawl would be opened as."""
    return [_check_stream(each, plan, vault) for each in plan.streams]


def _check_stream(planned: StreamPlan, plan: CrawlPlan, vault: Vault) -> Check:
    name, speaks = f"stream {planned.subscription.name}", provider(planned.service.provider)
    if not speaks.channels:
        return Check(name, PROBLEM, f"{speaks.name} has no streams", "take it out of the crawl file")
    try:
        able = stream_credentials(planned, speaks.channels[planned.subscription.channel], plan.services, vault)
    except CredentialError as error:
        return Check(name, PROBLEM, error.problem, error.advice)
    whose = f"as {' or '.join(each.name for each in able)}" if able else "without a credential"
    return Check(name, OK, f"{planned.subscription.channel} of {speaks.name} at {planned.host.base}, {whose}")


async def _check_service(session: aiohttp.ClientSession, name: str, service: Service, user_agent: str) -> Check:
    headers = {"User-Agent": user_agent.replace("{provider}", service.provider)}
    try:
        # One bare request without credentials: it costs nothing from any limit of ours but the address's.
        async with session.get(service.base, allow_redirects=False, headers=headers) as response:
            now = RealClock().now()
            return _judge(name, service.base, response.status, _skew(response.headers.get("Date"), now))
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return as_problem(
            name, OSError(f"{service.base} does not answer: {said(error)}"), "check the address, the network and any proxy"
        )


def _judge(name: str, base: str, status: int, skew: timedelta | None) -> Check:
    found = f"{base} answers ({status})"
    if status >= _SERVER_ERROR:
        return Check(name, WARNING, found, "the service has trouble; bowerbird will wait and try again")
    if skew is not None and abs(skew) > _MOST_SKEW:
        advice = "bowerbird learns the difference from every answer, but set the system clock, best by NTP"
        return Check(name, WARNING, f"{found}; its clock and ours are {abs(skew).total_seconds():.0f} s apart", advice)
    return Check(name, OK, found)


def _skew(date: str | None, now: datetime) -> timedelta | None:
    try:
        return None if date is None else parsedate_to_datetime(date) - now
    except (ValueError, TypeError):
        return None


async def check_database(where: str) -> Check:
    place = public(where)
    advice = "check that it runs, and user, password and database name; `bowerbird crawl` needs the same"
    try:
        async with asyncio.timeout(_PATIENCE.total_seconds()):
            opened = await open_database(where, RealClock())
            async with opened.reading() as tx:
                row = await tx.fetch_one("select 1 as one")
            await opened.close()
    except TimeoutError:
        return Check("database", PROBLEM, f"{place} did not answer within {_PATIENCE.total_seconds():.0f} s", advice)
    except (BowerbirdError, OSError) as error:
        return as_problem("database", error, advice)
    return Check("database", OK, f"{opened.dialect} at {place} answers" if row else f"{place} gave an empty answer")
