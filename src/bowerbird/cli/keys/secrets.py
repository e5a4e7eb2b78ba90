"""Which secret fields a provider needs, and how they come in: environment, standard input or prompt; never the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TextIO

import typer

from bowerbird.errors import CredentialError
from bowerbird.model import TRAITS
from bowerbird.model.networks.traits import Fields
from bowerbird.settings import SECRET_PREFIX, secret_from_environment

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
_MOST_INPUT = 64 * 1024


def read_secret(provider: str, kind: str, *, from_stdin: bool) -> dict[str, str]:
    """One complete set of fields for this kind of credential."""
    choices = required_fields(provider, kind)
    if from_stdin:
        read = _parse(sys.stdin, choices)
        _check_kind(read, provider, kind)
        return _complete(read, choices)
    given = _from_environment(choices)
    if given:
        return _complete(given, choices)
    _check_kind(_from_environment(_of_other(provider, kind)), provider, kind)
    if not sys.stdin.isatty():
        raise CredentialError(f"no secret was given; {_ways(choices)}")
    return {name: _prompt(name) for name in choices[0]}


def _of_other(provider: str, kind: str) -> Fields:
    return FIELDS[provider, "app" if kind == "user" else "user"]


def _check_kind(given: Mapping[str, str], provider: str, kind: str) -> None:
    """Raises where the secret is a whole one, but of the other kind of credential."""
    own, others = FIELDS[provider, kind], _of_other(provider, kind)
    found = next((choice for choice in others if all(given.get(name) for name in choice)), None)
    if found is not None and not any(all(given.get(name) for name in choice) for choice in own):
        other = "app" if kind == "user" else "user"
        raise CredentialError(f"{' + '.join(found)} is a secret of kind {other} on {provider}, not {kind}: add --kind {other}")


def required_fields(provider: str, kind: str) -> Fields:
    """The sets of fields that will do; raises for a provider or kind that does not exist."""
    if provider not in PROVIDERS:
        raise CredentialError(f"no provider is called {provider!r}; there are {', '.join(PROVIDERS)}")
    if kind not in KINDS:
        raise CredentialError(f"a credential is of kind {' or '.join(KINDS)}, not {kind!r}")
    return FIELDS[provider, kind]


def _from_environment(choices: Fields) -> dict[str, str]:
    names = dict.fromkeys(name for choice in choices for name in choice)
    return {name: value for name in names if (value := secret_from_environment(name))}


def _prompt(name: str) -> str:
    value: str = typer.prompt(f"{name} (not shown)", hide_input=True, err=True)
    return _checked(name, value)


def _parse(source: TextIO, choices: Fields) -> dict[str, str]:
    text = source.read(_MOST_INPUT).strip()
    if text.startswith("{"):
        return _parse_json(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and "=" not in lines[0].rstrip("=") and len(choices[0]) == 1:
        return {choices[0][0]: lines[0]}
    if not all("=" in line for line in lines):
        raise CredentialError(f"standard input must hold lines of field=value, or one JSON object; {_ways(choices)}")
    return {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}


def _parse_json(text: str) -> dict[str, str]:
    try:
        values = json.loads(text)
    except ValueError:
        # Not `from error`: its message could quote the secret.
        raise CredentialError("standard input begins like JSON but is not; write one object of field names and texts") from None
    if not all(isinstance(value, str) for value in values.values()):
        raise CredentialError("every field of the JSON object on standard input must be text")
    return dict(values)


def _complete(given: Mapping[str, str], choices: Fields) -> dict[str, str]:
    for choice in choices:
        if all(given.get(name) for name in choice):
            return {name: _checked(name, given[name]) for name in choice}
    named = ", ".join(sorted(given)) or "nothing"
    raise CredentialError(f"the secret is not complete (given: {named}); {_ways(choices)}")


def _checked(name: str, value: str) -> str:
    value = value.strip()
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise CredentialError(f"{name} must be a single word of plain ASCII characters, as the service shows it; copy it again")
    return value


def _ways(choices: Fields) -> str:
    wanted = ", or ".join(" + ".join(choice) for choice in choices)
    return f"needed: {wanted}. Set {SECRET_PREFIX}{choices[0][0].upper()} …, use --stdin, or run this in a terminal to be asked"
