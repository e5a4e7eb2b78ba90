"""The ways in: a name with its password, or the key that the terminal shows while nobody has one."""

from __future__ import annotations

from datetime import datetime
from hmac import compare_digest
from secrets import token_urlsafe

from bowerbird.clock import to_micros
from bowerbird.ports import Clock, Database, Transaction
from bowerbird.web.security import actions, people, sessions
from bowerbird.web.security.doors import Door
from bowerbird.web.security.passwords import Crowded, Passwords
from bowerbird.web.security.people import Person
from bowerbird.web.security.tries import Tries

_SEEN = "update dashboard_people set seen_at = ? where name = ? and hash = ?"
_RENEW = "update dashboard_people set hash = ? where name = ? and hash = ?"
_STRANGER = "somebody"
"""Who gave a name that nobody has; it is not written down, it may be a password in the wrong field."""
_LOG_IN = "log in"
_CROWD = "Many people log in just now; try again in a few seconds."


class Refused(Exception):
    """Nobody comes in by this: with the status and the words to answer with, and seconds to wait where that helps."""

    def __init__(self, status: int, words: str, wait: int = 0) -> None:
        super().__init__(words)
        self.status = status
        self.wait = wait


class Entrance:
    """Opens sessions."""

    def __init__(self, database: Database, clock: Clock, door: Door, passwords: Passwords) -> None:
        self.passwords = passwords
        self._database = database
        self._clock = clock
        self._door = door
        self._tries = Tries(database)
        self._key = token_urlsafe(32)

    async def log_in(self, name: str, password: str, address: str) -> str:
        """The id of a new session; raises `Refused`, with the same words and after the same work whoever it is."""
        known = people.written(name)[:200]
        await self._charge(known, address)
        async with self._database.reading() as tx:
            person = await people.found(tx, known)
        try:
            await self.passwords.prepare()
            fits = await self.passwords.fits(person.hash if person else None, password)
            newer = await self.passwords.hash(password) if fits and person and self.passwords.is_outdated(person.hash) else ""
        except Crowded:
            raise Refused(429, _CROWD, 5) from None
        now = self._clock.now()
        async with self._database.transaction() as tx:
            session = await self._begun(tx, person, address, now) if person and fits else None
            if session is not None and person is not None and newer:
                await tx.execute(_RENEW, newer, person.name, person.hash)
            who = (person.name, person.role.word) if person else (_STRANGER, "")
            ended = (actions.DONE, "") if session else (actions.REFUSED, "wrong name or password")
            await actions.note(tx, who, (_LOG_IN, person.name if person else ""), ended, now)
        if session is None:
            raise Refused(401, "Name or password is wrong.")
        return session

    async def is_own(self, person: str, password: str, address: str) -> bool:
        """Whether it is the password of somebody who is logged in already: tries count as those of a login do."""
        await self._charge(person, address)
        async with self._database.reading() as tx:
            found = await people.found(tx, person)
        try:
            return await self.passwords.fits(found.hash if found else None, password)
        except Crowded:
            raise Refused(429, _CROWD, 5) from None

    async def _charge(self, name: str, address: str) -> None:
        now = self._clock.now()
        until = await self._tries.charge(name, address, now)
        if until is not None:
            wait = max(1, int((until - now).total_seconds()) + 1)
            raise Refused(429, f"Too many tries; the next one is possible in {-(-wait // 60)} min.", wait)

    async def _begun(self, tx: Transaction, person: Person, address: str, now: datetime) -> str | None:
        # Somebody may have set another password, or removed the person, while this one was looked at.
        if not await tx.execute(_SEEN, to_micros(now), person.name, person.hash):
            return None
        await self._tries.forgive(tx, person.name, address, now)
        return await sessions.begin(tx, person.name, now)

    @property
    def spare_key(self) -> str:
        """The key, whether it opens anything or not: for those who see that it does not."""
        return self._key

    async def key(self) -> str | None:
        """The key to show in the terminal; None where people have passwords, or others can come in."""
        async with self._database.reading() as tx:
            return self._key if self._door.is_private and not await people.is_anybody_there(tx) else None

    async def use_key(self, key: str) -> str:
        """The id of a session for who has the key, which is another one from now on."""
        is_right = compare_digest(key.encode(errors="replace"), self._key.encode())
        if not is_right or await self.key() is None:
            raise Refused(401, "This address was used already, or is no longer valid: the terminal shows how to come in.")
        self._key = token_urlsafe(32)
        async with self._database.transaction() as tx:
            return await sessions.begin(tx, None, self._clock.now())
