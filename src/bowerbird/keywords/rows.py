"""SQL of the keyword tables: methods, keywords, progress, orders of users, and labels.

`keyword_progress.version` grows with every change of a keyword set. A worker that reads a new version follows
the new keywords; a decision that was made from an old version is discarded, so one worker decides each frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct, structs

from bowerbird.clock import from_micros, to_micros
from bowerbird.keywords.keyword_set import follow_order, parse_keyword
from bowerbird.keywords.values import Change, State
from bowerbird.model.terms import term_form
from bowerbird.ports import Transaction

Label = tuple[str, str, str]
"""Term, tagger and label."""
ORDERS = ("pin", "block", "free")

_METHODS = "select method, name, bit, state, until from keyword_methods where crawl = ? order by bit"
_ADD_METHOD = """
insert into keyword_methods (crawl, name, state, since, bit)
values (?, ?, ?, ?, (select coalesce(max(bit) + 1, 0) from keyword_methods where crawl = ?)) returning method
"""
_SAVE_STATE = "update keyword_methods set state = ?, until = null where method = ?"
_ENTER = "insert into keywords (crawl, method, term, since, why, numbers) values (?, ?, ?, ?, ?, ?)"
_LEAVE = "update keywords set until = ?, until_why = ?, until_numbers = ? where method = ? and term = ? and until is null"
_LAST_ORDERS = """
select term, said from keyword_orders where keyword_order in
    (select max(keyword_order) from keyword_orders where crawl = ? group by term)
order by keyword_order
"""
_ADD_ORDER = "insert into keyword_orders (crawl, at, who, term, said) values (?, ?, ?, ?, ?)"
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


async def read_methods(tx: Transaction, crawl: int, *, with_ended: bool = False) -> list[MethodRow]:
    """Return the methods of a crawl in the order of their bits; `with_ended`: also those that the crawl file dropped."""
    return [
        MethodRow(row["method"], row["name"], row["bit"], decode_state(row["state"]), row["until"] is not None)
        for row in await tx.fetch(_METHODS, crawl)
        if with_ended or row["until"] is None
    ]


def decode_state(content: str) -> State:
    """Return a stored state without invalid terms: forgetting an account also erases its name from the state."""
    state = msgspec.json.decode(content, type=State)
    return structs.replace(
        state,
        seeds=tuple(filter(_is_valid, state.seeds)),
        keywords={term: keyword for term, keyword in state.keywords.items() if _is_valid(term)},
        pinned=tuple(filter(_is_valid, state.pinned)),
        blocked=tuple(filter(_is_valid, state.blocked)),
        pool={term: keyword for term, keyword in state.pool.items() if _is_valid(term)},
    )


def _is_valid(term: str) -> bool:
    return bool(term) and term_form(term) == term


async def add_method(tx: Transaction, crawl: int, name: str, now: datetime) -> int:
    """Add a method with the next free bit and return its number."""
    (row,) = await tx.fetch(_ADD_METHOD, crawl, name, "{}", to_micros(now), crawl)
    return int(row["method"])


async def save_state(
    tx: Transaction,
    crawl: int,
    method: int,
    before: AbstractSet[str],
    state: State,
    *,
    at: datetime,
    changes: Iterable[Change] = (),
    reason: str = "no reason given by the method",
) -> None:
    """Store the state of a method, and which keywords entered and left since `before`.

    `changes` has the reasons; `reason` is that of all other keywords."""
    left, entered = sorted(before - state.keywords.keys()), sorted(state.keywords.keys() - before)
    reasons = dict.fromkeys((*left, *entered), (reason, "{}"))
    reasons |= {each.term: (each.reason, to_json(each.numbers)) for each in changes}
    await tx.execute(_SAVE_STATE, to_json(state), method)
    await tx.execute_many(_LEAVE, [(to_micros(at), *reasons[term], method, term) for term in left])
    await tx.execute_many(_ENTER, [(crawl, method, term, to_micros(at), *reasons[term]) for term in entered])


async def read_progress(tx: Transaction, crawl: int) -> Progress:
    (row,) = await tx.fetch("select version, decided, share from keyword_progress where crawl = ?", crawl)
    return Progress(row["version"], from_micros(row["decided"]), row["share"])


async def bump_version(tx: Transaction, crawl: int) -> None:
    """Increase the version, so that decisions under way are discarded; locks the row until the transaction ends."""
    await tx.execute("update keyword_progress set version = version + 1 where crawl = ?", crawl)


async def follow_orders(tx: Transaction, crawl: int, state: State) -> State:
    """Return the state of a method with the last order of users for each term."""
    for row in await tx.fetch(_LAST_ORDERS, crawl):
        # Forgetting an account erases its name, which leaves an invalid term.
        if _is_valid(row["term"]):
            state = follow_order(state, row["said"], row["term"])
    return state


async def apply_order(tx: Transaction, crawl: int, order: str, term: str, who: str, now: datetime) -> list[str]:
    """Pin, block or free a term in every method of a crawl; return the methods that changed.

    Streams and searches of a running crawl follow within seconds. Raises `UserError` for an invalid term."""
    form = parse_keyword(term)
    # First, because this locks the keywords: a decision that is being written would be overwritten otherwise.
    await bump_version(tx, crawl)
    changed = []
    for row in await read_methods(tx, crawl):
        state = follow_order(row.state, order, form)
        if state != row.state:
            changed.append(row.name)
            await save_state(tx, crawl, row.method, row.state.keywords.keys(), state, at=now, reason=f"{order} by {who}")
    await tx.execute(_ADD_ORDER, crawl, to_micros(now), who, form, order)
    return changed


async def save_labels(tx: Transaction, crawl: int, labels: Sequence[Label], now: datetime) -> None:
    """Store labels; each replaces the label that the same tagger gave before."""
    await tx.execute_many(_SAVE_LABEL, [(crawl, term, tagger, label, to_micros(now)) for term, tagger, label in labels])


def rank_keywords(methods: Sequence[MethodRow]) -> list[str]:
    """Return the keywords of all methods: seeds and pinned ones first, then by the number of methods that follow them."""
    counts = Counter(term for row in methods for term in row.state.keywords)
    chosen = {term for row in methods for term in (*row.state.seeds, *row.state.pinned)}
    return sorted(counts, key=lambda term: (term not in chosen, -counts[term], term))


def rank_spellings(methods: Sequence[MethodRow]) -> list[str]:
    """Return the keywords of all methods, each followed by its other spellings: a server may distinguish accents."""
    ranked = []
    for term in rank_keywords(methods):
        followed = (row.state.keywords[term] for row in methods if term in row.state.keywords)
        # Forgetting an account may also erase a part of a spelling.
        ranked += [term, *(each for keyword in followed for each in keyword.spellings if term_form(each) == term)]
    return list(dict.fromkeys(ranked))


def to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
