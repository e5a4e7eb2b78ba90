"""From a facet's limits to the charges of one call with one credential."""

from __future__ import annotations

from bowerbird.errors import FlowError, UserError
from bowerbird.model import Charge, Credential, Facet, Limit, Service, Subject
from bowerbird.ports import Provider, Vault

ANONYMOUS = "anonymous"


def fill(facet: Facet, service: str, credential: Credential | None) -> tuple[Charge, ...]:
    """What a call of this facet takes from each bucket at most; calls without a credential share the bucket `anonymous`."""
    names = _names(facet, service, credential)
    return tuple(_charge(facet, limit, names) for limit in facet.limits)


def _charge(facet: Facet, limit: Limit, names: dict[str, str]) -> Charge:
    payer = limit.payer.format_map(names) if limit.payer else ""
    return Charge(_bucket(limit, names), _most(facet, limit), limit, payer=payer)


def fill_login(limits: tuple[Limit, ...], service: str, credential: Credential | None) -> tuple[Charge, ...]:
    """What a login takes from the buckets that a network keeps for logins."""
    return fill(Facet(name="login", subject=Subject.USER, yields=frozenset(), limits=limits), service, credential)


def login_charges(vault: Vault, credential: str, speaks: Provider, service: Service) -> tuple[Charge, ...]:
    """What a login takes from the buckets that the network keeps for logins."""
    owner = next((each for each in vault.credentials() if each.name == credential), None)
    return fill_login(getattr(speaks, "session_limits", ()), service.name, owner)


def renewal_charges(vault: Vault, credential: str, speaks: Provider, service: Service) -> tuple[Charge, ...]:
    """What the renewal of a session takes: the same as any call that it stands before."""
    owner = next((each for each in vault.credentials() if each.name == credential), None)
    charges = fill(next(iter(speaks.facets.values())), service.name, owner)
    return tuple(each for each in charges if not each.limit.only_paged and not each.limit.is_money)


def _names(facet: Facet, service: str, credential: Credential | None) -> dict[str, str]:
    name = credential.name if credential else ANONYMOUS
    account = credential.account if credential else ""
    app = credential.app if credential else ""
    # A credential that does not say whose it is counts as an account and an app of its own.
    return {"service": service, "credential": name, "account": account or name, "app": app or name, "facet": facet.name}


def _bucket(limit: Limit, names: dict[str, str]) -> str:
    try:
        return limit.bucket.format_map(names)
    except (KeyError, ValueError, IndexError) as error:
        allowed = ", ".join(f"{{{name}}}" for name in names)
        raise FlowError(f"the limit's bucket {limit.bucket!r} uses an unknown name ({error}): allowed are {allowed}") from error


def _called(limit: Limit) -> str:
    """What a crawl file calls the limit."""
    return limit.bucket.rsplit("/", 1)[-1].replace("{", "").replace("}", "")


def _most(facet: Facet, limit: Limit) -> int:
    most = limit.per_call + limit.per_result * max(facet.results_per_call, facet.smallest_page)
    # What may be spent is the crawl's own word, and looked at when that is known (`purses.budgeted`).
    if most > limit.allowance and not limit.is_money:
        raise UserError(
            f"one call of {facet.name} may cost {most}, but the limit {_called(limit)!r} allows {limit.allowance} per window, "
            "so it could never be made: ask for fewer results per call or raise the allowance"
        )
    return most
