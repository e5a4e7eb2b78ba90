"""Items that could not be mapped or stored: counted exactly, and a sample of each source kept, so that their page can go on.

A source is a service, a facet and a reason. However much it sends, it takes `KEPT` rows of at most `LONGEST_RAW` bytes; what is
kept is forgotten after `KEPT_FOR`, or at once when somebody is purged whom it names. Of a payload with more than `MOST_NAMES`
different words nothing is kept: no purge would be certain to find it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from hashlib import blake2b

from bowerbird.model import NETWORKS, Broken
from bowerbird.ports import Database, Transaction
from bowerbird.store.context import SaveContext
from bowerbird.store.intake.clean import clean_text

KEPT = 20
LONGEST_RAW = 16_384
KEPT_FOR = timedelta(days=30)
MOST_NAMES = 2_000
"""More than a text of `LONGEST_RAW` bytes has as a rule."""
MOST_REASONS = 30
"""Of one facet of one service; whatever else it comes up with is counted together."""
OTHER = "other reasons"
_LONGEST_WHY = 500
_LONGEST_REASON = 120
_VALUES = re.compile(r"""'[^']*'|"[^"]*"|'.*|".*""", re.DOTALL)
_NUMBERS = re.compile(r"\d+")
_USER_IDS = "|".join(each.naming.user_id for each in NETWORKS.values() if each.naming.user_id).encode()
_WORDS = re.compile(_USER_IDS + rb"|[A-Za-z0-9@_\x80-\xff][A-Za-z0-9@_:/.%#~+\x80-\xff-]+|\d")
_KNOWN = "select source, why from quarantine_sources where service = ? and facet = ?"
_COUNT = """
insert into quarantine_sources (service, facet, why, items, bytes, first_at, last_at) values (?, ?, ?, ?, ?, ?, ?)
on conflict (service, facet, why) do update set items = quarantine_sources.items + excluded.items,
    bytes = quarantine_sources.bytes + excluded.bytes, last_at = excluded.last_at
returning source
"""
# Asked when the row of the source is ours: what another page has kept meanwhile is then counted too.
_KEPT = "select count(*) as kept from quarantine where source = ?"
_SET_ASIDE = """
insert into quarantine (source, call, facet, subject, why, at, bytes, raw) values (?, ?, ?, ?, ?, ?, ?, ?) returning item
"""
_NAME = "insert into quarantine_names (name, item) values (?, ?) on conflict (name, item) do nothing"
_FORGET_OLD = "delete from quarantine where at < ?"
_FORGET_NAMES = "delete from quarantine_names where item not in (select item from quarantine)"


async def set_aside(s: SaveContext, facet: str, broken: Sequence[Broken]) -> None:
    """Counts the items of a page that could not be used, and keeps a few of them."""
    await forget_old(s.tx, s.at)
    known = {row["why"] for row in await s.tx.fetch(_KNOWN, s.origin.number, facet)}
    # In one order, so that two pages with the same reasons do not wait for each other in a circle.
    for why, items in sorted(_by_reason(broken, known).items()):
        size = sum(len(item.raw) for item in items)
        source = await s.tx.fetch_one(_COUNT, s.origin.number, facet, why, len(items), size, s.at, s.at)
        if source is not None:
            row = await s.tx.fetch_one(_KEPT, source["source"])
            await _keep(s, facet, source["source"], items[: max(0, KEPT - (row["kept"] if row else 0))])


async def _keep(s: SaveContext, facet: str, source: int, items: Sequence[Broken]) -> None:
    for item in items:
        names = _names(item.raw)
        why, raw = (clean_text(item.why, _LONGEST_WHY), item.raw[:LONGEST_RAW]) if names is not None else (reason(item.why), b"")
        row = await s.tx.fetch_one(_SET_ASIDE, source, s.call, facet, item.subject.value, why, s.at, len(item.raw), raw)
        if row is not None:
            await s.execute_many(_NAME, [(name, row["item"]) for name in sorted(names or ())])


def _by_reason(broken: Sequence[Broken], known: Collection[str]) -> dict[str, list[Broken]]:
    groups: dict[str, list[Broken]] = {}
    reasons = set(known)
    for item in broken:
        why = reason(item.why)
        why = why if why in reasons or len(reasons) < MOST_REASONS else OTHER
        reasons.add(why)
        groups.setdefault(why, []).append(item)
    return groups


def reason(why: str) -> str:
    """What went wrong, without the values that it went wrong with: those are somebody's, and each would be a reason apart."""
    bare = _NUMBERS.sub("0", _VALUES.sub("…", clean_text(why, _LONGEST_WHY)))
    return " ".join(bare.split())[:_LONGEST_REASON]


class QuarantineStatements:
    """The statements of a purge in one database's words."""

    def __init__(self, database: Database) -> None:
        bigint = database.any("bigint")
        self.forget = f"delete from quarantine where item in (select item from quarantine_names where name {bigint})"
        self.users = (
            f"select id as name from users where user_no {bigint}",
            f"select handle as name from users where user_no {bigint}",
            f"select key as name from user_keys where user_no {bigint}",
        )
        self.posts = (
            f"select id as name from posts where post_no {bigint}",
            f"select key as name from post_keys where post_no {bigint}",
        )


async def forget_named(s: SaveContext, sql: QuarantineStatements, named: Sequence[str], numbers: Collection[int]) -> bool:
    """Deletes the kept items in which one of these users or posts is named (`named`: the statements that tell their names);
    answers whether there were any."""
    if await s.tx.fetch_one("select 1 as there from quarantine limit 1") is None:
        return False
    names = {row["name"] for statement in named for row in await s.fetch_in(statement, numbers) if row["name"]}
    hashes = sorted({_hash(word.encode(errors="replace")) for name in names for word in _spellings(name)})
    is_found = await s.execute_in(sql.forget, hashes) > 0
    if is_found:
        await s.tx.execute(_FORGET_NAMES)
    return is_found


def _spellings(name: str) -> set[str]:
    """How a payload may write an id or a handle: whole, as the service's own key, as a path, with a sign before it."""
    path = name.split("/")
    return {name, f"@{name}", name.partition(":")[2], name.partition("@")[0], path[-1], "/".join(path[-2:])} - {""}


async def forget_old(tx: Transaction, at: int) -> None:
    """Deletes what has been kept long enough: no purge finds an item that does not say whose it is."""
    if await tx.execute(_FORGET_OLD, at - int(KEPT_FOR / timedelta(microseconds=1))):
        await tx.execute(_FORGET_NAMES)


def _names(raw: bytes) -> set[int] | None:
    """Hashes of all words of a payload, also of what is cut off: whose it is may stand at its end. None if they are too many."""
    words: set[bytes] = set()
    for word in _words(raw):
        words.add(word)
        if len(words) > MOST_NAMES:
            return None
    return {_hash(word) for word in words}


def _words(raw: bytes) -> Iterator[bytes]:
    # Some servers write addresses with \/ for every slash.
    return (match.group() for match in _WORDS.finditer(raw.replace(b"\\/", b"/")))


def _hash(name: bytes) -> int:
    return int.from_bytes(blake2b(name, digest_size=8).digest(), signed=True)
