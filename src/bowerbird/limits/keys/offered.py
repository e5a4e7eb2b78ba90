"""Credentials whose secrets are with other workers: known by name to whoever hands out calls for them."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.errors import CredentialError
from bowerbird.model import Credential, Secret
from bowerbird.ports import Vault


def known_vault(own: Vault, offered: Sequence[Credential], *, makes_calls: bool) -> Vault:
    """All credentials that calls of this process may be made with, by whomever."""
    if makes_calls and not offered:
        return own
    return _KnownVault(own if makes_calls else None, offered)


class _KnownVault:
    """Our own credentials, if we make calls, and those of others."""

    def __init__(self, own: Vault | None, offered: Sequence[Credential]) -> None:
        self._own = own
        self._offered = offered

    def credentials(self) -> Sequence[Credential]:
        own = [] if self._own is None else list(self._own.credentials())
        names = {each.name for each in own}
        return [*own, *(each for each in self._offered if each.name not in names)]

    def secret(self, name: str) -> Secret:
        if self._own is None or name not in {each.name for each in self._own.credentials()}:
            raise CredentialError(f"the secret of {name!r} is with the worker that offered it, and stays there")
        return self._own.secret(name)

    def keep(self, secret: Secret) -> None:
        if self._own is not None:
            self._own.keep(secret)
