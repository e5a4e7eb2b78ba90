"""Who and what is kept out for good, known by keyed hashes alone: no id, handle or address of the forgotten is stored.

Every process holds the marks in memory and finds out with each page whether there are new ones: the version is read after the
page has its locks, and a page that was looked over with older marks is tried again (`Busy`).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence

from bowerbird.errors import Busy
from bowerbird.ports import Database, Transaction
from bowerbird.store.forgetting.names import Kind, local_name, meanings, words_in

FORGOTTEN = "[forgotten]"
"""What stands in the place of a name in what others wrote."""
VERSION = "(select version from tombstone_state)"
_STATE = "select version from tombstone_state"
_NEXT = "update tombstone_state set version = version + 1 returning version"
_KEYS = "select secret from tombstone_keys order by key_no"
_ADD_KEY = "insert into tombstone_keys (secret) values (?) on conflict (secret) do nothing"
_ADD = "insert into tombstones (mark) values (?) on conflict (mark) do nothing"
_SERVICES = "select network, name from services order by service"
_MOST_KNOWN = 200_000
_QUOTED = ("//", "RT ", "rt ")
"""What stands before the name of somebody whose words follow it in somebody else's text."""


class Tombstones:
    """The marks of one store, as they were when they were last read."""

    def __init__(self) -> None:
        self.version = -1
        self._keys: tuple[bytes, ...] = ()
        self._marks: set[str] = set()
        self._services: tuple[tuple[str, str], ...] = ()
        self._known: dict[tuple[str, Kind, str | None, str | None], bool] = {}

    def __bool__(self) -> bool:
        return bool(self._marks)

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> Tombstones:
        """The marks of a list that a store shared; raises `ValueError` for what is no such list."""
        found = cls()
        for line in filter(None, map(str.strip, lines)):
            kind, _, value = line.partition(" ")
            if kind == "key":
                found._keys += (bytes.fromhex(value),)
            elif kind == "mark":
                found._marks.add(value)
            else:
                raise ValueError("a line is neither a key nor a mark")
        found.version = 0
        return found

    async def load(self, tx: Transaction) -> None:
        """Reads the marks unless they are known; where nobody was ever forgotten that is one small question."""
        if self.version >= 0:
            return
        row = await tx.fetch_one(_STATE)
        self._keys = tuple(bytes.fromhex(each["secret"]) for each in await tx.fetch(_KEYS))
        self._marks = {each["mark"] for each in await tx.fetch("select mark from tombstones")} if self._keys else set()
        self._services = tuple((each["network"], each["name"]) for each in await tx.fetch(_SERVICES))
        self._known.clear()
        self.version = int(row["version"]) if row else 0

    async def confirm(self, tx: Transaction, version: int | None = None) -> None:
        """Raises `Busy` when somebody was forgotten since the marks were read; `version`: as the database told it just now."""
        if self.version < 0:
            # Nobody has looked the page over: that is for those who know that nobody was ever forgotten.
            await self.load(tx)
            version = -1 if self else self.version
        if version is None:
            row = await tx.fetch_one(_STATE)
            version = int(row["version"]) if row else 0
        if version != self.version:
            self.let_go()
            raise Busy("somebody was forgotten meanwhile: the page is looked over again")

    def let_go(self) -> None:
        """The marks are read again when they are next needed."""
        self.version = -1

    async def add(self, tx: Transaction, names: Collection[str]) -> None:
        """Keeps everything out that has one of these names, once the transaction is committed; the marks must be loaded."""
        if not self._keys:
            self._keys = (secrets.token_bytes(32),)
            await tx.execute(_ADD_KEY, self._keys[0].hex())
        marks = {_mark(self._keys[0], name) for name in names}
        await tx.execute_many(_ADD, [(mark,) for mark in sorted(marks)])
        self._marks |= marks
        self._known.clear()

    def holds(self, name: str) -> bool:
        return any(_mark(key, name) in self._marks for key in self._keys)

    def holds_any(self, names: Iterable[str]) -> bool:
        return any(map(self.holds, names))

    def holds_lines(self, lines: Sequence[str]) -> bool:
        """Whether the lines of a list of marks that somebody shares bring nothing new."""
        known = {f"key {key.hex()}" for key in self._keys}
        return all(line in known or line.removeprefix("mark ") in self._marks for line in lines)

    def mark(self, name: str) -> str:
        """What stands for a name where something must stand for it."""
        return _mark(self._keys[0], name) if self._keys else ""

    def named_in(self, text: str, kind: Kind, network: str | None = None, service: str | None = None) -> bool:
        """Whether a text names somebody or something that was forgotten; `service`: whose keys stand in it, and whom a handle
        without a server means; None: keys of any, and such a handle means nobody."""
        return any(self._means(written, kind, network, service) for _, written in words_in(text, kind, network))

    def redacted(
        self,
        text: str,
        kind: Kind = Kind.TEXT,
        network: str | None = None,
        *,
        service: str | None = None,
        is_mention: bool = False,
    ) -> str:
        """The text without the names of the forgotten, and without words of theirs that somebody passed on by hand. `service`:
        who was asked what stands there. `is_mention`: it is known to mention one of them, so that a handle without its server
        means them too."""
        found = [
            (start, start + len(written))
            for start, written in words_in(text, kind, network)
            if self._means(written, kind, network, service) or (is_mention and self._is_short(written, network))
        ]
        parts, last = [], 0
        for start, end in found:
            if start >= last:
                parts += [text[last:start], FORGOTTEN]
                last = _end_of_quote(text, start, end)
        return "".join([*parts, text[last:]]) if found else text

    def _is_short(self, written: str, network: str | None) -> bool:
        return written.startswith("@") and self.holds(f"short {network} {written[1:].lower()}")

    def _means(self, written: str, kind: Kind, network: str | None, service: str | None = None) -> bool:
        asked = (written, kind, network, service)
        known = self._known.get(asked)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            services = [each for each in self._services if service in (None, each[1])]
            names = set(meanings(written, kind, network, services))
            if service is not None and written.startswith("@") and "@" not in written[1:]:
                names |= {local_name(*each, written) for each in services}
            known = self._known[asked] = self.holds_any(names)
        return known


async def next_version(tx: Transaction) -> int:
    """Makes every process read the marks anew."""
    row = await tx.fetch_one(_NEXT)
    return int(row["version"]) if row else 0


def _mark(key: bytes, name: str) -> str:
    return hmac.digest(key, name.encode(errors="replace"), "sha256")[:16].hex()


def _end_of_quote(text: str, start: int, end: int) -> int:
    """Where the words end that are passed on after a name: `//@alice: …`, `RT @alice: …`."""
    if not text[:start].endswith(_QUOTED) or text[end : end + 1] not in (":", "\uff1a"):
        return end
    following = text.find("//@", end)
    return len(text) if following < 0 else following


async def shared_marks(tx: Transaction) -> Iterator[str]:
    """The lines of a list that others may use without learning who is on it."""
    keys = [f"key {row['secret']}" for row in await tx.fetch(_KEYS)]
    return iter([*keys, *(f"mark {row['mark']}" for row in await tx.fetch("select mark from tombstones order by tombstone"))])


async def take_marks(tx: Transaction, lines: Sequence[str]) -> int:
    """Takes in the lines of such a list; says how many of its marks were new."""
    await tx.execute_many(_ADD_KEY, [(line.removeprefix("key "),) for line in lines if line.startswith("key ")])
    before = await _count(tx)
    await tx.execute_many(_ADD, [(line.removeprefix("mark "),) for line in lines if line.startswith("mark ")])
    return await _count(tx) - before


async def _count(tx: Transaction) -> int:
    row = await tx.fetch_one("select count(*) as marks from tombstones")
    return int(row["marks"]) if row else 0


async def read_tombstones(database: Database) -> Tombstones:
    """The tombstones of a store as they are now."""
    found = Tombstones()
    async with database.reading() as tx:
        await found.load(tx)
    return found
