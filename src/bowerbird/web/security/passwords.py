"""Passwords of the dashboard: argon2id, one at a time in a thread of low priority, so that no storm of logins stops a crawl."""

from __future__ import annotations

import asyncio
import os
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.ports import Clock
from bowerbird.transport.serving import needed_for_web

SHORTEST, LONGEST = 10, 1024
"""Characters; the second is far more than anybody types, and keeps the work of a login bounded."""
_MOST_WAITING = 8
_FEW = 4
"""A password of fewer different characters is no password."""


class Cost(Struct, frozen=True):
    """What one hash takes: passes, kibibytes. One lane: more of them would take more cores at once from a crawl."""

    passes: int = 3
    memory: int = 64 * 1024


class Crowded(Exception):
    """So many passwords wait to be looked at that no more are taken."""


def checked(password: str, name: str) -> str:
    """A password that somebody wants to have; raises `UserError` for one that is easily guessed."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise UserError(
            f"a password has from {SHORTEST} to {LONGEST:,} characters, this one has {len(password):,}", code="weak_password"
        )
    if len(set(password)) < _FEW:
        raise UserError(f"this password has fewer than {_FEW} different characters", "choose another", code="weak_password")
    if name.casefold() in password.casefold() and len(password) - len(name) < SHORTEST // 2:
        raise UserError("this password is little more than the name", "choose another", code="weak_password")
    return password


class Passwords:
    """Makes and compares hashes; `fits` takes equally long whether there is such a person or not."""

    def __init__(self, clock: Clock, cost: Cost | None = None) -> None:
        cost = cost or Cost()
        argon2 = needed_for_web("argon2")
        self._clock = clock
        self._hasher = argon2.PasswordHasher(time_cost=cost.passes, memory_cost=cost.memory, parallelism=1)
        self._wrong = (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError)
        self._thread = ThreadPoolExecutor(1, "passwords", initializer=_step_back)
        self._nobodys: str | None = None
        self._waiting = 0

    async def hash(self, password: str) -> str:
        return str(await self._aside(self._hasher.hash, _same(password)))

    async def fits(self, hash_: str | None, password: str) -> bool:
        """Whether it is the password of this hash; None: of nobody, which takes as long. Raises `Crowded`."""
        return bool(await self._aside(self._compare, hash_, _same(password)))

    def is_outdated(self, hash_: str) -> bool:
        """Whether it was made at another cost than this one."""
        return bool(self._hasher.check_needs_rehash(hash_))

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def prepare(self) -> None:
        """Makes what strangers are compared with, so that the first of them takes no longer than the others."""
        if self._nobodys is None:
            self._nobodys = str(await self._aside(self._hasher.hash, os.urandom(16).hex()))

    def _compare(self, hash_: str | None, password: str) -> bool:
        try:
            self._hasher.verify(hash_ or self._nobodys or "", password)
        except self._wrong:
            return False
        return hash_ is not None

    async def _aside(self, work: Any, *values: Any) -> Any:
        if self._waiting >= _MOST_WAITING:
            raise Crowded
        self._waiting += 1
        try:
            with self._clock.outside():
                return await asyncio.get_running_loop().run_in_executor(self._thread, work, *values)
        finally:
            self._waiting -= 1


def _same(password: str) -> str:
    # What keyboards spell in different ways is the same password; and nobody makes us hash a megabyte.
    return unicodedata.normalize("NFKC", password[:LONGEST])


def _step_back() -> None:
    """Lets every other thread go first: on Linux the calling thread alone gets this priority."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, 0, 19)
