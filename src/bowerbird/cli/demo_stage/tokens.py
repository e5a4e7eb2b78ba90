"""The vault of a demo that is shown: pages list what is in it, and crawls that are made there find it."""

from __future__ import annotations

from pathlib import Path

from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.limits.vault import FileVault
from bowerbird.settings import load_settings


def demo_vault(folder: Path) -> FileVault:
    """Of the demo alone: nobody's own secrets are shown or used."""
    return FileVault(folder / "vault", load_settings().vault_password)


def keep_tokens(vault: FileVault, tokens: TokenVault) -> None:
    """Puts the tokens of a simulated service into the vault."""
    for each in tokens.credentials():
        vault.add(each, tokens.secret(each.name), replace=True)
