"""Where a secret may be sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bowerbird.clock import RealClock
from bowerbird.crawl.access.signing import Signer
from bowerbird.errors import CredentialError
from bowerbird.model import Credential, Request, Secret, Service
from bowerbird.providers import provider

HOME = Service(name="home", provider="mastodon", base="https://home.example")
OTHER = Service(name="other", provider="mastodon", base="https://other.example")


class OneToken:
    """A vault with the token of one server; implements `ports.Vault`."""

    def credentials(self) -> Sequence[Credential]:
        return [Credential(name="mine", provider="mastodon", servers=(HOME.base,))]

    def secret(self, name: str) -> Secret:
        return Secret(name=name, values={"access_token": "token-of-home"})

    def keep(self, secret: Secret) -> None:
        raise NotImplementedError


async def sign(service: Service, host: Service | None = None) -> Request:
    transport: Any = None
    signer = Signer(OneToken(), transport, RealClock())
    mastodon = provider("mastodon")
    signed = await signer.signed(Request(path="/api/v1/x"), "mine", mastodon, service, host)
    assert isinstance(signed, Request)
    return signed


async def test_signed_request_to_own_server_holds_the_token() -> None:
    assert "token-of-home" in repr((await sign(HOME)).headers)


@pytest.mark.parametrize(("service", "host"), [(OTHER, None), (HOME, OTHER)])
async def test_signed_request_to_another_server_is_refused(service: Service, host: Service | None) -> None:
    with pytest.raises(CredentialError):
        await sign(service, host)
