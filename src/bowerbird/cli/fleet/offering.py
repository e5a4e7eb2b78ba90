"""The credentials that a worker offers: those of its vault that open networks, or some of them."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.errors import CredentialError
from bowerbird.limits.vault import FileVault
from bowerbird.model import TRAITS, Credential, Secret


class Offering:
    """A vault seen through what is offered of it. Implements `ports.Vault`."""

    def __init__(self, whole: FileVault, names: tuple[str, ...] = ()) -> None:
        """`names`: the only ones that are offered; none: all."""
        self.whole = whole
        self._names = names
        there = {each.name for each in self.credentials()}
        if missing := [name for name in names if name not in there]:
            raise CredentialError(
                f"{whole.path} has no credential {missing[0]!r}",
                "`bowerbird credentials list` shows what there is",
                code="unknown_credential",
            )

    def credentials(self) -> Sequence[Credential]:
        known = (each for each in self.whole.credentials() if each.provider in TRAITS)
        return [each for each in known if not self._names or each.name in self._names]

    def secret(self, name: str) -> Secret:
        return self.whole.secret(name)

    def keep(self, secret: Secret) -> None:
        self.whole.keep(secret)
