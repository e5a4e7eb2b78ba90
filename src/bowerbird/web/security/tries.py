"""How often somebody may try to log in: counted by name and by address, before the password is looked at, in the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from ipaddress import IPv6Address, ip_address

from bowerbird.clock import from_micros, to_micros
from bowerbird.ports import Database, Transaction

WHILE = timedelta(minutes=15)
MOST_BY_NAME = 10
MOST_BY_ADDRESS = 20
_MOST_REMEMBERED = 10_000
_KNOWN = timedelta(days=30)
"""So long an address from which somebody logged in is trusted not to be shut out by strangers who try their name."""
_READ = "select tries, since from dashboard_tries where key = ?"
_COUNT = """
insert into dashboard_tries (key, tries, since) values (?, 1, ?)
on conflict (key) do update set tries = dashboard_tries.tries + 1
"""
_TAKE_BACK = "update dashboard_tries set tries = tries - 1 where key = ? and tries > 0"
_FORGET = "delete from dashboard_tries where key = ?"
_OLD = "delete from dashboard_tries where since < ?"
_TRUST = """
insert into dashboard_tries (key, tries, since) values (?, 0, ?) on conflict (key) do update set since = excluded.since
"""


class Tries:
    """Says whether one more try is allowed, and counts it in the same moment: a thousand at once are no more than one by one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._shut: dict[str, datetime] = {}
        """What was refused, until when: so that a storm of tries costs the database nothing."""

    async def charge(self, name: str, address: str, now: datetime) -> datetime | None:
        """Counts a try; when it is refused, the time from which on another one is allowed."""
        if until := self._remembered(_keys(name, address, is_known=False)[1:], now):
            return until
        async with self._database.transaction() as tx:
            await tx.execute(_OLD, to_micros(now - _KNOWN))
            is_known = await self._is_known(tx, name, address, now)
            keys = _keys(name, address, is_known=is_known)
            if until := self._remembered(keys, now):
                return until
            for key, most in zip(keys, (MOST_BY_NAME, MOST_BY_ADDRESS), strict=True):
                if until := await _full(tx, key, most, now):
                    self._remember(key, until, now)
                    return until
            for key in keys:
                await tx.execute(_COUNT, key, to_micros(now))
        return None

    async def forgive(self, tx: Transaction, name: str, address: str, now: datetime) -> None:
        """After a right password: the tries of this name are forgotten, and its address is known from now on. Of those of the
        address only this one is: else one right password would buy as many wrong ones as somebody likes."""
        for is_known in (True, False):
            await tx.execute(_FORGET, _keys(name, address, is_known=is_known)[0])
        await tx.execute(_TAKE_BACK, _keys(name, address, is_known=False)[1])
        await tx.execute(_TRUST, _pair("known", name, address), to_micros(now))

    async def _is_known(self, tx: Transaction, name: str, address: str, now: datetime) -> bool:
        row = await tx.fetch_one(_READ, _pair("known", name, address))
        return row is not None and now - from_micros(row["since"]) < _KNOWN

    def _remembered(self, keys: Sequence[str], now: datetime) -> datetime | None:
        return next((until for key in keys if (until := self._shut.get(key)) and until > now), None)

    def _remember(self, key: str, until: datetime, now: datetime) -> None:
        if len(self._shut) >= _MOST_REMEMBERED:
            self._shut = {each: end for each, end in self._shut.items() if end > now}
        if len(self._shut) < _MOST_REMEMBERED:
            self._shut[key] = until


async def _full(tx: Transaction, key: str, most: int, now: datetime) -> datetime | None:
    """When the next try is allowed, if this one is too many."""
    row = await tx.fetch_one(_READ, key)
    if row is None:
        return None
    end = from_micros(row["since"]) + WHILE
    if end <= now:
        await tx.execute(_FORGET, key)
        return None
    return end if row["tries"] >= most else None


def _keys(name: str, address: str, *, is_known: bool) -> tuple[str, str]:
    """Where tries are counted: those of a name all together, but those from an address that its owner uses apart."""
    by_name = _pair("tried", name, address) if is_known else _hashed("name", name)
    return by_name, _hashed("address", network_of(address))


def network_of(address: str) -> str:
    """What one person has of addresses: one of version 4, and of version 6 a whole network of 64 bits."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(IPv6Address(int(parsed) >> 64 << 64))
    return str(parsed)


def _pair(kind: str, name: str, address: str) -> str:
    return _hashed(kind, f"{network_of(address)} {name}")


def _hashed(kind: str, text: str) -> str:
    # People type passwords where names belong: what was typed is not kept.
    return sha256(f"{kind} {text}".encode(errors="replace")).hexdigest()
