"""What `bowerbird doctor` asks of a crawl file: do its services answer, and its database, and whom are its streams opened as?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import aiohttp

from bowerbird.cli.checks import OK, PROBLEM, WARNING, Check, as_problem
from bowerbird.clock import RealClock
from bowerbird.crawl.credentials import stream_credential, usable_credentials, where
from bowerbird.crawl.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.crawl.files.stream_plans import StreamPlan
from bowerbird.crawl.flavours import survey
from bowerbird.crawl.http import HttpTransport
from bowerbird.crawl.served import Served
from bowerbird.db import open_database
from bowerbird.db.addresses import public
from bowerbird.errors import BowerbirdError, CredentialError
from bowerbird.model import Flavour, Service
from bowerbird.ports import FlavouredProvider, StreamProvider, Vault
from bowerbird.providers import provider

_PATIENCE = timedelta(seconds=10)
_MOST_SKEW = timedelta(minutes=1)
_SERVER_ERROR = 500


async def network_checks(places: Mapping[str, Service], database: str | None, user_agent: str) -> list[Check]:
    """Services and hosts of streams side by side, by what they are called; then the database, if one was named."""
    timeout = aiohttp.ClientTimeout(total=_PATIENCE.total_seconds())
    async with aiohttp.ClientSession(timeout=timeout) as session:
        asked = (_check_service(session, name, service, user_agent) for name, service in places.items())
        checks = list(await asyncio.gather(*asked))
    return checks + ([await check_database(database)] if database else [])


async def server_checks(plan: CrawlPlan, vault: Vault, user_agent: str) -> list[Check]:
    """What each server of a crawl says it is, and what it cannot do of what the crawl would ask."""
    transport = HttpTransport(RealClock(), user_agent)
    try:
        found = [each for planned in plan.services for each in await _check_server(plan, planned, vault, transport)]
    finally:
        await transport.close()
    return found


async def _check_server(plan: CrawlPlan, planned: ServicePlan, vault: Vault, transport: HttpTransport) -> list[Check]:
    service, speaks = planned.service, provider(planned.service.provider)
    if not isinstance(speaks, FlavouredProvider):
        return []
    flavour = (await survey(speaks, transport, service, RealClock())).flavour
    if not flavour.software:
        return [Check(f"server {service.name}", OK, "it does not say what it is: taken for the network's own software")]
    return [Check(f"server {service.name}", OK, flavour.title), *_lacking(plan, planned, vault, flavour)]


def _lacking(plan: CrawlPlan, planned: ServicePlan, vault: Vault, flavour: Flavour) -> list[Check]:
    """One warning for each thing that the crawl would ask in vain."""
    service = planned.service
    notes: list[str] = []
    served = Served(provider(service.provider), service, flavour, notes)
    with suppress(CredentialError):
        # A missing credential has a line of its own.
        served.flow(plan.flow, {each.kind for each in usable_credentials(planned, vault)})
    streams = [each for each in plan.streams if each.service.name == service.name]
    served.streams(streams, [])
    if flavour.streaming and any(_host(each.host.base) != _host(flavour.streaming) for each in streams):
        notes.append(f"{service.name} says that it streams from {flavour.streaming}: write that as `base` of the stream")
    return [Check(f"server {service.name}", WARNING, note.rstrip("."), "") for note in notes]


def _host(base: str) -> str:
    return urlsplit(base).netloc.lower()


def check_credentials(plan: CrawlPlan, vault: Vault) -> list[Check]:
    """Whom each service of a crawl would be asked as: those of its own server alone."""
    return [_check_credentials(planned, vault) for planned in plan.services]


def _check_credentials(planned: ServicePlan, vault: Vault) -> Check:
    name, service = f"credentials for {planned.service.name}", planned.service
    try:
        names = [each.name for each in usable_credentials(planned, vault)]
    except CredentialError as error:
        found, _, advice = str(error).partition("; ")
        return Check(name, PROBLEM, found, advice)
    if not names and "none" not in provider(service.provider).tables:
        advice = f"bowerbird credentials add mine --provider {service.provider}{where(service.provider, service.base)}"
        return Check(name, PROBLEM, f"none in the vault belongs to {service.base}, which answers nobody without", advice)
    return Check(name, OK, f"{', '.join(names) or 'none'} for {service.base}")


def check_streams(plan: CrawlPlan, vault: Vault) -> list[Check]:
    """Whom each stream of a crawl would be opened as."""
    return [_check_stream(each, plan, vault) for each in plan.streams]


def _check_stream(planned: StreamPlan, plan: CrawlPlan, vault: Vault) -> Check:
    name, speaks = f"stream {planned.subscription.name}", provider(planned.service.provider)
    if not isinstance(speaks, StreamProvider):
        return Check(name, PROBLEM, f"{speaks.name} has no streams", "take it out of the crawl file")
    try:
        credential = stream_credential(planned, speaks.channels[planned.subscription.channel], plan.services, vault)
    except CredentialError as error:
        found, _, advice = str(error).partition("; ")
        return Check(name, PROBLEM, found, advice)
    whose = f"as {credential.name}" if credential else "without a credential"
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
            name, OSError(f"{service.base} cannot be reached: {error}"), "check the address, the network and any proxy"
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
