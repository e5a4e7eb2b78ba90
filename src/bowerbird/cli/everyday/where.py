"""Whom a command asks: recognised from handles, addresses and ids, or told with `--on`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.flows.language.spelling import meant
from bowerbird.model import TRAITS, KeyForm

_HOSTS = {host: each.provider for each in TRAITS.values() for host in each.shortcuts.pages}
"""By the host of a page that people look at."""
_APIS = {urlsplit(each.base).netloc: each.provider for each in TRAITS.values() if each.network.keys is not KeyForm.LOCAL}
_APIS |= _HOSTS
_NAMES = tuple(each.provider for each in TRAITS.values() if each.network.keys is not KeyForm.LOCAL)
_MANY = next(each for each in TRAITS.values() if each.network.keys is KeyForm.LOCAL)
"""The network of many servers."""
_DOMAINS = next(each for each in TRAITS.values() if each.network.naming.has_domain_handles)
_MARKS = {mark: each for each in TRAITS.values() for mark in each.shortcuts.marks}
_ALONE = tuple(each.provider for each in TRAITS.values() if each.provider == each.network.name and each is not _MANY)
"""Networks with one API for everybody, by the one that is usually asked."""
_SERVER = urlsplit(_MANY.base).netloc
NAMED = ", ".join(_ALONE)
ON = f"{', '.join(f'--on {name}' for name in _ALONE)} or --on with the name of a Mastodon server, such as --on {_SERVER}"
_FEDERATED = re.compile(r"@?[\w.-]+@([\w-]+(?:\.[\w-]+)+(?::\d+)?)", re.ASCII)
_DOMAIN = re.compile(r"@?(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*", re.ASCII | re.IGNORECASE)
_MOST = 50
"""Servers that one command asks."""
HOW = (
    f"write a handle with its network (@alice.bsky.social, @alice@mastodon.social), an address (https://x.com/alice), or add {ON}"
)


class Where(Struct, frozen=True):
    """One service by its API and its address."""

    provider: str
    base: str

    @property
    def host(self) -> str:
        return urlsplit(self.base).netloc


def told(on: str, provider: str | None = None) -> Where:
    """What `--on` names: a network, a Mastodon server, or an address; `provider` says which API an address speaks."""
    if provider is not None and provider not in TRAITS:
        raise UserError(
            f"there is no provider {provider!r}{meant(provider, TRAITS)}",
            f"there are: {', '.join(sorted(TRAITS))}",
            code="unknown_provider",
        )
    name = on.strip().rstrip("/")
    if name.lower() in _NAMES and provider is None:
        return Where(name.lower(), TRAITS[name.lower()].base)
    if name.lower() == _MANY.provider:
        raise UserError(f"{_MANY.provider} has many servers", f"name one, such as --on {_SERVER}", code="needs_option")
    if "://" in name:
        return _address(name, provider)
    if not _DOMAIN.fullmatch(name.partition(":")[0]) or name.startswith("@"):
        known = (*_NAMES, _SERVER)
        raise UserError(
            f"--on {on!r} is no network and no server{meant(name, known)}",
            f"write {NAMED} or a host name",
            code="unknown_network",
        )
    return _address(f"https://{name}", provider)


def _address(address: str, provider: str | None) -> Where:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.username or parts.password:
        raise UserError(
            f"--on {address!r} is no address of a server", f"write for example --on {_MANY.base}", code="invalid_address"
        )
    known = provider or _provider_at(parts.netloc.lower())
    if known is not None and provider is None:
        return Where(known, TRAITS[known].base)
    return Where(known or _MANY.provider, f"{parts.scheme}://{parts.netloc}")


def _provider_at(host: str) -> str | None:
    return _APIS.get(host.removeprefix("www."))


def recognised(text: str) -> Where | None:
    """The service that what was written names by itself; None where it could be anywhere."""
    written = text.strip()
    for mark, traits in _MARKS.items():
        if written.startswith(mark):
            return Where(traits.provider, traits.base)
    if written.startswith(("https://", "http://")):
        parts = urlsplit(written)
        known = _provider_at(parts.netloc.lower())
        return Where(known, TRAITS[known].base) if known else Where(_MANY.provider, f"{parts.scheme}://{parts.netloc.lower()}")
    if found := _FEDERATED.fullmatch(written):
        return Where(_MANY.provider, f"https://{found[1].lower()}")
    return Where(_DOMAINS.provider, _DOMAINS.base) if _DOMAIN.fullmatch(written) else None


def services_of(texts: Iterable[str], what: str) -> list[Where]:
    """The services that all of these name, each once: one, or several servers of Mastodon. Raises `UserError` otherwise."""
    found: dict[Where, str] = {}
    for text in texts:
        where = recognised(text)
        if where is None:
            raise UserError(f"cannot tell on which network {text!r:.60} is", HOW, code="unknown_network")
        found.setdefault(where, text)
    if not found:
        raise UserError(f"{what} needs to know whom to ask", f"add {ON}", code="needs_option")
    if len({where.provider for where in found}) > 1:
        examples = ", ".join(f"{text!r:.60} ({where.provider})" for where, text in list(found.items())[:3])
        raise UserError(f"these are on several networks: {examples}", "run the command once for each of them", code="ambiguous")
    if len(found) > _MOST:
        raise UserError(
            f"these are on {len(found):,} servers, and one command asks at most {_MOST}",
            "split the list, or ask one server that knows them with --on",
            code="too_many",
        )
    return list(found)
