"""Who plays the user's credentials in a rehearsal: their names and kinds are real, their secrets are a simulated service's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from bowerbird.errors import CredentialError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model import TRAITS, Credential, Secret, origin
from bowerbird.providers import provider
from bowerbird.providers.base import Provider

ONE_MORE = "one more"


class RehearsalVault:
    """Credentials with the secrets of simulated tokens; implements `ports.Vault`."""

    def __init__(self, credentials: Sequence[Credential], values: Mapping[str, dict[str, str]]) -> None:
        self._credentials = credentials
        self._values = values
        self._kept: dict[str, Secret] = {}

    def credentials(self) -> Sequence[Credential]:
        return self._credentials

    def secret(self, name: str) -> Secret:
        return self._kept.get(name) or Secret(name=name, values=self._values[name])

    def keep(self, secret: Secret) -> None:
        self._kept[secret.name] = secret


def cast(plan: CrawlPlan, known: Sequence[Credential]) -> tuple[Credential, ...]:
    """The credentials the crawl would use; where a network answers nobody without one and there is none, one is assumed."""
    chosen: list[Credential] = []
    for name in dict.fromkeys(planned.service.provider for planned in plan.services):
        own = [each for each in known if each.provider == name and _is_wanted(plan, each.name) and _has_place(plan, each)]
        chosen += own or _assumed(plan, name)
    return tuple(chosen)


def one_more(plan: CrawlPlan, credentials: Sequence[Credential]) -> tuple[CrawlPlan, tuple[Credential, ...]]:
    """The same crawl with another credential of the first network, of another account and application."""
    name = plan.services[0].service.provider
    own = [each for each in credentials if each.provider == name]
    kind = own[0].kind if own else _kind(plan, provider(name))
    more = Credential(name=ONE_MORE, provider=name, kind=kind, account=ONE_MORE, app=ONE_MORE, servers=_servers(plan, name))
    services = [
        structs.replace(each, credentials=(*each.credentials, ONE_MORE))
        if each.credentials and each.service.provider == name
        else each
        for each in plan.services
    ]
    return structs.replace(plan, services=tuple(services)), (*credentials, more)


def _is_wanted(plan: CrawlPlan, name: str) -> bool:
    named = {each for planned in plan.services for each in planned.credentials}
    named |= {each for use in plan.flow.facets for each in use.credentials}
    return not named or name in named


def _has_place(plan: CrawlPlan, credential: Credential) -> bool:
    """Whether the crawl would use it, or refuse it in words that the user should hear now."""
    is_named = any(credential.name in planned.credentials for planned in plan.services)
    is_own = any(credential.belongs_to(each) for each in _servers(plan, credential.provider))
    return is_named or is_own or not credential.home


def _servers(plan: CrawlPlan, name: str) -> tuple[str, ...]:
    """Return the servers of a network that a crawl uses; those of streams only if they need a credential."""
    speaks = provider(name)
    bases = [each.service.base for each in plan.services if each.service.provider == name]
    streams = [each for each in plan.streams if each.service.provider == name]
    hosts = [each.host.base for each in streams if speaks.channels[each.subscription.channel].kinds]
    return tuple(dict.fromkeys(map(origin, (*bases, *hosts))))


def _assumed(plan: CrawlPlan, name: str) -> list[Credential]:
    speaks = provider(name)
    named = next((planned.credentials for planned in plan.services if planned.service.provider == name), ())
    asked = {use.name for use in plan.flow.among(speaks.facets).facets}
    if not named and "none" in speaks.tables and not plan.streams and not asked & TRAITS[name].not_for_guests:
        return []
    kind = _kind(plan, speaks)
    servers = _servers(plan, name)
    return [
        Credential(name=each, provider=name, kind=kind, account=each, app=each, servers=servers) for each in named or ("assumed",)
    ]


def _kind(plan: CrawlPlan, speaks: Provider) -> str:
    """The first kind of credential that may ask everything the flow asks and open its streams."""
    asked = {use.name for use in plan.flow.among(speaks.facets).facets}
    kinds = [kind for kind in speaks.tables if kind != "none" and asked <= speaks.tables[kind].keys()]
    kinds = [kind for kind in kinds if all(not each or kind in each for each in _stream_kinds(plan, speaks))]
    if not kinds:
        raise CredentialError(f"no single kind of {speaks.name} credential may ask all of {', '.join(sorted(asked))}")
    return kinds[0]


def _stream_kinds(plan: CrawlPlan, speaks: Provider) -> list[frozenset[str]]:
    """For each stream of the network the kinds of credential that may open it; empty: any."""
    streams = [each for each in plan.streams if each.service.provider == speaks.name]
    return [speaks.channels[each.subscription.channel].kinds for each in streams]
