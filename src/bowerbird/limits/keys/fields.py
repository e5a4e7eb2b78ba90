"""Which secret fields a provider needs, and whether what was given is a whole secret."""

from __future__ import annotations

from collections.abc import Mapping

from bowerbird.errors import CredentialError
from bowerbird.model import TRAITS
from bowerbird.model.networks.traits import Fields

DATABASE = "postgresql"
"""No network: an entry of the vault that holds the address of a database."""
MESSAGE = "message"
"""No network either: an entry that holds the address of a webhook or of a mail server."""
ADDRESS = "address"
FIELDS: Mapping[tuple[str, str], Fields] = {
    **{(name, kind): fields for name, each in TRAITS.items() for kind, fields in each.secrets.items()},
    (DATABASE, "user"): ((ADDRESS,),),
    (DATABASE, "app"): ((ADDRESS,),),
    (MESSAGE, "user"): ((ADDRESS,),),
    (MESSAGE, "app"): ((ADDRESS,),),
}
"""By provider and kind: the sets of fields that will do; the first is the one a person is asked for."""

PROVIDERS = tuple(sorted({provider for provider, _ in FIELDS}))
KINDS = ("user", "app")


def required_fields(provider: str, kind: str) -> Fields:
    """The sets of fields that will do; raises for a provider or kind that does not exist."""
    if provider not in PROVIDERS:
        raise CredentialError(f"no provider is called {provider!r}; there are {', '.join(PROVIDERS)}")
    if kind not in KINDS:
        raise CredentialError(f"a credential is of kind {' or '.join(KINDS)}, not {kind!r}")
    return FIELDS[provider, kind]


def fields_of_other(provider: str, kind: str) -> Fields:
    """Those of the other kind of credential."""
    return FIELDS[provider, _other(kind)]


def check_kind(given: Mapping[str, str], provider: str, kind: str) -> None:
    """Raises where the secret is a whole one, but of the other kind of credential."""
    own, others = FIELDS[provider, kind], fields_of_other(provider, kind)
    found = next((choice for choice in others if all(given.get(name) for name in choice)), None)
    if found is not None and not any(all(given.get(name) for name in choice) for choice in own):
        other = _other(kind)
        raise CredentialError(f"{' + '.join(found)} is a secret of kind {other} on {provider}, not {kind}: add --kind {other}")


def complete(given: Mapping[str, str], choices: Fields, advice: str = "") -> dict[str, str]:
    """The first set of fields of which all are given; raises `CredentialError` that names what is needed, and never a value."""
    for choice in choices:
        if all(given.get(name) for name in choice):
            return {name: checked(name, given[name]) for name in choice}
    named = ", ".join(sorted(name for name in given if given[name])) or "nothing"
    raise CredentialError(f"the secret is not complete (given: {named}); {needed(choices)}{advice}")


def checked(name: str, value: str) -> str:
    """One field as services show it."""
    value = value.strip()
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise CredentialError(f"{name} must be a single word of plain ASCII characters, as the service shows it; copy it again")
    return value


def needed(choices: Fields) -> str:
    """`needed: bearer_token, or consumer_key + consumer_secret`."""
    return f"needed: {', or '.join(' + '.join(choice) for choice in choices)}"


def _other(kind: str) -> str:
    return "app" if kind == "user" else "user"
