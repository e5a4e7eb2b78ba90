"""The rows of methods and their keywords: what each follows, since when and why, and what people say of keywords."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.model.terms import term_form
from bowerbird.policies.keywords import Change, State
from bowerbird.ports import Transaction

_KEEP_LABEL = """
insert into keyword_labels (crawl, term, tagger, label, at) values (?, ?, ?, ?, ?)
on conflict (crawl, term, tagger) do update set label = excluded.label, at = excluded.at
"""
_METHODS = "select method, name, bit, state from keyword_methods where crawl = ? and until is null order by bit"
_ALL = "select method, name, bit, state, until from keyword_methods where crawl = ?"
_ADD_METHOD = """
insert into keyword_methods (crawl, name, bit, options, state, since) values (?, ?, ?, ?, ?, ?) returning method
"""
_STATE = "update keyword_methods set state = ? where method = ?"
_RESUME = "update keyword_methods set options = ?, until = null where method = ?"
_END_METHOD = "update keyword_methods set until = ? where method = ? and until is null"
_ENTER = "insert into keywords (crawl, method, term, since, why, numbers) values (?, ?, ?, ?, ?, ?)"
_LEAVE = "update keywords set until = ?, until_why = ?, until_numbers = ? where method = ? and term = ? and until is null"
_PROGRESS = "select version, decided, share, undelivered, watched_at from keyword_progress where crawl = ?"
_BEGIN = """
insert into keyword_progress (crawl, version, decided, share, undelivered, watched_at) values (?, 1, ?, 1.0, 0, ?)
on conflict (crawl) do nothing
"""
_WATCH = """
update keyword_progress set watched_at = ?, decided = case when decided < ? then ? else decided end where crawl = ?
"""
_BUMP = "update keyword_progress set version = version + 1 where crawl = ?"


class MethodRow(Struct, frozen=True):
    """One method of a crawl, with all that it remembers."""

    method: int
    name: str
    bit: int
    state: State
    has_ended: bool = False


class Progress(Struct, frozen=True):
    """How far a crawl has come with its frames."""

    version: int
    decided: datetime
    share: float
    undelivered: int
    watched_at: datetime


async def read_methods(tx: Transaction, crawl: int) -> list[MethodRow]:
    """The methods at work, in the order of their bits."""
    return [_method(row) for row in await tx.fetch(_METHODS, crawl)]


async def read_all_methods(tx: Transaction, crawl: int) -> dict[str, MethodRow]:
    """Those too that the crawl file no longer names."""
    rows = await tx.fetch(_ALL, crawl)
    return {row["name"]: msgspec.structs.replace(_method(row), has_ended=row["until"] is not None) for row in rows}


async def read_progress(tx: Transaction, crawl: int) -> Progress:
    row = await tx.fetch_one(_PROGRESS, crawl)
    if row is None:
        raise LookupError(f"crawl {crawl} has no keywords")
    decided, watched_at = from_micros(row["decided"]), from_micros(row["watched_at"])
    return Progress(row["version"], decided, row["share"], row["undelivered"], watched_at)


async def begin_progress(tx: Transaction, crawl: int, decided: datetime, now: datetime) -> None:
    await tx.execute(_BEGIN, crawl, to_micros(decided), to_micros(now))


async def watch(tx: Transaction, crawl: int, missed: datetime, now: datetime) -> None:
    """A sign of life; frames up to `missed` will not be decided."""
    await tx.execute(_WATCH, to_micros(now), to_micros(missed), to_micros(missed), crawl)


async def bump(tx: Transaction, crawl: int) -> None:
    """Tells everybody that keywords have changed."""
    await tx.execute(_BUMP, crawl)


async def add_method(tx: Transaction, crawl: int, bit: int, state: State, options: Mapping[str, Any], now: datetime) -> int:
    row = await tx.fetch_one(_ADD_METHOD, crawl, state.method, bit, encoded(options), encoded(state), to_micros(now))
    if row is None:
        raise LookupError("the database gave no method")
    number: int = row["method"]
    return number


async def resume_method(tx: Transaction, method: int, options: Mapping[str, Any]) -> None:
    await tx.execute(_RESUME, encoded(options), method)


async def end_method(tx: Transaction, method: int, now: datetime) -> None:
    await tx.execute(_END_METHOD, to_micros(now), method)


async def keep_state(tx: Transaction, method: int, state: State) -> None:
    await tx.execute(_STATE, encoded(state), method)


async def enter(tx: Transaction, crawl: int, method: int, entries: Iterable[Change], at: datetime) -> None:
    rows = [(crawl, method, each.term, to_micros(at), each.reason, encoded(each.numbers)) for each in entries]
    await tx.execute_many(_ENTER, rows)


async def leave(tx: Transaction, method: int, exits: Iterable[Change], at: datetime) -> None:
    rows = [(to_micros(at), each.reason, encoded(each.numbers), method, each.term) for each in exits]
    await tx.execute_many(_LEAVE, rows)


def encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def union(methods: Sequence[MethodRow]) -> list[str]:
    """What all methods together follow: seeds first, then what most of them follow, so that a bound leaves out the last."""
    wanted: dict[str, tuple[int, int]] = {}
    for row in methods:
        chosen = {*row.state.seeds, *row.state.pinned}
        for term in row.state.keywords:
            is_chosen, count = wanted.get(term, (0, 0))
            wanted[term] = max(is_chosen, int(term in chosen)), count + 1
    return sorted(wanted, key=lambda term: (*(-each for each in wanted[term]), term))


def heard_as(methods: Sequence[MethodRow]) -> list[str]:
    """What streams that filter are told: the keywords of all methods, each with its spellings, for a network may tell accents
    apart."""
    written: dict[str, tuple[str, ...]] = {}
    for row in methods:
        for term, keyword in row.state.keywords.items():
            written[term] = (*written.get(term, ()), *(each for each in keyword.written if each != term))
    return list(dict.fromkeys(form for term in union(methods) for form in (term, *written[term])))


def _method(row: Mapping[str, Any]) -> MethodRow:
    state = msgspec.json.decode(row["state"], type=State)
    # A name that was forgotten may have been a keyword.
    sound = {term: keyword for term, keyword in state.keywords.items() if term_form(term) == term}
    if len(sound) < len(state.keywords):
        state = msgspec.structs.replace(state, keywords=sound, seeds=tuple(term for term in state.seeds if term in sound))
    return MethodRow(row["method"], row["name"], row["bit"], state)


Label = tuple[str, str, str]
"""Term, tagger and label."""


async def keep_labels(tx: Transaction, crawl: int, labels: Sequence[Label], now: datetime) -> None:
    """Each replaces what the same person said before."""
    await tx.execute_many(_KEEP_LABEL, [(crawl, term, tagger, label, to_micros(now)) for term, tagger, label in labels])
