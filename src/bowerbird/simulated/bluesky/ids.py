"""DIDs, handles, TIDs and CIDs of the simulated network: each leads back to the world's numbers without an index."""

from __future__ import annotations

from hashlib import sha256

import libipld

from bowerbird.simulated.world import World
from bowerbird.simulated.world.hashing import mix
from bowerbird.simulated.world.posts.rows import REPOST, SNOWFLAKE_EPOCH, author_of, ms_of, number_of

POST = "app.bsky.feed.post"
LIKED = "app.bsky.feed.like"
REPOSTED = "app.bsky.feed.repost"
FOLLOW = "app.bsky.graph.follow"
LIST = "app.bsky.graph.list"
PROFILE = "app.bsky.actor.profile"

_DIGITS = "234567abcdefghijklmnopqrstuvwxyz"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_TID_LENGTH = 13
_ACCOUNT_DIGITS = 4


def spelled(number: int, length: int = _TID_LENGTH) -> str:
    """A number in the sortable base 32 of record keys."""
    return "".join(_DIGITS[number >> 5 * place & 31] for place in range(length - 1, -1, -1))


def number_spelled(text: str) -> int | None:
    if not text or len(text) > _TID_LENGTH or not all(digit in _VALUES for digit in text):
        return None
    number = 0
    for digit in text:
        number = number << 5 | _VALUES[digit]
    return number


def tid(ms: int, who: int) -> str:
    """A TID that carries a time and a number below a million: microseconds and clock have room for it."""
    return spelled((ms * 1000 + who % 1000) << 10 | who // 1000)


def ms_of_tid(text: str) -> int | None:
    number = number_spelled(text) if len(text) == _TID_LENGTH else None
    return None if number is None else (number >> 10) // 1000


def cid_of(text: str, *, is_file: bool = False) -> str:
    """A made-up CID for what has no bytes here: files, heads, lists."""
    return libipld.encode_cid((b"\x01\x55" if is_file else b"\x01\x71") + b"\x12\x20" + sha256(text.encode()).digest())


class Ids:
    """Names of one world's accounts and records."""

    def __init__(self, world: World, domain: str) -> None:
        self._world = world
        self._domain = domain
        self._dids: dict[int, str] = {}

    def did(self, account: int) -> str:
        known = self._dids.get(account)
        if known is None:
            known = self._dids[account] = self._did(account)
        return known

    def account(self, did: str) -> int | None:
        """The account of a DID of this world, whatever has become of it."""
        account = number_spelled(did[-_ACCOUNT_DIGITS:]) if len(did) == 32 else None
        return account if account is not None and account < len(self._world) and self.did(account) == did else None

    def handle(self, account: int, now: int) -> str:
        return f"{self._world.profiles.at(account, now).handle.replace('_', '-')}.{self._domain}"

    def named(self, handle: str, now: int) -> int | None:
        """The account that bears this handle now."""
        name = handle.casefold().removesuffix(f".{self._domain}").replace("-", "_")
        account = self._world.profiles.account_of(name, now)
        return account if account is not None and self.handle(account, now) == handle.casefold() else None

    def post(self, number: int) -> str:
        """The at-uri of a post or repost."""
        row = self._world.row(number, ms_of(number))
        return self.uri(author_of(number), REPOSTED if row is not None and row.kind == REPOST else POST, self.rkey(number))

    def uri(self, account: int, collection: str, rkey: str) -> str:
        return f"at://{self.did(account)}/{collection}/{rkey}"

    def rkey(self, number: int) -> str:
        return tid(ms_of(number), author_of(number))

    def number(self, account: int, rkey: str) -> int | None:
        """The number that a post of this account and record key would have."""
        ms = ms_of_tid(rkey)
        return None if ms is None or ms < SNOWFLAKE_EPOCH or ms >= 1 << 41 else number_of(ms, account)

    def with_did(self, uri: str, now: int) -> str:
        """The at-uri with its author's DID, where a handle stands for it."""
        name, slash, rest = uri.removeprefix("at://").partition("/")
        account = None if name.startswith("did:") else self.named(name, now)
        return uri if account is None else f"at://{self.did(account)}{slash}{rest}"

    def split(self, uri: str) -> tuple[int, str, str] | None:
        """Account, collection and record key of an at-uri of this world."""
        did, _, rest = uri.removeprefix("at://").partition("/")
        collection, _, rkey = rest.partition("/")
        account = self.account(did) if uri.startswith("at://") else None
        return (account, collection, rkey) if account is not None and rkey else None

    def _did(self, account: int) -> str:
        seed = self._world.settings.seed
        words = mix(account, seed ^ 0xD1D) << 64 | mix(account, seed ^ 0xD1E)
        return f"did:plc:{spelled(words, 20)}{spelled(account, _ACCOUNT_DIGITS)}"
