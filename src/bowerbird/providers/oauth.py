"""OAuth 1.0a request signing with HMAC-SHA1 (RFC 5849); the nonce and the time are given to it."""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from urllib.parse import parse_qsl, quote

from bowerbird.errors import CredentialError
from bowerbird.model import Request, Secret

Pairs = Iterable[tuple[str, str]]

FIELDS = ("consumer_key", "consumer_secret", "access_token", "access_token_secret")


def fresh_nonce() -> str:
    return secrets.token_hex(16)


class Signer:
    """Signs requests to the service at `base` by a clock."""

    def __init__(
        self, base: str, now: Callable[[], datetime] | None, nonce: Callable[[], str] = fresh_nonce
    ) -> None:
        self._base, self._now, self._nonce = base, now, nonce

    def header(self, request: Request, secret: Secret) -> str:
        """The `Authorization` header made with the four OAuth keys of a secret."""
        missing = [name for name in FIELDS if not secret.values.get(name)]
        if missing or self._now is None:
            lacks = ", ".join(missing) or "a clock to sign with"
            raise CredentialError(
                f"credential {secret.name} lacks {lacks}: give it bearer_token, or {', '.join(FIELDS)}"
            )
        timestamp = int(self._now().timestamp())
        return authorization(
            request, self._base, secret.values, nonce=self._nonce(), timestamp=timestamp
        )


def escaped(text: str) -> str:
    return quote(text, safe="-._~", errors="replace")


def signature(
    method: str, url: str, parameters: Pairs, consumer_secret: str, token_secret: str
) -> str:
    """The signature over method, address without query, and every parameter."""
    pairs = sorted((escaped(name), escaped(value)) for name, value in parameters)
    normal = "&".join(f"{name}={value}" for name, value in pairs)
    text = "&".join((method.upper(), escaped(url), escaped(normal)))
    key = f"{escaped(consumer_secret)}&{escaped(token_secret)}"
    return base64.b64encode(hmac.digest(key.encode(), text.encode(), "sha1")).decode()


def authorization(
    request: Request, base: str, secret: Mapping[str, str], *, nonce: str, timestamp: int
) -> str:
    """The `Authorization` header for a request to the service at `base`."""
    oauth = {
        "oauth_consumer_key": secret["consumer_key"],
        "oauth_nonce": nonce,
        "oauth_signature_method": "HMAC-SHA1",
        "oauth_timestamp": str(timestamp),
        "oauth_token": secret["access_token"],
        "oauth_version": "1.0",
    }
    is_form = "json" not in request.headers.get("content-type", "")
    form = (
        parse_qsl(request.body.decode(errors="replace"), keep_blank_values=True) if is_form else []
    )
    pairs = [*oauth.items(), *request.query, *form]
    oauth["oauth_signature"] = signature(
        request.method,
        base + request.path,
        pairs,
        secret["consumer_secret"],
        secret["access_token_secret"],
    )
    return "OAuth " + ", ".join(
        f'{escaped(name)}="{escaped(value)}"' for name, value in sorted(oauth.items())
    )
