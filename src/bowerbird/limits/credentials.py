"""Credentials as users enter them: their secret fields, their servers, vault entries that are no network, offered credentials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from bowerbird.db.addresses import check_address, is_postgres, public
from bowerbird.errors import CredentialError
from bowerbird.model import TRAITS, Credential, Secret, origin
from bowerbird.model.networks import Fields
from bowerbird.ports import Vault

DATABASE = "postgresql"
"""Provider of a vault entry that holds the address of a database."""
MESSAGE = "message"
"""Provider of a vault entry that holds the address of a webhook or a mail server."""
ADDRESS = "address"
KINDS = ("user", "app")
FIELDS: Mapping[tuple[str, str], Fields] = {
    **{(name, kind): fields for name, traits in TRAITS.items() for kind, fields in traits.secrets.items()},
    **{(name, kind): ((ADDRESS,),) for name in (DATABASE, MESSAGE) for kind in KINDS},
}
"""By provider and kind: the alternative sets of secret fields. The first is the one that users are asked for."""
PROVIDERS = tuple(sorted({provider for provider, _ in FIELDS}))
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


def required_fields(provider: str, kind: str) -> Fields:
    """Return the alternative sets of fields; raise `CredentialError` for an unknown provider or kind."""
    if provider not in PROVIDERS:
        raise CredentialError(f"Unknown provider {provider!r}.", f"Use one of {', '.join(PROVIDERS)}.", code="unknown_provider")
    if kind not in KINDS:
        raise CredentialError(f"Unknown kind {kind!r}.", f"Use {' or '.join(KINDS)}.", code="unknown_name")
    return FIELDS[provider, kind]


def other_kind(kind: str) -> str:
    return "app" if kind == "user" else "user"


def complete_secret(given: Mapping[str, str], provider: str, kind: str, hint: str = "") -> dict[str, str]:
    """Return the first set of fields that is complete. Errors name what is missing, and never a value."""
    for each in (kind, other_kind(kind)):
        for fields in FIELDS[provider, each]:
            if all(given.get(name) for name in fields):
                if each != kind:
                    raise CredentialError(
                        f"{' + '.join(fields)} is a secret of kind {each} on {provider}.",
                        f"Add --kind {each}.",
                        code="needs_option",
                    )
                return {name: checked_value(name, given[name]) for name in fields}
    entered = ", ".join(sorted(name for name in given if given[name])) or "nothing"
    raise CredentialError(
        f"The secret is incomplete (given: {entered}).", f"{needed_fields(FIELDS[provider, kind])}{hint}", code="missing_value"
    )


def checked_value(name: str, value: str) -> str:
    value = value.strip()
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise CredentialError(f"{name} must be one word of ASCII characters.", "Copy it again from the service.")
    return value


def needed_fields(choices: Fields) -> str:
    """`Needed: bearer_token, or consumer_key + consumer_secret`."""
    return f"Needed: {', or '.join(' + '.join(choice) for choice in choices)}"


def credential_servers(provider: str, servers: Sequence[str]) -> tuple[str, ...]:
    """Return the servers that may receive the secret; none for a network with a single API."""
    traits = TRAITS[provider]
    if not servers and not traits.servers:
        raise CredentialError(
            "The credential needs the server that issued it.", f"Add --server {traits.login or traits.base}", code="needs_option"
        )
    addresses = tuple(dict.fromkeys(server_address(each, "--server") for each in servers))
    if traits.has_one_home and len(addresses) > 1:
        raise CredentialError(
            f"A credential of {provider} belongs to one server.", "Name the server that opens its sessions.", code="too_many"
        )
    return addresses


def server_address(text: str, option: str) -> str:
    """Return the base address of a server. Secrets are sent there, so it must use TLS unless it is this machine."""
    url = text if "://" in text else f"https://{text}"
    base = origin(url)
    try:
        parts = urlsplit(url)
        is_safe = base.startswith("https://") or urlsplit(base).hostname in _LOCAL_HOSTS
    except ValueError:
        is_safe = False
    if not base or not is_safe or parts.path.strip("/") or parts.query or parts.fragment:
        raise CredentialError(
            f"Invalid {option} {text!r}.",
            "Use the address of the server, such as https://mastodon.social.",
            code="invalid_address",
        )
    return base


def address_entry(provider: str, name: str, values: Mapping[str, str]) -> Credential:
    """Return the vault entry of a database, webhook or mail server; only its address without the password is public."""
    address = values[ADDRESS]
    url = urlsplit(address)
    if provider == DATABASE:
        if not is_postgres(address):
            raise CredentialError(
                "Invalid database address.", "Use postgresql://user:password@host/database.", code="invalid_address"
            )
        check_address(address)
        shown = public(address)
    elif url.scheme in ("http", "https", "smtp", "smtps") and url.hostname:
        shown = f"{url.scheme}://{url.hostname}"
    else:
        raise CredentialError(
            "Invalid address.",
            "Use https://… for a webhook or smtp://user:password@host:587 for mail.",
            code="invalid_address",
        )
    return Credential(name=name, provider=provider, account=name, servers=(shown,))


def crawl_file_line(entry: Credential) -> str:
    """Return how a crawl file refers to the entry."""
    if entry.provider == DATABASE:
        return f'In a crawl file write: store = "vault:{entry.name}"'
    key = "server" if entry.servers[0].startswith("smtp") else "webhook"
    return f'In [modules.notification] write: {key} = "vault:{entry.name}"'


class CombinedVault:
    """Our own credentials, if this process makes calls, and those that other workers offer by name. Implements `ports.Vault`."""

    def __init__(self, own: Vault | None, offered: Sequence[Credential]) -> None:
        self._own = own
        self._offered = offered

    def credentials(self) -> Sequence[Credential]:
        own = self._own.credentials() if self._own else ()
        names = {each.name for each in own}
        return [*own, *(each for each in self._offered if each.name not in names)]

    def secret(self, name: str) -> Secret:
        is_offered = any(each.name == name for each in self._offered)
        if self._own is None or (is_offered and all(each.name != name for each in self._own.credentials())):
            raise CredentialError(f"The secret of {name!r} is with the worker that offered it.")
        return self._own.secret(name)

    def keep(self, secret: Secret) -> None:
        if self._own is not None:
            self._own.keep(secret)
