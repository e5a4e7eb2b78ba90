"""Which credentials a service, and each facet of it, is asked with."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from bowerbird.crawl.files.crawl_file import ServicePlan
from bowerbird.crawl.files.stream_plans import StreamPlan
from bowerbird.crawl.flow import FacetUse
from bowerbird.errors import CredentialError
from bowerbird.model import Channel, Credential
from bowerbird.ports import Vault


def usable_credentials(planned: ServicePlan, vault: Vault) -> tuple[Credential, ...]:
    """The credentials a service is asked with: those named, or every one of its provider in the vault."""
    fitting = {each.name: each for each in vault.credentials() if each.provider == planned.service.provider}
    if not planned.credentials:
        return tuple(fitting.values())
    for name in planned.credentials:
        if name not in fitting:
            raise _unknown(name, planned.service.provider)
    return tuple(fitting[name] for name in planned.credentials)


def own_credentials(use: FacetUse, planned: ServicePlan, vault: Vault) -> tuple[Credential, ...]:
    """Those a facet names for itself, as far as they are of this provider; or all that the service is asked with."""
    known = {each.name: each for each in vault.credentials()}
    for name in use.credentials:
        if name not in known:
            raise _unknown(name, planned.service.provider)
    own = tuple(known[name] for name in use.credentials if known[name].provider == planned.service.provider)
    return own or usable_credentials(planned, vault)


def stream_credential(planned: StreamPlan, channel: Channel, services: Sequence[ServicePlan], vault: Vault) -> Credential | None:
    """Whom a stream is opened as: the one named, or the first whose kind the channel takes."""
    plan = next(each for each in services if each.service.name == planned.service.name)
    named = (planned.credential,) if planned.credential else plan.credentials
    credentials = usable_credentials(structs.replace(plan, credentials=named), vault)
    fitting = [each for each in credentials if not channel.kinds or each.kind in channel.kinds]
    if not fitting and channel.kinds:
        kind = min(channel.kinds)
        raise CredentialError(
            f"{planned.service.name}: the stream {channel.facet.name} can only be opened with a credential of kind "
            f"{' or '.join(sorted(channel.kinds))}; add one with: bowerbird credentials add NAME "
            f"--provider {planned.service.provider} --kind {kind}"
        )
    return fitting[0] if fitting else None


def _unknown(name: str, provider: str) -> CredentialError:
    return CredentialError(
        f"the vault has no {provider} credential called {name!r}; "
        f"add it with: bowerbird credentials add {name} --provider {provider}"
    )
