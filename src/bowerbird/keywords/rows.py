"""SQL of the keyword tables: methods, keywords, progress, orders of users, and labels.

`keyword_progress.version` grows with every change of a keyword set. A worker that reads a new version follows
the new keywords; a decision that was made from an old version is discarded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct, structs

from bowerbird.clock import from_micros, to_micros
from bowerbird.errors import UserError
from bowerbird.keywords.keyword_set import block, parse_keyword, pin, release
from bowerbird.keywords.values import Change, State
from bowerbird.model.terms import term_form
from bowerbird.ports import Transaction

Label = tuple[str, str, str]
"""Term, tagger and label."""
ORDERS: Mapping[str, Callable[[State, str], State]] = {"pin": pin, "block": block, "free": release}
"""What users can do with a term."""
HIGHEST_BIT = 62
"""Of `keyword_posts.methods`, a signed number of 64 bits."""

_METHODS = "select method, name, bit, state, until from keyword_methods where crawl = ? order by bit"
_ADD_METHOD = """
insert into keyword_methods (crawl, name, bit, options, state, since) values (?, ?, ?, ?, ?, ?) returning method
"""
_SAVE_STATE = "update keyword_methods set state = ? where method = ?"
_ENTER = "insert into keywords (crawl, method, term, since, why, numbers) values (?, ?, ?, ?, ?, ?)"
_LEAVE = "update keywords set until = ?, until_why = ?, until_numbers = ? where method = ? and term = ? and until is null"
_PROGRESS = "select version, decided, share, undelivered, watched_at from keyword_progress where crawl = ?"
_ADD_PROGRESS = """
insert into keyword_progress (crawl, version, decided, share, undelivered, watched_at) values (?, 1, ?, 1.0, 0, ?)
on conflict (crawl) do nothing
"""
_WATCH = """
update keyword_progress set watched_at = ?, decided = case when decided < ? then ? else decided end where crawl = ?
"""
_BUMP = "update keyword_progress set version = version + 1 where crawl = ?"
_SAVE_PROGRESS = """
update keyword_progress set version = version + 1, decided = ?, share = ?, undelivered = ? where crawl = ? and version = ?
"""
_LAST_ORDERS = """
select term, said from keyword_orders where keyword_order in
    (select max(keyword_order) from keyword_orders where crawl = ? group by term)
order by keyword_order
"""
_ADD_ORDER = "insert into keyword_orders (crawl, at, who, term, said, done_at) values (?, ?, ?, ?, ?, ?)"
_SAVE_LABEL = """
insert into keyword_labels (crawl, term, tagger, label, at) values (?, ?, ?, ?, ?)
on conflict (crawl, term, tagger) do update set label = excluded.label, at = excluded.at
"""


class MethodRow(Struct, frozen=True):
    """A method of a crawl with its state."""

    method: int
    name: str
    bit: int
    """Its bit in `keyword_posts.methods`; never used again in this crawl."""
    state: State
    has_ended: bool = False


class Progress(Struct, frozen=True):
    """How far the frames of a crawl are decided."""

    version: int
    decided: datetime
    """Start of the last frame that was decided or missed."""
    share: float
    """Share of the posts of full streams and public timelines that is sampled."""
    undelivered: int
    """Posts that networks withheld because of caps, since the crawl began."""
    watched_at: datetime


async def read_methods(tx: Transaction, crawl: int, *, with_ended: bool = False) -> list[MethodRow]:
    """Return the methods of a crawl in the order of their bits; `with_ended`: also those that the crawl file dropped."""
    methods = []
    for row in await tx.fetch(_METHODS, crawl):
        if row["until"] is not None and not with_ended:
            continue
        state = msgspec.json.decode(row["state"], type=State)
        # Forgetting an account also erases its name from the state, which leaves an invalid term.
        valid = {term: keyword for term, keyword in state.keywords.items() if term and term_form(term) == term}
        if len(valid) < len(state.keywords):
            state = structs.replace(state, keywords=valid, seeds=tuple(term for term in state.seeds if term in valid))
        methods.append(MethodRow(row["method"], row["name"], row["bit"], state, row["until"] is not None))
    return methods


async def add_method(tx: Transaction, crawl: int, state: State, options: Mapping[str, Any], now: datetime) -> int:
    """Add a method with the next free bit and return its number."""
    (used,) = await tx.fetch("select coalesce(max(bit), -1) as bit from keyword_methods where crawl = ?", crawl)
    if used["bit"] >= HIGHEST_BIT:
        raise UserError(f"A crawl can have {HIGHEST_BIT + 1} methods in its life. Begin a new crawl.")
    values = (crawl, state.method, used["bit"] + 1, to_json(options), to_json(state), to_micros(now))
    (row,) = await tx.fetch(_ADD_METHOD, *values)
    return int(row["method"])


async def save_state(tx: Transaction, method: int, state: State) -> None:
    await tx.execute(_SAVE_STATE, to_json(state), method)


async def add_entries(tx: Transaction, crawl: int, method: int, entries: Iterable[Change], at: datetime) -> None:
    values = [(crawl, method, each.term, to_micros(at), each.reason, to_json(each.numbers)) for each in entries]
    await tx.execute_many(_ENTER, values)


async def add_exits(tx: Transaction, method: int, exits: Iterable[Change], at: datetime) -> None:
    values = [(to_micros(at), each.reason, to_json(each.numbers), method, each.term) for each in exits]
    await tx.execute_many(_LEAVE, values)


async def read_progress(tx: Transaction, crawl: int) -> Progress:
    row = await tx.fetch_one(_PROGRESS, crawl)
    if row is None:
        raise LookupError(f"crawl {crawl} has no keywords")
    decided, watched_at = from_micros(row["decided"]), from_micros(row["watched_at"])
    return Progress(row["version"], decided, row["share"], row["undelivered"], watched_at)


async def add_progress(tx: Transaction, crawl: int, decided: datetime, now: datetime) -> None:
    """Add the progress of a new crawl; an existing one stays."""
    await tx.execute(_ADD_PROGRESS, crawl, to_micros(decided), to_micros(now))


async def save_watched(tx: Transaction, crawl: int, missed: datetime, now: datetime) -> None:
    """Note that the crawl is running; frames up to the one that started at `missed` will not be decided."""
    await tx.execute(_WATCH, to_micros(now), to_micros(missed), to_micros(missed), crawl)


async def save_decided(tx: Transaction, crawl: int, version: int, decided: datetime, *, share: float, undelivered: int) -> bool:
    """Note that a frame is decided and increase the version; return False if it is not `version` any more.

    Locks the row, so that no other change of the keywords comes between."""
    return await tx.execute(_SAVE_PROGRESS, to_micros(decided), share, undelivered, crawl, version) > 0


async def bump_version(tx: Transaction, crawl: int) -> None:
    """Increase the version, so that decisions under way are discarded; locks the row until the transaction ends."""
    await tx.execute(_BUMP, crawl)


async def follow_orders(tx: Transaction, crawl: int, state: State) -> State:
    """Return the state of a method with the last order of users for each term."""
    for row in await tx.fetch(_LAST_ORDERS, crawl):
        # Forgetting an account erases its name, which leaves an invalid term.
        if term_form(row["term"]) == row["term"]:
            state = ORDERS[row["said"]](state, row["term"])
    return state


async def apply_order(tx: Transaction, crawl: int, order: str, term: str, who: str, now: datetime) -> list[str]:
    """Pin, block or free a term in every method of a crawl; return the methods that changed.

    Streams and searches of a running crawl follow within seconds. Raises `UserError` for an invalid term."""
    form, reason = parse_keyword(term), f"{order} by {who}"
    # First, because this locks the keywords: a decision that is being written would be overwritten otherwise.
    await bump_version(tx, crawl)
    changed = []
    for row in await read_methods(tx, crawl):
        state = ORDERS[order](row.state, form)
        if state == row.state:
            continue
        changed.append(row.name)
        await save_state(tx, row.method, state)
        left, entered = row.state.keywords.keys() - state.keywords.keys(), state.keywords.keys() - row.state.keywords.keys()
        await add_exits(tx, row.method, [Change(term=each, reason=reason) for each in left], now)
        await add_entries(tx, crawl, row.method, [Change(term=each, reason=reason) for each in entered], now)
    await tx.execute(_ADD_ORDER, crawl, to_micros(now), who, form, order, to_micros(now))
    return changed


async def save_labels(tx: Transaction, crawl: int, labels: Sequence[Label], now: datetime) -> None:
    """Store labels; each replaces the label that the same tagger gave before."""
    await tx.execute_many(_SAVE_LABEL, [(crawl, term, tagger, label, to_micros(now)) for term, tagger, label in labels])


def rank_keywords(methods: Sequence[MethodRow]) -> list[str]:
    """Return the keywords of all methods: seeds and pinned ones first, then by the number of methods that follow them."""
    ranks: dict[str, tuple[bool, int]] = {}
    for row in methods:
        chosen = {*row.state.seeds, *row.state.pinned}
        for term in row.state.keywords:
            is_chosen, count = ranks.get(term, (False, 0))
            ranks[term] = is_chosen or term in chosen, count + 1
    return sorted(ranks, key=lambda term: (not ranks[term][0], -ranks[term][1], term))


def rank_spellings(methods: Sequence[MethodRow]) -> list[str]:
    """Return the keywords of all methods, each followed by its other spellings: a server may distinguish accents."""
    spellings: dict[str, tuple[str, ...]] = {}
    for row in methods:
        for term, keyword in row.state.keywords.items():
            spellings[term] = (*spellings.get(term, ()), *(each for each in keyword.spellings if each != term))
    return list(dict.fromkeys(form for term in rank_keywords(methods) for form in (term, *spellings[term])))


def to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
