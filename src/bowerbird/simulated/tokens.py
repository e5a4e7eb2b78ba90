"""The access tokens a simulated service has given out."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from bowerbird.simulated.world.hashing import mix


class Token(Struct, frozen=True, kw_only=True):
    """One token; `kind` is `user` or `app`, `state` good, revoked, expired or disabled."""

    value: str
    kind: str = "user"
    account: str = ""
    app: str = "app"
    secret: str = ""
    consumer_key: str = ""
    consumer_secret: str = ""
    scopes: tuple[str, ...] = ("read",)
    state: str = "good"


class IssuedTokens:
    """All tokens by value; the same seed gives out the same tokens in the same order."""

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed
        self._tokens: dict[str, Token] = {}

    def __iter__(self) -> Iterator[Token]:
        return iter(self._tokens.values())

    def __len__(self) -> int:
        return len(self._tokens)

    def issue(self, kind: str = "user", *, account: str = "", app: str = "app", scopes: tuple[str, ...] = ("read",)) -> Token:
        """A new token; without an account named, a user token belongs to an account of its own."""
        number = len(self._tokens)
        token = Token(
            value=f"sim-{kind}-{self._secret(number, 1)}",
            kind=kind,
            account=account or (f"user{number}" if kind == "user" else ""),
            app=app,
            secret=self._secret(number, 2),
            consumer_key=f"sim-consumer-{app}",
            consumer_secret=f"sim-consumer-secret-{app}",
            scopes=scopes,
        )
        self._tokens[token.value] = token
        return token

    def get(self, value: str) -> Token | None:
        return self._tokens.get(value)

    def mark(self, value: str, state: str) -> None:
        """Makes a token good, revoked, expired or its owner disabled."""
        self._tokens[value] = replace(self._tokens[value], state=state)

    def _secret(self, number: int, salt: int) -> str:
        return f"{mix(self._seed * 1_000_003 + number, salt):016x}"


def secret_values(token: Token) -> dict[str, str]:
    """A token under the names that the providers ask for: a bearer for Mastodon and for apps, OAuth 1.0a for users of v1.1,
    an app password for Bluesky."""
    if token.kind == "app":
        return {"access_token": token.value, "bearer_token": token.value, "access_jwt": token.value}
    return {
        "access_token": token.value,
        "access_token_secret": token.secret,
        "consumer_key": token.consumer_key,
        "consumer_secret": token.consumer_secret,
        "identifier": token.account,
        "app_password": token.secret,
    }
