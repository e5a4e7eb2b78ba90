"""Which credentials a service, and each facet of it, is asked with."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from bowerbird.crawl.access.how_to_add import NOBODY, USUAL_KIND, add_line, how_to_add, wrong_kind
from bowerbird.crawl.access.ownership import check_belongs, foreign, unbound
from bowerbird.errors import CredentialError
from bowerbird.flows.files.crawl_file import ServicePlan
from bowerbird.flows.files.sections.stream_plans import StreamPlan
from bowerbird.flows.flow import FacetUse
from bowerbird.model import Channel, Credential, Service
from bowerbird.ports import Vault


def usable_credentials(planned: ServicePlan, vault: Vault) -> tuple[Credential, ...]:
    """The credentials a service is asked with: those named, or every one in the vault that belongs to this very server.

    Raises `CredentialError` for one that is named and belongs elsewhere, or when all there is belongs to nobody yet.
    """
    service = planned.service
    known = {each.name: each for each in vault.credentials() if each.provider == service.provider}
    for name in planned.credentials:
        if name not in known:
            raise _unknown(name, service, vault)
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
            raise _unknown(name, service, vault)
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


def stream_credentials(
    planned: StreamPlan, channel: Channel, services: Sequence[ServicePlan], vault: Vault
) -> tuple[Credential, ...]:
    """Whom a stream may be opened as: the one named, or all of its host's whose kind the channel takes; nobody: it is opened
    without a credential."""
    plan = next(each for each in services if each.service.name == planned.service.name)
    if planned.credential:
        named = structs.replace(plan, service=planned.host, credentials=(planned.credential,))
        candidates = usable_credentials(named, vault)
    else:
        candidates = usable_credentials(plan, vault)
    fitting = [each for each in candidates if not channel.kinds or each.kind in channel.kinds]
    own = [each for each in fitting if each.belongs_to(planned.host.base)]
    if own or not channel.kinds:
        return tuple(own)
    if fitting:
        # It would do, but the stream comes from another host than the rest.
        raise foreign(fitting[0], planned.host.base)
    raise wrong_kind(planned.host, f"the stream {channel.facet.name} can only be opened", sorted(channel.kinds), names_in(vault))


def kinds_of(use: FacetUse, planned: ServicePlan, services: Sequence[ServicePlan], vault: Vault) -> frozenset[str]:
    """The kinds of the credentials that a facet is asked with; `none` where it is asked without."""
    return frozenset(each.kind for each in own_credentials(use, planned, services, vault)) or frozenset({NOBODY})


class Asking(Struct, frozen=True):
    """With what a service of a crawl is asked."""

    planned: ServicePlan
    services: Sequence[ServicePlan]
    vault: Vault

    def kinds(self, use: FacetUse) -> frozenset[str]:
        """The kinds of the credentials that a facet is asked with; `none` where it is asked without."""
        return kinds_of(use, self.planned, self.services, self.vault)

    @property
    def taken(self) -> tuple[str, ...]:
        """The names that new credentials cannot have."""
        return names_in(self.vault)


def names_in(vault: Vault) -> tuple[str, ...]:
    return tuple(each.name for each in vault.credentials())


def _unknown(name: str, service: Service, vault: Vault) -> CredentialError:
    """What is said of a credential that a crawl file names and the vault does not have, or has for another network."""
    line = add_line(service.provider, USUAL_KIND, service.base, name)
    other = next((each.provider for each in vault.credentials() if each.name == name), None)
    if other is None:
        return CredentialError(
            f"the vault has no {service.provider} credential called {name!r}", f"add it with: {line}", code="unknown_credential"
        )
    return CredentialError(
        f"{name!r} is a credential for {other}, and {service.name} speaks {service.provider}",
        f"name one of its own in the crawl file, or {how_to_add(service, [USUAL_KIND], names_in(vault))}",
        code="credential_of_other_server",
    )
