"""The key of pseudonyms, which is kept where the other secrets are."""

from __future__ import annotations

import secrets
from pathlib import Path

from bowerbird.cli.commands.crawling.credentials import open_vault
from bowerbird.errors import UserError
from bowerbird.export.jobs.pseudonyms import read_key
from bowerbird.model import Credential, Secret
from bowerbird.settings import load_settings

_NAME = "pseudonyms"
_FIELD = "key"
_FILE = "pseudonyms.key"
"""Where earlier versions made one: whoever has it goes on with the same pseudonyms."""


def pseudonym_key(named: Path | None) -> bytes:
    """The key in the file that is named, or else the one in the vault, which is made where there is none."""
    settings = load_settings()
    earlier = settings.config_folder / _FILE
    if named is not None or earlier.is_file():
        return read_key(named or earlier)
    vault = open_vault(settings)
    known = {each.name: each.provider for each in vault.credentials()}
    if _NAME not in known:
        made = Secret(name=_NAME, values={_FIELD: secrets.token_hex(32)})
        vault.add(Credential(name=_NAME, provider=_NAME, account=_NAME, servers=("nobody",)), made)
    elif known[_NAME] != _NAME:
        raise UserError(f"{_NAME!r} in {vault.path} is a credential of {known[_NAME]}", "name a file for the key with --key FILE")
    return bytes.fromhex(vault.secret(_NAME).values[_FIELD])
