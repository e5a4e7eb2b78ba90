"""The firehose of the real host: two listeners while people write, one of them cut off and killed again and again."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from compare import Comparison, Stock, take_stock
from crawls import Crawls
from history import Changes, changes
from listening import Listening, Placement
from msgspec import Struct
from network import Network
from positions import ahead, outdated
from written import POST, REPOST, Record, Written

from bowerbird.evaluate.stream.cutter import Cable, cable
from bowerbird.ports import Clock

CUTS, KILLS = 20, 5
_LISTEN = 'use = "listen"'
Report = Callable[[Comparison, Stock], None]


class Heard(Struct):
    """What both listeners came to."""

    accounts: int = 0
    posts: int = 0
    relations: int = 0
    deletions: int = 0
    events: int = 0
    connections: int = 0
    cuts: int = 0
    kills: int = 0


class _Life(Struct, frozen=True):
    """Everything that was ever written, the number of the last event, and how many events the host still has."""

    written: Written
    head: int
    events: int

    @classmethod
    def of(cls, answer: Any) -> _Life:
        return cls(Written.of(answer["written"]), answer["head"], answer["events"])


class Firehose:
    """Both listeners hear everything from the first event on and go on while people write."""

    def __init__(self, network: Network, crawls: Crawls, clock: Clock, report: Report) -> None:
        self._network = network
        self._crawls = crawls
        self._clock = clock
        self._report = report
        self._chance = random.Random(1)
        self.figures = Heard()

    async def run(self, written: Written) -> Written:
        """Everything about the firehose; answers what was written by the end of it.

        One listener is undisturbed at the host, with a session, and asks it for the repositories of accounts that come back.
        The other one hears through a cable and has an AppView to ask, which gives no repositories away: all it has must come
        from the stream. It then meets a host that has forgotten where it was.
        """
        network, crawls = self._network, self._crawls
        async with cable(network.pds, self._clock, self._chance) as (through, line):
            whole = Listening(crawls.listening("firehose", _LISTEN, network.pds, network.pds), self._clock)
            values = {"identifier": written.accounts[0].handle, "app_password": written.password}
            crawls.add_credential(whole.file, values, network.pds)
            cut = Listening(crawls.listening("cut", _LISTEN, network.appview, through), self._clock)
            async with _ended(whole, cut):
                life, ends = await self._heard(line, whole, cut)
                await self._compare_whole(whole, life, ends[0])
                await self._compare_cut(cut, life, *ends)
        return Written.of(await network.command("written"))

    async def _heard(self, line: Cable, whole: Listening, cut: Listening) -> tuple[_Life, tuple[Placement, Placement]]:
        for each in (whole, cut):
            await each.start()
        await self._network.command("live")
        await self._disturb(line, cut)
        self.figures.cuts += line.cuts
        life = _Life.of(await self._network.command("rest"))
        ends = (await whole.until_heard(life.head), await cut.until_heard(life.head))
        for each in (whole, cut):
            await each.stop()
        return life, ends

    async def _disturb(self, line: Cable, cut: Listening) -> None:
        """Cuts the cable and kills the process, in random order and at random moments of their work."""
        acts = ["cut"] * CUTS + ["kill"] * KILLS
        self._chance.shuffle(acts)
        connections = 0
        while acts:
            connections = await cut.until_connected(connections)
            await self._crawls.pause(timedelta(seconds=self._chance.expovariate(2.0)))
            if acts[-1] == "kill":
                await cut.kill()
                await cut.start()
                self.figures.kills += 1
            elif line.is_live:
                await line.cut(timedelta(seconds=self._chance.choice((0.0, 0.05, self._chance.expovariate(2.0)))))
            else:
                continue
            acts.pop()

    async def _compare_whole(self, whole: Listening, life: _Life, end: Placement) -> None:
        comparison, stock, found = await self._stock(whole, life.written)
        records = _records(life.written)
        _compare(comparison, life.written, records)
        if found.gaps:
            comparison.differs("gaps", f"{len(found.gaps)} on a connection that nobody cut")
        self.figures.accounts, self.figures.posts = len(stock.users), len(stock.posts)
        self.figures.relations, self.figures.deletions = len(stock.relations), len(stock.buried)
        self.figures.events = end.events
        self._report(comparison, stock)

    async def _compare_cut(self, cut: Listening, life: _Life, whole_end: Placement, end: Placement) -> None:
        comparison, stock, found = await self._stock(cut, life.written)
        bygone = life.written.bygone
        _compare(comparison, life.written, {uri: each for uri, each in _records(life.written).items() if uri not in bygone})
        for complaint in (*found.complaints(life.written), *_miscounted(life, whole_end, end)):
            comparison.differs("missing or doubled", complaint)
        if found.gaps:
            comparison.differs("gaps", f"{len(found.gaps)} although the host has kept every event")
        await outdated(self._network, cut, comparison, self._clock)
        await ahead(cut, comparison, self._clock)
        self.figures.connections = end.connections
        self._report(comparison, stock)

    async def _stock(self, listening: Listening, written: Written) -> tuple[Comparison, Stock, Changes]:
        stock = await take_stock(listening.store, self._clock)
        return Comparison(listening.file.stem, written, stock), stock, await changes(listening.store, self._clock)


def _records(written: Written) -> dict[str, Record]:
    """Posts and reposts of everybody who is there."""
    return {each.uri: each for collection in (POST, REPOST) for each in written.visible(collection)}


def _compare(comparison: Comparison, written: Written, records: dict[str, Record]) -> None:
    there = [account.did for account in written.accounts if not account.is_gone]
    comparison.users(there, is_viewed=False)
    comparison.handles(did for did in there if did not in written.shy)
    comparison.posts(records, records)
    comparison.relations({pair for pair in written.follow_records if pair[0] not in written.gone}, written.follow_records)
    comparison.gone(written.gone)
    # Who came too late does not hear what a deleted account had taken back.
    comparison.buried([uri for uri, author in written.tombs.items() if author not in written.erased], written.tombs)


def _miscounted(life: _Life, *ends: Placement) -> list[str]:
    """Every event counts once: at least those the host still has, at most those it ever numbered. Two listeners may hear
    different ones of what it takes back with a deleted account."""
    return [
        f"{end.events} events counted; the host has {life.events} and numbered {life.head}"
        for end in ends
        if not life.events <= end.events <= life.head
    ]


@asynccontextmanager
async def _ended(*listeners: Listening) -> AsyncIterator[None]:
    """Whatever happens, they are dead afterwards."""
    try:
        yield
    finally:
        for each in listeners:
            await each.kill()
