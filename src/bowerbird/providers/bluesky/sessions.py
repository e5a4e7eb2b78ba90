"""Signer: an app password is exchanged for a token that runs out, and that for the next. Pure."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from bowerbird.errors import CredentialError
from bowerbird.model import Answer, Request, Secret
from bowerbird.providers.bluesky.syntax import is_did
from bowerbird.providers.items import UNREADABLE, Reader

_FIELDS = ("identifier", "app_password")


class _Session(Struct, rename="camel"):
    access_jwt: str
    refresh_jwt: str
    did: str
    handle: str = ""
    active: bool | None = None


_sessions = Reader(_Session)


def needs_login(secret: Secret) -> bool:
    """Whether the secret is an app password, as against a bare token that somebody else keeps alive."""
    return bool(secret.values.get("app_password"))


def has_session(secret: Secret) -> bool:
    return bool(secret.values.get("access_jwt"))


def login(secret: Secret) -> Request:
    """Opens a session with the app password."""
    missing = [name for name in _FIELDS if not secret.values.get(name)]
    if missing:
        raise CredentialError(
            f"credential {secret.name} lacks {', '.join(missing)}", "add it again with identifier and app_password"
        )
    body = msgspec.json.encode({"identifier": secret.values["identifier"], "password": secret.values["app_password"]})
    headers = {"content-type": "application/json"}
    return Request(path="/xrpc/com.atproto.server.createSession", method="POST", headers=headers, body=body)


def refresh(secret: Secret) -> Request:
    """Renews a session with its refresh token; without one it is opened anew."""
    token = secret.values.get("refresh_jwt")
    if not token:
        return login(secret)
    headers = {"authorization": f"Bearer {token}"}
    return Request(path="/xrpc/com.atproto.server.refreshSession", method="POST", headers=headers)


def session(secret: Secret, answer: Answer) -> Secret | None:
    """The secret with the session that the answer opens; None when it opens none."""
    if not 200 <= answer.status < 300:
        return None
    try:
        opened = _sessions.read(answer.body)
    except UNREADABLE:
        return None
    if opened.active is False or not opened.access_jwt or not is_did(opened.did):
        return None
    values = {"access_jwt": opened.access_jwt, "refresh_jwt": opened.refresh_jwt, "did": opened.did}
    return Secret(name=secret.name, values={**secret.values, **values})


def signed(request: Request, secret: Secret) -> Request:
    """The request with the session's token; unsigned while an app password has not opened one yet."""
    token = secret.values.get("access_jwt")
    if token:
        return msgspec.structs.replace(request, headers={**request.headers, "authorization": f"Bearer {token}"})
    if needs_login(secret):
        return request
    raise CredentialError(f"credential {secret.name} has neither app_password nor access_jwt", "add it again with one")
