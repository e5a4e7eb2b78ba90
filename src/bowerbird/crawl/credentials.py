"""Which credentials a service, and each facet of it, is asked with."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from bowerbird.crawl.belonging import check_belongs, foreign, unbound
from bowerbird.crawl.files.crawl_file import ServicePlan
from bowerbird.crawl.files.example import BASES, LOGINS
from bowerbird.crawl.files.stream_plans import StreamPlan
from bowerbird.crawl.flow import FacetUse
from bowerbird.errors import CredentialError
from bowerbird.model import Channel, Credential, Service
from bowerbird.ports import Vault

NOBODY = "none"
"""The kind of those who ask without a credential."""
USUAL_KIND = "user"
PUBLIC_BLUESKY, LOGIN_BLUESKY = BASES["bluesky"], LOGINS["bluesky"]
_KINDS = {"user": "the token of a user", "app": "the token of an application"}
_WHAT = {("bluesky", "user"): "a login"}


def usable_credentials(planned: ServicePlan, vault: Vault) -> tuple[Credential, ...]:
    """The credentials a service is asked with: those named, or every one in the vault that belongs to this very server.

    Raises `CredentialError` for one that is named and belongs elsewhere, or when all there is belongs to nobody yet.
    """
    service = planned.service
    known = {each.name: each for each in vault.credentials() if each.provider == service.provider}
    for name in planned.credentials:
        if name not in known:
            raise _unknown(name, service)
        check_belongs(known[name], service.base)
    if planned.credentials:
        return tuple(known[name] for name in planned.credentials)
    own = tuple(each for each in known.values() if each.belongs_to(service.base))
    if not own and (nobodys := next((each for each in known.values() if not each.home), None)):
        raise unbound(nobodys)
    return own


def own_credentials(use: FacetUse, planned: ServicePlan, services: Sequence[ServicePlan], vault: Vault) -> tuple[Credential, ...]:
    """Those a facet names for itself, as far as they are this service's; or all that the service is asked with.

    One that belongs to none of the crawl's services is refused.
    """
    service, known = planned.service, {each.name: each for each in vault.credentials()}
    own = []
    for name in use.credentials:
        if name not in known:
            raise _unknown(name, service)
        if known[name].provider == service.provider:
            _check_has_place(known[name], service.base, services)
            own.append(known[name])
    return tuple(each for each in own if each.belongs_to(service.base)) or usable_credentials(planned, vault)


def check_named(uses: Sequence[FacetUse], services: Sequence[ServicePlan], vault: Vault) -> None:
    """Raises `CredentialError` for what a crawl file may not ask with, before anybody is asked anything."""
    for planned in services:
        usable_credentials(planned, vault)
        for use in uses:
            own_credentials(use, planned, services, vault)


def _check_has_place(credential: Credential, base: str, services: Sequence[ServicePlan]) -> None:
    bases = [each.service.base for each in services if each.service.provider == credential.provider]
    if not any(credential.belongs_to(each) for each in bases):
        check_belongs(credential, base)


def stream_credential(planned: StreamPlan, channel: Channel, services: Sequence[ServicePlan], vault: Vault) -> Credential | None:
    """Whom a stream is opened as: the one named, or the first of its host's whose kind the channel takes."""
    plan = next(each for each in services if each.service.name == planned.service.name)
    if planned.credential:
        named = structs.replace(plan, service=planned.host, credentials=(planned.credential,))
        candidates = usable_credentials(named, vault)
    else:
        candidates = usable_credentials(plan, vault)
    fitting = [each for each in candidates if not channel.kinds or each.kind in channel.kinds]
    own = [each for each in fitting if each.belongs_to(planned.host.base)]
    if own or not channel.kinds:
        return own[0] if own else None
    if fitting:
        # It would do, but the stream comes from another host than the rest.
        raise foreign(fitting[0], planned.host.base)
    raise wrong_kind(planned.host, f"the stream {channel.facet.name} can only be opened", sorted(channel.kinds))


def kinds_of(use: FacetUse, planned: ServicePlan, services: Sequence[ServicePlan], vault: Vault) -> frozenset[str]:
    """The kinds of the credentials that a facet is asked with; `none` where it is asked without."""
    return frozenset(each.kind for each in own_credentials(use, planned, services, vault)) or frozenset({NOBODY})


def wanting(service: Service, takers: Sequence[str]) -> str:
    """Why a facet cannot be asked that only these kinds of credential may ask, and what to do."""
    what = " or ".join(_WHAT.get((service.provider, kind)) or _KINDS[kind] for kind in takers if kind != NOBODY)
    return f"that takes {what}, and there is none for {service.base}; {how_to_add(service, takers)}"


def how_to_add(service: Service, takers: Sequence[str]) -> str:
    """The command that adds a credential of the first of these kinds."""
    kind = f" --kind {takers[0]}" if takers[0] != USUAL_KIND else ""
    command = f"bowerbird credentials add mine --provider {service.provider}{kind}"
    if service.base == PUBLIC_BLUESKY:
        # Nobody can log in there: it is a cache for everybody.
        place = f'write base = "{LOGIN_BLUESKY}" (or your own server) in the crawl file'
        return f"{place} and add one with: {command} --server {LOGIN_BLUESKY}"
    return f"add one with: {command}{where(service.provider, service.base)}"


def wrong_kind(service: Service, only: str, kinds: Sequence[str]) -> CredentialError:
    """What is said where every credential there is, or none, is of a kind that may not ask this."""
    return CredentialError(
        f"{service.name}: {only} with a credential of kind {' or '.join(kinds)}; add one with: bowerbird credentials add NAME "
        f"--provider {service.provider} --kind {kinds[0]}{where(service.provider, service.base)}"
    )


def where(provider: str, base: str) -> str:
    """The option that binds a new credential to a server, if it must be said."""
    settled = Credential(name="new", provider=provider).belongs_to(base)
    return "" if settled else f" --server {base}"


def _unknown(name: str, service: Service) -> CredentialError:
    return CredentialError(
        f"the vault has no {service.provider} credential called {name!r}; add it with: "
        f"bowerbird credentials add {name} --provider {service.provider}{where(service.provider, service.base)}"
    )
