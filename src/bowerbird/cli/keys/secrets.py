"""How the fields of a secret come in: environment, standard input or prompt; never the command line."""

from __future__ import annotations

import json
import sys
from typing import TextIO

import typer

from bowerbird.errors import CredentialError
from bowerbird.limits.credentials import FIELDS, checked_value, complete_secret, needed_fields, other_kind, required_fields
from bowerbird.model.networks import Fields
from bowerbird.settings import SECRET_PREFIX, secret_from_environment

_MOST_INPUT = 64 * 1024


def read_secret(provider: str, kind: str, *, from_stdin: bool) -> dict[str, str]:
    """One complete set of fields for this kind of credential."""
    choices = required_fields(provider, kind)
    others = FIELDS[provider, other_kind(kind)]
    given = _parse(sys.stdin, choices) if from_stdin else _from_environment(choices)
    if not given and any(all(secret_from_environment(name) for name in fields) for fields in others):
        given = _from_environment(others)
    if given or from_stdin:
        return complete_secret(given, provider, kind, _ways(choices))
    if not sys.stdin.isatty():
        raise CredentialError("no secret was given", f"{needed_fields(choices)}{_ways(choices)}", code="needs_credential")
    return {name: _prompt(name) for name in choices[0]}


def _from_environment(choices: Fields) -> dict[str, str]:
    names = dict.fromkeys(name for choice in choices for name in choice)
    return {name: value for name in names if (value := secret_from_environment(name))}


def _prompt(name: str) -> str:
    value: str = typer.prompt(f"{name} (not shown)", hide_input=True, err=True)
    return checked_value(name, value)


def _parse(source: TextIO, choices: Fields) -> dict[str, str]:
    text = source.read(_MOST_INPUT).strip()
    if text.startswith("{"):
        return _parse_json(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and "=" not in lines[0].rstrip("=") and len(choices[0]) == 1:
        return {choices[0][0]: lines[0]}
    if not all("=" in line for line in lines):
        raise CredentialError(
            "standard input must hold lines of field=value, or one JSON object", f"{needed_fields(choices)}{_ways(choices)}"
        )
    return {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}


def _parse_json(text: str) -> dict[str, str]:
    try:
        values = json.loads(text)
    except ValueError:
        # Not `from error`: its message could quote the secret.
        raise CredentialError(
            "standard input begins like JSON but is not", "write one object of field names and texts", code="file_unreadable"
        ) from None
    if not all(isinstance(value, str) for value in values.values()):
        raise CredentialError("every field of the JSON object on standard input must be text")
    return dict(values)


def _ways(choices: Fields) -> str:
    return f". Set {SECRET_PREFIX}{choices[0][0].upper()} …, use --stdin, or run this in a terminal to be asked"
