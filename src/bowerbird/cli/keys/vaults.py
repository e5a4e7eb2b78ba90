"""What the user's vault holds, for those who only want to know: nobody is asked for its password."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bowerbird.errors import CredentialError
from bowerbird.limits.vault import FileVault
from bowerbird.settings import load_settings


def names_taken(vaults: Iterable[str | Path] = ()) -> frozenset[str] | None:
    """The names in the user's vault and in these; None where one of them is not here, or opens only with its password."""
    settings, found = load_settings(), set[str]()
    if not all(Path(path).is_file() for path in vaults):
        return None
    try:
        for path in {settings.vault, *map(Path, vaults)}:
            found |= {each.name for each in FileVault(path, settings.vault_password).credentials()}
    except CredentialError:
        return None
    return frozenset(found)
