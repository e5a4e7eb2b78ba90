"""The keywords of a crawl when it starts: begun from its seeds, or brought in line with what its file says by now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from msgspec import structs

from bowerbird.errors import UserError
from bowerbird.event import rows
from bowerbird.event.grid import Grid
from bowerbird.event.rows import MethodRow
from bowerbird.flows.keywords import KeywordUse
from bowerbird.policies.keywords import Change, Keyword, Method, Settings, State, checked, spelled
from bowerbird.ports import Transaction

_SEED = "a seed"
_UNNAMED = "the crawl file no longer names it"
_MOST_METHODS = 62
"""Bits of a number that both databases keep."""


class Beginner:
    """Begins the methods of one crawl, or takes them up again."""

    def __init__(self, crawl: int, use: KeywordUse, methods: Mapping[str, Method], settings: Settings) -> None:
        self._crawl = crawl
        self._use = use
        self._methods = methods
        self._settings = settings
        self._written: tuple[str, ...] = ()
        """The seeds as the user writes them."""

    async def begin(self, tx: Transaction, seeds: Sequence[str], grid: Grid, now: datetime) -> None:
        """Writes what the crawl file says; without seeds, which may have been given at the first start, those stay."""
        await rows.begin_progress(tx, self._crawl, grid.began(now) - grid.frame, now)
        progress = await rows.read_progress(tx, self._crawl)
        # Before anything is heard: what is caught up belongs to no frame.
        await rows.watch(tx, self._crawl, grid.missed(progress.watched_at, now), now)
        forms = tuple(dict.fromkeys(checked(seed) for seed in seeds))
        self._written = tuple(seeds)
        known = await rows.read_all_methods(tx, self._crawl)
        if not forms and not known:
            raise UserError('an event begins with at least one keyword: write seeds = ["#hashtag"] into the crawl file')
        changes = [await self._start(tx, name, forms, known, now) for name in self._methods]
        changes += [await self._end(tx, row, now) for name, row in known.items() if name not in self._methods]
        if any(changes):
            await rows.bump(tx, self._crawl)

    async def _start(
        self, tx: Transaction, name: str, seeds: tuple[str, ...], known: Mapping[str, MethodRow], now: datetime
    ) -> bool:
        options = self._use.options.get(name, {})
        if name in known:
            await rows.resume_method(tx, known[name].method, options)
            return await self._renew(tx, known[name], seeds or known[name].state.seeds, now)
        first = seeds or next(iter(known.values())).state.seeds
        state = spelled(self._methods[name].begins(first, self._settings), self._written)
        method = await rows.add_method(tx, self._crawl, _free_bit(known, self._methods, name), state, options, now)
        await rows.enter(tx, self._crawl, method, [Change(term=term, reason=_SEED) for term in state.keywords], now)
        return True

    async def _renew(self, tx: Transaction, row: MethodRow, seeds: tuple[str, ...], now: datetime) -> bool:
        """The state with the seeds of the file: new ones come in, those that it no longer names leave unless they are pinned."""
        before = row.state
        state = spelled(_with_seeds(before, seeds), self._written)
        came = set(state.keywords) if row.has_ended else state.keywords.keys() - before.keywords.keys()
        left = before.keywords.keys() - state.keywords.keys()
        if state != before:
            await rows.keep_state(tx, row.method, state)
        await rows.leave(tx, row.method, _changes(left, _UNNAMED), now)
        await rows.enter(tx, self._crawl, row.method, _changes(came, _SEED), now)
        return bool(came or left)

    async def _end(self, tx: Transaction, row: MethodRow, now: datetime) -> bool:
        if row.has_ended:
            return False
        await rows.leave(tx, row.method, _changes(row.state.keywords, "the crawl file no longer names the method"), now)
        await rows.end_method(tx, row.method, now)
        return True


def _with_seeds(state: State, seeds: tuple[str, ...]) -> State:
    if state.seeds == seeds:
        return state
    gone = {term for term in state.seeds if term not in seeds and term not in state.pinned}
    new = {term: Keyword(is_seed=True) for term in seeds if term not in state.keywords and term not in state.blocked}
    kept = {term: keyword for term, keyword in state.keywords.items() if term not in gone}
    return structs.replace(state, seeds=seeds, keywords={**kept, **new})


def _changes(terms: Collection[str], why: str) -> list[Change]:
    return [Change(term=term, reason=why) for term in sorted(terms)]


def _free_bit(known: Mapping[str, MethodRow], methods: Mapping[str, Method], name: str) -> int:
    """A bit that no method of the crawl ever had: posts tell by it who collected them."""
    new = [each for each in methods if each not in known]
    bit = max((row.bit for row in known.values()), default=-1) + 1 + new.index(name)
    if bit > _MOST_METHODS:
        raise UserError(f"a crawl can have {_MOST_METHODS + 1} methods over its life; begin another one")
    return bit
