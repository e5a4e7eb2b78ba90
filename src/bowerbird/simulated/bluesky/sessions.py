"""Sessions of the simulated network: app passwords in, tokens that run out."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from bowerbird.simulated.bluesky.call import Call, invalid, refuse
from bowerbird.simulated.bluesky.ids import spelled
from bowerbird.simulated.tokens import IssuedTokens, Token
from bowerbird.simulated.wire import RefusedError, Reply, reply
from bowerbird.simulated.world.hashing import mix

ACCESS_LIFE = timedelta(hours=2)
REFRESH_LIFE = timedelta(days=60)
_STATES = {
    "expired": ("ExpiredToken", "Token has expired"),
    "revoked": ("InvalidToken", "Token could not be verified"),
    "disabled": ("AccountTakedown", "Account has been taken down"),
}


class _Session(Struct, frozen=True):
    token: str
    until: datetime
    is_refresh: bool


class Login(Struct):
    identifier: str = ""
    password: str = ""


class LoginSessions:
    """Logins by account name and app password (a token's own secret); the tokens of the book are access tokens themselves."""

    def __init__(self, tokens: IssuedTokens, domain: str) -> None:
        self._tokens = tokens
        self._domain = domain
        self._open: dict[str, _Session] = {}
        self._serial = 0

    def create(self, call: Call) -> Reply:
        wanted = read_login(call.body)
        if wanted is None:
            raise invalid('Error: Input must have the property "identifier"')
        name = wanted.identifier.removesuffix(f".{self._domain}")
        token = next((each for each in self._tokens if each.kind == "user" and each.account == name), None)
        if token is None or token.secret != wanted.password:
            raise refuse(401, "AuthenticationRequired", "Invalid identifier or password")
        if token.state == "disabled":
            raise _refused(token)
        return self._opened(token, call.arrived_at)

    def renew(self, call: Call, bearer: str) -> Reply:
        session = self._open.pop(bearer, None)
        if session is None or not session.is_refresh:
            raise refuse(400, "InvalidToken", "Token could not be verified")
        if call.arrived_at >= session.until:
            raise refuse(400, "ExpiredToken", "Token has expired")
        token = self._tokens.get(session.token)
        if token is None or token.state == "disabled":
            raise refuse(400, "AccountTakedown", "Account has been taken down")
        return self._opened(token, call.arrived_at)

    def who(self, bearer: str, now: datetime) -> Token:
        """The account behind an access token; raises the error for one that will not do."""
        session = self._open.get(bearer)
        if session is not None and session.is_refresh:
            raise refuse(400, "InvalidToken", "Bad token scope")
        if session is not None and now >= session.until:
            raise refuse(400, "ExpiredToken", "Token has expired")
        token = self._tokens.get(session.token if session else bearer)
        if token is None:
            raise refuse(400, "InvalidToken", "Token could not be verified")
        if token.state != "good" and session is None:
            raise _refused(token)
        return token

    def _opened(self, token: Token, now: datetime) -> Reply:
        self._serial += 1
        access, renewing = (f"sim-{kind}.{token.account}.{self._serial}" for kind in ("access", "refresh"))
        self._open[access] = _Session(token.value, now + ACCESS_LIFE, False)
        self._open[renewing] = _Session(token.value, now + REFRESH_LIFE, True)
        did = f"did:plc:{spelled(mix(sum(token.account.encode())) << 56, 24)}"
        handle = f"{token.account}.{self._domain}"
        return reply({"accessJwt": access, "refreshJwt": renewing, "handle": handle, "did": did, "active": True})


def read_login(body: bytes) -> Login | None:
    try:
        login = msgspec.json.decode(body, type=Login)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return login if login.identifier and login.password else None


def _refused(token: Token) -> RefusedError:
    name, message = _STATES.get(token.state, _STATES["revoked"])
    return refuse(400, name, message)
