"""The commands that add and renew credentials, as they can be typed: right for network, kind, server and vault."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import count

from bowerbird.errors import CredentialError, Failure
from bowerbird.model import TRAITS, Credential, Service, origin

NOBODY = "none"
"""The kind of those who ask without a credential."""
USUAL_KIND = "user"
_USUAL_NAME = "mine"
_KINDS = {"user": "the token of a user", "app": "the token of an application"}


def free_name(taken: Collection[str], wanted: str = _USUAL_NAME) -> str:
    """A name for a new credential that the vault does not have yet."""
    names = (wanted if number == 1 else f"{wanted}-{number}" for number in count(1))
    return next(name for name in names if name not in taken)


def add_line(provider: str, kind: str, base: str, name: str) -> str:
    """The command that adds a credential of a kind for a server."""
    said = f" --kind {kind}" if kind != USUAL_KIND else ""
    return f"bowerbird credentials add {name} --provider {provider}{said}{where(provider, base)}"


def renew_line(name: str, provider: str) -> str:
    """The command that gives a credential another secret; all else stays as it was."""
    return f"bowerbird credentials add {name} --provider {provider} --replace"


def best_kinds(tables: Mapping[str, Collection[str]], provider: str, facets: Collection[str]) -> list[str]:
    """The kinds of credential that a service knows, those first that may ask most of these facets."""
    kinds = [kind for kind in tables if kind != NOBODY]
    return sorted(kinds, key=lambda kind: (-len(set(facets) & set(tables[kind])), kind != TRAITS[provider].easiest_kind))


def how_to_add(service: Service, takers: Sequence[str], taken: Collection[str]) -> str:
    """The command that adds a credential of the first of these kinds; `taken`: the names that the vault has already."""
    kind = next(each for each in takers if each != NOBODY)
    if (login := login_at(service.provider, service.base)) != service.base:
        place = f"use the server {login} (or your own) instead of {service.base}"
        return f"{place}, and add one with: {add_line(service.provider, kind, login, free_name(taken))}"
    return f"add one with: {add_line(service.provider, kind, service.base, free_name(taken))}"


def wanting(service: Service, takers: Sequence[str], taken: Collection[str]) -> Failure:
    """Why a facet cannot be asked that only these kinds of credential may ask, and what to do."""
    what = " or ".join(TRAITS[service.provider].credential_names.get(kind, _KINDS[kind]) for kind in takers if kind != NOBODY)
    problem = f"that takes {what}, and there is none for {service.base}"
    return Failure("needs_credential", problem, how_to_add(service, takers, taken))


def wrong_kind(service: Service, only: str, kinds: Sequence[str], taken: Collection[str]) -> CredentialError:
    """What is said where every credential there is, or none, is of a kind that may not ask this."""
    return CredentialError(
        f"{service.name}: {only} with a credential of kind {' or '.join(kinds)}",
        how_to_add(service, kinds, taken),
        code="needs_credential",
    )


def login_at(provider: str, base: str) -> str:
    """Where one logs in to be answered at a base: some answer everybody and let nobody log in."""
    traits = TRAITS[provider]
    return traits.login if traits.login and base == traits.base else base


def where(provider: str, base: str) -> str:
    """The option that binds a new credential to a server, if it must be said."""
    settled = Credential(name="new", provider=provider).belongs_to(base)
    return "" if settled else f" --server {origin(base) or base}"
